"""Perceptron-type learners on CoNLL-2000: python-crfsuite's ap, pa and arow beside ours.

    python bench/margin.py [--data ../shared/data] [--passes 10] [--seeds 5] [--quick]

Same attributes, same passes, one thread.  A pass is timed as processor time of this thread between
the messages (or callbacks) of two passes; the table has the median of all passes but the first.  F1
is that of BIO segments on the test set after the same number of passes, the mean over seeds: ours
seed the order of the sequences, those of CRFsuite get the sequences in another order.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from chunking import OPTIONS, Bags, Tags, corpus
from timing import table

import caesura
from caesura.evaluation import segment_counts

LEARNERS = {"perceptron": "ap", "pa": "pa", "arow": "arow"}


class Peer(pycrfsuite.BaseTrainer):  # type: ignore[misc]
    """python-crfsuite with the time of each pass."""

    def __init__(self, algorithm: str, passes: int) -> None:
        params = {"max_iterations": passes, "epsilon": 0.0}
        super().__init__(algorithm, params)
        self.seconds: list[float] = []
        self.began = 0.0

    def message(self, message: str) -> None:
        if message.startswith("Seconds required for this iteration"):
            now = time.thread_time()
            if self.began:
                self.seconds.append(now - self.began)
            self.began = now


def f1(predicted: Tags, truth: Tags) -> float:
    gold, found = (
        [caesura.from_tags(tags, "BIO", repair="repair") for tags in some]
        for some in (truth, predicted)
    )
    return 100.0 * segment_counts(gold, found).f1


def run_peer(algorithm: str, seed: int, passes: int, data: Any) -> tuple[list[float], float]:
    (X, y), (X_test, y_test) = data
    trainer = Peer(algorithm, passes)
    for i in np.random.default_rng(seed).permutation(len(X)):
        trainer.append(X[i], y[i])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        found = [tagger.tag(x) for x in X_test]
    return trainer.seconds, f1(found, y_test)


def run_ours(learner: str, seed: int, passes: int, data: Any) -> tuple[list[float], float]:
    (X, y), (X_test, y_test) = data
    times: list[float] = []
    options = {**OPTIONS, "learner": learner, "random_state": seed, "max_iterations": passes}
    model = caesura.ChainCRF(**options, delta=0.0)
    model.fit(X, y, callbacks=[lambda _: times.append(time.thread_time())])
    return np.diff(times).tolist(), f1(model.predict_tags(X_test, scheme=None), y_test)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="1000 sentences, one seed")
    options = parser.parse_args()
    folder = options.data / "conll2000"
    if not folder.is_dir():
        print(f"no corpus in {folder}: pass --data")
        return
    some, seeds = (1000, 1) if options.quick else (None, options.seeds)
    data: tuple[tuple[Bags, Tags], ...] = tuple(
        corpus(folder / name, some) for name in ("train.txt", "test.txt")
    )
    rows = []
    for learner, algorithm in LEARNERS.items():
        theirs: list[tuple[list[float], float]] = []
        ours: list[tuple[list[float], float]] = []
        for seed in range(seeds):
            theirs.append(run_peer(algorithm, seed, options.passes, data))
            ours.append(run_ours(learner, seed, options.passes, data))
        pass_of = [statistics.median(s for times, _ in r for s in times) for r in (theirs, ours)]
        score_of = [statistics.fmean(score for _, score in r) for r in (theirs, ours)]
        rows.append(
            [
                learner,
                *(f"{1000 * seconds:.0f}" for seconds in pass_of),
                f"{pass_of[0] / pass_of[1]:.1f}",
                *(f"{score:.2f}" for score in score_of),
                f"{score_of[1] - score_of[0]:+.2f}",
            ]
        )
    head = ["learner", "CRFsuite ms", "ours ms", "times faster", "F1 CRFsuite", "F1 ours", "gain"]
    print(f"CoNLL-2000, {options.passes} passes, {seeds} seeds, processor time of a pass")
    print(table(head, rows))


if __name__ == "__main__":
    main()
