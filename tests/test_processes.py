"""Models in other processes and loops: spawn, joblib, asyncio, and servers that fork."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import pytest
from cli_data import addresses
from test_interrupts import posix

import caesura
from caesura import ChainCRF, SemiCRF

TEXTS = [f"{k} Park Lane, York" for k in range(1, 60)]


@pytest.fixture(scope="module", params=[SemiCRF, ChainCRF])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param(max_iterations=5).fit(addresses(30, 1))


def segments_of(model: Any, texts: list[str]) -> list[Any]:
    return [[tuple(segment) for segment in some] for some in model.predict(texts)]


def fitted_there(seed: int) -> list[Any]:
    """Learn in another process."""
    made = ChainCRF(max_iterations=3, n_threads=2).fit(addresses(20, seed))
    return segments_of(made, TEXTS[:3])


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork in a process with threads
def test_pools_of_processes(model: Any, method: str) -> None:
    expected = segments_of(model, TEXTS)  # with threads of the kernels, which no child has
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        parts = [TEXTS[k::3] for k in range(3)]
        found = pool.map(segments_of, [model] * 3, parts, timeout=120)
        assert list(found) == [expected[k::3] for k in range(3)]
        assert pool.submit(fitted_there, 7).result(120) == fitted_there(7)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_joblib(model: Any, backend: str) -> None:
    expected = segments_of(model, TEXTS)
    work = joblib.Parallel(n_jobs=2, backend=backend, timeout=120)
    found = work(joblib.delayed(segments_of)(model, [text]) for text in TEXTS[:6])
    assert [one for [one] in found] == expected[:6]


def test_asyncio(model: Any) -> None:
    """Many requests at once, in threads; the loop goes on beside them."""
    expected = segments_of(model, TEXTS)

    async def serve() -> tuple[list[Any], int]:
        loop, turns = asyncio.get_running_loop(), 0

        async def tick() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        with ThreadPoolExecutor(4) as pool:
            asked = [loop.run_in_executor(pool, segments_of, model, [text]) for text in TEXTS]
            found = await asyncio.wait_for(asyncio.gather(*asked), 120)
        ticking.cancel()
        return [one for [one] in found], turns

    found, turns = asyncio.run(serve())
    assert found == expected
    assert turns > 1


def test_a_cancelled_request_leaves_the_model_as_it_is(model: Any) -> None:
    expected = segments_of(model, TEXTS)

    async def serve() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(model.predict_marginals, TEXTS * 40), 0.001)

    asyncio.run(serve())
    assert segments_of(model, TEXTS) == expected


SERVER = """
    import json, os, socket, sys, threading
    import caesura

    model = caesura.load(sys.argv[1])        # before the workers are forked
    model.predict(["7 Park Lane, York"] * 50)  # the kernels have threads, and words are known
    stop = threading.Event()
    def busy():                                # a thread of the parent, in kernels at each fork
        while not stop.is_set():
            model.predict(["9 Mill Road, Bath"] * 20)
    beside = threading.Thread(target=busy)
    beside.start()

    def work(channel):
        with channel, channel.makefile("rw") as file:
            for line in file:
                found = model.predict(json.loads(line))
                file.write(json.dumps(found) + "\\n")
                file.flush()

    def fork():
        mine, other = socket.socketpair()
        pid = os.fork()
        if pid:
            other.close()
            return pid, mine, mine.makefile("rw")
        try:
            mine.close()
            stop.set()
            work(other)
        finally:
            os._exit(0)

    def ask(worker, texts):
        worker[2].write(json.dumps(texts) + "\\n")
        worker[2].flush()

    def end(worker):
        worker[1].shutdown(socket.SHUT_RDWR)  # workers that were forked later have this socket, too
        worker[2].close()
        worker[1].close()
        return os.waitstatus_to_exitcode(os.waitpid(worker[0], 0)[1])

    texts = json.loads(sys.stdin.read())
    workers = [fork() for _ in range(4)]
    answers = []
    for turn in range(3):
        for worker in workers:
            ask(worker, texts)
        answers += [json.loads(worker[2].readline()) for worker in workers]
        ended = end(workers.pop(0))            # a worker that has had its share of requests
        workers.append(fork())
    codes = [ended, *map(end, workers)]
    stop.set()
    beside.join()
    print(json.dumps([answers, codes]))
"""


@posix
def test_a_server_that_loads_a_model_and_forks(model: Any, tmp_path: Path) -> None:
    """As gunicorn with --preload: workers are forked from the process that has the model."""
    model.save(tmp_path / "model")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(SERVER), str(tmp_path / "model")],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answers, codes = json.loads(done.stdout)
    expected = json.loads(json.dumps(caesura.load(tmp_path / "model").predict(TEXTS)))
    assert answers == [expected] * 12
    assert codes == [0] * 5


@posix
def test_a_thread_may_fit_while_the_interpreter_ends() -> None:
    """Daemon threads in all parts of learning, not only in one kernel."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
                import threading, time
                import caesura
                x = [[f"w{k % 97}" for k in range(i, i + 20)] for i in range(200)]
                y = [["A" if len(w) > 2 else "B" for w in one] for one in x]
                def work():
                    while True:
                        model = caesura.ChainCRF(scheme=None, max_iterations=50, n_threads=2)
                        model.fit(x, y).predict_marginals(x[:5])
                for _ in range(2):
                    threading.Thread(target=work, daemon=True).start()
                time.sleep(2.0)
            """),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    assert (done.returncode, done.stderr) == (0, "")
