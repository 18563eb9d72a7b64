"""Training on parts: the same bits for every executor, and after workers were killed."""

import itertools
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts_data import FEATURES, SETTINGS, Kills, same

import caesura
from caesura import ChainCRF, InvalidInput, SemiCRF, corpora
from caesura.demo.citations import citations
from caesura.errors import CaesuraError
from caesura.executors import Here, Processes, local, opened, software, total
from caesura.executors.tree import Tree, subtrees
from caesura.models import parted


@pytest.fixture(scope="module")
def documents() -> list[caesura.Document]:
    return citations(40, seed=3)


@pytest.fixture(scope="module")
def parts(documents: list[caesura.Document]) -> list[list[caesura.Document]]:
    return [documents[k : k + 9] for k in range(0, 40, 9)]


@pytest.fixture(scope="module")
def expected(parts: list[list[caesura.Document]]) -> SemiCRF:
    return SemiCRF(**SETTINGS).fit_parts(parts)


# -- the tree --------------------------------------------------------------------------------------


def by_levels(values: list[float]) -> float:
    """Add neighbours, level by level."""
    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(values) & ~1 :]
    return values[0]


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    cuts=st.sets(st.integers(1, 40)),
)
def test_totals_do_not_depend_on_who_adds(values: list[float], cuts: set[int]) -> None:
    n = len(values)
    bounds = [0, *sorted(cut for cut in cuts if cut < n), n]
    tree = Tree()
    for first, last in itertools.pairwise(bounds):
        for begin, size in subtrees(first, last):
            tree.push(total(values[begin : begin + size]), size)
    assert tree.total() == total(values) == by_levels(values)


# -- exactness -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize(
    "settings",
    [
        *({}, {"min_freq": 2.0}, {"class_weight": {"title": 2.0}}, {"max_attributes": 150}),
        {"features": None, "c2": 1.0},
    ],
)
def test_parts_have_the_optimum_of_the_whole(
    kind: Any, settings: dict[str, Any], documents: Any, parts: Any
) -> None:
    exact = {"features": FEATURES, "c2": 0.1, "epsilon": 1e-9, "delta": 0.0} | settings
    whole = kind(**exact).fit(documents)
    parted = kind(**exact).fit_parts(parts)
    assert parted.n_features_ == whole.n_features_
    objective = whole.history_[-1].objective
    assert parted.history_[-1].objective == pytest.approx(objective, rel=1e-8)
    assert parted.labels_ == whole.labels_
    assert parted.predict(documents[:5]) == whole.predict(documents[:5])


@pytest.mark.parametrize("workers", [1, 3])
def test_processes_have_the_same_bits(workers: int, parts: Any, expected: SemiCRF) -> None:
    assert same(SemiCRF(**SETTINGS).fit_parts(parts, executor=workers), expected)


def test_mapped_parts_have_the_same_bits(parts: Any, expected: SemiCRF, tmp_path: Path) -> None:
    assert same(SemiCRF(**SETTINGS).fit_parts(parts, folder=tmp_path), expected)
    assert not list(tmp_path.iterdir())


def test_own_executor_and_own_parts(documents: Any, parts: Any, expected: SemiCRF) -> None:
    class Counting(Here):
        calls = 0

        def map_reduce(self, handle: Any, function: Any, w: Any) -> Any:
            self.calls += 1
            return super().map_reduce(handle, function, w)

    mine = Counting()
    given: list[Any] = [partial(list, part) for part in parts]
    given[0] = ([d.tokens for d in parts[0]], [list(d.segments) for d in parts[0]])
    assert same(SemiCRF(**SETTINGS).fit_parts(given, executor=mine), expected)
    assert mine.calls > 10


def test_threads_of_one_process_have_the_same_bits(parts: Any, expected: SemiCRF) -> None:
    class Threads(Here):
        def map(self, function: Any, items: Any) -> Any:
            with ThreadPoolExecutor(4) as pool:
                yield from pool.map(function, items)

    for _ in range(5):
        assert same(SemiCRF(**SETTINGS).fit_parts(parts, executor=Threads()), expected)


def test_mixed_precision_and_warm_starts(documents: Any, parts: Any) -> None:
    mixed = SETTINGS | {"precision": "mixed"}
    local = SemiCRF(**mixed).fit_parts(parts)
    remote = SemiCRF(**mixed).fit_parts(parts, executor=1)
    assert same(local, remote)
    assert {one.precision for one in local.history_} >= {"single"}
    for way in (True, "near"):
        warm: list[SemiCRF] = []
        for executor in (None, 1):
            model = SemiCRF(**SETTINGS, warm_start=way).fit_parts(parts[:2])
            warm.append(model.fit_parts(parts, executor=executor))
        assert same(*warm)


# -- workers that die ------------------------------------------------------------------------------


def test_killed_processes(parts: Any, expected: SemiCRF) -> None:
    executor = Processes(2)

    def first() -> list[int]:
        return [executor._open[0].process.pid or 0]

    kills = Kills({3: first, 7: first})
    model = SemiCRF(**SETTINGS).fit_parts(parts, executor=executor, callbacks=[kills])
    executor.close()
    assert kills.killed == 2
    assert same(model, expected)


def test_all_processes_killed_at_once(parts: Any, expected: SemiCRF) -> None:
    executor = Processes(2)
    every = Kills({5: lambda: [one.process.pid or 0 for one in executor._open]})
    model = SemiCRF(**SETTINGS).fit_parts(parts, executor=executor, callbacks=[every])
    executor.close()
    assert every.killed == 2
    assert same(model, expected)


def _dies_once(flag: Path, item: int) -> int:
    if item == 3 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def _dies(item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_map_goes_on_after_a_death(tmp_path: Path) -> None:
    with opened(2) as executor:
        found = list(executor.map(partial(_dies_once, tmp_path / "flag"), range(8)))
    assert found == [k * k for k in range(8)]


def test_a_task_that_kills_its_workers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "DEATHS", 2)
    with opened(1) as executor, pytest.raises(CaesuraError, match="died 2 times"):
        list(executor.map(_dies, [0]))


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from caesura.executors import Processes, local\n"
        "local.DEATHS = 1\n"
        "list(Processes(1).map(abs, [-1]))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert "died 1 times in the same task; look at its error; a script needs if" in done.stderr


def _pid(item: int) -> int:
    if item < 0:
        raise ValueError(item)
    return os.getpid()


def test_idle_workers_are_kept() -> None:
    with opened(1) as executor:
        results = executor.map(_pid, range(3))
        pids = {next(results) for _ in range(3)}
        del results  # which was not asked for its end
        pids |= set(executor.map(_pid, range(3)))
        with pytest.raises(ValueError, match="-1"):
            list(executor.map(_pid, [-1]))
        pids |= set(executor.map(_pid, range(3)))
    assert len(pids) == 1


def test_the_driver_goes_on_from_its_checkpoint(
    parts: Any, expected: SemiCRF, tmp_path: Path
) -> None:
    def stop(progress: Any) -> None:
        if progress.iteration == 5:
            raise KeyboardInterrupt

    place = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        SemiCRF(**SETTINGS).fit_parts(parts, checkpoint=place, callbacks=[stop])
    assert same(SemiCRF(**SETTINGS).fit_parts(parts, 1, checkpoint=place), expected)


# -- what is wrong ---------------------------------------------------------------------------------


def test_bad_parts_are_named_and_others_finish(parts: Any, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    corpora.write_jsonl(good, parts[0])
    bad.write_text("{no json\n")
    with pytest.raises(InvalidInput, match=r"2 of 3 .*parts\[1\] .*bad\.jsonl.*parts\[2\]"):
        SemiCRF(**SETTINGS).fit_parts([good, bad, tmp_path / "none.jsonl"])


class Fading:
    """A part that can be read only so often."""

    def __init__(self, part: Any, reads: int) -> None:
        self.part, self.reads, self.name = part, reads, "fading"

    def __call__(self) -> Any:
        self.reads -= 1
        if self.reads < 0:
            raise OSError("the disk is gone")
        return self.part


@pytest.mark.parametrize("reads", range(4))  # each part is read four times
def test_a_part_that_fails_later_is_named(reads: int, parts: Any) -> None:
    given = [parts[0], Fading(parts[1], reads)]
    with pytest.raises(InvalidInput, match=r"parts\[1\] \(fading\): OSError: the disk is gone"):
        SemiCRF(**SETTINGS).fit_parts(given)


def test_other_software_is_named(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = [("caesura 9", "Python 3.11", "plain kernels")]
    here = software.software

    def other() -> tuple[str, ...]:
        return made.pop() if made else here()

    monkeypatch.setattr(parted, "software", other)
    with pytest.raises(CaesuraError, match=r"^executor: .*expected caesura 9, .*KERNELS=plain"):
        SemiCRF(**SETTINGS | {"tokeniser": "words"}).fit_parts(parts)


def test_what_parts_cannot_do() -> None:
    with pytest.raises(InvalidInput, match="parts: got none"):
        SemiCRF().fit_parts([])
    with pytest.raises(InvalidInput, match="executor: got 'spark', expected None, a number"):
        SemiCRF().fit_parts([["a"]], executor="spark")
    with pytest.raises(InvalidInput, match="executor: got 0"):
        SemiCRF().fit_parts([["a"]], executor=0)
