"""A Dask cluster in a process of its own: killed, with other software, and for trials of tune."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import distributed
import pytest
from cli_data import addresses, good, run
from parts_data import SETTINGS, same

from caesura import SemiCRF, corpora, scale
from caesura.demo.citations import citations
from caesura.errors import CaesuraError
from caesura.executors import dask

Client: Any = distributed.Client
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own
CLUSTER = """
    import sys, time
    import distributed
    from caesura.executors import software
    if len(sys.argv) > 1:
        software.software = lambda: (sys.argv[1], "Python 3", "plain kernels")
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=None,
    )
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


class Cluster(NamedTuple):
    process: subprocess.Popen[str]
    address: str

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def cluster(*version: str) -> Iterator[Cluster]:
    """Yield a cluster of two workers."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(CLUSTER), *version]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield Cluster(process, process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    documents = citations(20, seed=3)
    paths = [tmp_path / f"part{k}.jsonl" for k in range(3)]
    for k, path in enumerate(paths):
        corpora.write_jsonl(path, documents[k::3])
    return paths


def test_a_scheduler_that_is_gone(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask, "PATIENCE", 2.0)
    place = tmp_path / "checkpoint"
    settings: dict[str, Any] = SETTINGS | {"max_iterations": 15}
    with cluster() as there, Client(there.address) as client:

        def stop(progress: Any) -> None:
            if progress.iteration == 12:
                there.kill()

        with pytest.raises(CaesuraError, match=r"scheduler at .* does not answer .*checkpoint"):
            SemiCRF(**settings).fit_parts(
                files, executor=client, checkpoint=place, callbacks=[stop]
            )
    assert place.exists()
    resumed = SemiCRF(**settings).fit_parts(files, checkpoint=place)
    assert same(resumed, SemiCRF(**settings).fit_parts(files))


def test_workers_with_other_software(
    files: list[Path], address_model: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new.txt"
    new.write_text("12 High Street Leeds\n")
    wrong = pytest.raises(CaesuraError, match=r"^executor: got a worker with caesura 0\.0, ")
    with cluster("caesura 0.0") as there, Client(there.address) as client:
        with wrong:
            SemiCRF(**SETTINGS).fit_parts(files, executor=client)
        with wrong:
            scale.segment_files(address_model, [new], tmp_path / "out", executor=client)
        with wrong:
            scale.load_files(address_model, [new], tmp_path / "a.db", executor=client)


def test_tune_on_a_cluster_and_parts_that_fail(files: list[Path], tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    corpora.write_jsonl(train, addresses(24, 1))
    options = ["--try", "c2=0.1,1", "--folds", 2, "--max-iterations", 5, "--json"]
    expected = good("tune", train, *options).json
    with cluster() as there:
        workers = ["--executor", "dask", "--scheduler", there.address]
        assert good("tune", train, *options, *workers).json == expected
        files[1].write_text("{no json\n")
        with (
            Client(there.address) as client,
            pytest.raises(CaesuraError, match=r"1 of 3 cannot be read: parts\[1\] .*part1\.jsonl"),
        ):
            SemiCRF(**SETTINGS).fit_parts(files, executor=client)


def test_tune_in_processes(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    corpora.write_jsonl(train, addresses(24, 1))
    options = ["--folds", 2, "--max-iterations", 5, "--json"]
    tried = ["--try", "c2=0.1,1", "--try", "max-length=1,8"]
    ran = [run("tune", train, *tried, *options, *more) for more in ([], ["--executor", 2])]
    assert [one.code for one in ran] == [1, 1]
    assert ran[0].out == ran[1].out
    assert [line for line in ran[0].err.splitlines() if "warning" in line] == [
        line for line in ran[1].err.splitlines() if "warning" in line
    ]
    assert ran[0].out.count('"choices"') == 3  # the best, and both that can be learnt with
    for one in ran:
        assert one.err.count("a trial failed") == 2
        assert one.err.count("as max_length requires") == 2
        assert "max_length = 1" in one.err
    alone = run("tune", train, "--try", "max-length=1", *options)
    assert alone.code == 1
    assert "error: " in alone.err
    gone = run("tune", train, *options, "--scheduler", "tcp://a:1")
    assert "expected --executor as well" in gone.err
