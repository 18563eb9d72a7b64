"""Dask and Ray with two workers on this machine."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from parts_data import SETTINGS, Kills, same

import caesura
from caesura import SemiCRF, scale
from caesura.demo import addresses
from caesura.demo.citations import citations
from caesura.executors import Here

pytestmark = pytest.mark.filterwarnings("ignore")  # the engines' own
PATIENCE = 120  # seconds that a worker has to start again


@pytest.fixture(scope="module")
def parts() -> list[list[caesura.Document]]:
    documents = citations(40, seed=3)
    return [documents[k : k + 9] for k in range(0, 40, 9)]


@pytest.fixture(scope="module")
def expected(parts: list[list[caesura.Document]]) -> SemiCRF:
    return SemiCRF(**SETTINGS).fit_parts(parts)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model") / "addresses.model"
    SemiCRF(max_iterations=8).fit(addresses(40, seed=1)).save(place)
    return place


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"text": ["12 High Street Leeds", "7 Park Lane York"] * 3})


# -- Dask ------------------------------------------------------------------------------------------


def test_dask_survives_kills(parts: Any, expected: SemiCRF) -> None:
    import distributed as dask

    distributed: Any = dask
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}

    def every() -> list[int]:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = [nanny.pid for nanny in cluster.workers.values()]
            if len(found) == 2 and None not in found:
                return found
            time.sleep(0.01)
        raise TimeoutError("the workers have not started again")

    kills = Kills({3: lambda: every()[:1], 6: every})
    local = distributed.LocalCluster(**settings, silence_logs=50)
    with local as cluster, distributed.Client(cluster) as client:
        model = SemiCRF(**SETTINGS).fit_parts(parts, executor=client, callbacks=[kills])
    assert kills.killed == 3
    assert same(model, expected)


def test_dask_partitions(model: Path, frame: pd.DataFrame) -> None:
    import dask.dataframe as frames

    dd: Any = frames
    add = scale.segment_batches(str(model))
    meta = frame.assign(segments=[[]] * 6).iloc[:0]
    found = dd.from_pandas(frame, npartitions=2).map_partitions(add, meta=meta)
    assert found.compute(scheduler="sync")["segments"].tolist() == add(frame)["segments"].tolist()


# -- Ray -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray, as training starts it."""
    from caesura.executors.ray import Ray

    engine = Ray()._ray
    yield engine
    engine.shutdown()


def test_ray_survives_kills(parts: Any, expected: SemiCRF, ray: Any) -> None:
    import psutil

    def actor() -> list[int]:
        mine = psutil.Process().children(recursive=True)
        return [one.pid for one in mine if "_Worker" in " ".join(one.cmdline())][:1]

    kills = Kills({4: actor})
    model = SemiCRF(**SETTINGS).fit_parts(parts, executor="ray", callbacks=[kills])
    mine = psutil.Process().children(recursive=True)
    found = [one for process in mine for one in process.net_connections("tcp")]
    assert kills.killed == 1
    assert same(model, expected)
    heard = {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN}
    assert heard
    assert heard <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.parametrize("n", [1, 2, 5, 7, 8])
def test_ray_adds_along_the_tree(n: int, ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from caesura.executors.ray import Ray

    def scaled(shard: np.random.Generator, w: Any) -> tuple[float, Any]:
        values = shard.standard_normal(len(w)) * w
        return float(values.sum()), values

    def counted(one: Any) -> Any:
        received.append(one)
        return get(one)

    w, here, engine = np.linspace(1e-9, 1e9, 1000), Here(), Ray()
    engine.workers = min(2, engine.workers)
    loss, total = here.map_reduce(here.load(np.random.default_rng, range(n)), scaled, w)
    received: list[Any] = []
    get = ray.get
    monkeypatch.setattr(ray, "get", counted)
    found = engine.map_reduce(engine.load(np.random.default_rng, range(n)), scaled, w)
    assert found[0] == loss
    assert found[1].tobytes() == total.tobytes()
    assert len(received) == 1  # the driver sees the total only


def test_ray_names_an_item_that_workers_die_of(ray: Any) -> None:
    from caesura.executors.failures import WorkerDiedError, outcomes
    from caesura.executors.ray import Ray

    def dies_at_two(item: int) -> int:  # here, so that it is sent by value
        if item == 2:
            os._exit(1)
        return 10 * item

    one, two, three = outcomes(Ray(), dies_at_two, [1, 2, 3])
    assert (one, three) == (10, 30)
    assert isinstance(two, WorkerDiedError)


def test_ray_data(model: Path, frame: pd.DataFrame, ray: Any) -> None:
    table = pa.Table.from_pandas(frame)
    add = scale.segment_batches(str(model))
    dataset = ray.data.from_arrow([table.slice(0, 4), table.slice(4)])
    found = dataset.map_batches(add, batch_format="pyarrow", batch_size=2).take_all()
    wanted = add(table).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, wanted))
