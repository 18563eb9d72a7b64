"""``caesura segment --executor``: many files at once, in parts."""

from __future__ import annotations

import os
import posixpath
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orjson import loads as json_of

from caesura.cli.executor_options import Workers, engine
from caesura.cli.model_files import model_file
from caesura.cli.output import emit, note, warn
from caesura.cli.progress import Ticker
from caesura.cli.reading import Reading, options_of
from caesura.cli.remedies import reworded_text, with_options_of_load
from caesura.corpora.detection import SUFFIXES
from caesura.corpora.files import unpacked_suffix
from caesura.errors import CaesuraError, InvalidInput, counted, message

if TYPE_CHECKING:
    from caesura.scale import Manifest

__all__ = ["failures", "inputs_of", "part_options", "put_aside", "segment_many"]

BAD = ".bad.jsonl"  # suffix of files with skipped records
FORMS = ("jsonl", "conll", "csv", "parquet", "xlsx", "text")
SHOWN = 3  # failures listed in an error


def segment_many(
    model: Path,
    where: tuple[str, str],
    to: str,
    trust: bool,
    reading: Reading,
    workers: Workers,
    json: bool,
) -> None:
    """Segment the files of a pattern into a folder; raise if some of them failed."""
    pattern, folder = where
    if to not in FORMS:
        raise InvalidInput(message("--to", to, f"one of {', '.join(FORMS)}", "pass one of them"))
    if pattern == "-" or folder == "-":
        came = "the standard input" if pattern == "-" else "no output"
        raise InvalidInput(
            place="--executor",
            got=came,
            expected="input files and an output folder",
            remedy="for example: caesura segment MODEL 'new/*.txt' -o segmented --executor 2",
        )
    file, paths = model_file(model), inputs_of(pattern)
    _check_folder(folder, paths)
    options = _options(paths, reading)
    from caesura.scale import segment_files

    began = time.perf_counter()
    with Ticker(what="parts", stage="segmenting") as ticker, engine(workers) as one:
        finished: list[Any] = []

        def progress(part: Any, total: int) -> None:
            finished.append(part)
            ticker(len(finished), share=len(finished) / total)

        made = segment_files(
            file,
            paths,
            folder,
            to=to,
            executor=one,
            trust=trust,
            progress=progress,
            **part_options(workers.part_size),
            **options,
        )
    _report(made, time.perf_counter() - began, json)


def inputs_of(pattern: str) -> list[str]:
    """Return the files that match a path or URL with wildcards."""
    from caesura.scale.places import matching

    found = matching(pattern)
    if not found:
        expected = "a file, or a pattern that matches files"
        remedy = "check the path, and put patterns in quotes"
        raise InvalidInput(message("INPUT", pattern, expected, remedy))
    return found


def part_options(size: float | None) -> dict[str, Any]:
    """Return the part size as keyword arguments of the library, if one is given."""
    if size is not None and not size > 0:
        expected = "a number of megabytes above 0"
        raise InvalidInput(message("--part-size", size, expected, "pass for example 16"))
    return {} if size is None else {"part_size": size}


def _check_folder(folder: str, paths: list[str]) -> None:
    """Raise if the output folder is not writable or contains input files."""
    if os.path.isfile(folder):
        raise InvalidInput(
            place="--output",
            got=f"the file {folder}",
            expected="a folder for --executor",
            remedy="name a folder",
        )
    if _place(folder) in {_place(os.path.dirname(path) or ".") for path in paths}:
        raise InvalidInput(
            place="--output",
            got=f"{folder}, which contains the input files",
            expected="another folder for the output",
            remedy="name a new folder",
        )


def _place(folder: str) -> str:
    """Return the normalised name of a folder."""
    return folder.rstrip("/") if "://" in folder else os.path.realpath(folder)


def _options(paths: list[str], reading: Reading) -> dict[str, Any]:
    """Return the reading options of all files, or raise if the files need different ones."""
    found: dict[str, Any] | None = None
    for path in paths:
        _check_form(path, reading)
        mine = options_of(path, reading, None, "text", ())
        found = mine if found is None else found
        if mine != found:
            expected = f"a file in the same format as {paths[0]}"
            raise InvalidInput(message("INPUT", path, expected, "segment it by itself"))
    left = {"on_error"} | ({"tokeniser"} if reading.tokeniser in (None, "auto") else set())
    return {name: value for name, value in (found or {}).items() if name not in left}


def _check_form(path: str, reading: Reading) -> None:
    """Raise if the name of a remote file does not determine its format."""
    known = (*SUFFIXES, ".txt")
    if "://" in path and reading.format is None and unpacked_suffix(path) not in known:
        name = posixpath.basename(path)
        expected = "a file name with a known suffix"
        raise InvalidInput(message("INPUT", name, expected, "pass --format"))


def _report(made: Manifest, seconds: float, json: bool) -> None:
    """Print a summary of the run; raise if some files failed."""
    there = sum(part.skipped for part in made.parts)
    fresh = sum(part.sequences for part in made.parts if not part.skipped)
    bad = sum(part.quarantined for part in made.parts)
    if json:
        emit(made.as_json() | {"output": made.folder, "seconds": round(seconds, 3)})
    else:
        pace = f" ({fresh / seconds:,.0f} in a second)" if seconds > 1 and fresh else ""
        cut = f"{counted(made.sequences, 'sequence')} in {counted(len(made.parts), 'part')}"
        already = f", {there:,} of them finished before" if there else ""
        note(f"{cut}{already}{pace}: {made.folder}")
    if bad:
        where = next(part.output for part in made.parts if part.quarantined)
        put_aside(bad, where + BAD, made.sequences)
    if not made.sequences and not made.failed and not bad:
        warn("got no sequences; are the files empty?")
    problems = [(one.input, one.failure or "") for one in made.failed]
    if problems:
        raise failures(problems, len(made.parts), "part")


def put_aside(count: int, place: str, good: int) -> None:
    """Warn about quarantined records and show the first; raise if nothing else was read."""
    from caesura.scale.places import read_text

    first = json_of(read_text(place).partition("\n")[0])
    remedy = first.get("remedy") or ""  # a file of an earlier version may have none
    error = first["error"].removesuffix(remedy) + reworded_text(remedy)
    said = f"{counted(count, 'record')} cannot be read or segmented, for example {error}"
    if not good:
        raise CaesuraError(f"got no good records: {said}", remedy=f"see all errors in {place}")
    warn(f"{said}; they are in {os.path.dirname(place)}/*{BAD}")


def failures(problems: list[tuple[str, str]], count: int, noun: str) -> CaesuraError:
    """Return an error that lists the first failed files and the reasons."""
    shown = [(name, _reworded(why)) for name, why in problems[:SHOWN]]
    texts = [why if why.startswith(name) else f"{name}: {why}" for name, why in shown]
    more = "; ..." if len(problems) > SHOWN else ""
    return CaesuraError(
        f"{len(problems):,} of {counted(count, noun)} failed: {'; '.join(texts)}{more}",
        remedy=f"correct them, and run the same command again: finished {noun}s are kept",
    )


def _reworded(failure: str) -> str:
    """Return why a part failed, with options in place of arguments."""
    error = getattr(failure, "error", None)
    return failure if error is None else str(with_options_of_load(error))
