"""From texts to records: fields with their text, place, probability and normalised value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from caesura import normalisers as known
from caesura.extraction import Records, record_of
from caesura.models.estimator import Estimator
from caesura.models.reading import documents_of
from caesura.normalisers import Normaliser
from caesura.segments import Segment

__all__ = ["Extracted", "Extractor", "Found"]

# The segments of a sequence, the probability of each, and that of all of them together.
Found = tuple[list[Segment], Sequence[float | None], float | None]
# The index of the first of some sequences, the sequences, and what was found in each.
Extracted = tuple[int, list[Any], Iterable[Found]]


class Extractor(Estimator):
    """A model that makes records of texts."""

    _normalisers: Mapping[str, str | Normaliser] = {}

    @property
    def normalisers_(self) -> dict[str, str | Normaliser]:
        """The normaliser of each label: its name, or a function."""
        chosen = self._normalisers
        return {
            label: chosen.get(label, known.default_normaliser(label)) for label in self._labels()
        }

    def set_normalisers(self, normalisers: Mapping[str, str | Normaliser]) -> Self:
        """Choose how the text of fields is normalised in `extract`; files of the model keep it.

        Parameters
        ----------
        normalisers : dict
            For some labels the name of a normaliser (see `caesura.normalisers.NORMALISERS`), or a
            function from the text of a segment to its value.  The other labels keep theirs, which
            at first follow from their names (`caesura.normalisers.default_normaliser`).  A file of
            the model keeps the import name of a function, and `load` imports it with
            ``trust=True``.

        Returns
        -------
        self
        """
        checked = known.checked(normalisers, self._labels())
        self._normalisers = {**self._normalisers, **checked}
        return self

    def extract(self, texts: Iterable[Any], constraints: Any = None) -> Records:
        """Return a record for each text: the fields with text, place, probability and value.

        Parameters
        ----------
        texts : iterable of str
            Or of lists of tokens, or of documents.
        constraints : optional
            As in `predict`.

        Returns
        -------
        Records
            A list of `Record`, with `to_pandas`, `to_arrow` and `to_dicts`.  Probabilities of
            fields are those of `predict_confident`, that of a record is the model's probability of
            the whole segmentation, or None where a model does not give it: `ChainCRF` with
            ``forbid_invalid="never"``, whose tags may say one segmentation in several ways.
        """
        labels = self._labels()
        functions = {
            label: known.normaliser(one, f"normalisers[{label!r}]")
            for label, one in self.normalisers_.items()
        }
        records = Records((), labels)
        for first, raw, answers in self._extracted(texts, constraints):
            documents = documents_of(raw, self.tokeniser, "texts", first)
            for i, (document, found) in enumerate(zip(documents, answers, strict=True), first):
                segments, chances, whole = found
                pairs = zip(segments, chances, strict=True)
                name = f"texts[{i}]"
                records.append(record_of(document, pairs, whole, labels, functions, name))
        return records

    def _labels(self) -> list[str]:
        """Return the labels, or raise if the model is not fitted."""
        self._known  # noqa: B018 - raises
        return list(self.labels_)

    def _extracted(self, X: Any, constraints: Any) -> Iterator[Extracted]:
        """Yield some sequences at a time with what is found in them."""
        raise NotImplementedError
