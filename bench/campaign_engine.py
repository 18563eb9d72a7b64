"""A case of the campaign against the engine: a random model beside a list of all segmentations."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

import caesura

Path_ = tuple[tuple[int, int, int], ...]  # a segmentation: start, end and label of each segment


def close(a: float, b: float) -> bool:
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= 1e-8 * max(1.0, abs(b))


class Drawn:
    """A random model, as a list of rules for scoring, and as potentials."""

    def __init__(self, rng: random.Random) -> None:
        self.T, self.Y = rng.randint(0, 4), rng.randint(1, 3)
        self.bounds = [rng.choice([None, 1, 2, 3]) for _ in range(self.Y)]
        self.same = rng.random() < 0.7
        size = rng.choice([0.1, 1.0, 1.0, 30.0, 1e4])
        self.p = caesura.Potentials(
            self.T, self.Y, max_length=self.bounds, same_label_adjacent=self.same
        )
        T, Y = self.T, self.Y

        def score() -> float:
            return -math.inf if rng.random() < 0.04 else rng.gauss(0, 1) * size

        self.emission = [[rng.gauss(0, 1) * size for _ in range(Y)] for _ in range(T)]
        self.p.emission[:] = np.array(self.emission).reshape(T, Y)
        self.transition = [[score() for _ in range(Y)] for _ in range(Y)]
        self.start, self.end = ([score() for _ in range(Y)] for _ in range(2))
        self.p.transition[:], self.p.start[:], self.p.end[:] = self.transition, self.start, self.end
        self.spans, self.edges, self.patterns = [], [], []
        for _ in range(rng.randint(0, 4) if T else 0):
            s = rng.randrange(T)
            e = rng.randint(s + 1, T)
            labels = tuple(rng.randrange(Y) for _ in range(rng.choice([1, 1, 1, 2, 3])))
            one = (s, e, labels, score(), rng.random() < 0.5, rng.random() < 0.5)
            self.spans.append(one)
            self.p.add(s, e, labels if len(labels) > 1 else labels[0], *one[3:])
        for _ in range(rng.randint(0, 2) if T > 1 else 0):
            edge_ = (rng.randint(1, T - 1), rng.randrange(Y), rng.randrange(Y), score())
            self.edges.append(edge_)
            self.p.add_transition(*edge_)
        for _ in range(rng.choice([0, 0, 1, 2]) if T else 0):
            labels = tuple(rng.randrange(Y) for _ in range(rng.randint(2, 3)))
            self.patterns.append((labels, value := score()))
            self.p.add_pattern(labels, value)
        self.rules: dict[str, Any] = {}
        self.constrain(rng)

    def constrain(self, rng: random.Random) -> None:
        T, Y = self.T, self.Y
        if T and rng.random() < 0.4:
            kinds = ["at_most_once", "exactly_once", "ordered", "allowed", "forbidden"]
            for kind in rng.sample(kinds + (["boundaries", "no_boundaries"] * (T > 1)), 2):
                if kind in ("at_most_once", "exactly_once"):
                    self.rules[kind] = [rng.randrange(Y)]
                elif kind == "ordered":
                    self.rules[kind] = rng.sample(range(Y), Y)
                elif kind == "allowed":
                    self.rules[kind] = {rng.randrange(T): rng.sample(range(Y), rng.randint(1, Y))}
                elif kind == "forbidden":
                    s = rng.randrange(T)
                    self.rules[kind] = [(s, rng.randint(s + 1, T), rng.randrange(Y))]
                else:
                    self.rules[kind] = [rng.randint(1, T - 1)]
            self.p.constrain(**self.rules)

    def all(self, start: int = 0, before: Path_ = ()) -> Iterator[Path_]:
        """Yield every segmentation that bounds allow."""
        if start == self.T:
            yield before
            return
        for y in range(self.Y):
            if not self.same and before and before[-1][2] == y:
                continue
            longest = self.bounds[y] or self.T
            for end in range(start + 1, min(self.T, start + longest) + 1):
                yield from self.all(end, (*before, (start, end, y)))

    def score(self, path: Path_) -> float:
        """Return the sum of what applies to a segmentation; -inf if it breaks a rule."""
        if not self.keeps(path):
            return -math.inf
        labels = [y for _, _, y in path]
        total = sum(self.emission[t][y] for s, e, y in path for t in range(s, e))
        if path:
            total += self.start[labels[0]] + self.end[labels[-1]]
        total += sum(self.transition[a][b] for a, b in itertools.pairwise(labels))
        for k, (a, b, _) in enumerate(path):
            upto = tuple(labels[: k + 1])
            for s, e, z, value, open_start, open_end in self.spans:
                starts = a <= s if open_start else a == s
                ends = b >= e if open_end else b == e
                if starts and ends and a < e and b > s and upto[-len(z) :] == z:
                    total += value
            total += sum(value for z, value in self.patterns if upto[-len(z) :] == z)
            for position, before, after, value in self.edges:
                if k and position == a and (labels[k - 1], labels[k]) == (before, after):
                    total += value
        return total

    def keeps(self, path: Path_) -> bool:
        labels = [y for _, _, y in path]
        inner = {s for s, _, _ in path[1:]}
        rules = self.rules
        order = [y for y in labels if y in rules.get("ordered", ())]
        return (
            all(labels.count(y) <= 1 for y in rules.get("at_most_once", ()))
            and all(labels.count(y) == 1 for y in rules.get("exactly_once", ()))
            and order == sorted(order, key=rules.get("ordered", []).index)
            and all(
                y in ok
                for s, e, y in path
                for t, ok in rules.get("allowed", {}).items()
                if s <= t < e
            )
            and not set(path) & set(rules.get("forbidden", ()))
            and set(rules.get("boundaries", ())) <= inner
            and not inner & set(rules.get("no_boundaries", ()))
        )


def plain(segments: Any) -> Path_:
    return tuple((s, e, y) for s, e, y in segments)


def engine(i: int, rng: random.Random) -> None:
    drawn = Drawn(rng)
    scored = [(drawn.score(path), path) for path in drawn.all()]
    scored = sorted((one for one in scored if one[0] > -math.inf), key=lambda one: -one[0])
    p = drawn.p
    most = scored[0][0] if scored else 0.0
    total = most + math.log(sum(math.exp(s - most) for s, _ in scored)) if scored else -math.inf
    assert close(caesura.log_partition(p), total), "ln Z"
    if not scored:
        return
    best = caesura.viterbi(p)
    assert close(best.score, most), "best"
    assert close(drawn.score(plain(best.segments)), most), "path of the best"
    n = rng.randint(1, 6)
    found = caesura.n_best(p, n)
    assert len(found) == min(n, len(scored)), "number of the n best"
    assert all(close(a.score, s) for a, (s, _) in zip(found, scored, strict=False)), "n best"
    chances = [math.exp(s - total) for s, _ in scored]
    m = caesura.marginals(p)
    tokens = np.zeros((drawn.T, drawn.Y))
    for chance, (_, path) in zip(chances, scored, strict=True):
        for s, e, y in path:
            tokens[s:e, y] += chance
    assert np.abs(m.tokens - tokens).max(initial=0.0) < 1e-8, "marginals"
    entropy = sum(c * (total - s) for c, (s, _) in zip(chances, scored, strict=True))
    assert abs(caesura.entropy(p) - entropy) <= 1e-7 * max(1.0, entropy), "entropy"
    score, path = rng.choice(scored)
    assert close(caesura.log_probability(p, list(path)), score - total), "probability"
    assert all(drawn.keeps(plain(one)) for one in caesura.sample(p, 2, seed=i)), "sample"
