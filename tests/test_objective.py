"""The learning kernels against the engine: objective, gradient, and what each row counts."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caesura
from caesura import _kernels

Floats = npt.NDArray[np.float64]
PLACES = 9  # token, within, first, last, single, begin, inside, end, edge


class Case:
    """A random corpus with all kinds of features, and its twin made of `Potentials`."""

    def __init__(self, seed: int, scale: float = 1.0, partial: bool = False) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.Y = int(rng.integers(1, 5))
        self.lengths = rng.integers(0 if seed % 3 else 1, 7, size=int(rng.integers(1, 4)))
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self.bounds = rng.integers(0, 4, size=self.Y).astype(np.int32)
        if rng.random() < 0.2:
            self.bounds[:] = 1  # a chain
        self.barred = (rng.random((self.Y, self.Y)) < 0.2).astype(np.uint8)
        np.fill_diagonal(self.barred, 0)
        self.barred_start = np.zeros(self.Y, np.uint8)
        self.extractor = _kernels.Extractor(self.templates())
        self.corpus = _kernels.Corpus()
        self.extract()
        self.gold = self.make_gold(partial)
        self.parameters = _kernels.Parameters(
            self.corpus,
            self.gold,
            self.Y,
            self.extractor,
            self.bounds,
            self.barred,
            self.barred_start,
            None,
            0.0,
            bool(rng.random() < 0.5),
            bool(rng.random() < 0.5),
            bool(rng.random() < 0.7),
        )
        self.w = rng.normal(size=len(self.parameters)) * scale
        self.weight = rng.random(len(self.lengths)) + 0.5
        self.cost = rng.random((int(self.offsets[-1]), self.Y)) if rng.random() < 0.3 else None

    def templates(self) -> list[tuple[list[tuple[int, int]], int]]:
        rng = self.rng
        made = []
        for _ in range(int(rng.integers(1, 6))):
            parts = [
                (int(rng.integers(2)), int(rng.integers(-2, 3)))
                for _ in range(int(rng.integers(1, 3)))
            ]
            made.append((parts, int(rng.integers(PLACES))))
            if rng.random() < 0.4:  # of one token, and of the token by its place in the segment
                made += [(parts, place) for place in (0, 2, 3, 4) if rng.random() < 0.7]
        self.n_templates = len(made)
        return [*made, ([], 0)]

    def extract(self) -> None:
        rng, N = self.rng, int(self.offsets[-1])
        single = (None, rng.integers(0, 3, size=N).astype(np.int32), None)
        counts = rng.integers(0, 3, size=N)
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        size = int(ptr[-1])
        bag = (ptr, rng.integers(0, 3, size=size).astype(np.int32), rng.normal(size=size))
        spans = []
        for first, last in zip(self.offsets, self.offsets[1:], strict=False):
            for _ in range(int(rng.integers(0, 6)) if last > first else 0):
                start = int(rng.integers(first, last))
                spans.append((start, int(rng.integers(start + 1, last + 1)), int(rng.integers(4))))
        spans.sort()
        n = len(spans)
        self.extractor.extract(
            self.corpus,
            self.offsets,
            [single, bag],
            np.array([s[0] for s in spans], np.int32),
            np.array([s[1] for s in spans], np.int32),
            np.array([s[2] for s in spans], np.uint8),
            np.full(n, self.n_templates, np.int32),
            rng.integers(0, 3, size=n).astype(np.int32),
            rng.normal(size=n),
            True,
        )

    def make_gold(self, partial: bool) -> _kernels.Gold:
        """Draw a segmentation of each sequence from those that are possible."""
        rows, ptr = [], [0]
        for i, T in enumerate(self.lengths):
            p = self.bare(int(T))
            drawn = caesura.sample(p, 1, seed=int(self.rng.integers(1000)))[0] if T else []
            if partial and i % 2 == 0:
                drawn = []
            rows += [(s.start, s.end, int(s.label)) for s in drawn]
            ptr.append(len(rows))
        columns = np.array(rows, np.int32).reshape(-1, 3).T.copy()
        gold = _kernels.Gold(
            self.lengths.astype(np.int64), self.Y, np.array(ptr, np.int64), *columns
        )
        self.rows, self.ptr = rows, ptr
        self.hints: dict[int, tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]] = {}
        for i, T in enumerate(self.lengths):
            if not (partial and i % 2 == 0) or T == 0:
                continue
            truth = caesura.sample(self.bare(int(T)), 1, seed=int(self.rng.integers(1000)))[0]
            allowed = (self.rng.random((int(T), self.Y)) < 0.5).astype(np.uint8)
            boundary = np.zeros(int(T) + 1, np.uint8)
            for s in truth:
                allowed[s.start : s.end, int(s.label)] = 1
            inner = {s.start for s in truth if s.start}
            for t in range(1, int(T)):
                if self.rng.random() < 0.4:
                    boundary[t] = 1 if t in inner else 2
            self.hints[i] = (allowed, boundary)
            gold.hint(i, allowed, boundary)
        return gold

    def bare(self, T: int) -> caesura.Potentials:
        p = caesura.Potentials(T, self.Y, max_length=[int(b) or None for b in self.bounds])
        p.transition[self.barred.astype(bool)] = -np.inf
        return p

    # -- the twin ----------------------------------------------------------------------------

    def potentials(self, i: int, w: Floats) -> caesura.Potentials:
        T, Y, P = int(self.lengths[i]), self.Y, self.parameters
        p = self.bare(T)
        n_rows = len(P.attribute)
        n_edges = len(P.edge_attribute)
        weights: dict[int, Floats] = {}
        for k in range(n_rows):
            weights.setdefault(int(P.attribute[k]), np.zeros(Y))[P.label[k]] = w[k]
        ptr, ids, values, starts, ends, flags = self.corpus.row_attributes(i)
        for r in range(len(ptr) - 1):
            for k in range(int(ptr[r]), int(ptr[r + 1])):
                scores = values[k] * weights.get(int(ids[k]), np.zeros(Y))
                if r < T:
                    p.emission[r] += scores
                    continue
                s = r - T
                for y in range(Y):
                    p.add(
                        int(starts[s]),
                        int(ends[s]),
                        y,
                        float(scores[y]),
                        bool(flags[s] & 1),
                        bool(flags[s] & 2),
                    )
        at = n_rows
        pairs: dict[int, list[tuple[int, float]]] = {}
        for k in range(n_edges):
            pairs.setdefault(int(P.edge_attribute[k]), []).append((int(P.edge_pair[k]), w[at + k]))
        positions, edge_ids, edge_values = self.corpus.edge_attributes(i)
        for t, a, v in zip(positions, edge_ids, edge_values, strict=True):
            for pair, score in pairs.get(int(a), []):
                p.add_transition(int(t), pair // Y, pair % Y, v * score)
        at += n_edges
        for pair in P.transition:
            p.transition[pair // Y, pair % Y] += w[at]
            at += 1
        for y in P.start:
            p.start[y] = w[at]
            at += 1
        for y in P.end:
            p.end[y] = w[at]
            at += 1
        assert at == len(w)
        return p

    def loss(self, w: Floats) -> float:
        total = 0.0
        for i in range(len(self.lengths)):
            p = self.potentials(i, w)
            if i in self.hints:
                allowed, boundary = self.hints[i]
                known = p.copy()
                known.constrain(
                    boundaries=[t for t in range(len(boundary)) if boundary[t] == 1],
                    no_boundaries=[t for t in range(len(boundary)) if boundary[t] == 2],
                    allowed={t: np.flatnonzero(row).tolist() for t, row in enumerate(allowed)},
                )
                truth = caesura.log_partition(known)
            else:
                segments = self.rows[self.ptr[i] : self.ptr[i + 1]]
                truth = caesura.score(p, segments) if segments else 0.0
            if self.cost is not None:
                p.emission += self.cost[self.offsets[i] : self.offsets[i + 1]]
            total += self.weight[i] * (caesura.log_partition(p) - truth)
        return total

    def objective(self) -> _kernels.Objective:
        order = sorted(range(self.Y), key=lambda y: -(self.bounds[y] or 10**6))
        automaton = _kernels.Automaton(self.Y, [], [], True, 1000)
        return _kernels.Objective(
            self.parameters,
            self.parameters.compile(self.corpus),
            self.gold,
            self.weight,
            self.cost,
            automaton,
            np.array(order, np.int32),
        )


def numeric_gradient(case: Case, w: Floats, chosen: npt.NDArray[np.int64]) -> Floats:
    step = 1e-5
    out = np.zeros(len(chosen))
    for j, k in enumerate(chosen):
        up, down = w.copy(), w.copy()
        up[k] += step
        down[k] -= step
        out[j] = (case.loss(up) - case.loss(down)) / (2 * step)
    return out


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_objective_and_gradient(seed: int, partial: bool) -> None:
    case = Case(seed, partial=partial)
    loss, gradient = case.objective().evaluate(case.w, None, False, 1)
    assert loss == pytest.approx(case.loss(case.w), rel=1e-9, abs=1e-9)
    chosen = case.rng.permutation(len(case.w))[:12]
    assert gradient[chosen] == pytest.approx(numeric_gradient(case, case.w, chosen), abs=2e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([30.0, 300.0]))
def test_scores_beyond_the_fast_range(seed: int, scale: float) -> None:
    case = Case(seed, scale=scale)
    loss, gradient = case.objective().evaluate(case.w, None, False, 1)
    assert loss == pytest.approx(case.loss(case.w), rel=1e-9, abs=1e-7)
    assert np.isfinite(gradient).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_single_precision(seed: int) -> None:
    case = Case(seed)
    objective = case.objective()
    loss, gradient = objective.evaluate(case.w, None, False, 1)
    near, near_gradient = objective.evaluate(case.w, None, True, 1)
    size = 1.0 + np.abs(case.w).sum()
    assert near == pytest.approx(loss, abs=1e-5 * size)
    assert near_gradient == pytest.approx(gradient, abs=1e-4 * size)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_batches_add_up(seed: int) -> None:
    case = Case(seed)
    objective = case.objective()
    loss, gradient = objective.evaluate(case.w, None, False, 1)
    parts = [
        objective.evaluate(case.w, np.array([i], np.int32), False, 1)
        for i in range(len(case.lengths))
    ]
    assert sum(part[0] for part in parts) == pytest.approx(loss, rel=1e-9, abs=1e-9)
    assert sum(part[1] for part in parts) == pytest.approx(gradient, rel=1e-9, abs=1e-9)


def test_shared_sums_change_nothing() -> None:
    """A corpus so large that attributes which come together are added up once."""
    rng = np.random.default_rng(0)
    n, T, Y = 400, 20, 4
    words = rng.zipf(1.5, size=n * T).clip(max=50).astype(np.int32)
    offsets = np.arange(n + 1, dtype=np.int64) * T
    parts = [[(0, o)] for o in (-1, 0, 1)] + [[(0, 0), (0, 1)], [(0, -1), (0, 0)]]
    extractor = _kernels.Extractor([(p, place) for p in parts for place in (0, 2)])
    none = np.zeros(0, np.int32)

    def corpus_of(first: int, last: int) -> _kernels.Corpus:
        corpus = _kernels.Corpus()
        tokens = np.ascontiguousarray(words[first * T : last * T])
        extractor.extract(
            corpus,
            offsets[: last - first + 1],
            [(None, tokens, None)],
            none,
            none,
            none.astype(np.uint8),
            none,
            none,
            np.zeros(0),
            True,
        )
        return corpus

    def gold_of(first: int, last: int) -> _kernels.Gold:
        starts = np.tile(np.arange(0, T, 2, dtype=np.int32), last - first)
        labels = (words.reshape(n, T)[first:last, ::2] % Y).ravel().astype(np.int32)
        ptr = np.arange(last - first + 1, dtype=np.int64) * (T // 2)
        lengths = np.full(last - first, T, np.int64)
        return _kernels.Gold(lengths, Y, ptr, starts, starts + 2, labels)

    whole = corpus_of(0, n)
    bounds = np.zeros(Y, np.int32)
    parameters = _kernels.Parameters(
        whole, gold_of(0, n), Y, extractor, bounds, None, None, None, 0.0, False, True, True
    )
    automaton = _kernels.Automaton(Y, [], [], True, 1000)
    order = np.arange(Y, dtype=np.int32)

    def objective(first: int, last: int) -> _kernels.Objective:
        design = parameters.compile(corpus_of(first, last))
        gold = gold_of(first, last)
        return _kernels.Objective(
            parameters, design, gold, np.ones(last - first), None, automaton, order
        )

    w = rng.normal(size=len(parameters))
    loss, gradient = objective(0, n).evaluate(w, None, False, 1)
    small = [objective(i, i + 2).evaluate(w, None, False, 1) for i in range(0, n, 2)]
    assert loss == pytest.approx(sum(part[0] for part in small), rel=1e-12)
    assert gradient == pytest.approx(sum(part[1] for part in small), rel=1e-9, abs=1e-9)
    some = np.arange(50, 60, dtype=np.int32)
    loss, gradient = objective(0, n).evaluate(w, some, False, 1)
    small = [objective(i, i + 2).evaluate(w, None, False, 1) for i in range(50, 60, 2)]
    assert loss == pytest.approx(sum(part[0] for part in small), rel=1e-12)
    assert gradient == pytest.approx(sum(part[1] for part in small), rel=1e-9, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_best_segments(seed: int) -> None:
    case = Case(seed)
    order = np.array(sorted(range(case.Y), key=lambda y: -(case.bounds[y] or 10**6)), np.int32)
    automaton = _kernels.Automaton(case.Y, [], [], True, 1000)
    bars = case.barred, case.barred_start, None
    scorer = _kernels.Scorer(case.parameters, case.w, *bars, automaton, order)
    paths = scorer.best(case.parameters.compile(case.corpus), 1)
    for i, path in enumerate(paths):
        p = case.potentials(i, case.w)
        assert caesura.score(p, path) == pytest.approx(caesura.viterbi(p).score, rel=1e-12)
