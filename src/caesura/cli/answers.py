"""Gold sequences and what a system says about them, whether that is a file or a model."""

from __future__ import annotations

from typing import Any

from caesura.cli.measuring import same_sequences
from caesura.cli.reading import Reading, is_model, labelled, load_model, naming, read_all
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.segments import Segment

__all__ = ["Found", "System", "gold_of"]

Found = list[list[Segment]]  # of each sequence


def gold_of(path: str, reading: Reading, *systems: System) -> list[Document]:
    """Return the labelled sequences of a file, cut as the first model among the systems cuts."""
    if is_model(path):
        raise InvalidInput(f"{path}: got a model, expected labelled sequences; give a corpus")
    cutters = [system.model.tokeniser for system in systems if system.model is not None]
    return labelled(read_all(path, reading, tokeniser=(cutters or [None])[0]), path)


class System:
    """A model, or a file with its predictions.

    Parameters
    ----------
    path : str
        One or the other.
    threads : int, optional
        Of a model.
    """

    def __init__(self, path: str, threads: int | None = None) -> None:
        self.path = path
        self.model: Any = load_model(path, threads) if is_model(path) else None

    def confident(self, gold: list[Document], name: str) -> tuple[Found, list[list[float]]]:
        """Return what a model says, and how sure it is of each segment."""
        with naming(name):
            answers = self.model.predict_confident(gold)
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
