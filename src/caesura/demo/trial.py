"""Train on references, and evaluate on records and styles that were held out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from caesura.demo.citations import citations
from caesura.demo.records import Record, split
from caesura.demo.styles import HELD_OUT_STYLES, STYLES
from caesura.demo.words import abbreviated
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.evaluation import Report, evaluate
from caesura.extraction import Record as Extracted
from caesura.features import Lexicon, preset
from caesura.models import ChainCRF, SemiCRF
from caesura.normalisers import default_normaliser, normaliser
from caesura.segments import Segment

__all__ = [
    "Answer",
    "Data",
    "Doubt",
    "Field",
    "Learnt",
    "answers",
    "data",
    "doubt",
    "learn",
    "lexicons",
]

PENALTIES = {"semi": (0.05, 0.01), "chain": (0.0, 0.1)}  # (c1, c2), chosen with bench/demo.py
ITERATIONS = 100
SURE = 0.9  # segments below this probability are flagged for review


class Data(NamedTuple):
    """References for training and testing; the parts share no record, except the last."""

    train: list[Document]
    dev: list[Document]  # other records in the same styles, for calibration
    test: list[Document]  # other records in the same styles
    unseen: list[Document]  # the records of `test`, in styles that no other part has
    lexicons: list[Lexicon]  # from the records of `train`


class Learnt(NamedTuple):
    """A fitted model with its training cost and scores."""

    model: SemiCRF | ChainCRF
    seconds: float
    records: Report  # scores on unseen records
    styles: Report  # scores on unseen records in unseen styles


class Field(NamedTuple):
    """A predicted field."""

    label: str
    value: str  # normalised
    probability: float
    review: bool  # the probability is below SURE
    error: str  # empty if the boundaries and the label are correct


class Answer(NamedTuple):
    """A reference and its predicted fields."""

    record: Extracted
    fields: list[Field]


class Doubt(NamedTuple):
    """The quality of the review flags of a model."""

    segments: int
    flagged: int
    flagged_wrong: int
    passed_wrong: int  # wrong segments that are not flagged

    @property
    def passed_right(self) -> float:
        """The share of unflagged segments that are correct."""
        return 1 - self.passed_wrong / max(self.segments - self.flagged, 1)


def lexicons(records: Iterable[Record], least: int = 2) -> list[Lexicon]:
    """Return the surnames, journals, publishers and places of some records.

    Parameters
    ----------
    records : iterable of Record
        Those to learn from.
    least : int
        An entry is in so many of them. If it were one, each name in the training data would be in
        a lexicon, and the model would learn that names which are not are no names.

    Examples
    --------
    >>> from caesura.demo import RECORDS
    >>> lexicons(RECORDS)[2].entries[:3]
    (('AAAI', 'Press'), ('ACM',), ('Academic', 'Press'))
    """
    found: dict[str, Counter[str]] = {
        name: Counter() for name in ("surnames", "journals", "publishers", "places")
    }
    for record in records:
        found["surnames"].update({name.family for name in record.authors + record.editors})
        found["journals"].update({record.journal, abbreviated(record.journal)} - {""})
        found["publishers"].update({record.publisher} - {""})
        found["places"].update({record.place, record.place.split(",")[0]} - {""})
    return [
        Lexicon(name, sorted(entry for entry, count in counts.items() if count >= least), _cut)
        for name, counts in found.items()
    ]


def _cut(text: str) -> tuple[str, ...]:
    return Document.from_text(text).tokens


def data(n: int = 400, seed: int = 0) -> Data:
    """Generate references for training and testing.

    Parameters
    ----------
    n : int
        Number of training references; the test has as many as there are records left, at most n.
    seed : int
        Decides the records and all that is drawn.

    Examples
    --------
    >>> made = data(20)
    >>> len(made.train), len(made.test), len(made.unseen)
    (20, 20, 20)
    """
    if not isinstance(n, int) or n < 10:
        raise InvalidInput(message("n", n, "at least 10 references", "the demo takes 400"))
    parts = split(seed)
    seen = [name for name in STYLES if name not in HELD_OUT_STYLES]
    tests = min(n, len(parts.test))
    return Data(
        citations(n, 4 * seed, seen, of=parts.train),
        citations(len(parts.dev), 4 * seed + 1, seen, of=parts.dev),
        citations(tests, 4 * seed + 2, seen, of=parts.test),
        citations(tests, 4 * seed + 3, HELD_OUT_STYLES, of=parts.test),
        lexicons(parts.train),
    )


def learn(kind: str, made: Data) -> Learnt:
    """Fit a semi-CRF or a chain to the training data, and evaluate it.

    Parameters
    ----------
    kind : {"semi", "chain"}
        Both have the same features of tokens; the semi-CRF has those of segments, too.
    made : Data
        References.

    Examples
    --------
    >>> learnt = learn("chain", data(20))
    >>> learnt.records.micro.f1 > 0.3
    True
    """
    model: SemiCRF | ChainCRF
    if kind == "semi":
        model = SemiCRF(
            preset("citations", gazetteers=made.lexicons, segments=True), same_label_adjacent=False
        )
    else:
        model = ChainCRF(preset("citations", gazetteers=made.lexicons))
    c1, c2 = PENALTIES[kind]
    model.set_params(c1=c1, c2=c2, max_iterations=ITERATIONS, n_threads=1)
    began = time.perf_counter()
    model.fit(made.train)
    seconds = time.perf_counter() - began
    records, styles = (
        evaluate([one.segments or () for one in some], model.predict(some))
        for some in (made.test, made.unseen)
    )
    known = set(model.labels_)  # with few references, labels may be missing
    dev = [one for one in made.dev if {s.label for s in one.segments or ()} <= known]
    model.calibrate(dev, method="temperature")
    return Learnt(model, seconds, records, styles)


def answers(model: SemiCRF | ChainCRF, documents: Sequence[Document]) -> list[Answer]:
    """Segment references and compare the fields with the labels; the most certain come first.

    Examples
    --------
    >>> made = data(20)
    >>> found = answers(learn("chain", made).model, made.test[:2])
    >>> least = [min(field.probability for field in one.fields) for one in found]
    >>> least == sorted(least, reverse=True)
    True
    """
    found = []
    confident = model.predict_confident(documents, threshold=SURE)
    for document, record, some in zip(documents, model.extract(documents), confident, strict=True):
        fields = [
            Field(
                *(label, str(value.value), one.probability, one.review),
                _error(document, one.segment, value.value),
            )
            for (label, value), one in zip(record.fields, some, strict=True)
        ]
        found.append(Answer(record, fields))
    return sorted(found, key=lambda one: -min((f.probability for f in one.fields), default=0.0))


def _error(document: Document, segment: Segment, value: object) -> str:
    """Describe the error in a predicted field; empty if it is correct."""
    gold = document.segments or ()
    if segment in gold:
        return ""
    clean = normaliser(default_normaliser(segment.label))
    values = {clean(document.text_of(one)) for one in gold if one.label == segment.label}
    return "right value, wrong boundary" if value in values else "wrong"


def doubt(model: SemiCRF | ChainCRF, documents: Sequence[Document]) -> Doubt:
    """Count the fields that are flagged for review, and the wrong ones among them.

    Examples
    --------
    >>> made = data(20)
    >>> found = doubt(learn("chain", made).model, made.test)
    >>> found.flagged_wrong <= found.flagged <= found.segments
    True
    """
    fields = [field for one in answers(model, documents) for field in one.fields]
    counts = Counter((field.review, bool(field.error)) for field in fields)
    flagged = counts[True, True] + counts[True, False]
    return Doubt(len(fields), flagged, counts[True, True], counts[False, True])
