"""Learn to read references, and see how well it goes on records and styles that were not seen."""

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
from caesura.features import Lexicon, preset
from caesura.models import ChainCRF, SemiCRF
from caesura.models.calibration import Confident

__all__ = ["Data", "Doubt", "Learnt", "data", "doubt", "learn", "lexicons"]

PENALTIES = {"semi": (0.05, 0.01), "chain": (0.0, 0.1)}  # c1, c2: chosen by bench/demo.py
ITERATIONS = 100
SURE = 0.9  # segments below this probability are for a person to look at


class Data(NamedTuple):
    """References to learn from and to be tested on; no record is in two of them but the last."""

    train: list[Document]
    dev: list[Document]  # other records in the same styles, for calibration
    test: list[Document]  # other records in the same styles
    unseen: list[Document]  # the records of the test in styles that the others do not have
    lexicons: list[Lexicon]  # of the records of train


class Learnt(NamedTuple):
    """A model, what it cost and how good it is."""

    model: SemiCRF | ChainCRF
    seconds: float
    records: Report  # on unseen records
    styles: Report  # on unseen records in unseen styles


class Doubt(NamedTuple):
    """What the flags of a model are worth."""

    segments: int
    flagged: int
    flagged_wrong: int
    passed_wrong: int  # of those that are not flagged

    @property
    def passed_right(self) -> float:
        """The share of segments without a flag that are right."""
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
    """Write references for learning and for testing.

    Parameters
    ----------
    n : int
        How many to learn from; the test has as many as there are records left, at most n.
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
    """Fit a semi-CRF or a chain to the training data, and test it.

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
    known = set(model.labels_)  # a small n may lack one
    dev = [one for one in made.dev if {s.label for s in one.segments or ()} <= known]
    model.calibrate(dev, method="temperature")
    return Learnt(model, seconds, records, styles)


def doubt(documents: Sequence[Document], found: Sequence[Sequence[Confident]]) -> Doubt:
    """Count the flags of predicted segments, and how many of them were needed.

    Examples
    --------
    >>> gold = Document(("Ann", "1948"), segments=((0, 1, "author"), (1, 2, "date")))
    >>> sure = Confident(gold.segments[0], 0.99, True, False)
    >>> unsure = Confident(gold.segments[1]._replace(label="pages"), 0.5, True, True)
    >>> doubt([gold], [[sure, unsure]])
    Doubt(segments=2, flagged=1, flagged_wrong=1, passed_wrong=0)
    """
    pairs = [
        (one.review, one.segment not in set(document.segments or ()))
        for document, some in zip(documents, found, strict=True)
        for one in some
    ]
    counts = Counter(pairs)
    flagged = counts[True, True] + counts[True, False]
    return Doubt(len(pairs), flagged, counts[True, True], counts[False, True])
