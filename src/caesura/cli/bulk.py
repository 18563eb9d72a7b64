"""``caesura segment --executor``: many files at once, each to a file of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caesura.cli.model_files import load_model
from caesura.cli.output import emit, note, warn
from caesura.cli.progress import Ticker
from caesura.cli.reading import Reading, options_of
from caesura.cli.scaling import Workers, engine, expanded
from caesura.errors import CaesuraError, InvalidInput, counted, message
from caesura.ready import resolve

if TYPE_CHECKING:
    from caesura.scale import Manifest

__all__ = ["segment_many"]

FORMS = ("jsonl", "conll", "csv", "parquet", "xlsx", "text")
SHOWN = 3  # failures that an error lists


def segment_many(
    model: Path,
    places: tuple[str, str],
    to: str,
    trust: bool,
    reading: Reading,
    workers: Workers,
    json: bool,
) -> None:
    """Segment the files of a pattern into a folder; raise if some of them failed."""
    pattern, folder = places
    if to not in FORMS:
        raise InvalidInput(message("--to", to, f"one of {', '.join(FORMS)}", "pass one of them"))
    if pattern == "-" or folder == "-":
        came = "the standard input" if pattern == "-" else "no output"
        raise InvalidInput(
            f"--executor: got {came}, expected files and a folder, as 'new/*.txt' -o segmented"
        )
    loaded = load_model(model, trust=trust)
    paths = expanded([pattern], "INPUT")
    _check_folder(folder, paths)
    options = _options(paths, reading, loaded.tokeniser_)
    from caesura.scale import segment_files

    began = time.perf_counter()
    with (
        Ticker(what="files", stage="segmenting", total=len(paths)) as ticker,
        engine(workers) as one,
    ):
        finished: list[Any] = []

        def progress(part: Any) -> None:
            finished.append(part)
            ticker(len(finished))

        made = segment_files(
            resolve(model),
            paths,
            folder,
            to=to,
            executor=one,
            trust=trust,
            progress=progress,
            **options,
        )
    _report(made, time.perf_counter() - began, json)


def _check_folder(folder: str, paths: list[str]) -> None:
    """Raise if parts cannot be written, or would be among the input files."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InvalidInput(f"--output: got the file {folder}, expected a folder for --executor")
    places = {os.path.realpath(os.path.dirname(path) or ".") for path in paths}
    if os.path.realpath(folder) in places:
        raise InvalidInput(
            f"--output: got {folder}, which has the input files, expected a folder of its own; "
            "choose another"
        )


def _options(paths: list[str], reading: Reading, tokeniser: Any) -> dict[str, Any]:
    """Return how all files are read, or raise if some need other options."""
    found = options_of(paths[0], reading, tokeniser, "text", ())
    for path in paths[1:]:
        if options_of(path, reading, tokeniser, "text", ()) != found:
            expected = f"a file in the same format as {paths[0]}"
            raise InvalidInput(message("INPUT", path, expected, "segment it by itself"))
    return {name: value for name, value in found.items() if name != "on_error"}


def _report(made: Manifest, seconds: float, json: bool) -> None:
    """Say how much was done; raise if some files failed."""
    there = sum(part.skipped for part in made.parts)
    fresh = sum(part.sequences for part in made.parts if not part.skipped)
    bad = sum(part.quarantined for part in made.parts)
    if json:
        emit(made.as_json() | {"output": made.folder, "seconds": round(seconds, 3)})
    else:
        pace = f" ({fresh / seconds:,.0f} in a second)" if seconds > 1 and fresh else ""
        cut = f"{counted(made.sequences, 'sequence')} in {counted(len(made.parts), 'file')}"
        already = f", {there:,} of them finished before" if there else ""
        note(f"{cut}{already}{pace}: {made.folder}")
    if bad:
        warn(f"{counted(bad, 'record')} cannot be segmented: {made.folder}/*.bad.jsonl")
    if made.failed:
        shown = "; ".join(f"{one.input}: {one.failure}" for one in made.failed[:SHOWN])
        more = "; ..." if len(made.failed) > SHOWN else ""
        raise CaesuraError(
            f"{len(made.failed):,} of {counted(len(made.parts), 'file')} failed: {shown}{more}; "
            "correct them, and run the same command again: finished files are kept"
        )
