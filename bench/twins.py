"""Each specialised recursion beside the general sweeps, on the same inputs with equal answers.

    python bench/twins.py

One thread, processor time, milliseconds for the whole batch.  The general sweeps (infer/sweep.cpp,
infer/posterior.cpp) answer for `Potentials` whose indexes are made; the kernels of learning
(cpp/learn) start from features and weights, so their times include gathering one row of weights
for each feature and, for sums, adding the gradient up.  The comment above each specialised
recursion names its line here; one that is not at least 1.3 times as fast has no reason to exist.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from timing import best_seconds, table

import caesura
from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.features import previous, this, word
from caesura.inference.batch import Batch, batch_posterior
from caesura.inference.problems import problem_of
from caesura.inference.results import Path as Ranked
from caesura.segments.cores import OPEN_END, OPEN_START

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from learning_cases import Case

WORDS = 500


class Twin(Case):
    """A corpus of one kind, and the same model as `Potentials`."""

    def __init__(
        self, n: int, T: int, Y: int, *, longest: int, spans: bool = False, order: int = 0
    ) -> None:
        self.rng = rng = np.random.default_rng(0)
        self.Y, self.lengths = Y, rng.integers(T // 2, T + 1, size=n)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self.bounds = np.full(Y, longest, np.int32)
        self.barred, self.cost = np.zeros((Y, Y), np.uint8), None
        self.barred_start = np.zeros(Y, np.uint8)
        self.rules = {}
        self.extractor = _kernels.Extractor([([(0, 0)], 0), ([], 0)], None)
        self.corpus = _kernels.Corpus()
        self.extract_words(spans)
        self.gold = self.make_gold(False)
        patterns = rng.integers(0, Y, size=(40, 3)).tolist() if order > 1 else []
        patterns = [list(p) for p in sorted({tuple(p) for p in patterns})]
        self.parameters = _kernels.Parameters(
            self.corpus,
            self.gold,
            Y,
            self.extractor,
            self.bounds,
            self.barred,
            self.barred_start,
            None,
            0.0,
            True,
            True,
            True,
            patterns,
        )
        self.w = rng.normal(size=len(self.parameters))
        self.weight = np.ones(n)

    def extract_words(self, spans: bool) -> None:
        """One word for each token and, where wanted, features of spans of two and three tokens."""
        rng, N = self.rng, int(self.offsets[-1])
        words = (None, rng.integers(0, WORDS, size=N).astype(np.int32), None)
        made = [
            (s, s + k, int(rng.integers(4)))
            for first, last in zip(
                self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True
            )
            for s in range(first, last - 3)
            for k in (2, 3)
            if spans and rng.random() < 0.3
        ]
        starts, ends, flags = (np.array([m[i] for m in made], np.int32) for i in range(3))
        self.extractor.extract(
            self.corpus,
            self.offsets,
            [words],
            *(starts, ends, flags.astype(np.uint8), np.ones(len(made), np.int32)),
            rng.integers(0, 3, size=len(made)).astype(np.int32),
            np.ones(len(made)),
            True,
        )


def general(twin: Twin, keep_chain_out: bool) -> list[caesura.Potentials]:
    """Return the model as `Potentials`, with the scores of single tokens in their array."""
    made = []
    for i in range(len(twin.lengths)):
        p = twin.potentials(i, twin.w)
        added, p._added = p._added, []
        for chunk in added:
            starts, ends, targets, scores, flags = chunk
            token = (ends == starts + 1) & (targets < twin.Y) & (flags == (OPEN_START | OPEN_END))
            np.add.at(p.emission, (starts[token], targets[token]), scores[token])
            if not token.all():
                p._added.append(tuple(column[~token] for column in chunk))
        if keep_chain_out:
            p.add_transition(1, 0, 0, 0.0)
        made.append(p)
    return made


def sums(twin: Twin, chain: bool) -> tuple[list[float], list[float]]:
    """Seconds of the learning kernel and of the general sweeps; and of the chain kernel."""
    objective, potentials = twin.objective(), general(twin, chain)
    problems = [problem_of(p) for p in potentials]
    gold = [
        caesura.score(p, twin.rows[twin.ptr[i] : twin.ptr[i + 1]]) for i, p in enumerate(potentials)
    ]
    loss = objective.evaluate(twin.w, None, False, 1)[0]
    assert objective.n_careful == 0
    log_z = _kernels.log_partition(problems, 0, 1)
    assert np.isclose(loss, sum(log_z) - sum(gold), rtol=1e-9)
    times = [
        best_seconds(lambda: objective.evaluate(twin.w, None, False, 1)),
        best_seconds(lambda: _kernels.posterior(problems, 0, 1, False)),
    ]
    alone = []
    if chain:
        chains = [problem_of(p) for p in general(twin, False)]
        fast, slow = (_kernels.posterior(x, 0, 1, False) for x in (chains, problems))
        for a, b in zip(fast, slow, strict=True):
            assert np.allclose(a.tokens, b.tokens, atol=1e-9)
            assert np.allclose(a.transitions, b.transitions, atol=1e-9)
        alone = [
            best_seconds(lambda: _kernels.posterior(chains, 0, 1, False)),
            best_seconds(lambda: _kernels.log_partition(chains, 0, 1)),
            best_seconds(lambda: _kernels.log_partition(problems, 0, 1)),
        ]
    return times, alone


def best(twin: Twin) -> list[float]:
    potentials = general(twin, False)
    problems = [problem_of(p) for p in potentials]
    scorer, design = twin.scorer(), twin.parameters.compile(twin.corpus)
    found = scorer.best(design, None, 1).segments(tuple, list(range(twin.Y)))
    for p, path, answer in zip(potentials, found, _kernels.best(problems, 0, 1), strict=True):
        assert answer is not None
        assert np.isclose(caesura.score(p, path), answer[1], rtol=1e-9)
    return [
        best_seconds(lambda: scorer.best(design, None, 1)),
        best_seconds(lambda: _kernels.best(problems, 0, 1)),
    ]


def five_best(twin: Twin) -> list[float]:
    """Seconds for the five best of each sequence, with ln Z for their probabilities.

    The rows are scored where they are; the general walk needs a problem, whose making counts.
    """
    scorer, design = twin.scorer(), twin.parameters.compile(twin.corpus)
    names: Any = list(range(twin.Y))
    n = len(twin.lengths)
    reading = _kernels.Reading(np.arange(twin.Y, dtype=np.int32), None)

    def ranked() -> tuple[list[list[Any]], list[float]]:
        problems = [scorer.problem(design, i) for i in range(n)]
        found = _kernels.n_best(problems, 5, 0, 1, tuple, [names] * n, Ranked, [None] * n)
        return found, _kernels.log_partition(problems, 0, 1)

    fast = scorer.n_best(design, reading, tuple, names, 5, 1)
    for mine, others, z in zip(fast, *ranked(), strict=True):
        assert np.allclose([p for _, p in mine], [np.exp(one.score - z) for one in others])
    return [
        best_seconds(lambda: scorer.n_best(design, reading, tuple, names, 5, 1)),
        best_seconds(ranked),
    ]


def tags(Y: int) -> list[float]:
    """Seconds for the best segments that tags encode with their probabilities.

    State 0 is outside; B and I of a label, or three tags for a label of BIES, follow each other.
    """
    twin = Twin(200, 30, Y, longest=1)
    label = np.array([-1, *(k // 2 for k in range(Y - 1))], np.int32)
    joined = np.zeros((Y, Y), np.uint8)
    for k in range(1, Y - 1, 2):
        joined[k, k + 1] = joined[k + 1, k + 1] = 1
    reading = _kernels.Reading(label, joined)
    scorer, design = twin.scorer(), twin.parameters.compile(twin.corpus)
    names, problems = list(range(Y)), [problem_of(p) for p in general(twin, True)]
    states = {k: np.flatnonzero(label == k).tolist() for k in set(label.tolist())}
    found = scorer.best(design, reading, 1).segments(tuple, names)

    def looked_up() -> list[float]:
        out = []
        for problem, segments in zip(problems, found, strict=True):
            lookup = _kernels.Lookup(problem, 0)
            out += [lookup.run(s, e, states[label[y]], joined) for s, e, y in segments]
        return out

    fast = scorer.confident(design, reading, 1).probabilities
    assert np.allclose(fast, looked_up(), atol=1e-9)
    return [
        best_seconds(lambda: scorer.confident(design, reading, 1)),
        best_seconds(looked_up) + best_seconds(lambda: _kernels.best(problems, 0, 1)),
    ]


def pairs() -> list[float]:
    """Seconds for the best segments with features of pairs of segments: agenda and span graph."""
    rng, Y, longest = np.random.default_rng(0), 4, 5
    documents = [
        Document(tuple(map(str, rng.integers(0, WORDS, size=n).tolist())))
        for n in rng.integers(10, 21, size=60).tolist()
    ]
    encoder = SpanEncoder(
        [word[0], this.text, previous.text & this.text, previous.last & this.last]
    )
    corpus: Any = encoder.encode(documents, True)
    gold = []
    for document in documents:
        cuts = [0]
        while cuts[-1] < len(document):
            cuts.append(min(len(document), cuts[-1] + int(rng.integers(1, longest))))
        y = rng.integers(0, Y, size=len(cuts) - 1)
        gold.append(np.stack([cuts[:-1], cuts[1:], y], axis=1).astype(np.int32))
    none = np.zeros(Y, np.uint8)
    bars: tuple[Any, Any, Any, Any] = (
        np.full(Y, longest, np.int32),
        np.zeros((Y, Y), np.uint8),
        none,
        none,
    )
    model = encoder.new_model(Y, True)
    learner = _kernels.SpanPerceptron(model, corpus, gold, *bars, np.ones(len(gold)), None, 0)
    learner.run(np.tile(np.arange(len(gold), dtype=np.int32), 2), 0, 1e9, None)
    scorer = _kernels.SpanScorer(learner.averaged(), *bars, None, None)
    reading, names = _kernels.Reading(np.arange(Y, dtype=np.int32), None), list(range(Y))
    ranked = scorer.n_best(corpus, reading, tuple, names, 1, 1)
    found = scorer.best(corpus, reading, 1).segments(tuple, names)
    for i, (mine, [(other, _)]) in enumerate(zip(found, ranked, strict=True)):
        first, second = (scorer.score(corpus, i, np.array(one, np.int32)) for one in (mine, other))
        assert np.isclose(first, second, rtol=1e-9)
    return [
        best_seconds(lambda: scorer.best(corpus, reading, 1)),
        best_seconds(lambda: scorer.n_best(corpus, reading, tuple, names, 1, 1)),
    ]


def dense(dtype: type[np.floating[Any]]) -> list[float]:
    """Seconds for the counts of a batch of scores of segments, as of a layer for torch."""
    rng = np.random.default_rng(0)
    B, T, L, Y = 8, 512, 32, 16
    scores: dict[str, Any] = {
        "segments": rng.normal(size=(B, T, L, Y)).astype(dtype),
        "max_length": L,
    }
    scores |= {"transition": rng.normal(size=(Y, Y)).astype(dtype)}
    batches = [Batch(**scores), Batch(**scores, tokens=np.zeros((B, T, Y), dtype))]
    first, second = (batch_posterior(batch, n_threads=1) for batch in batches)
    assert np.allclose(first.log_partition, second.log_partition, rtol=1e-5)
    assert first.segments is not None
    assert second.segments is not None
    assert np.allclose(first.segments, second.segments, atol=1e-4)
    return [
        best_seconds(lambda batch=batch: batch_posterior(batch, n_threads=1))  # type: ignore[misc]
        for batch in batches
    ]


def main() -> None:
    rows: list[list[object]] = []

    def line(name: str, files: str, special: float, plain: float) -> None:
        cells = [f"{1e3 * special:.2f}", f"{1e3 * plain:.2f}", f"{plain / special:.2f}"]
        rows.append([name, files, *cells])

    for Y in (5, 22):
        chain = Twin(200, 30, Y, longest=1)
        (learn, sweeps), (posterior, log_z, log_z_sweep) = sums(chain, True)
        line(f"chain counts, Y={Y}", "E3 / E1+E2", posterior, sweeps)
        line(f"chain ln Z, Y={Y}", "E3 / E1", log_z, log_z_sweep)
        line(f"chain counts in learning, Y={Y}", "E3 / E1+E2", learn, sweeps)
        line(f"chain best, Y={Y}", "L5 / E1", *best(chain))
        line(f"chain 5 best, Y={Y}", "rows / walk", *five_best(chain))
    for name, longest in (("bounded", 6), ("unbounded", 0)):
        segments = Twin(100, 30, 10, longest=longest, spans=True)
        line(f"segments {name} counts", "L1+L3 / E1+E2", *sums(segments, False)[0])
        line(f"segments {name} best", "L5 / E1", *best(segments))
        line(f"segments {name} 5 best", "rows / walk", *five_best(segments))
    high = Twin(60, 20, 6, longest=0, spans=True, order=2)
    line("label patterns counts", "L7+L8 / E1+E2", *sums(high, False)[0])
    line("label patterns best", "L9 / E1", *best(high))
    for Y in (5, 21):
        line(f"probabilities of segments of {Y} tags", "L1+L3+L5 / E1+E2", *tags(Y))
    line("pairs of segments best", "agenda / graph", *pairs())
    for dtype in (np.float64, np.float32):
        line(f"dense segments counts, {dtype.__name__}", "dense / E1+E2", *dense(dtype))
    print("milliseconds for a batch; ratio: how much faster the first is")
    print(table(["question", "recursions", "first", "second", "ratio"], rows))


if __name__ == "__main__":
    main()
