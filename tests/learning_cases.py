"""Random corpora with all kinds of features, and their twins made of `Potentials`."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

import caesura
from caesura import _kernels

Floats = npt.NDArray[np.float64]
PLACES = 9  # token, within, first, last, single, begin, inside, end, edge


class Case:
    """A random corpus with all kinds of features, and its twin made of `Potentials`."""

    def __init__(
        self,
        seed: int,
        scale: float = 1.0,
        partial: bool = False,
        order: int = 0,
        ruled: bool = False,
        whole: bool = False,
    ) -> None:
        self.whole = whole  # attribute values are integers, so that their sums are exact
        self.rng = rng = np.random.default_rng(seed)
        self.Y = int(rng.integers(1, 5))
        many, longest, bound = (7, 12, 7) if order else (4, 7, 4)
        self.lengths = rng.integers(0 if seed % 3 else 1, longest, size=int(rng.integers(1, many)))
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self.bounds = rng.integers(0, bound, size=self.Y).astype(np.int32)
        if rng.random() < 0.2:
            self.bounds[:] = 1  # a chain
        self.barred = (rng.random((self.Y, self.Y)) < 0.2).astype(np.uint8)
        np.fill_diagonal(self.barred, 0)
        self.barred_start = np.zeros(self.Y, np.uint8)
        self.rules: dict[str, Any] = {}
        if ruled:
            self.draw_rules()
        templates = self.templates()
        orders = None if order == 0 else rng.integers(0, order + 1, len(templates)).tolist()
        self.extractor = _kernels.Extractor(templates, orders)
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
            self.some_patterns(order),
        )
        if self.rules:
            self.parameters = self.parameters.with_rules(self.named_rules(), None)
        self.w = rng.normal(size=len(self.parameters)) * scale
        self.weight = rng.random(len(self.lengths)) + 0.5
        self.cost = rng.random((int(self.offsets[-1]), self.Y)) if rng.random() < 0.3 else None

    def draw_rules(self) -> None:
        """Draw rules that some segmentation of each sequence keeps."""
        for _ in range(20):
            limits = self.rng.integers(0, 4, self.Y)
            self.rules = {
                "at_most_once": np.flatnonzero(limits == 1).tolist(),
                "exactly_once": np.flatnonzero(limits == 2).tolist(),
                "ordered": self.rng.permutation(self.Y)[: int(self.rng.integers(0, 4))].tolist(),
            }
            if all(caesura.log_partition(self.bare(int(T))) > -np.inf for T in self.lengths):
                return
        self.rules = {}

    def named_rules(self) -> list[tuple[str, tuple[int, ...]]]:
        return [
            *(("at most once", (y,)) for y in self.rules["at_most_once"]),
            *(("exactly once", (y,)) for y in self.rules["exactly_once"]),
            ("ordered", tuple(self.rules["ordered"])),
        ]

    def templates(self) -> list[tuple[list[tuple[int, int]], int]]:
        rng = self.rng
        made = []
        for _ in range(int(rng.integers(1, 6))):
            parts = [
                (int(rng.integers(2)), int(rng.integers(-2, 3)))
                for _ in range(int(rng.integers(1, 3)))
            ]
            made.append((parts, int(rng.integers(PLACES))))
            if rng.random() < 0.4:  # repeated at places relative to the segment
                made += [(parts, place) for place in (0, 2, 3, 4) if rng.random() < 0.7]
        self.n_templates = len(made)
        return [*made, ([], 0)]

    def extract(self) -> None:
        rng, N = self.rng, int(self.offsets[-1])
        single = (None, rng.integers(0, 3, size=N).astype(np.int32), None)
        counts = rng.integers(0, 3, size=N)
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        size = int(ptr[-1])
        bag = (ptr, rng.integers(0, 3, size=size).astype(np.int32), self.values(size))
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
            self.values(n),
            True,
        )

    def values(self, n: int) -> Floats:
        drawn = self.rng.normal(size=n)
        return np.round(drawn) if self.whole else drawn

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
        return p.constrain(**self.rules)

    def some_patterns(self, order: int) -> list[list[int]]:
        """Draw patterns of three labels or more that no barred pair is in."""
        made = set()
        for _ in range(int(self.rng.integers(1, 8)) if order > 1 else 0):
            labels = self.rng.integers(
                0, self.Y, size=int(self.rng.integers(3, order + 2))
            ).tolist()
            if not any(self.barred[a, b] for a, b in itertools.pairwise(labels)):
                made.add(tuple(labels))
        return [list(labels) for labels in sorted(made)]

    # -- the equivalent Potentials -------------------------------------------------------------

    def scorer(self, entry_bias: npt.NDArray[np.float64] | None = None) -> _kernels.Scorer:
        none = np.zeros(self.Y, np.uint8)
        bars = self.barred, self.barred_start, none
        return _kernels.Scorer(self.parameters, self.w, self.bounds, *bars, entry_bias)

    def potentials(self, i: int, w: Floats) -> caesura.Potentials:
        T, Y, P = int(self.lengths[i]), self.Y, self.parameters
        p = self.bare(T)
        n_rows = len(P.attribute)
        n_edges = len(P.edge_attribute)
        weights: dict[int, list[tuple[Any, float]]] = {}
        for k in range(n_rows):
            target = int(P.label[k])
            label = target if target < Y else tuple(P.patterns[target - Y])
            weights.setdefault(int(P.attribute[k]), []).append((label, w[k]))
        ptr, ids, values, starts, ends, flags = self.corpus.row_attributes(i)
        for r in range(len(ptr) - 1):
            token = r < T
            span = (r, r + 1) if token else (int(starts[r - T]), int(ends[r - T]))
            both = (True, True) if token else (bool(flags[r - T] & 1), bool(flags[r - T] & 2))
            for k in range(int(ptr[r]), int(ptr[r + 1])):
                for label, weight in weights.get(int(ids[k]), []):
                    p.add(*span, label, float(values[k] * weight), *both)
        at = n_rows
        pairs: dict[int, list[tuple[int, float]]] = {}
        for k in range(n_edges):
            pairs.setdefault(int(P.edge_attribute[k]), []).append((int(P.edge_pair[k]), w[at + k]))
        positions, edge_ids, edge_values = self.corpus.edge_attributes(i)
        for t, a, v in zip(positions, edge_ids, edge_values, strict=True):
            for pair, score in pairs.get(int(a), []):
                if pair < Y * Y:
                    p.add_transition(int(t), pair // Y, pair % Y, v * score)
                else:
                    p.add_pattern(P.patterns[pair - Y * Y], v * score, start=int(t))
        at += n_edges
        for pair in P.transition:
            p.transition[pair // Y, pair % Y] += w[at]
            at += 1
        for pattern in P.patterns[: P.n_plain]:
            p.add_pattern(pattern, w[at])
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
        automaton = _kernels.Automaton(range(self.Y))
        return _kernels.Objective(
            self.parameters,
            self.parameters.compile(self.corpus),
            self.gold,
            self.weight,
            self.cost,
            automaton,
            np.array(order, np.int32),
        )


def directions(case: Case, single: int, dense: int) -> Floats:
    """Return unit vectors, one in each row: some single weights, then some of all weights."""
    n = len(case.w)
    chosen = np.eye(n)[case.rng.permutation(n)[:single]]
    mixed = case.rng.normal(size=(dense, n))
    return np.concatenate([chosen, mixed / np.linalg.norm(mixed, axis=1, keepdims=True)])


def numeric_slopes(case: Case, w: Floats, ways: Floats) -> Floats:
    """Return the derivatives of the loss along some directions, by differences."""
    step = 1e-5
    return np.array(
        [(case.loss(w + step * d) - case.loss(w - step * d)) / (2 * step) for d in ways]
    )
