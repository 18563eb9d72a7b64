"""Gold sequences and what a system says about them, whether that is a file or a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from caesura.cli.measuring import same_sequences
from caesura.cli.output import warn
from caesura.cli.reading import Reading, is_model, labelled, load_model, naming, read, read_all
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput
from caesura.segments import Segment

__all__ = ["Found", "System", "confident", "gold_of"]

Found = list[list[Segment]]  # of each sequence
_REMARKED: WeakSet[Any] = WeakSet()  # models whose warnings have been shown


def confident(model: Any, documents: list[Document], **options: Any) -> list[list[Any]]:
    """Return segments with probabilities; what the library warns of is shown once for a model."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found: list[list[Any]] = model.predict_confident(documents, **options)
    if caught and model not in _REMARKED:
        _REMARKED.add(model)
        for text in dict.fromkeys(str(one.message) for one in caught):
            warn(text)
    return found


def gold_of(path: str, reading: Reading, *systems: System) -> list[Document]:
    """Return the labelled sequences of a file, cut as all models among the systems cut."""
    if is_model(path):
        raise InvalidInput(f"{path}: got a model, expected labelled sequences; give a corpus")
    models = [system for system in systems if system.model is not None]
    first: Any = models[0].model.tokeniser_ if models else None
    gold = labelled(read_all(path, reading, tokeniser=first), path)
    for other in models[1:]:
        cutter = other.model.tokeniser_
        if reading.tokeniser is None and Tokeniser.of(cutter) != Tokeniser.of(first):
            again = None if path == "-" else read(path, reading, tokeniser=cutter)
            if _cut_otherwise(gold, again):
                raise InvalidInput(
                    f"{other.path}: got a model that cuts text by {cutter!r}, expected {first!r}, "
                    f"as {models[0].path} cuts {path}; give sequences that are cut into tokens, or "
                    "predictions of both on the same tokens"
                )
    return gold


def _cut_otherwise(gold: list[Document], again: Iterable[Document] | None) -> bool:
    """Say whether another tokeniser makes other tokens; of what cannot be read again, it may."""
    if again is None:
        return any(document.text is not None for document in gold)
    tokens = (document.tokens for document in again)
    try:
        return [document.tokens for document in gold] != list(tokens)
    except InvalidInput:  # spans that are no tokens of the other
        return True


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
    """

    def __init__(self, path: str, threads: int | None = None, trust: bool = False) -> None:
        self.path = path
        self.model: Any = load_model(path, threads, trust=trust) if is_model(path) else None

    def confident(self, gold: list[Document], name: str) -> tuple[Found, list[list[float]]]:
        """Return what a model says, and how sure it is of each segment."""
        with naming(name):
            answers = confident(self.model, gold)
        segments = [[one.segment for one in some] for some in answers]
        return segments, [[one.probability for one in some] for some in answers]

    def segments(self, gold: list[Document], name: str, reading: Reading) -> Found:
        """Return what it says about sequences, which come from the file `name`."""
        if self.model is not None:
            with naming(name):
                found: Found = self.model.predict(gold)
            return found
        documents = labelled(read_all(self.path, reading), self.path)
        same_sequences(gold, documents, (name, self.path))
        return [list(document.segments or ()) for document in documents]
