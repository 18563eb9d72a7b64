"""Ctrl-C inside kernels, forks beside threads, and the end of the interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest

from caesura import ChainCRF
from caesura.features import word

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and POSIX signals")

LONG = {
    "sample": """
        p = caesura.Potentials(2000, 20)
        ask = lambda: caesura.sample(p, 10**5)
    """,
    "n_best": """
        p = caesura.Potentials(60, 3)
        p.emission[:] = rng.normal(size=(60, 3))
        ask = lambda: caesura.n_best(p, 13 * 10**5)  # as many as are not refused
    """,
    "marginals": """
        p = caesura.Potentials(20_000, 3, max_length=20_000)
        ask = lambda: caesura.marginals(p, method="bounded")
    """,
    "chain": """
        p = caesura.Potentials(10_000, 1000, max_length=1)
        ask = lambda: caesura.marginals(p)
    """,
    "many": """
        p = [caesura.Potentials(4000, 20, max_length=4000) for _ in range(40)]
        ask = lambda: caesura.log_partition(p, method="bounded", n_threads=2)
    """,
    "look back": """
        from caesura.features import previous, this, word
        features = [word[0], previous.text & this.text]
        model = caesura.SemiCRF(features, max_length=30, max_iterations=3)
        model.fit([list("abcd")] * 9, [[(0, 2, "A"), (2, 4, "B")]] * 9)
        words = [f"w{k}" for k in rng.integers(3000, size=400_000)]
        ask = lambda: model.predict([words])
    """,
    "fit": """
        words = [[f"w{k}" for k in rng.integers(5000, size=30)] for _ in range(20_000)]
        tags = [[f"t{len(w) * 7 % 23}" for w in x] for x in words]
        from caesura.features import word
        model = caesura.ChainCRF([word[k] for k in range(-3, 4)], scheme=None, epsilon=0, delta=0)
        def ask():  # after the first iteration, the interruption ends it with the weights so far
            if model.fit(words, tags).status_ == "interrupted":
                raise KeyboardInterrupt
    """,
}
SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
import caesura
rng = np.random.default_rng(0)
{setup}
at = []
def interrupt():
    time.sleep({wait})
    at.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    ask()
except KeyboardInterrupt:
    print("heard", time.monotonic() - at[0])
else:
    print("ended")
"""


def run(script: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@posix
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_is_heard(name: str) -> None:
    setup = textwrap.dedent(LONG[name])
    done = run(SCRIPT.format(setup=setup, wait=4 if name == "fit" else 1))
    said, _, after = done.stdout.partition(" ")
    assert said == "heard", done
    # Half a second is what is promised; a busy machine may take longer to run anything at all.
    assert float(after) < 5


@posix
@pytest.mark.parametrize(
    "kernel",
    ["marginals(p)", "sample(p, 3)", "sample(p, 10**5)", "log_partition([p] * 8, n_threads=2)"],
)
def test_the_interpreter_may_end_while_a_thread_is_in_a_kernel(kernel: str) -> None:
    done = run(f"""
        import threading, time
        import caesura

        p = caesura.Potentials(2000, 20)

        def work():
            while True:
                caesura.{kernel}

        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.5)
    """)
    assert done.returncode == 0, done


def small_model() -> Any:
    x = [["a", "b", "c"], ["c", "d"]] * 20
    y = [["A", "B", "A"], ["B", "A"]] * 20
    return ChainCRF([word[0], word[-1]], scheme=None, max_iterations=3).fit(x, y)


@posix
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork in a process with threads
def test_a_forked_child_predicts() -> None:
    model = small_model()
    x = [[f"w{k % 997}" for k in range(i, i + 50)] for i in range(50)]
    expected, stop = model.predict(x), threading.Event()

    def work() -> None:
        while not stop.is_set():
            model.predict(x)
            model.predict_marginals(x[:5])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if model.predict(x) == expected else 1)
            assert ended(child, 60) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def ended(child: int, seconds: float) -> int | None:
    """Wait for a child; one that hangs is killed, and None is returned."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def test_predict_beside_a_warm_start() -> None:
    model, errors = small_model().set_params(warm_start=True), []
    stop = threading.Event()
    x = [[f"w{k % 97}" for k in range(i, i + 20)] for i in range(20)]

    def work() -> None:
        while not stop.is_set():
            try:
                model.predict(x)
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for k in range(15):
            new = [[f"w{k}", f"v{k}", "a"]] * 5
            model.fit(new, [["A", "B", "A"]] * 5)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors
