"""Choice of the tokeniser for training data, from its spans unless an option names one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from caesura.cli.model_settings import Choices
from caesura.cli.output import note
from caesura.cli.progress import listed
from caesura.cli.reading import Reading, labelled, read, report_notes
from caesura.cli.review_file import is_review, used_rows
from caesura.documents import Document
from caesura.documents.tokeniser_fitting import Fitting, recut

__all__ = ["Tokens"]


class Tokens:
    """The tokeniser of several files: given by an option, or chosen to fit their spans.

    Parameters
    ----------
    reading : Reading
        The options.
    choices : dict
        What was chosen, perhaps with a tokeniser.
    """

    def __init__(self, reading: Reading, choices: Choices) -> None:
        self.cutter: Any = choices.get("tokeniser")  # the tokeniser with which readers begin
        free = self.cutter is None and reading.align == "strict"
        self.fitting = Fitting() if free else None
        self._place = ""  # place of the span that required the chosen one

    @property
    def chosen(self) -> Any:
        """The tokeniser that the spans require; None if it is the given one, or words."""
        return None if self.fitting is None or not self.fitting.level else self.fitting.tokeniser

    @property
    def cause(self) -> str:
        """The reason for the chosen tokeniser, with the place."""
        return "" if self.fitting is None else f"{self.fitting.reason} ({self._place})"

    def documents(self, corpus: Any, path: str) -> Iterator[Document]:
        """Read a corpus, with each text tokenised to fit its spans."""
        before = 0 if self.fitting is None else self.fitting.level
        for i, document in enumerate(corpus.fitted(self.fitting), 1):
            if self.fitting is not None and self.fitting.level > before:
                before = self.fitting.level
                self._place = f"{'standard input' if path == '-' else path}, sequence {i}"
            yield document

    def read(self, path: str, reading: Reading, in_part: bool = False) -> list[Document]:
        """Return all labelled documents of a file, and report skipped records.

        Those that are labelled only in part are kept if `in_part`. Of a review file, only the
        marked rows are returned.
        """
        corpus = read(path, reading, tokeniser=self.cutter)
        documents = listed(self.documents(corpus, path), path)
        report_notes(corpus, path)
        whole = labelled(documents, path, in_part)
        names = () if corpus.columns is None else corpus.columns.names
        return used_rows(whole, names, path) if is_review(names) else whole

    def settled(self, documents: Iterable[Document]) -> list[Document]:
        """Return all documents with the same tokeniser; call this after reading all of them."""
        if self.chosen is None:
            return list(documents)
        return [recut(document, self.chosen) for document in documents]

    def stream(self, corpus: Any) -> Any:
        """Return a corpus that uses the same tokeniser on every pass."""
        return corpus if self.chosen is None else corpus.cut_by(self.chosen)

    def settle(self, choices: Choices) -> None:
        """Record and print the chosen tokeniser, unless it is words."""
        if self.fitting is None or self.chosen is None:
            return
        choices["tokeniser"] = self.chosen
        note(
            f"tokens are {self.chosen}, not words, because {self.cause}; to change that, pass "
            "--tokeniser or --align"
        )
