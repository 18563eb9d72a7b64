"""The spaCy pipeline component that predicts with a Caesura model."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.util import filter_spans

from caesura.errors import InvalidInput, message
from caesura.extraction import Record
from caesura.models import load
from caesura.spacy.docs import document_of

__all__ = ["CaesuraComponent", "make_component"]

EXTENSION = "caesura_probability"  # an attribute of spans: span._.caesura_probability
SOURCES = ("spacy", "model")
Found = tuple[Span, float | None]  # a span and its probability, if there is one
SETTINGS = ("spans_key", "threshold", "overwrite", "tokens", "columns")


class _NoModelError(InvalidInput, AttributeError):
    """There is no model yet: for spaCy, which asks with ``hasattr``, no attribute either."""


class CaesuraComponent(Pipe):
    """A component that writes predicted segments to ``doc.ents`` or ``doc.spans``.

    ``nlp.add_pipe("caesura", config={...})`` makes one; `make_component` lists what the config may
    hold.  The probability of a span is ``span._.caesura_probability``; those of a group of spans
    are in ``doc.spans[key].attrs["scores"]`` too, where spaCy's own components keep them.

    ``nlp.to_disk`` and ``nlp.to_bytes`` store the model itself, so that a pipeline that was moved
    does not look for its file.

    Examples
    --------
    >>> import spacy, tempfile, os, caesura
    >>> X = ["12 High Street Leeds", "7 Park Lane York", "3 Mill Road Leeds"]
    >>> y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 3
    >>> nlp = spacy.blank("en")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "addresses.model")
    ...     caesura.SemiCRF(c2=0.1).fit(X, y).save(path)
    ...     component = nlp.add_pipe("caesura", config={"model": path})
    >>> for ent in nlp("9 Elm Road York").ents:
    ...     print(ent.text, ent.label_, f"{ent._.caesura_probability:.1f}", sep=" | ")
    9 | number | 0.9
    Elm Road | street | 0.8
    York | town | 0.9
    """

    def __init__(
        self,
        name: str = "caesura",
        model: Any = None,
        *,
        spans_key: str | None = None,
        threshold: float = 0.0,
        overwrite: bool = False,
        tokens: str = "spacy",
        columns: Mapping[str, str] | None = None,
        trust: bool = False,
    ) -> None:
        self.name, self.trust = name, trust
        self.spans_key, self.threshold, self.overwrite = spans_key, threshold, overwrite
        self.tokens, self.columns = tokens, dict(columns or {})
        self.scorer = self._scores
        self._path = model if isinstance(model, str | Path) else None
        self._model = None if self._path is not None else model
        self._check()
        if self._path is not None and Path(self._path).exists():
            self._model = self._loaded(self._path)
        if not Span.has_extension(EXTENSION):
            Span.set_extension(EXTENSION, default=None)

    def _check(self) -> None:
        """Raise if a setting is wrong."""
        number = isinstance(self.threshold, int | float) and not isinstance(self.threshold, bool)
        if not number or not 0 <= self.threshold <= 1:
            expected, remedy = "a probability, 0 to 1", "0 keeps all segments"
            raise InvalidInput(message("threshold", self.threshold, expected, remedy))
        if self.tokens not in SOURCES:
            expected, remedy = "'spacy' or 'model'", "pass one of them"
            raise InvalidInput(message("tokens", self.tokens, expected, remedy))
        if self.columns and self.tokens == "model":
            remedy = "pass tokens='spacy', or leave the columns out"
            expected = "none with tokens='model', since they belong to spaCy's tokens"
            raise InvalidInput(message("columns", self.columns, expected, remedy))

    # -- the model -----------------------------------------------------------------------------

    def _loaded(self, path: str | Path) -> Any:
        model = load(path, trust=self.trust)
        if not hasattr(model, "predict_confident"):
            remedy = "pass the file of a SemiCRF, a ChainCRF or a NeuralSegmenter"
            raise InvalidInput(message("model", str(path), "a model of segments", remedy))
        return model

    @property
    def model(self) -> Any:
        """The model, loaded on first use."""
        if self._model is None and self._path is None:
            remedy = 'nlp.add_pipe("caesura", config={"model": path}), or nlp.from_disk(folder)'
            raise _NoModelError(
                place=self.name, got="no model", expected="the path of a file", remedy=remedy
            )
        if self._model is None:
            if not Path(str(self._path)).exists():
                remedy = "write one with model.save(path), or correct the path"
                expected = "the file of a model"
                raise _NoModelError(message(f"{self.name}.model", self._path, expected, remedy))
            self._model = self._loaded(str(self._path))
        return self._model

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model; empty until it is loaded."""
        return () if self._model is None else tuple(self._model.labels_)

    # -- predicting ----------------------------------------------------------------------------

    def __call__(self, doc: Doc) -> Doc:
        """Predict the segments of one document and set them."""
        return next(self.pipe([doc], batch_size=1))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Predict the segments of many documents, in batches.

        Parameters
        ----------
        stream : iterable of Doc
            The documents.
        batch_size : int
            The batch size of predictions.
        """
        handle = self.get_error_handler()
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            try:
                answers = self._predicted(batch)
            except Exception as error:  # spaCy decides whether to raise, log or ignore it
                handle(self.name, self, batch, error)
                continue
            for doc, found in zip(batch, answers, strict=True):
                self._write(doc, found)
                yield doc

    def _predicted(self, docs: Sequence[Doc]) -> list[list[Found]]:
        """Return the predicted spans of each document with their probabilities."""
        if self.tokens == "model":
            records = self.model.extract([doc.text for doc in docs])
            return [_widened(doc, one) for doc, one in zip(docs, records, strict=True)]
        documents = [document_of(doc, self.columns, None) for doc in docs]
        kept = [self._kept(doc) for doc in docs]
        asked = {"constraints": kept} if any(kept) else {}
        answers = self.model.predict_confident(documents, **asked)
        return [
            [(Span(doc, s.start, s.end, s.label), chance) for s, chance, *_ in some]
            for doc, some in zip(docs, answers, strict=True)
        ]

    def _kept(self, doc: Doc) -> dict[str, Any]:
        """Return existing entities with known labels as constraints."""
        if self.overwrite or self.spans_key is not None:
            return {}
        known = set(self.model.labels_)
        spans = [(one.start, one.end, one.label_) for one in doc.ents if one.label_ in known]
        return {"required": spans} if spans else {}

    def _write(self, doc: Doc, found: list[Found]) -> None:
        """Set the sufficiently certain spans of a document."""
        sure = [(s, p) for s, p in found if p is None or p >= self.threshold]
        before = [] if self.overwrite or self.spans_key is not None else list(doc.ents)
        taken = {t for span in before for t in range(span.start, span.end)}
        chances = {(s.start, s.end, s.label): p for s, p in sure}
        new = [s for s, _ in sure if not taken.intersection(range(s.start, s.end))]
        spans = filter_spans(new)
        for span in spans:
            span._.set(EXTENSION, chances[span.start, span.end, span.label])
        if self.spans_key is None:
            doc.ents = [*before, *spans]
            return
        scores = [chances[span.start, span.end, span.label] for span in spans]
        group = SpanGroup(doc, name=self.spans_key, spans=spans, attrs={"scores": scores})
        doc.spans[self.spans_key] = group

    def _scores(self, examples: Iterable[Example], **given: Any) -> dict[str, Any]:
        """Return precision, recall and F1 for ``nlp.evaluate``."""
        if self.spans_key is None:
            return dict(get_ner_prf(examples, **given))
        key = self.spans_key
        given |= {
            "attr": f"spans_{key}",
            "getter": lambda doc, _: doc.spans.get(key, []),
            "has_annotation": lambda doc: key in doc.spans,
        }
        return dict(Scorer.score_spans(examples, **given))

    # -- files ---------------------------------------------------------------------------------

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the settings and the model as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder)
            parts = [Path(folder, name).read_bytes() for name in ("settings.json", "model")]
        return len(parts[0]).to_bytes(8, "little") + b"".join(parts)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> CaesuraComponent:
        """Load the settings and the model from the output of `to_bytes`."""
        end = 8 + int.from_bytes(data[:8], "little")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "settings.json").write_bytes(data[8:end])
            Path(folder, "model").write_bytes(data[end:])
            return self.from_disk(folder)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the settings and the model to a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        settings = {name: getattr(self, name) for name in SETTINGS}
        (folder / "settings.json").write_bytes(orjson.dumps(settings))
        self.model.save(folder / "model")

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> CaesuraComponent:
        """Load the settings and the model from a folder written by `to_disk`."""
        folder = Path(path)
        settings = orjson.loads((folder / "settings.json").read_bytes())
        for name in SETTINGS:
            setattr(self, name, settings[name])
        self._check()
        self._model = self._loaded(folder / "model")
        return self


def _widened(doc: Doc, record: Record) -> list[Found]:
    """Return the fields of a record as spans of all tokens that they overlap."""
    places = [(label, one, (one.start, one.end)) for label, one in record.fields]
    spans = [doc.char_span(*place, label, alignment_mode="expand") for label, _, place in places]
    pairs = zip(spans, places, strict=True)
    return [(span, one.probability) for span, (_, one, _) in pairs if span is not None]


@Language.factory(
    "caesura",
    default_config={
        "model": None,
        "spans_key": None,
        "threshold": 0.0,
        "overwrite": False,
        "tokens": "spacy",
        "columns": {},
        "trust": False,
    },
    assigns=["doc.ents", "doc.spans"],
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_component(
    nlp: Language,
    name: str,
    model: str | Path | None,
    spans_key: str | None,
    threshold: float,
    overwrite: bool,
    tokens: str,
    columns: dict[str, str],
    trust: bool,
) -> CaesuraComponent:
    """Create the component for ``nlp.add_pipe("caesura", config={...})``.

    Parameters
    ----------
    nlp : Language
        The pipeline.
    name : str
        The name of the component in it.
    model : path
        A file that ``model.save`` or ``caesura train`` wrote.
    spans_key : str, optional
        Write into ``doc.spans[spans_key]`` in place of ``doc.ents``.
    threshold : float
        Segments below this probability are left out.
    overwrite : bool
        Whether entities that are there already are replaced.  Otherwise they stay, and the rest is
        predicted under them.
    tokens : {"spacy", "model"}
        Whether the model predicts spaCy's tokens, as of `from_docs`, or cuts the text itself, as
        ``caesura train`` does; then segments are widened to spaCy's tokens.
    columns : dict
        As in `from_docs`.
    trust : bool
        As in `caesura.load`.

    Examples
    --------
    >>> import spacy
    >>> spacy.blank("en").add_pipe("caesura", config={"threshold": 2.0})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: threshold: got 2.0, expected a probability, 0 to 1; ...
    """
    return CaesuraComponent(
        name,
        model,
        spans_key=spans_key,
        threshold=threshold,
        overwrite=overwrite,
        tokens=tokens,
        columns=columns,
        trust=trust,
    )
