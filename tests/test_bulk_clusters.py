"""``segment --executor`` and ``load --executor`` on Dask and Ray, with workers that are killed."""

import copy
import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cli_data import good
from test_bulk_load import stored

from caesura import records, scale
from caesura.demo import addresses
from caesura.executors.dask import Dask
from caesura.executors.ray import Ray
from caesura.scale import bulk

pytestmark = pytest.mark.filterwarnings("ignore")  # the engines' own


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One file, of which small parts are made."""
    path = tmp_path / "new.txt"
    path.write_text("".join(f"{document.text}\n" for document in addresses(200, seed=5)))
    return path


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """Let workers import this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        yield


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.jsonl"))}


def dies_amid(place: str, function: Any, job: Any) -> Any:
    """Kill the worker once, when half of the second part is segmented."""
    flag, segmented = Path(place, "died"), bulk._segmented
    if job.piece.number == 1 and not flag.exists():
        calls: list[int] = []

        def dies(*arguments: Any) -> Any:
            calls.append(1)
            if len(calls) > 1:
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return segmented(*arguments)

        work: Any = bulk
        work.BATCH, work._segmented = 10, dies
    return function(job)


def check_killed(executor: Any, address_model: Path, file: Path, tmp_path: Path) -> None:
    dying, whole = copy.copy(executor), executor.map
    dying.map = lambda function, items: whole(partial(dies_amid, str(tmp_path), function), items)
    expected = scale.segment_files(address_model, [file], tmp_path / "expected", part_size=0.002)
    made = scale.segment_files(
        address_model, [file], tmp_path / "out", part_size=0.002, executor=dying
    )
    assert (tmp_path / "died").exists()
    assert not made.failed
    assert made.sequences == expected.sequences == 200
    assert content(tmp_path / "out") == content(tmp_path / "expected")


def check_commands(more: list[str], address_model: Path, file: Path, tmp_path: Path) -> None:
    out, into, plain = tmp_path / "cli", tmp_path / "a.db", tmp_path / "plain.db"
    more = [*more, "--part-size", "0.004", "--json"]
    said = good("segment", address_model, file, "-o", out, "--executor", *more).json
    assert (said["sequences"], said["failed"]) == (200, 0)
    assert len(said["parts"]) > 1
    scale.segment_files(address_model, [file], tmp_path / "here", part_size=0.004, format="text")
    assert content(out) == content(tmp_path / "here")
    said = good("load", address_model, file, "--into", into, "--executor", *more).json
    assert (said["written"], said["failed"]) == (200, 0)
    records.load(address_model, file, plain)
    assert stored(into) == stored(plain)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    import distributed as dask

    distributed: Any = dask
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    local = distributed.LocalCluster(**settings, silence_logs=50)
    with local as cluster, distributed.Client(cluster) as made:
        yield made


def test_dask_commands(client: Any, address_model: Path, file: Path, tmp_path: Path) -> None:
    address = client.scheduler.address
    check_commands(["dask", "--scheduler", address], address_model, file, tmp_path)


def test_dask_survives_a_kill(client: Any, address_model: Path, file: Path, tmp_path: Path) -> None:
    check_killed(Dask(client), address_model, file, tmp_path)


@pytest.fixture(scope="module")
def ray() -> Iterator[Ray]:
    executor = Ray()
    yield executor
    executor._ray.shutdown()


def test_ray_commands(ray: Ray, address_model: Path, file: Path, tmp_path: Path) -> None:
    check_commands(["ray"], address_model, file, tmp_path)


def test_ray_survives_a_kill(ray: Ray, address_model: Path, file: Path, tmp_path: Path) -> None:
    check_killed(ray, address_model, file, tmp_path)


# -- a part that workers die of --------------------------------------------------------------------


def dies_always(function: Any, job: Any) -> Any:
    """Kill the worker of the second part, while others work on their parts there."""
    if job.piece.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return function(job)


def test_dask_names_the_part_that_kills(address_model: Path, file: Path, tmp_path: Path) -> None:
    import dask
    import distributed

    config: Any = dask.config
    engine: Any = distributed
    few = {"distributed.scheduler.allowed-failures": 1}
    settings = {"n_workers": 2, "threads_per_worker": 4, "dashboard_address": None}
    with (
        config.set(few),
        engine.LocalCluster(**settings, silence_logs=50) as cluster,
        engine.Client(cluster) as client,
    ):
        deadly: Any = Dask(client)
        whole, out = deadly.map, tmp_path / "out"
        deadly.map = lambda function, items: whole(partial(dies_always, function), items)
        made = scale.segment_files(address_model, [file], out, part_size=0.001, executor=deadly)
    assert [part.output for part in made.failed] == [str(out / "new.txt.00001.jsonl")]
    assert "workers died" in str(made.failed[0].failure)
    again = scale.segment_files(address_model, [file], out, part_size=0.001)
    assert (again.sequences, again.failed) == (200, ())
    assert [part.range for part in again.parts if not part.skipped] == [made.failed[0].range]
