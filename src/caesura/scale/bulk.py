"""Segment many files: one output part for each input file, which can be made again at any time.

An engine may run a task twice, or kill it at any moment.  So a part has a name that depends on its
input alone and is put in its place whole, and a small file beside it says what it was made from.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from caesura import corpora
from caesura.corpora.corpus import KEPT
from caesura.corpora.files import Source, writing
from caesura.documents import Document
from caesura.errors import CaesuraError, InvalidInput, message
from caesura.executors import opened
from caesura.models import load

__all__ = ["Manifest", "Part", "segment_files"]

BATCH = 1000  # sequences that are segmented at a time
MANIFEST = "manifest.json"
_LINE = re.compile(r", line (\d+)")


class Part(NamedTuple):
    """One input file, and what has become of it.

    Examples
    --------
    >>> Part("a.txt", "a.txt.jsonl", sequences=3).failure is None
    True
    """

    input: str
    output: str
    sequences: int = 0  # that were segmented
    segments: int = 0
    quarantined: int = 0  # records that cannot be read or segmented
    skipped: bool = False  # it was there already
    failure: str | None = None  # why there is no output


class Manifest(NamedTuple):
    """What a run has done; the file manifest.json of its folder says the same.

    Examples
    --------
    >>> parts = (Part("a", "a.jsonl", 3, 5), Part("b", "b.jsonl", failure="no such file"))
    >>> manifest = Manifest("out", parts)
    >>> manifest.sequences, [part.input for part in manifest.failed]
    (3, ['b'])
    """

    folder: str
    parts: tuple[Part, ...]

    @property
    def sequences(self) -> int:
        """The number of sequences in all parts."""
        return sum(part.sequences for part in self.parts)

    @property
    def failed(self) -> tuple[Part, ...]:
        """The parts that have no output."""
        return tuple(part for part in self.parts if part.failure is not None)

    def as_json(self) -> dict[str, Any]:
        """Return what the file has."""
        names = ("sequences", "segments", "quarantined")
        totals = {name: sum(getattr(part, name) for part in self.parts) for name in names}
        totals["failed"] = len(self.failed)
        return totals | {"parts": [part._asdict() for part in self.parts]}


class _Task(NamedTuple):
    """What workers are told."""

    model: str
    folder: str
    to: str
    options: Mapping[str, Any]  # of the reader
    trust: bool
    threads: int | None  # of the kernels


def segment_files(
    model: str | os.PathLike[str],
    paths: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    to: str = "jsonl",
    executor: Any = None,
    trust: bool = False,
    progress: Callable[[Part], object] | None = None,
    **options: Any,
) -> Manifest:
    r"""Segment the sequences of many files, and write a file for each of them.

    A run that was stopped, or in which workers died, can be repeated: parts that are complete, and
    whose input and model have not changed, are left as they are.  Records that cannot be read or
    segmented go to a file of their own, ``OUTPUT.bad.jsonl``.  A file that fails does not keep the
    others from being finished.

    Parameters
    ----------
    model : path
        A model file, which all workers can open.
    paths : iterable of paths
        The files, as `caesura.corpora.read` takes them; each part has the name of its file.
    folder : path
        Where the parts, and ``manifest.json`` with counts and failures, are written.
    to : {"jsonl", "conll", "csv", "parquet", "xlsx", "xml", "text"}
        The format of the parts.
    executor : None, int, Client, "ray" or Executor
        Who works on the files; see `opened`.
    trust : bool
        Whether the model may run code of its own, as in `caesura.load`.
    progress : callable, optional
        Called with each `Part` when it is finished, in the order of `paths`.
    **options
        Options of `caesura.corpora.read`, as ``format`` or ``text``.

    Returns
    -------
    Manifest
        What was done.

    Examples
    --------
    >>> import os, tempfile, caesura
    >>> from caesura.demo import addresses
    >>> with tempfile.TemporaryDirectory() as place:
    ...     file, out = os.path.join(place, "model"), os.path.join(place, "out")
    ...     caesura.SemiCRF(max_iterations=5).fit(addresses(30)).save(file)
    ...     some = os.path.join(place, "new.txt")
    ...     with open(some, "w") as text:
    ...         _ = text.write("12 High Street Leeds\n7 Park Lane York\n")
    ...     first = segment_files(file, [some], out)
    ...     again = segment_files(file, [some], out)
    ...     sorted(os.listdir(out))
    ['manifest.json', 'new.txt.jsonl', 'new.txt.jsonl.part.json']
    >>> first.sequences, first.parts[0].skipped, again.parts[0].skipped
    (2, False, True)
    """
    if to not in corpora.FORMATS or to == "brat":
        known = ", ".join(name for name in corpora.FORMATS if name != "brat")
        raise InvalidInput(message("to", to, f"one of {known}", "pass one of them"))
    names = [os.fspath(path) for path in paths]
    _check_names(names)
    loaded = load(model, trust=trust)
    options.setdefault("tokeniser", loaded.tokeniser_)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    threads = loaded.get_params().get("n_threads") if executor is None else 1
    task = _Task(os.fspath(model), os.fspath(place), to, options, trust, threads)
    parts = []
    with opened(executor) as engine:
        for part in engine.map(partial(_part, task), names):
            parts.append(part)
            if progress is not None:
                progress(part)
    manifest = Manifest(os.fspath(place), tuple(parts))
    with writing(place / MANIFEST) as file:
        json.dump(manifest.as_json(), file, indent=1)
    return manifest


def _check_names(names: list[str]) -> None:
    """Raise if two files would have the same part."""
    if not names:
        raise InvalidInput("paths: got none, expected at least one file; give some")
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(os.path.basename(name), name)
        if other != name or names.count(name) > 1:
            expected = "files with different names, by which parts are called"
            raise InvalidInput(message("paths", name, expected, f"rename it, or {other}"))


@lru_cache(maxsize=2)
def _loaded(path: str, crc: int, trust: bool, threads: int | None) -> Any:
    """Return a model, which a process reads once."""
    model = load(path, trust=trust)
    return model.set_params(n_threads=threads) if "n_threads" in model.get_params() else model


def _crc(path: str) -> int:
    with open(path, "rb") as file:
        return zlib.crc32(file.read())


def _part(task: _Task, path: str) -> Part:
    """Segment one file, unless that was done before."""
    output = os.path.join(task.folder, f"{os.path.basename(path)}.{task.to}")
    try:
        known = _made_of(task, path)
        before = _before(output, known)
        if before is not None:
            return before
        part = _written(task, path, output)
        with writing(f"{output}.part.json") as file:
            json.dump({"made_of": known, "part": part._asdict()}, file)
        return part
    except Exception as error:
        said = str(error) if isinstance(error, CaesuraError) else f"{type(error).__name__}: {error}"
        return Part(path, output, failure=said)


def _made_of(task: _Task, path: str) -> dict[str, Any]:
    """Return what tells whether a part is still good."""
    about = os.stat(path)
    options = repr(sorted(task.options.items()))
    return {"size": about.st_size, "time": about.st_mtime_ns, "model": _crc(task.model)} | {
        "options": options
    }


def _before(output: str, known: dict[str, Any]) -> Part | None:
    """Return the part of an earlier run, if it is complete and of the same input and model."""
    try:
        with open(f"{output}.part.json", encoding="utf-8") as file:
            found = json.load(file)
        if found["made_of"] == known and os.path.exists(output):
            return Part(**found["part"])._replace(skipped=True)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _written(task: _Task, path: str, output: str) -> Part:
    """Segment one file."""
    model = _loaded(task.model, _crc(task.model), task.trust, task.threads)
    corpus = corpora.read(path, on_error="skip", **task.options)
    bad: list[dict[str, Any]] = []
    counts = [0, 0]

    def answers() -> Iterator[Document]:
        documents = iter(corpus)
        while some := list(islice(documents, BATCH)):
            for document, segments in _segmented(model, some, bad):
                counts[0] += 1
                counts[1] += len(segments)
                yield replace(document, segments=tuple(segments))

    kept = KEPT.set(2**62)
    try:
        corpora.write(output, answers(), task.to)
    finally:
        KEPT.reset(kept)
    bad = _records(path, corpus.notes.skipped) + bad
    _quarantine(f"{output}.bad.jsonl", bad)
    return Part(path, output, counts[0], counts[1], len(bad))


def _segmented(
    model: Any, documents: list[Document], bad: list[dict[str, Any]]
) -> list[tuple[Document, Any]]:
    """Return documents with their segments; one by one if one of them has none."""
    try:
        return list(zip(documents, model.predict(documents), strict=True))
    except CaesuraError as error:
        if len(documents) == 1:
            text = documents[0].text
            record = " ".join(documents[0].tokens) if text is None else text
            bad.append({"error": str(error), "record": record})
            return []
    return [found for one in documents for found in _segmented(model, [one], bad)]


def _records(path: str, errors: Iterable[str]) -> list[dict[str, Any]]:
    """Return the lines that errors are about, where they name them."""
    found: list[dict[str, Any]] = [{"error": one, "line": _line_of(one)} for one in errors]
    wanted = {one["line"] for one in found if one["line"] is not None}
    lines = {}
    if wanted:
        with Source(path).opened() as file:
            lines = {n: line for n, line in enumerate(file, 1) if n in wanted}
    for one in found:
        raw = lines.get(one["line"])
        one["record"] = None if raw is None else raw.decode("utf-8", "replace").rstrip("\r\n")
    return found


def _line_of(error: str) -> int | None:
    named = _LINE.search(error)
    return None if named is None else int(named[1])


def _quarantine(path: str, bad: list[dict[str, Any]]) -> None:
    """Write the records that were left out; no file if there are none."""
    if not bad:
        Path(path).unlink(missing_ok=True)
        return
    with writing(path) as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in bad)
