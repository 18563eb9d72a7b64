"""Chunking with the attributes of CRFsuite's own example: python-crfsuite and Caesura in one run.

    python bench/crfsuite.py [--data ../shared/data] [--quick]

Same attributes, same c2, same objective. Time is that of this thread on the processor, unless a
line says wall: for training the mean of whole runs that take turns, for the rest the best of
several.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pycrfsuite
from chunking import OPTIONS, Bags, Tags, alone, corpus, train_peer, weights_of
from timing import best_seconds, table, wall_seconds

import caesura
from caesura.compat import Tagger
from caesura.learning import LBFGS, SGD, minimise
from caesura.models.training import Corpora

# -- measurements ----------------------------------------------------------------------------------


class Results:
    """The lines of the table."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []

    def add(self, what: str, theirs: str, ours: str, ratio: float, target: str, good: bool) -> None:
        number = f"{ratio:.2f}" if 0.005 < abs(ratio) < 1e4 else f"{ratio:.1e}"
        self.rows.append([what, theirs, ours, number, target, "yes" if good else "NO"])

    def faster(self, what: str, theirs: float, ours: float, target: float, unit: str = "s") -> None:
        scale = {"s": 1.0, "ms": 1e3}[unit]
        ratio = theirs / ours
        numbers = (f"{theirs * scale:.4g} {unit}", f"{ours * scale:.4g} {unit}")
        self.add(what, *numbers, ratio, f">= {target}", ratio >= target)


class Seconds(NamedTuple):
    """The best time of an evaluation, and the mean of theirs."""

    theirs: float
    theirs_mean: float
    double: float
    single: float


def evaluations(X: Bags, y: Tags, folder: Path, results: Results) -> Seconds:
    """Time one objective with its gradient: ours between the iterations of CRFsuite."""
    model = caesura.ChainCRF(**OPTIONS)
    training = model._training(model._read(X, y, None), None, None)
    objective = training.objective
    start = LBFGS(Corpora(objective, 1), c2=1.0, max_iterations=15)
    w = minimise(start, training.w0).w
    times: dict[bool, list[float]] = {False: [], True: []}
    double = objective.evaluate(w, None, False, 1)
    single = objective.evaluate(w, None, True, 1)
    assert abs(single[0] - double[0]) <= 1e-5 * double[0], (single[0], double[0])

    def between() -> None:
        for precision, seconds in times.items():
            for _ in range(2):  # the first run finds the caches full of CRFsuite's data
                began = time.thread_time()
                answer = objective.evaluate(w, None, precision, 1)
                seconds.append(time.thread_time() - began)
            assert answer[0] == (single if precision else double)[0]

    path = str(folder / "evaluations")
    peer = train_peer(X, y, path, between=between, max_iterations=20)
    mapped = weights_of(path, training)
    loss = objective.evaluate(mapped, None, False, 1)[0] + float(mapped @ mapped)
    assert abs(loss - peer.losses[-1]) <= 1e-5 * loss, (loss, peer.losses[-1])
    mean = float(np.mean(peer.seconds))
    best = Seconds(min(peer.seconds), mean, min(times[False]), min(times[True]))
    print(
        f"an evaluation, median over {len(peer.seconds)} iterations: CRFsuite "
        f"{np.median(peer.seconds) * 1e3:.1f} ms, float64 {np.median(times[False]) * 1e3:.1f} ms, "
        f"single {np.median(times[True]) * 1e3:.1f} ms; at CRFsuite's weights the objectives are "
        f"{peer.losses[-1]:.3f} and {loss:.3f}"
    )
    results.faster("objective + gradient, float64", best.theirs, best.double, 5.5, "ms")
    results.faster("the same, single precision", best.theirs, best.single, 8.0, "ms")
    return best


def threads(X: Bags, y: Tags, results: Results) -> None:
    """Time one objective with its gradient on one thread and on two."""
    model = caesura.ChainCRF(**OPTIONS)
    training = model._training(model._read(X, y, None), None, None)
    objective = training.objective
    w = minimise(LBFGS(Corpora(objective, 2), c2=1.0, max_iterations=5), training.w0).w
    for name, precision in (("float64", False), ("single", True)):
        walls = [
            wall_seconds(lambda n=n, p=precision: objective.evaluate(w, None, p, n), 4)  # type: ignore[misc]
            for n in 6 * (1, 2)  # alternating
        ]
        one, two = min(walls[::2]), min(walls[1::2])
        same = objective.evaluate(w, None, precision, 2)
        assert same[0] == objective.evaluate(w, None, precision, 1)[0]
        ratio = one / two
        cells = (f"{one * 1e3:.4g} ms", f"{two * 1e3:.4g} ms")
        results.add(f"two threads, {name} (wall, ours/ours)", *cells, ratio, ">= 1.7", ratio >= 1.7)


class OnlinePeer(pycrfsuite.BaseTrainer):  # type: ignore[misc]
    """CRFsuite's l2sgd; `between` runs after each epoch, not timed."""

    def __init__(self, between: Callable[[], None], **params: Any) -> None:
        super().__init__("l2sgd", {"c2": 1.0, **params})
        self.between = between
        self.seconds: list[float] = []
        self.began = 0.0

    def message(self, message: str) -> None:
        if message.startswith("Seconds required for this iteration"):
            if self.began:
                self.seconds.append(time.thread_time() - self.began)
            self.between()
            self.began = time.thread_time()


def epochs(X: Bags, y: Tags, folder: Path, results: Results) -> None:
    """Time epochs of SGD, one sequence per step: ours between those of CRFsuite; means of all."""
    model = caesura.ChainCRF(**OPTIONS)
    training = model._training(model._read(X, y, None), None, None)
    runs: dict[str, list[Any]] = {}
    for name, average in (("averaged (default)", True), ("without averages, as l2sgd", False)):
        corpora = Corpora(training.objective, 1)
        optimiser = SGD(corpora, 1.0, rate=0.1, batch_size=1, average=average, n_threads=1)
        runs[name] = [optimiser, optimiser.start(training.w0), []]

    def between() -> None:
        for run in runs.values():
            began = time.thread_time()
            run[1] = run[0].step(run[1])
            run[2].append(time.thread_time() - began)

    peer = OnlinePeer(between, max_iterations=8)
    for x, tags in zip(X, y, strict=True):
        peer.append(x, tags)
    peer.train(str(folder / "l2sgd"))
    theirs = float(np.mean(peer.seconds))
    for name, (_, _, seconds) in runs.items():
        mean = float(np.mean(seconds[1:]))  # without the first epoch, in both
        results.faster(f"an epoch of SGD, {name}, mean", theirs, mean, 4.0, "ms")


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.thread_time()
    answer = call()
    return time.thread_time() - began, answer


def fit(X: Bags, y: Tags, path: str, precision: str) -> caesura.ChainCRF:
    model = caesura.ChainCRF(**OPTIONS, precision=precision).fit(X, y)
    model.save(path)
    return model


def trainings(
    X: Bags, y: Tags, folder: Path, runs: int, results: Results
) -> tuple[str, caesura.ChainCRF]:
    """Time training from attribute lists to a file, by turns."""
    seconds: dict[str, list[float]] = {"CRFsuite": [], "auto": [], "double": []}
    losses: dict[str, float] = {}
    path = str(folder / "crfsuite")
    models: dict[str, caesura.ChainCRF] = {}
    for _ in range(runs):
        spent, peer = timed(lambda: train_peer(X, y, path))
        seconds["CRFsuite"].append(spent)
        losses["CRFsuite"] = peer.losses[-1]
        for precision in ("auto", "double"):
            spent, model = timed(lambda p=precision: fit(X, y, str(folder / p), p))  # type: ignore[misc]
            seconds[precision].append(spent)
            losses[precision] = model.history_[-1].objective
            models[precision] = model
    steps = ", ".join(
        f"{name}: {len(model.history_)} iterations, "
        f"{sum(one.precision == 'single' for one in model.history_)} of them in single precision, "
        f"{model.history_[-1].evaluations} evaluations"
        for name, model in models.items()
    )
    print(f"training: CRFsuite: {len(peer.losses)} iterations, {steps}")
    theirs = losses["CRFsuite"]
    for name, target in (("auto", 7.0), ("double", 6.0)):
        shown = f"training, {name}, to a file, mean of {runs}"
        peers, own = (float(np.mean(seconds[one])) for one in ("CRFsuite", name))
        results.faster(shown, peers, own, target)
        apart = abs(losses[name] - theirs) / theirs
        cells = (f"{theirs:.3f}", f"{losses[name]:.3f}")
        results.add(f"its objective, {name}", *cells, apart, "<= 1e-4", apart <= 1e-4)
    return path, models["double"]


def optimum(X: Bags, y: Tags, seconds: Seconds, results: Results) -> None:
    """Compare a mixed-precision run with the float64 optimum, and count its evaluations."""
    model = caesura.ChainCRF(**OPTIONS)
    training = model._training(model._read(X, y, None), None, None)
    tight: dict[str, Any] = {"c2": 1.0, "epsilon": 1e-7, "delta": 1e-10, "n_threads": 1}
    best = minimise(LBFGS(Corpora(training.objective, 1), **tight), training.w0).objective
    times: dict[bool, list[float]] = {False: [], True: []}

    def counted(single: bool) -> Callable[[Any], Any]:
        def call(w: Any) -> Any:
            spent, answer = timed(lambda: training.objective.evaluate(w, None, single, 1))
            times[single].append(spent)
            return answer

        return call

    settings = tight | {"delta": 1e-6, "draft_delta": 1e-7}
    mixed = LBFGS(counted(False), draft=counted(True), **settings)
    found = minimise(mixed, training.w0).objective
    apart = (found - best) / best
    print(
        f"mixed, delta 1e-6, draft_delta 1e-7: {len(times[True])} evaluations in single precision, "
        f"{len(times[False])} in float64"
    )
    mean = float(np.mean(times[False] + times[True]))
    results.faster("the same, mean over a mixed run", seconds.theirs_mean, mean, 8.0, "ms")
    cells = (f"{best:.5f}", f"{found:.5f}")
    results.add("mixed against the float64 optimum", *cells, apart, "<= 1e-6", abs(apart) <= 1e-6)


def predictions(
    X: Bags, y: Tags, path: str, model: caesura.ChainCRF, folder: Path, results: Results
) -> None:
    """Time prediction from attribute lists, and compare answers."""
    peer = pycrfsuite.Tagger()
    peer.open(path)
    own = Tagger()
    model.save(folder / "predictions")
    own.open(folder / "predictions")
    calls: dict[str, Callable[[], Tags]] = {
        "CRFsuite": lambda: [peer.tag(x) for x in X],
        "predict_tags": lambda: model.predict_tags(X, scheme=None),
        "Tagger": lambda: [own.tag(x) for x in X],
    }
    seconds = dict.fromkeys(calls, float("inf"))
    for _ in range(3):
        for name, call in calls.items():
            seconds[name] = min(seconds[name], best_seconds(call, 0.0))
    theirs = seconds["CRFsuite"]
    results.faster("prediction, predict_tags", theirs, seconds["predict_tags"], 4.5)
    results.faster("prediction, Tagger, one by one", theirs, seconds["Tagger"], 4.0)
    said = {name: call() for name, call in calls.items()}
    assert said["Tagger"] == said["predict_tags"]
    fitted = model._known
    w = weights_of(path, fitted)  # type: ignore[arg-type]
    mapped = caesura.ChainCRF(**OPTIONS)
    from caesura.models.fitted import Fitted  # builds.py also imports this file with old builds

    mapped._fitted = Fitted.of(fitted[:3], fitted.encoder, fitted.parameters, w, fitted.rules)
    same = mapped.predict_tags(X, scheme=None)
    tokens = sum(map(len, y))
    apart = _differences(same, said["CRFsuite"])
    print(f"with CRFsuite's weights {apart} of {tokens} tags differ from CRFsuite's")
    assert apart <= 1e-4 * tokens
    gold, *found = (
        [caesura.from_tags(tags, "BIO", "O", "repair") for tags in some]
        for some in (y, said["CRFsuite"], said["predict_tags"])
    )
    a, b = (100.0 * caesura.evaluate(gold, one).micro.f1 for one in found)
    results.add(
        "F1 on the test set", f"{a:.2f}", f"{b:.2f}", b - a, "within 0.1", abs(b - a) <= 0.1
    )


def _differences(a: Tags, b: Tags) -> int:
    return sum(
        x != y for one, other in zip(a, b, strict=True) for x, y in zip(one, other, strict=True)
    )


# -- memory ----------------------------------------------------------------------------------------


def resident(field: str) -> float:
    """Return a figure of this process's memory in MB."""
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def memory_here(who: str, data: Path, sentences: int | None) -> None:
    """Print the memory growth of this process in training, after the lists are built."""
    X, y = corpus(data / "conll2000" / "train.txt", sentences)
    few = [x[:2] for x in X[:2]], [tags[:2] for tags in y[:2]]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))

        def run(X: Bags, y: Tags) -> None:
            if who == "theirs":
                train_peer(X, y, path, max_iterations=15)
            else:
                model = caesura.ChainCRF(**OPTIONS, precision=who, max_iterations=15)
                model.fit(X, y).save(path)

        run(*few)  # so that late imports are not counted
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = resident("VmRSS")
        run(X, y)
    print(json.dumps(resident("VmHWM") - before))


def memory(data: Path, sentences: int | None, results: Results) -> None:
    """Compare how much processes grow."""
    grown = {}
    for who in ("theirs", "double", "mixed"):
        arguments = [sys.executable, __file__, "--memory", who, "--data", str(data)]
        arguments += [] if sentences is None else ["--sentences", str(sentences)]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        grown[who] = json.loads(done.stdout)
    for who in ("double", "mixed"):
        ratio = grown[who] / grown["theirs"]
        cells = (f"{grown['theirs']:.0f} MB", f"{grown[who]:.0f} MB")
        results.add(f"memory growth in training, {who}", *cells, ratio, "<= 1", ratio <= 1.0)


def main() -> None:
    alone()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sentences", type=int, metavar="N", help="only the first ones")
    parser.add_argument("--quick", action="store_true", help="600 sentences, to try it")
    parser.add_argument("--only", choices=("epochs",), help="this part alone")
    parser.add_argument("--runs", type=int, default=2, help="trainings of each")
    parser.add_argument("--memory", choices=("theirs", "double", "mixed"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sentences = 600 if arguments.quick else arguments.sentences
    if arguments.memory:
        memory_here(arguments.memory, arguments.data, sentences)
        return
    if not (arguments.data / "conll2000").is_dir():
        print(f"no CoNLL-2000 in {arguments.data}: skipped; name its folder with --data")
        return
    results, grown = Results(), Results()
    if arguments.only == "epochs":
        X, y = corpus(arguments.data / "conll2000" / "train.txt", sentences)
        with tempfile.TemporaryDirectory() as name:
            epochs(X, y, Path(name), results)
        print(table(["", "python-crfsuite", "caesura", "ratio", "target", "met"], results.rows))
        return
    memory(arguments.data, sentences, grown)  # first, while there is enough memory
    X, y = corpus(arguments.data / "conll2000" / "train.txt", sentences)
    test = corpus(arguments.data / "conll2000" / "test.txt", sentences)
    print(f"{len(X)} sequences, {sum(map(len, X))} tokens; test {len(test[0])} sequences")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = evaluations(X, y, folder, results)
        optimum(X, y, seconds, results)
        threads(X, y, results)
        epochs(X, y, folder, results)
        path, model = trainings(X, y, folder, 1 if arguments.quick else arguments.runs, results)
        predictions(*test, path, model, folder, results)
    print(
        table(
            ["", "python-crfsuite", "caesura", "ratio", "target", "met"], results.rows + grown.rows
        )
    )


if __name__ == "__main__":
    main()
