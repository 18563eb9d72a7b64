"""Gold sequences and the predictions for them, from a file or a model."""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from weakref import WeakSet

from caesura.cli.model_files import is_model, load_model
from caesura.cli.naming import naming
from caesura.cli.output import warn
from caesura.cli.progress import Ticker, listed
from caesura.cli.reading import Reading, conlleval_options, labelled, read, report_notes
from caesura.cli.review_file import is_review, used_rows
from caesura.cli.scoring import same_number, same_tokens
from caesura.cli.trained_columns import as_trained
from caesura.corpora import SideBySide, detect, read_conlleval
from caesura.corpora.corpus import OnError
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, counted
from caesura.segments import Segment

__all__ = ["Found", "Gold", "System", "answered", "confident", "gold_of", "side_by_side"]

Found = list[list[Segment]]  # the segments of each sequence
MOST_LABELS = 5  # unknown labels listed in a warning
PART = 1000  # sequences that are predicted at a time
_REMARKED: WeakSet[Any] = WeakSet()  # models whose warnings have been shown


def confident(model: Any, documents: list[Document], **options: Any) -> list[list[Any]]:
    """Return segments with probabilities; library warnings are shown once per model."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found: list[list[Any]] = model.predict_confident(documents, **options)
    if caught and model not in _REMARKED:
        _REMARKED.add(model)
        for text in dict.fromkeys(str(one.message) for one in caught):
            warn(text)
    return found


def side_by_side(path: str, reading: Reading) -> SideBySide:
    """Return the gold and the predicted segments of a file with both tag columns."""
    form = reading.format or detect(path)
    if form not in ("conll", "text"):
        raise InvalidInput(
            place=path,
            got=f"one file, which is {form}",
            expected="two, or columns with gold and predicted tags side by side",
            remedy="give the predictions as a second file",
        )
    on_error: OnError = "skip" if reading.skip_errors else "raise"
    found = read_conlleval(path, **conlleval_options(path, reading), on_error=on_error)
    report_notes(found, path)
    labelled(found.documents, path)
    return found


class Gold(NamedTuple):
    """Labelled sequences and their positions in the file, where some may be skipped."""

    documents: list[Document]
    places: list[int]
    total: int  # including those that were skipped


def _placed(path: str, reading: Reading, tokeniser: Any = None, gold: bool = False) -> Gold:
    """Read labelled sequences and record the positions of unreadable ones.

    Of a review file with gold segments, only the marked rows are used.
    """
    corpus = read(path, reading, tokeniser=tokeniser)
    documents = listed(corpus, path)
    report_notes(corpus, path)
    left_out = set(corpus.notes.skipped_at)
    total = len(documents) + len(left_out)
    read_at = [i for i in range(total) if i not in left_out]
    places = [i for i, one in zip(read_at, documents, strict=True) if one.known is None]
    whole = labelled(documents, path)
    if gold and corpus.columns is not None and is_review(names := corpus.columns.names):
        place = dict(zip(map(id, whole), places, strict=True))
        whole = used_rows(whole, names, path)
        places = [place[id(one)] for one in whole]
    return Gold(whole, places, total)


def gold_of(path: str, reading: Reading, *systems: System) -> Gold:
    """Return the labelled sequences of a file, tokenised as all compared models do."""
    if is_model(path):
        raise InvalidInput(
            place=path, got="a model", expected="labelled sequences", remedy="give a corpus"
        )
    models = [system for system in systems if system.model is not None]
    first: Any = models[0].model.tokeniser_ if models else None
    if models:
        reading = as_trained(path, reading, models[0].model)
    gold = _placed(path, reading, first, gold=True)
    for other in models[1:]:
        cutter = other.model.tokeniser_
        if reading.tokeniser is None and Tokeniser.of(cutter) != Tokeniser.of(first):
            again = None if path == "-" else read(path, reading, tokeniser=cutter)
            if _cut_otherwise(gold.documents, again):
                raise InvalidInput(
                    place=other.path,
                    got=f"a model that cuts text by {cutter!r}",
                    expected=f"{first!r}, as {models[0].path} cuts {path}",
                    remedy="give sequences that are cut into tokens, or predictions of both on "
                    "the same tokens",
                )
    for system in models:
        _warn_of_labels(path, gold.documents, system)
    return gold


def _warn_of_labels(path: str, gold: list[Document], system: System) -> None:
    """Warn of gold labels that a model never predicts."""
    known = system.model.labels_
    counts = Counter(s.label for document in gold for s in document.segments or ())
    for label in [label for label in counts if label not in known][:MOST_LABELS]:
        near = difflib.get_close_matches(label, known, 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"it knows {', '.join(known)}"
        some = counted(counts[label], "segment")
        warn(f"{path}: {some} with the label {label!r}, which {system.path} never finds; {remedy}")


def _cut_otherwise(gold: list[Document], again: Iterable[Document] | None) -> bool:
    """Return whether another tokeniser would change the tokens; True if that is unknown."""
    if again is None:
        return any(document.text is not None for document in gold)
    tokens = (document.tokens for document in again)
    try:
        return [document.tokens for document in gold] != list(tokens)
    except InvalidInput:  # spans that are not tokens of the other file
        return True


def _in_parts(
    ask: Callable[[list[Document]], list[Any]], gold: list[Document], name: str
) -> list[Any]:
    """Return the predictions for the sequences of the file `name`, with progress."""
    found: list[Any] = []
    with Ticker(stage="segmenting", total=len(gold)) as ticker:
        for first in range(0, len(gold), PART):
            with naming(name, first=first):
                found += ask(gold[first : first + PART])
            ticker(len(found))
    return found


class System:
    """A model, or a file with its predictions.

    Parameters
    ----------
    path : str
        One or the other.
    threads : int, optional
        Of a model.
    trust : bool
        Whether to import the functions that a model names.
    bias : float, optional
        The outside bias of a model, in place of its own.
    """

    def __init__(
        self,
        path: str,
        threads: int | None = None,
        trust: bool = False,
        bias: float | None = None,
    ) -> None:
        self.path = path
        self.model: Any = None
        if is_model(path):
            self.model = load_model(path, threads, trust=trust, outside_bias=bias)

    def confident(self, gold: list[Document], name: str) -> tuple[Found, list[list[float]]]:
        """Return the predicted segments of a model with their probabilities."""
        answers = _in_parts(lambda some: confident(self.model, some), gold, name)
        segments = [[one.segment for one in some] for some in answers]
        return segments, [[one.probability for one in some] for some in answers]

    def segments(self, gold: Gold, name: str, reading: Reading) -> list[list[Segment] | None]:
        """Return the predicted segments of each sequence; errors name the file `name`.

        None stands for a prediction that was left out because it cannot be read.
        """
        if self.model is not None:
            return _in_parts(self.model.predict, gold.documents, name)
        own = _placed(self.path, reading)
        places = gold.places
        if own.total != gold.total:  # records skipped in gold may be absent from the predictions
            own = own._replace(places=list(range(len(own.documents))))
            places = list(range(len(gold.documents)))
            same_number(gold.documents, own.documents, (name, self.path))
        said = dict(zip(own.places, own.documents, strict=True))
        for i, (place, document) in enumerate(zip(places, gold.documents, strict=True), 1):
            if place in said:
                same_tokens(document, said[place], i, (name, self.path))
        answers = (said.get(place) for place in places)
        return [None if one is None else list(one.segments or ()) for one in answers]


def answered(
    gold: list[Document], *systems: list[list[Segment] | None]
) -> tuple[list[Document], list[Found]]:
    """Return the sequences for which every system has a prediction, and the predictions.

    Examples
    --------
    >>> ann, bob = Document(("Ann",)), Document(("Bob",))
    >>> kept, (one, two) = answered([ann, bob], [[], []], [None, []])
    >>> [document.tokens for document in kept], one, two
    ([('Bob',)], [[]], [[]])
    """
    rows = [row for row in zip(gold, *systems, strict=True) if None not in row]
    left_out = len(gold) - len(rows)
    if left_out:
        warn(f"skipped {counted(left_out, 'sequence')} that cannot be read in one of the files")
    if not rows:
        raise InvalidInput(
            got="no sequence that can be read in all files", remedy="correct the files"
        )
    documents, *found = (list(column) for column in zip(*rows, strict=True))
    return documents, found
