"""Output: results on stdout, notes and errors on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from caesura.cli.remedies import with_options
from caesura.errors import CaesuraError, InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Json",
    "Wrong",
    "check_apart",
    "check_output",
    "emit",
    "fail",
    "near_file",
    "note",
    "reporting",
    "say",
    "silence",
    "table",
    "visible",
    "warn",
    "written",
]

Json = Annotated[bool, typer.Option("--json", help="Print only JSON to the standard output.")]
Wrong: type[Exception] = typer.BadParameter.__mro__[2]  # base class of all usage errors
WIDE = 1000  # columns if no terminal breaks lines
DEBUG = "CAESURA_DEBUG"


# ---- results -------------------------------------------------------------------------------------


def say(line: str = "", style: str | None = None) -> None:
    """Print a line of text on stdout.

    Examples
    --------
    >>> say("3 sequences")
    3 sequences
    """
    console = _console(sys.stdout)
    with console.capture() as captured:
        console.print(visible(line), style=style, soft_wrap=True)
    _put(captured.get())


def emit(data: Any) -> None:
    """Print a machine-readable result on stdout.

    Examples
    --------
    >>> emit({"f1": 0.5, "worst": float("nan")})
    {"f1": 0.5, "worst": null}
    """
    _put(json.dumps(_finite(data), ensure_ascii=False) + "\n")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with a header on stdout; numbers are aligned right.

    Examples
    --------
    >>> table(["label", "segments"], [["author", 12], ["year", 7]])
    label   segments
    author        12
    year           7
    """
    from rich.table import Table
    from rich.text import Text

    shown = [[_cell(cell) for cell in row] for row in rows]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for k, name in enumerate(header):
        numbers = all(_is_number(row[k]) for row in shown)
        grid.add_column(
            Text(_cell(name)),
            justify="right" if numbers and shown else "left",
            overflow="fold",
            no_wrap=numbers,
        )
    for row in shown:
        grid.add_row(*map(Text, row))
    console = _console(sys.stdout)
    with console.capture() as captured:
        console.print(grid)
    lines = captured.get().splitlines()
    _put("".join(f"{line.rstrip()}\n" for line in lines))


def _put(text: str) -> None:
    """Write to stdout; a closed pipe does not stop the remaining work."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def _is_number(cell: str) -> bool:
    bare = cell.strip().rstrip("%").replace(",", "").replace("±", "").replace(" ", "")
    try:
        float(bare or "0")
    except ValueError:
        return bare == "-"
    return True


def _cell(value: object) -> str:
    """Return a cell of a table, on one line."""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible(text: str) -> str:
    r"""Escape all control characters of a text except line ends and tabs.

    Labels, tokens and names of files come from whoever made the data, and may contain sequences
    that move the cursor, hide text or set the title of a window.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else c.encode("unicode_escape").decode() for c in text)


def _is_harmless(c: str) -> bool:
    """Return whether a character is safe to print, including spaces and joiners."""
    return c.isprintable() or c in "\n\t\u200c\u200d" or unicodedata.category(c) == "Zs"


def _finite(data: Any) -> Any:
    """Convert data for JSON: replace NaN, infinities and numpy types."""
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if hasattr(data, "tolist"):
        return _finite(data.tolist())
    if isinstance(data, float) and (data != data or abs(data) == float("inf")):
        return None
    return data if isinstance(data, str | int | float | bool | None) else str(data)


# ---- notes and errors ----------------------------------------------------------------------------


def note(line: str, style: str | None = None) -> None:
    """Print a line on stderr."""
    _console(sys.stderr).print(visible(line), style=style, soft_wrap=True)


def warn(line: str) -> None:
    """Print a warning on stderr."""
    note(f"warning: {line}", "yellow")


def fail(line: str, place: str = "caesura") -> None:
    """Print an error on stderr, as one line."""
    note(f"{place}: error: {' '.join(line.split())}", "red")


def silence() -> None:
    """Discard all further output because the reader has closed the pipe."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Convert exceptions into one line on stderr and an exit code, and warnings into one line each.

    1 is an error of the user or of the data, 130 an interruption; a reader that went away (as
    ``head`` does) is none.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *rest: warn(str(message))
            # `train` names the file and its options in place of this.
            warnings.filterwarnings("ignore", "columns: no feature looks at")
            yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        note("interrupted")
        raise typer.Exit(130) from None
    except (typer.Exit, typer.Abort, Wrong):
        raise
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exc()
        fail(_user_message(error))
        raise typer.Exit(1) from None


def check_output(path: str | os.PathLike[str], folder: bool = False) -> None:
    """Raise early if an output path cannot be written; `folder` allows a folder.

    Examples
    --------
    >>> check_output("no/such/folder/new.jsonl")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: no/such/folder/new.jsonl: is in a folder that does not exist; give
    the name of a file to write
    """
    name = os.fspath(path)
    if name == "-":
        return
    if name.lower().endswith(".json"):
        wrong = "got a name that ends in .json, but several objects are JSON lines"
        raise InvalidInput(wrong, place=name, remedy="give a name that ends in .jsonl")
    if os.path.isdir(name) and not folder:
        raise InvalidInput("is a folder", place=name, remedy="give the name of a file to write")
    if not os.path.isdir(os.path.dirname(os.path.abspath(name))):
        what = "is in a folder that does not exist"
        raise InvalidInput(what, place=name, remedy="give the name of a file to write")
    if not os.path.isdir(name):
        from caesura.corpora.temporary import check_writable

        check_writable(name)


def check_apart(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[object | None]
) -> None:
    """Raise if an output file is also an input file, or two output files are the same.

    Examples
    --------
    >>> check_apart(["new.jsonl"], ["old.jsonl", None])
    >>> try:
    ...     check_apart(["here/../old.jsonl"], ["old.jsonl"])
    ... except typer.BadParameter as error:
    ...     print(error)
    here/../old.jsonl would be written over old.jsonl, which is read; give the output another name
    """
    taken = {_identity(str(one)): (str(one), "read") for one in inputs if one not in (None, "-")}
    for one in outputs:
        if one is None or os.fspath(one) == "-" or _is_device(name := os.fspath(one)):
            continue
        if (same := _identity(name)) in taken:
            wrong = "{} would be written over {}, which is {}".format(name, *taken[same])
            raise typer.BadParameter(f"{wrong}; give the output another name")
        taken[same] = (name, "written too")


def _identity(name: str) -> object:
    """Return the identity of a file, equal for all of its names."""
    try:
        found = os.stat(name)
    except OSError:  # it does not exist yet
        return os.path.realpath(name)
    return found.st_dev, found.st_ino


def _is_device(name: str) -> bool:
    return os.path.exists(name) and not os.path.isfile(name)


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the output file in operating system errors.

    Examples
    --------
    >>> with written("new.jsonl"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'new.jsonl'
    """
    name = os.fspath(path)
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        beside = f".{os.path.basename(os.path.realpath(name))}."  # prefix of its temporary file
        own = error.filename is None or beside in os.fspath(error.filename)
        if error.strerror is None or not own:
            raise
        shown = "standard output" if name == "-" else name
        raise OSError(error.errno, error.strerror, shown) from error


def _user_message(error: Exception) -> str:
    """Return the message of an exception for users."""
    if isinstance(error, OSError) and error.strerror:
        from caesura.corpora.temporary import room_for

        name = f"{os.fspath(error.filename)}: " if error.filename else ""
        missing = isinstance(error, FileNotFoundError) and error.filename
        remedy = near_file(error.filename) if missing else room_for(error)
        return f"{name}{error.strerror.lower()}{remedy and f'; {remedy}'}"
    if isinstance(error, CaesuraError):
        return str(with_options(error))
    if isinstance(error, OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer sequences or smaller batches"
    kind = type(error).__name__
    return f"unexpected {kind}: {error}; this should not happen: set {DEBUG}=1 to see where it did"


def near_file(path: str | os.PathLike[str]) -> str:
    """Return a question that names a file beside a missing one; nothing if none has such a name.

    Examples
    --------
    >>> near_file(__file__.replace("output", "outputs")).endswith("output.py?")
    True
    """
    import difflib

    folder, name = os.path.split(os.fspath(path))
    try:
        near = difflib.get_close_matches(name, os.listdir(folder or "."), 1)
    except OSError:
        return ""
    return f"did you mean {os.path.join(folder, near[0])}?" if near else ""


def _console(stream: TextIO) -> Console:
    """Return a console that prints text without interpreting markup."""
    from rich.console import Console

    width = None if stream.isatty() else WIDE
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
