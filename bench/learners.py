"""All learners on three corpora: F1, passes, seconds and the size of the model.

    python bench/learners.py [--task conll|cora|ncbi] [--learner NAME] [--data ../shared/data]
                             [--passes N]
    python bench/learners.py --table FILE              a table of the lines that were printed
    python bench/learners.py --gaps                    how the duality gaps close, on demo data

Models and features are those of accuracy.py: a chain with BIOES tags on CoNLL-2000 and on NCBI
disease, a semi-CRF on Cora.  The setting of each learner is the best of a small grid in two-fold
cross-validation of training data: of all 300 references of Cora, and of every n-th sentence of the
other two, so that about 900 are left, since the last learners of the list are slow.  Then it learns
from all training data, and the test set is looked at once.  Passes are those of the last fit: over
the data for online learners, iterations for others.  Seconds are CPU time of that fit on one
thread, with encoding; size is the number of weights other than zero, and of bytes in the model
file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import TASKS, Documents, Task, f1, folds

import caesura
from caesura.demo import addresses

CORPORA = {"conll": "chain, BIOES", "cora": "semi", "ncbi": "chain, BIOES"}
SHARE = {"conll": 10, "cora": 1, "ncbi": 7}  # settings are chosen on every n-th sequence
MOST = {"cora": 60, "conll": 10, "ncbi": 15}  # maximum passes of svm and eg, which are slow
PLANES = 10  # factor on these for cutting-plane, whose iterations are cheaper

LIKELIHOOD = {"c2": (0.03, 0.3, 1.0)}
MARGIN = {"c2": (0.1, 1.0)}
Setting = dict[str, Any]
LEARNERS: dict[str, tuple[Setting, dict[str, tuple[Any, ...]]]] = {
    "lbfgs": ({"learner": "lbfgs", "delta": 1e-4}, LIKELIHOOD),
    "sgd": ({"learner": "sgd", "max_iterations": 30}, LIKELIHOOD),
    "adagrad": ({"learner": "adagrad", "max_iterations": 30}, LIKELIHOOD),
    "perceptron": ({"learner": "perceptron", "epsilon": 0.0}, {"max_iterations": (10, 20, 40)}),
    "pa": ({"learner": "pa", "max_iterations": 20}, {"pa_c": (0.001, 0.01, 0.1, 1.0)}),
    "arow": ({"learner": "arow", "max_iterations": 20}, {"arow_r": (10.0, 100.0, 1000.0)}),
    "svm": ({"learner": "svm"}, MARGIN),
    "cutting-plane": ({"learner": "cutting-plane"}, MARGIN),
    "eg, log loss": ({"learner": "eg", "loss": "log"}, LIKELIHOOD),
    "eg, max-margin": ({"learner": "eg"}, MARGIN),
}


def settings(learner: str) -> list[Setting]:
    """Return the settings to try for a learner."""
    _, grid = LEARNERS[learner]
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def fresh(task: Task, name: str, learner: str, setting: Setting) -> Any:
    """Return a model of the task that is not fitted."""
    common: Setting = {"c1": 0.0, "c2": 0.0, "n_threads": 1, "precision": "auto", "delta": None}
    own, _ = LEARNERS[learner]
    if own["learner"] in ("svm", "eg", "cutting-plane"):
        times = PLANES if own["learner"] == "cutting-plane" else 1
        common["max_iterations"] = times * MOST[name]
    model: Any = task.models[CORPORA[name]]
    return type(model)(**(model.get_params() | common | own | setting))


def choose(task: Task, name: str, learner: str) -> Setting:
    """Return the setting with the best cross-validated F1 on the training data."""
    some: Documents = task.train[:: SHARE[name]]
    scores = []
    for setting in settings(learner):
        found: list[Any] = []
        gold: Documents = []
        for train, held in folds(some, 2):
            found += fresh(task, name, learner, setting).fit(train).predict(held)
            gold += held
        scores.append(f1(gold, found))
        print(f"  {name}, {learner}, {setting}: {scores[-1]:.2f} held out", flush=True)
    return settings(learner)[int(np.argmax(scores))]


def measure(task: Task, name: str, learner: str) -> dict[str, Any]:
    """Choose, fit, and look at the test set; return a line of the table."""
    setting = choose(task, name, learner)
    model = fresh(task, name, learner, setting)
    began = time.process_time()
    model.fit(task.train)
    seconds = time.process_time() - began
    last = model.history_[-1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        model.save(file)
        size = file.stat().st_size
    return {
        "task": name,
        "learner": learner,
        "setting": ", ".join(f"{key} {value:g}" for key, value in setting.items()),
        "f1": f1(task.test, model.predict(task.test)),
        "passes": last.iteration,
        "seconds": seconds,
        "weights": int(np.count_nonzero(model.weights_)),
        "bytes": size,
        "status": model.status_,
        "gap": last.gap / abs(last.objective) if getattr(last, "gap", None) else None,
    }


def tabulate(path: Path) -> None:
    """Print a table for each corpus of the lines in a file."""
    lines = [json.loads(one) for one in path.read_text("utf-8").splitlines() if one[:1] == "{"]
    for name in CORPORA:
        print(f"\n| {name} | setting | F1 | passes | seconds | weights | MB | ended by |")
        print("|---|---|---:|---:|---:|---:|---:|---|")
        for learner in LEARNERS:
            for one in lines:
                if (one["task"], one["learner"]) == (name, learner):
                    gap = "" if one["gap"] is None else f", gap {100 * one['gap']:.1f} %"
                    print(
                        f"| {learner} | {one['setting']} | {one['f1']:.2f} | {one['passes']} "
                        f"| {one['seconds']:.1f} | {one['weights']:,} | {one['bytes'] / 1e6:.1f} "
                        f"| {one['status']}{gap} |"
                    )


GAPS: dict[str, Setting] = {
    "svm": {"learner": "svm"},
    "cutting-plane": {"learner": "cutting-plane", "max_iterations": 1000},
    "eg": {"learner": "eg", "max_iterations": 300},
    "eg, log loss": {"learner": "eg", "loss": "log"},
    "lbfgs": {"learner": "lbfgs"},
}


def gaps() -> None:
    """Print objective, iterations and relative gap of learners with a dual, beside L-BFGS."""
    train = addresses(30)
    print(f"| model | c2 | {' | '.join(GAPS)} |\n|---|---|{'---|' * len(GAPS)}")
    kinds: dict[str, Any] = {"semi-CRF": caesura.SemiCRF, "chain": caesura.ChainCRF}
    for (name, kind), c2 in product(kinds.items(), (1.0, 0.1, 0.01)):
        cells = []
        for setting in GAPS.values():
            last = kind(c2=c2, **setting).fit(train).history_[-1]
            gap = "" if last.gap is None else f", gap {last.gap / last.objective:.2%}"
            cells.append(f"{last.objective:.4g} ({last.iteration}){gap}")
        print(f"| {name} | {c2:g} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--task", choices=list(CORPORA), action="append")
    parser.add_argument("--learner", choices=list(LEARNERS), action="append")
    parser.add_argument("--quick", action="store_true", help="little data, to see that it works")
    parser.add_argument("--table", type=Path, metavar="FILE", help="what was printed before")
    parser.add_argument("--gaps", action="store_true", help="duality gaps on 30 demo addresses")
    parser.add_argument("--passes", type=int, help="of svm and eg; cutting-plane: ten times that")
    given = parser.parse_args()
    if given.passes is not None:
        MOST.update(dict.fromkeys(CORPORA, given.passes))
    if given.table is not None:
        tabulate(given.table)
        return
    warnings.simplefilter("ignore")  # about runs that end with a gap, which is printed
    if given.gaps:
        gaps()
        return
    if not (given.data / "conll2000").is_dir():
        print(f"no corpora in {given.data}: skipped; name their folder with --data")
        return
    for name in given.task or CORPORA:
        task = TASKS[name](given.data)
        if given.quick:
            task = task._replace(train=task.train[:: 5 * SHARE[name]], test=task.test[::10])
        for learner in given.learner or LEARNERS:
            print(json.dumps(measure(task, name, learner)), flush=True)


if __name__ == "__main__":
    main()
