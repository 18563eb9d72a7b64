"""The same measurements with two builds of Caesura, in alternating interpreters.

    python bench/builds.py OLD/.venv/bin/python NEW/.venv/bin/python [--data FOLDER] [--quick]

The cases are those of segments.py, growth.py, orders_time.py, scaling.py, chain.py, once.py,
peers.py, crfsuite.py and segment.py: one objective with its gradient, ln Z with all marginals, or
prediction.  Each interpreter runs the modules beside this script and
keeps its cases in memory.  Both predict with models that the old one trains.  In each round both
time every case, one after the other (the least processor time of a few calls), and the order
changes from round to round.  Printed are the medians and the median of the ratios of a round.
Answers must be equal to 1e-9.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import table

Call = Callable[[], float]
Cases = Iterator[tuple[str, Call]]

# -- cases, run in the interpreter that is measured ------------------------------------------------


def corpora(data: Path, most: int | None) -> Cases:
    """The models of segments.py and growth.py."""
    from growth import lean, naive
    from segments import PLACES, POSITIONS, chain, compiled, random_weights, semi, tasks

    def case(model: object, task: object) -> Call:
        training = compiled(model, task)  # type: ignore[arg-type]
        w = random_weights(training)
        return lambda: training.objective.evaluate(w, None, False, 1)[0]

    for task in tasks(data, most):
        L = task.longest
        yield f"segments {task.name}: chain", case(chain(), task)
        yield f"segments {task.name}: tokens", case(semi(), task)
        yield f"segments {task.name}: places", case(semi(PLACES), task)
        yield f"segments {task.name}: positions", case(semi(POSITIONS), task)
        yield f"segments {task.name}: tokens, bounded", case(semi(max_length=L), task)
        yield f"segments {task.name}: places, bounded", case(semi(PLACES, max_length=L), task)
    for task in tasks(data, 50 if most else 100, lean):
        if task.longest < 20:
            yield f"growth {task.name}: naive", case(naive(task.longest), task)
        yield f"growth {task.name}: bounded", case(semi(max_length=task.longest), task)
        yield f"growth {task.name}: overlapping", case(semi(), task)


def orders(data: Path, quick: bool) -> Cases:
    """The models of orders_time.py: bounded segments, and long texts without a bound."""
    from orders_cora import model
    from orders_data import Labelled, cora
    from orders_time import compiled

    import caesura

    train, _ = cora(data)
    for order in (1, 2) if quick else (1, 2, 3, 4):
        training, w = compiled(model("SC", order), train)
        yield (
            f"orders {order}: bounded",
            lambda t=training, w=w: t.objective.evaluate(w, None, False, 1)[0],  # type: ignore[misc]
        )
    tokens = tuple(token for document in train.documents for token in document.tokens)
    tags = [tag for some in train.tags for tag in some]
    for n in (200,) if quick else (200, 2000):
        text = Labelled([caesura.Document(tokens[:n]), *train.documents], [tags[:n], *train.tags])
        training, w = compiled(model("SC", 2, max_length=None), text)
        one = np.array([0], np.int32)
        yield (
            f"orders 2: no bound, {n} tokens",
            lambda t=training, w=w, one=one: t.objective.evaluate(w, one, False, 1)[0],  # type: ignore[misc]
        )


def engine(quick: bool) -> Cases:
    """The marginals of scaling.py."""
    from scaling import potentials

    import caesura

    for patterns in (False, True):
        for m in (1, 4):
            for T in (200,) if quick else (200, 2000):
                p = potentials(T, m, patterns, seed=T + m)
                kind = "patterns" if patterns else "first order"
                for method in ("overlapping", "bounded") if T <= 200 else ("overlapping",):
                    yield (
                        f"scaling {kind}, m={m}, T={T}: {method}",
                        lambda p=p, method=method: (
                            caesura.marginals(  # type: ignore[misc]
                                p, n_threads=1, method=method
                            ).log_partition
                        ),
                    )


def layers(quick: bool) -> Cases:
    """The chains of chain.py, the rules of once.py, and our part of peers.py."""
    from chain import batch
    from once import noise
    from peers import CASES, caesura_build, caesura_infer, draw

    import caesura

    def total(chains: list[caesura.Potentials]) -> float:
        return sum(one.log_partition for one in caesura.marginals(chains, n_threads=1))

    def log_z(chains: list[caesura.Potentials]) -> float:
        return sum(caesura.log_partition(chains, n_threads=1))

    for T in (25,) if quick else (25, 100, 1000):
        chains = batch(T, T)
        yield f"chain of 22 labels, T={T}: marginals", partial(total, chains)
        yield f"chain of 22 labels, T={T}: ln Z", partial(log_z, chains)
    p = noise(50, 13, None, 0)
    yield "once, 13 labels: ln Z", lambda: caesura.log_partition(p, n_threads=1)
    yield "once, 13 labels: marginals", lambda: caesura.marginals(p, n_threads=1).log_partition
    yield "once, 13 labels: viterbi", lambda: caesura.viterbi(p, n_threads=1).score
    for case in CASES[:1] if quick else CASES:
        problems = caesura_build(draw(case.T, case.L, case.Y, case.by_length))
        yield (
            f"peers {case.name}: ln Z and gradient",
            lambda problems=problems: sum(one[0] for one in caesura_infer(problems)),  # type: ignore[misc]
        )


def fitted(path: Path, fit: Callable[[], Any]) -> Path:
    """Return the path of a model, which the build that comes first trains for both."""
    if not path.exists():
        fit().save(path)
    return path


def chunks(data: Path, models: Path, sentences: int | None) -> Cases:
    """Learning and tagging of crfsuite.py, from attribute lists."""
    from chunking import OPTIONS, corpus

    import caesura

    X, y = corpus(data / "conll2000" / "train.txt", sentences)
    model = caesura.ChainCRF(**OPTIONS, precision="double")
    training = model._training(model._read(X, y, None), None, None)
    w = np.random.default_rng(0).normal(scale=0.1, size=len(training.parameters))
    for precision, single in (("double", False), ("single", True)):
        yield (
            f"crfsuite: objective, {precision} precision",
            lambda single=single: training.objective.evaluate(w, None, single, 1)[0],  # type: ignore[misc]
        )
    few = caesura.ChainCRF(**OPTIONS, precision="double", max_iterations=5)
    # Later iterations depend on the correction pairs, which not all builds keep in the same way.
    yield (
        "crfsuite: five iterations from attribute lists",
        lambda: few.fit(X, y).history_[0].objective,
    )
    asked, gold = corpus(data / "conll2000" / "test.txt", sentences)
    path = fitted(models / "chunks", lambda: few.fit(X, y))
    known, tagger = caesura.load(path), caesura.compat.Tagger()
    tagger.open(path)

    def right(found: list[list[str]]) -> float:
        pairs = zip(found, gold, strict=True)
        return sum(a == b for tags, true in pairs for a, b in zip(tags, true, strict=True))

    known.set_params(n_threads=1)
    yield "crfsuite: tags", lambda: right(known.predict_tags(asked, scheme=None))
    yield "crfsuite: tags, one by one", lambda: right([tagger.tag(x) for x in asked])


def addresses(data: Path, models: Path, few: int | None) -> Cases:
    """Prediction from texts, as in segment.py."""
    import caesura
    from caesura import ChainCRF, SemiCRF
    from caesura.corpora import read
    from caesura.features import preset

    train = list(read(data / "usaddress" / "train.xml"))[:few]
    texts = [" ".join(document.tokens) for document in train]
    options: dict[str, Any] = {
        "tokeniser": "whitespace",
        "n_threads": 1,
        "max_iterations": 20,
        "c2": 0.1,
    }
    segments = preset("addresses", segments=True)
    for name, model in (
        ("chain", ChainCRF(preset("addresses"), scheme="BIO", precision="double", **options)),
        ("semi-CRF", SemiCRF(segments, same_label_adjacent=False, precision="double", **options)),
    ):
        path = fitted(models / name, lambda model=model: model.fit(train))  # type: ignore[misc]
        known = caesura.load(path).set_params(n_threads=1)
        yield (
            f"addresses {name}: predict",
            lambda known=known: sum(map(len, known.predict(texts))),  # type: ignore[misc]
        )


def least(call: Call, seconds: float = 0.05) -> tuple[float, float]:
    """Return the minimum processor time of some calls, and the result."""
    best, spent, runs = float("inf"), 0.0, 0
    while runs < 2 or (spent < seconds and runs < 50):
        began = time.thread_time()
        answer = call()
        one = time.thread_time() - began
        best, spent, runs = min(best, one), spent + one, runs + 1
    return best, answer


def serve(data: Path, models: Path, quick: bool, only: str) -> None:
    """Print the case names, then time the case that each input line names."""
    cases: dict[str, Call] = {}
    groups: dict[str, Callable[[], Cases]] = {
        "segments growth": lambda: corpora(data, 100 if quick else 1000),
        "orders": lambda: orders(data, quick),
        "scaling": lambda: engine(quick),
        "chain once peers": lambda: layers(quick),
        "crfsuite": lambda: chunks(data, models, 100 if quick else None),
        "addresses": lambda: addresses(data, models, 100 if quick else None),
    }
    for names, make in groups.items():
        if any(only.startswith(name) or name.startswith(only) for name in names.split()):
            cases |= {name: call for name, call in make() if name.startswith(only)}
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        print(json.dumps(least(cases[json.loads(line)])), flush=True)


# -- comparison of two interpreters ----------------------------------------------------------------


class Build:
    """An interpreter that waits for the name of a case."""

    def __init__(self, python: str, arguments: list[str]) -> None:
        command = [python, __file__, *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read(self) -> list[str]:
        assert self.process.stdout is not None
        found: list[str] = json.loads(self.process.stdout.readline())
        return found

    def time(self, name: str) -> tuple[float, float]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(name), file=self.process.stdin, flush=True)
        seconds, answer = json.loads(self.process.stdout.readline())
        return seconds, answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(builds: list[Build], names: list[str], rounds: int) -> list[list[str]]:
    """Return a row for each case: old and new in ms, and the median of new / old."""
    seconds: dict[str, list[list[float]]] = {name: [[], []] for name in names}
    for turn in range(rounds):
        for name in names:
            answers = {}
            for k in (0, 1) if turn % 2 == 0 else (1, 0):
                spent, answers[k] = builds[k].time(name)
                seconds[name][k].append(spent)
            assert abs(answers[0] - answers[1]) <= 1e-9 * max(1.0, abs(answers[0])), name
    rows = []
    for name, (old, new) in seconds.items():
        ratio = statistics.median(b / a for a, b in zip(old, new, strict=True))
        shown = [f"{1e3 * statistics.median(one):.3f}" for one in (old, new)]
        rows.append([name, *shown, f"{ratio:.2f}", "NO" if ratio > 1.07 else "yes"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="the old one and the new one")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names begin so")
    parser.add_argument("--quick", action="store_true", help="small cases, to try it")
    parser.add_argument("--serve", type=Path, metavar="MODELS", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.data, arguments.serve, arguments.quick, arguments.only)
        return
    if len(arguments.pythons) != 2:
        print("no two interpreters: skipped; name that of the old build and that of the new one")
        return
    rest = ["--data", str(arguments.data), "--only", arguments.only]
    rest += ["--quick"] if arguments.quick else []
    with tempfile.TemporaryDirectory() as models:
        builds, names = [], []
        for python in arguments.pythons:
            builds.append(Build(python, [*rest, "--serve", models]))
            names.append(builds[-1].read())
        assert names[0] == names[1]
        rows = compare(builds, names[0], arguments.rounds)
        for build in builds:
            build.close()
    print(f"ms, medians of {arguments.rounds} rounds; ratio: median of new / old")
    print(table(["", "old", "new", "ratio", "<= 1.07"], rows))


if __name__ == "__main__":
    main()
