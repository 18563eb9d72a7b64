"""Options for parallel and distributed work."""

from __future__ import annotations

import glob
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caesura import corpora
from caesura.cli.reading import Reading, read
from caesura.documents.tokeniser_fitting import AUTO
from caesura.errors import CaesuraError, InvalidInput, MissingPackage, message

__all__ = ["FilePart", "Scaling", "TrialWorkers", "Workers", "check_alone", "check_parted"]
__all__ += ["engine", "expanded"]

CONNECT = 20  # seconds for a scheduler to answer


Executor = Annotated[
    str | None,
    typer.Option(
        "--executor",
        help="Use this many processes, or dask or ray, to work on the input files as parts; "
        "patterns such as 'shards/*.jsonl' are expanded. Default: work in this process.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Use the Dask scheduler or the Ray cluster at this address. Default: start one on "
        "this machine.",
    ),
]


PartSize = Annotated[
    float | None,
    typer.Option(
        "--part-size",
        help="Split files of text, JSON lines and Parquet into parts of about this many "
        "megabytes for --executor. Default: 16.",
    ),
]


class Workers(NamedTuple):
    """Options for the executor that processes the files."""

    executor: Executor = None
    scheduler: Scheduler = None
    part_size: PartSize = None


class TrialWorkers(NamedTuple):
    """Options for the executor that evaluates settings."""

    executor: Annotated[
        str | None,
        typer.Option(
            "--executor",
            help="Try settings in this many processes, or on dask or ray, one fold at a time. "
            "Default: one after the other, in this process.",
        ),
    ] = None
    scheduler: Scheduler = None


class Scaling(NamedTuple):
    """Options for the executor of distributed training, and the folder of encoded parts."""

    executor: Executor = None
    scheduler: Scheduler = None
    parts_folder: Annotated[
        Path | None,
        typer.Option(
            "--parts-folder",
            help="Store the preprocessed parts of the training data (see --executor) in this "
            "folder instead of in memory. Default: in memory.",
        ),
    ] = None


def check_alone(workers: Any) -> None:
    """Raise if executor options are given without an executor."""
    for name in workers._fields[1:]:
        value = getattr(workers, name)
        if value is not None:
            option = "--" + name.replace("_", "-")
            remedy = "add --executor 2, for example"
            raise InvalidInput(message(option, str(value), "--executor as well", remedy))


class FilePart:
    """A file that each worker reads itself."""

    def __init__(self, path: str, reading: Reading, tokeniser: Any) -> None:
        self.name, self._reading, self._tokeniser = path, reading, tokeniser

    def __call__(self) -> corpora.Corpus:
        """Return the documents of the file."""
        cutter = self._tokeniser or (AUTO if self._reading.align == "strict" else None)
        corpus = read(self.name, self._reading, tokeniser=cutter)
        corpus.on_columns = None
        return corpus


def expanded(patterns: list[str], argument: str = "TRAIN") -> list[str]:
    """Return the files that match some patterns, sorted; names without wildcards are kept."""
    found = []
    for pattern in patterns:
        some = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        if not some:
            expected = "a file, or a pattern that matches files"
            remedy = "check the path, and put patterns in quotes"
            raise InvalidInput(message(argument, pattern, expected, remedy))
        found += some
    return found


def check_parted(model: Any, also: list[str] | None, train: list[str]) -> None:
    """Raise if the model or the data does not support training in parts."""
    if not hasattr(model, "fit_parts"):
        raise InvalidInput(
            place="--executor",
            got=f"a {model.kind} model",
            expected="chain or semi",
            remedy="pass --model chain or semi, or leave out --executor",
        )
    if also or "-" in train:
        came = "--also" if also else "the standard input"
        raise InvalidInput(
            place="--executor",
            got=came,
            expected="only files as TRAIN",
            remedy=f"leave out {came} or --executor",
        )
    if getattr(model, "stream", False):
        raise InvalidInput(
            "cannot be combined with --stream",
            place="--executor",
            remedy="leave out one of the two options",
        )


@contextmanager
def engine(workers: Any) -> Iterator[Any]:
    """Yield the executor in the form that the library takes."""
    name = workers.executor or ""
    if name.isdigit():
        yield int(name)
    elif name == "ray":
        yield _ray(workers.scheduler)
    elif name == "dask":
        with _dask(workers.scheduler) as client:
            yield client
    else:
        expected = "a number of processes, dask or ray"
        raise InvalidInput(message("--executor", name, expected, "pass one of them"))


def _ray(address: str | None) -> str:
    if address is not None:
        try:
            import ray as imported
        except ImportError:
            raise MissingPackage("ray", "ray", "--executor ray") from None
        ray: Any = imported
        ray.init(address=address)
    return "ray"


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Let processes started here ignore Ctrl-C: this process receives it too, and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _dask(address: str | None) -> Iterator[Any]:
    try:
        import distributed as imported
    except ImportError:
        raise MissingPackage("distributed", "dask", "--executor dask") from None
    distributed: Any = imported
    if address is None:
        with _ignoring_interrupts():
            local = distributed.LocalCluster(threads_per_worker=1, dashboard_address=None)
        with local as cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout=CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise CaesuraError(
            f"{address} does not answer within {CONNECT} s ({error})",
            place="--scheduler",
            remedy="start it with dask scheduler, or correct the address",
        ) from None
    with client:
        yield client
