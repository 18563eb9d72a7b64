"""Extraction of records: fields with text, position, probability and normalised value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from caesura import normalisers as known
from caesura.corpora import from_frame
from caesura.corpora.frames import column_types
from caesura.documents import Document, Partial
from caesura.documents.frames import is_frame
from caesura.errors import InvalidInput, message
from caesura.extraction import Records, paused_collection, record_of, unused
from caesura.models.estimator import Estimator
from caesura.models.inputs import documents_of
from caesura.models.targets import Tags, Target
from caesura.normalisers import Normaliser
from caesura.segments import Segment

__all__ = ["Extracted", "Extractor", "Found"]

# The segments of a sequence, the probability of each, and that of the whole segmentation.
Found = tuple[list[Segment], Sequence[float | None], float | None]
# The index of the first sequence, the sequences, and what was found in each.
Extracted = tuple[int, list[Any], Iterable[Found]]


class Extractor(Estimator):
    """A mixin of models that extract records from texts."""

    _normalisers: Mapping[str, str | Normaliser] = {}
    _order: Sequence[str] = ()  # the labels in the order of the training data
    _about: Mapping[str, str] = {}
    _reading: Mapping[str, str] = {}

    @property
    def columns_(self) -> list[str]:
        """The labels in the order of table columns, as in the training data."""
        known = self._labels()
        first = [label for label in self._order if label in known]
        return [*first, *(label for label in known if label not in first)]

    def set_columns(self, labels: Iterable[str]) -> Self:
        """Set the order of labels in tables; it is saved with the model.

        Parameters
        ----------
        labels : iterable of str
            Labels of the model; all others follow them.

        Returns
        -------
        self
        """
        order, known = list(labels), self._labels()
        for label in order:
            if label not in known:
                expected = f"labels of the model, which are {', '.join(known)}"
                raise InvalidInput(message("labels", label, expected, "correct the label"))
        self._order = list(dict.fromkeys(order))
        return self

    @property
    def about_(self) -> dict[str, str]:
        """Metadata of the model, such as origin, licence and scores; usually empty."""
        return dict(self._about)

    def set_about(self, about: Mapping[str, str]) -> Self:
        """Set the metadata of the model; it is saved until the model is fitted again.

        Parameters
        ----------
        about : dict of str to str
            For example ``{"origin": ..., "licence": ..., "scores": ...}``.

        Returns
        -------
        self
        """
        pairs = about.items() if isinstance(about, Mapping) else [(about, None)]
        for name, value in pairs:
            if not isinstance(name, str) or not isinstance(value, str):
                wrong = {name: value} if isinstance(about, Mapping) else about
                expected = "a dict of strings"
                raise InvalidInput(message("about", wrong, expected, "write values as text"))
        self._about = dict(about)
        return self

    @property
    def reading_(self) -> dict[str, str]:
        """The names of the text column and of the CoNLL columns of the training files."""
        return dict(self._reading)

    def set_reading(self, reading: Mapping[str, str]) -> Self:
        """Set the column names of the training files; saved until the model is fitted again.

        The command line reads new files by them.

        Parameters
        ----------
        reading : dict of str to str
            ``text_column`` of tables, and ``columns`` of CoNLL files, as in ``"token,pos,tag"``.

        Returns
        -------
        self
        """
        for name, value in reading.items():
            if name not in ("text_column", "columns") or not isinstance(value, str):
                expected = "text_column or columns, with a text"
                raise InvalidInput(message("reading", {name: value}, expected, "correct it"))
        self._reading = dict(reading)
        return self

    @property
    def normalisers_(self) -> dict[str, str | Normaliser]:
        """The name or the function of the normaliser of each label."""
        chosen = self._normalisers
        return {
            label: chosen.get(label, known.default_normaliser(label)) for label in self._labels()
        }

    def set_normalisers(self, normalisers: Mapping[str, str | Normaliser]) -> Self:
        """Set how `extract` normalises field texts; it is saved with the model.

        Parameters
        ----------
        normalisers : dict
            For some labels the name of a normaliser (see `caesura.normalisers.NORMALISERS`), or a
            function from the text of a segment to its value.  Other labels keep their normaliser,
            by default the one for their name (`caesura.normalisers.default_normaliser`).  A model
            file stores the import name of a function, which `load` imports with ``trust=True``.

        Returns
        -------
        self
        """
        checked = known.checked(normalisers, self._labels())
        self._normalisers = {**self._normalisers, **checked}
        return self

    def extract(
        self, texts: Iterable[Any], constraints: Any = None, text: str | None = None
    ) -> Records:
        """Extract a record from each text: fields with text, position, probability and value.

        Parameters
        ----------
        texts : iterable of str
            Texts, lists of tokens or documents; or a pandas or polars DataFrame or an Arrow table,
            whose other columns are carried over to the tables made from the records.
        constraints : optional
            Constraints, as in `predict`.
        text : str, optional
            The column of a DataFrame with the texts; by default the one named text.

        Returns
        -------
        Records
            A list of `Record` with `to_pandas`, `to_arrow` and `to_dicts`.  Columns of a DataFrame
            that are named like labels keep their values, with a warning: the columns of what was
            found then have other names, such as ``year_2``.  The probabilities of
            fields are those of `predict_confident`.  The probability of a record is that of the
            whole segmentation, or None for `ChainCRF` with ``forbid_invalid="never"``, where
            several tag sequences may encode one segmentation.
        """
        labels = self.columns_
        functions = {
            label: known.normaliser(one, f"normalisers[{label!r}]")
            for label, one in self.normalisers_.items()
        }
        records = Records((), labels)
        if is_frame(texts):
            records.index = getattr(texts, "index", None)
            records.types = column_types(texts)
            texts = from_frame(texts, text=text, tokeniser=self.tokeniser_)
            records.text_column = "text" if text is None else text
            _warn_of_labels(texts[:1], records.text_column, labels)
        elif text is not None:
            raise InvalidInput(
                place="text",
                got=f"{text!r} for texts without columns",
                expected="a DataFrame or an Arrow table as texts",
                remedy="leave text out",
            )
        for first, raw, answers in self._extracted(texts, constraints):
            with paused_collection():
                documents = documents_of(raw, self.tokeniser_, "texts", first)
                for i, (document, found) in enumerate(zip(documents, answers, strict=True), first):
                    segments, chances, whole = found
                    pairs = zip(segments, chances, strict=True)
                    name = f"texts[{i}]"
                    records.append(record_of(document, pairs, whole, labels, functions, name))
        return records

    def _first_seen(self, targets: Sequence[Target | Sequence[Segment]]) -> list[str]:
        """Return the labels in order of first occurrence in the training data."""
        order = dict.fromkeys(label for label in self._order if label in self.labels_)
        rest = set(self.labels_) - set(order)
        for target in targets:
            if not rest:
                break
            if isinstance(target, Tags):  # the tag B-author contains the label author
                named = [name for tag in target for name in (tag, tag[2:]) if name in rest]
            else:
                segments = target.segments if isinstance(target, Partial) else target
                named = [segment.label for segment in sorted(segments) if segment.label in rest]
            order.update(dict.fromkeys(named))
            rest -= set(named)
        return [label for label in order if label in self.labels_]

    def _labels(self) -> list[str]:
        """Return the labels, or raise if the model is not fitted."""
        self._known  # noqa: B018 - raises
        return list(self.labels_)

    def _extracted(self, X: Any, constraints: Any) -> Iterator[Extracted]:
        """Yield sequences with their extracted fields, in batches."""
        raise NotImplementedError


def _warn_of_labels(documents: Sequence[Document], text: str, labels: Sequence[str]) -> None:
    """Warn about columns of a DataFrame, that of the text too, that have the names of labels."""
    taken = {text, *(name for document in documents for name in document.carried)}
    same = [label for label in labels if label in taken]
    if same:
        found = ", ".join(repr(unused(label, dict.fromkeys(taken))) for label in same)
        warnings.warn(
            f"texts: the columns {', '.join(map(repr, same))} have names of labels and keep their "
            f"values; what the model finds is in the columns {found} of the result; rename them, "
            "or pass only the columns that you need",
            stacklevel=3,
        )
