"""Progress display: one updating line on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeVar

import typer

from caesura.cli.output import visible

__all__ = ["Quiet", "Ticker", "hush", "listed", "showing"]

D = TypeVar("D")  # a document

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]


@contextlib.contextmanager
def showing() -> Iterator[None]:
    """Show progress even without a terminal."""
    from caesura.learning.progress import PROGRAM

    token = PROGRAM.set("program")
    try:
        yield
    finally:
        PROGRAM.reset(token)


class Ticker:
    """Show on stderr how many sequences are done, their share, and the time left.

    Off a terminal that is a line every few seconds. It takes two seconds before anything is shown
    there, and with --quiet nothing is.

    Parameters
    ----------
    show : bool, optional
        Whether to show anything; by default unless --quiet is given.
    what : str
        What is counted.
    stage : str
        What is being done, as "reading train.jsonl".
    total : int, optional
        How many there are.

    Examples
    --------
    >>> with Ticker(show=False) as ticker:
    ...     ticker(1000)
    """

    def __init__(
        self,
        show: bool | None = None,
        what: str = "sequences",
        stage: str = "",
        total: int | None = None,
    ) -> None:
        from caesura.learning.progress import Stage

        self._stage = Stage(visible(stage), total, show, what)

    def __enter__(self) -> Ticker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stage.close()

    def __call__(self, count: int, more: str = "", share: float | None = None) -> None:
        """Update the displayed count."""
        self._stage.done(count, visible(more), share)


def hush(quiet: bool) -> None:
    """Disable progress for the rest of the command, if `quiet` is set."""
    if quiet:
        from caesura.learning.progress import PROGRAM

        PROGRAM.set("quiet")


def listed(corpus: Iterable[D], path: str | os.PathLike[str]) -> list[D]:
    """Read all documents of a corpus and show progress.

    Examples
    --------
    >>> listed(iter(["a document"]), "names.jsonl")
    ['a document']
    """
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    documents: list[D] = []
    from caesura.corpora.reading_progress import metered

    with metered() as meter, Ticker(stage=f"reading {name}") as ticker:
        for document in corpus:
            documents.append(document)
            if len(documents) % 256 == 0:
                ticker(len(documents), share=meter.share())
    return documents
