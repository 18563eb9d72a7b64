"""Workers with several threads, as Dask starts them by default, which share models and encoders."""

import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cli_data import good
from parts_data import SETTINGS, same
from test_bulk_load import stored

from caesura import ChainCRF, SemiCRF, corpora, records, scale
from caesura.demo import addresses
from caesura.demo.citations import citations
from caesura.encoding import encoder
from caesura.models import parts as work
from caesura.scale import models

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own
THREADS = 4
TRAINED = {"c2": 0.1, "max_iterations": 4}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """One worker with threads of this process, which meet in all caches."""
    import distributed as dask

    distributed: Any = dask
    settings = {"n_workers": 1, "threads_per_worker": THREADS, "dashboard_address": None}
    local = distributed.LocalCluster(**settings, processes=False, protocol="tcp", silence_logs=50)
    with local as cluster, distributed.Client(cluster) as made:
        yield made


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """Many small files."""
    paths = [tmp_path / f"new{k}.txt" for k in range(12)]
    for k, path in enumerate(paths):
        path.write_text("".join(f"{one.text}\n" for one in addresses(25, seed=k)))
    return paths


def counted(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> list[Any]:
    """Return a list that grows with each call of a function."""
    calls, function = list[Any](), getattr(place, name)

    def count(*arguments: Any, **more: Any) -> Any:
        calls.append(arguments)
        time.sleep(0.05)  # so that others come meanwhile
        return function(*arguments, **more)

    monkeypatch.setattr(place, name, count)
    return calls


def test_trainings_at_the_same_time(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = citations(60, seed=3)
    parts = [documents[k : k + 5] for k in range(0, 60, 5)]
    kinds: list[tuple[Any, dict[str, Any]]] = [(SemiCRF, SETTINGS), (ChainCRF, TRAINED)]
    expected = [kind(**settings).fit_parts(parts) for kind, settings in kinds]

    def fitted(which: tuple[Any, dict[str, Any]]) -> Any:
        return which[0](**which[1]).fit_parts(parts, executor=client)

    monkeypatch.setattr(work, "remember", lambda *arguments: None)  # as if workers were apart
    made = counted(monkeypatch, work, "known_parameters")
    with ThreadPoolExecutor(2) as drivers:
        found = list(drivers.map(fitted, kinds))
    assert list(map(same, found, expected)) == [True, True]
    assert len(made) == 4  # for each training, one of the driver and one of the worker
    assert not work._remembered


def test_bulk_jobs(
    client: Any,
    texts: list[Path],
    address_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scale.segment_files(address_model, texts, tmp_path / "expected")
    monkeypatch.setattr(encoder, "MOST_WORDS", 20)  # words are forgotten while others encode
    models._loaded.cache_clear()
    made = counted(monkeypatch, models, "load")
    found = scale.segment_files(address_model, texts, tmp_path / "out", executor=client)
    assert (found.sequences, found.failed, len(made)) == (300, (), 1)
    for path in (tmp_path / "expected").glob("*.jsonl"):
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()
    into, plain = tmp_path / "a.db", tmp_path / "plain.db"
    loaded = scale.load_files(address_model, texts, into, executor=client)
    assert not loaded.failed
    for path in texts:
        records.load(address_model, path, plain)
    assert stored(into) == stored(plain)


def test_batches_share_a_model(address_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"text": [one.text for one in addresses(40, seed=7)]})
    expected = scale.segment_batches(str(address_model))(table)
    monkeypatch.setattr(encoder, "MOST_WORDS", 20)
    models._loaded.cache_clear()
    made = counted(monkeypatch, models, "load")
    sent = pickle.dumps(scale.segment_batches(str(address_model)))

    def task(part: Any) -> Any:  # an engine reads the function again in each task
        return pickle.loads(sent)(part)

    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(task, table.to_batches(max_chunksize=4)))
    assert pa.Table.from_batches(found).equals(expected.combine_chunks())
    assert len(made) == 1


def test_trials_of_tune(client: Any, tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    corpora.write_jsonl(train, addresses(24, 1))
    options = ["--try", "c2=0.1,1", "--folds", 3, "--max-iterations", 5, "--json"]
    workers = ["--executor", "dask", "--scheduler", client.scheduler.address]
    assert good("tune", train, *options, *workers).json == good("tune", train, *options).json


def test_errors_of_tasks_that_look_like_those_of_the_scheduler(client: Any) -> None:
    from caesura.executors.dask import Dask

    def fails(kind: type[Exception]) -> None:
        raise kind("of the task")

    for kind in (TimeoutError, OSError):
        with pytest.raises(kind, match="of the task"):
            list(Dask(client).map(fails, [kind]))
