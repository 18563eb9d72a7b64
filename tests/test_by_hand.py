"""Learners against programs of a few lines: features, sums and searches are written out here.

Nothing of the engine is used to check it: segmentations are enumerated, and scores come from the
weights of a fitted model by the names of their attributes, or from weights that are learnt here.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import caesura
from caesura.features import Incremental, earlier, first, last, previous, this, word

Path = tuple[tuple[int, int, str], ...]


def paths_of(T: int, labels: list[str], longest: dict[str, int]) -> list[Path]:
    """Return all segmentations."""
    if T == 0:
        return [()]
    found = []
    for label, start in itertools.product(labels, range(T)):
        if T - start <= longest[label]:
            found += [(*before, (start, T, label)) for before in paths_of(start, labels, longest)]
    return found


def drawn(
    rng: np.random.Generator, labels: list[str], most: int, n: int, longest: int = 5
) -> tuple[Any, Any]:
    """Return random sequences of two to five tokens, cut into segments of up to `most`."""
    X, Y = [], []
    for _ in range(n):
        T, end, segments = int(rng.integers(2, longest + 1)), 0, []
        while end < T:
            start, end = end, min(T, end + int(rng.integers(1, most + 1)))
            segments.append((start, end, labels[int(rng.integers(len(labels)))]))
        X.append([str(one) for one in rng.choice(["a", "b", "c"], T)])
        Y.append(segments)
    return X, Y


# -- the objective of structured SVMs --------------------------------------------------------------


def spelled(tags: list[str]) -> set[tuple[int, int, str]]:
    """Return the segments that tags spell, as conlleval reads them, also where they are wrong."""
    found: list[list[Any]] = []
    for t, (before, tag) in enumerate(itertools.pairwise(["O", *tags])):
        if tag == "O":
            continue
        kind, label = tag.split("-")
        goes_on = kind in "IE" and before[0] in "BI" and before[2:] == label
        if goes_on:
            found[-1][1] = t + 1
        else:
            found.append([t, t + 1, label])
    return {(s, e, label) for s, e, label in found}


def cost(loss: str, gold: Path, path: Path, tags: bool) -> float:
    right, found = ([y for s, e, y in one for _ in range(s, e)] for one in (gold, path))
    if loss == "hamming":
        return sum(a != b for a, b in zip(right, found, strict=True))
    if loss == "zero-one":
        return float(gold != path)
    if tags:
        return len(spelled(right) ^ spelled(found))
    return sum(one[2] != "O" for one in set(gold) ^ set(path))


def named_weights(model: Any) -> dict[Any, float]:
    """Return the weights of a fitted model by what they belong to."""
    fitted, w = model._known, iter(model.weights_.tolist())
    parameters, states = fitted.parameters, fitted.structure.states
    Y, patterns = len(states), parameters.patterns[: parameters.n_plain]
    ids = parameters.attribute.tolist()
    found: dict[Any, float] = {}
    for name, y in zip(fitted.encoder.names(ids), parameters.label.tolist(), strict=True):
        found[name, states[y]] = next(w)
    for pair in parameters.transition.tolist():
        found["->", (states[pair // Y], states[pair % Y])] = next(w)
    for pattern in patterns:
        found["->", tuple(states[y] for y in pattern)] = next(w)
    for kind, some in (("start", parameters.start), ("end", parameters.end)):
        found |= {(kind, states[y]): next(w) for y in some.tolist()}
    assert not list(w)
    return found


def linear(w: dict[Any, float], tokens: list[str], path: Path) -> float:
    """Return the score: of words, of first and last words, and of two or three labels in a row."""
    labels = [label for _, _, label in path]
    fired: list[Any] = [("start", labels[0]), ("end", labels[-1])]
    for start, end, label in path:
        fired += [(f"word[0]={tokens[t]}", label) for t in range(start, end)]
        fired += [(f"first:word[0]={tokens[start]}", label)]
        fired += [(f"last:word[0]={tokens[end - 1]}", label)]
    for n in (2, 3):
        fired += [("->", tuple(labels[j : j + n])) for j in range(len(labels) - n + 1)]
    return sum(w.get(one, 0.0) for one in fired)


@pytest.mark.filterwarnings("ignore:learner=")  # some segments are divided
@pytest.mark.parametrize("loss", ["hamming", "segments", "zero-one"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["semi", "BIO", "BIOES"])
def test_the_objective_is_penalty_and_hinge_losses(kind: str, order: int, loss: str) -> None:
    X, Y = drawn(np.random.default_rng(order), ["P", "Q", "O"], 2, 4, 3)
    Y = [[one for one in segments if one[2] != "O"] for segments in Y]
    X, Y = [*X, ["a", "b"], ["a", "c"]], [*Y, [(0, 2, "P")], [(0, 2, "Q")]]  # all tags
    X, Y = [*X, ["b", "b", "c"]] * 2, [*Y, [(0, 1, "P"), (2, 3, "Q")]] * 2
    objectives, patterns = [], set()
    for learner in ("svm", "cutting-plane", "eg"):
        if learner == "eg" and loss == "zero-one":
            continue
        options: dict[str, Any] = {"learner": learner, "loss": loss, "order": order, "c2": 0.3}
        if kind == "semi":
            features = [word[0], first(word[0]), last(word[0])]
            model: Any = caesura.SemiCRF(features, max_length=3, **options).fit(X, Y)
        else:
            model = caesura.ChainCRF([word[0]], scheme=kind, **options).fit(X, Y)
        states = list(model._known.structure.states)
        longest = dict.fromkeys(states, 1) | ({"P": 3, "Q": 3} if kind == "semi" else {})
        w, total = named_weights(model), 0.0
        patterns |= {labels for kind, labels in w if kind == "->" and len(labels) == 3}
        for tokens, segments in zip(X, Y, strict=True):
            tags = caesura.to_tags(segments, "BIO" if kind == "semi" else kind, len(tokens))
            gold = tuple((t, t + 1, tag) for t, tag in enumerate(tags))
            if kind == "semi":
                outside = [one for one in gold if one[2] == "O"]
                gold = tuple(sorted([*segments, *outside]))
            total += max(
                linear(w, tokens, path) + cost(loss, gold, path, kind != "semi")
                for path in paths_of(len(tokens), states, longest)
            ) - linear(w, tokens, gold)
        total += 0.3 * float(model.weights_ @ model.weights_)
        reached = model.history_[-1]
        assert reached.objective == pytest.approx(total, rel=1e-12)
        assert 0.0 <= reached.gap <= 1e-3 * total
        objectives.append(total)
    assert max(objectives) == pytest.approx(min(objectives), rel=1e-3)
    assert bool(patterns) == (order == 2)


# -- features that look back -----------------------------------------------------------------------


def look(use: list[str], tokens: list[str], path: Path, j: int) -> list[Any]:
    """Return what fires where segment j is added; after the last one, at the end."""

    def text(k: int) -> str:
        if k < 0:
            return "<s>"
        return " ".join(tokens[path[k][0] : path[k][1]]) if k < len(path) else "</s>"

    at_end = j == len(path)
    made: dict[str, Any] = {
        "bigram": (text(j - 1), text(j)),
        "trigram": (text(j - 2), text(j - 1), text(j)),
        "length": (text(j - 1), "</s>" if at_end else path[j][1] - path[j][0]),
    }
    if not at_end:
        made["word"] = text(j)
        made["again"] = any(text(k) == text(j) for k in range(j))
    fired: list[Any] = [(name, made[name]) for name in use if name in made]
    if 0 < j < len(path):
        fired.append(("previous label", path[j - 1][2]))
    label = "" if at_end else path[j][2]
    return [(one, label) for one in fired]


def counts(use: list[str], tokens: list[str], path: Path) -> Counter[Any]:
    """Return how often each feature fires; a path that reaches the end has the features there."""
    ended = path[-1][1] == len(tokens)
    return Counter(f for j in range(len(path) + ended) for f in look(use, tokens, path, j))


def again(tokens: Any, before: Any, segment: Any) -> str:
    text = tokens[segment.start : segment.end]
    return str(any(tokens[s:e] == text for s, e, _ in before))


DECLARED: dict[str, Any] = {
    "word": this.text,
    "bigram": previous.text & this.text,
    "length": previous.text & this.length,
    "trigram": earlier.text & previous.text & this.text,
    "again": Incremental(again),
}


@pytest.mark.parametrize("labels", [["u"], ["u", "v"]])
@pytest.mark.parametrize("use", [["bigram"], ["word", "bigram", "length"]])
def test_bigrams_have_the_most_likely_distribution(use: list[str], labels: list[str]) -> None:
    """Every segmentation has the probability that it has at the optimum, found without sums."""
    X, Y = drawn(np.random.default_rng(len(use)), labels, 3, 5)
    c2, longest = 0.2, dict.fromkeys(labels, 3)
    names = sorted(
        {f for x, y in zip(X, Y, strict=True) for f in counts(use, x, tuple(y))}, key=str
    )
    every = [paths_of(len(x), labels, longest) for x in X]
    tables = [
        np.array([[counts(use, x, path)[f] for f in names] for path in paths])
        for x, paths in zip(X, every, strict=True)
    ]
    gold = sum(
        table[paths.index(tuple(y))] for table, paths, y in zip(tables, every, Y, strict=True)
    )

    def objective(w: Any) -> tuple[float, Any]:
        value, gradient = c2 * w @ w - gold @ w, 2 * c2 * w - gold
        for table in tables:
            log_z = np.logaddexp.reduce(table @ w)
            value, gradient = value + log_z, gradient + np.exp(table @ w - log_z) @ table
        return value, gradient

    exact = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000}
    best = minimize(objective, np.zeros(len(names)), jac=True, method="L-BFGS-B", options=exact)
    options: dict[str, Any] = {"max_length": 3, "c2": c2, "boundary_weights": False}
    model = caesura.SemiCRF([DECLARED[name] for name in use], epsilon=1e-9, delta=0.0, **options)
    model.fit(X, Y)
    assert model.history_[-1].objective == pytest.approx(best.fun, rel=1e-9)
    for x, paths, table in zip(X, every, tables, strict=True):
        scores = table @ best.x
        probability = dict(zip(paths, np.exp(scores - np.logaddexp.reduce(scores)), strict=True))
        ranked = model.predict_n_best([x], len(paths) + 1)[0]
        found = {tuple(map(tuple, segments)): p for segments, p in ranked}
        assert found == pytest.approx(probability, abs=1e-6)
        for segment, p, *_ in model.predict_confident([x])[0]:
            marginal = sum(q for path, q in probability.items() if tuple(segment) in path)
            assert p == pytest.approx(marginal, abs=1e-6)


class Learner:
    """The averaged perceptron with an agenda."""

    def __init__(self, use: list[str], labels: list[str], most: int, k: int | None) -> None:
        self.use, self.labels, self.most, self.k = use, labels, most, k
        self.seen = 99 if "again" in use else 2 if "trigram" in use else 1  # segments back
        self.w: dict[Any, float] = defaultdict(float)

    def score(self, tokens: list[str], path: Path) -> float:
        return sum(self.w.get(f, 0.0) * n for f, n in counts(self.use, tokens, path).items())

    def agendas(self, tokens: list[str]) -> list[list[tuple[float, Path]]]:
        """Return the candidates at each boundary, the best ones first."""
        found: list[list[tuple[float, Path]]] = [[(0.0, ())]]
        for end in range(1, len(tokens) + 1):
            alike: dict[Path, tuple[float, Path]] = {}
            for start, label in itertools.product(range(max(0, end - self.most), end), self.labels):
                for _, before in found[start]:
                    path = (*before, (start, end, label))
                    one = self.score(tokens, path), path
                    other = alike.setdefault(path[-self.seen :], one)
                    alike[path[-self.seen :]] = min(one, other, key=self.rank)
            found.append(sorted(alike.values(), key=self.rank)[: self.k])
        return found

    def rank(self, candidate: tuple[float, Path]) -> Any:
        back = [(self.labels.index(label), -start) for start, _, label in reversed(candidate[1])]
        return -candidate[0], back

    def updated_at(self, tokens: list[str], gold: Path, update: str) -> tuple[int, Path] | None:
        """Return how many gold segments an update is over, and what it moves away from."""
        agendas = self.agendas(tokens)
        tops = [agendas[end][0] for _, end, _ in gold]
        prefixes = [gold[: j + 1] for j in range(len(gold))]
        if update == "early":
            for j, (prefix, (_, end, _)) in enumerate(zip(prefixes, gold, strict=True)):
                if prefix not in [path for _, path in agendas[end]]:
                    return j + 1, tops[j][1]
        if tops[-1][1] == gold:
            return None
        j = len(gold) - 1
        if update == "max-violation":
            gaps = [top - self.score(tokens, p) for p, (top, _) in zip(prefixes, tops, strict=True)]
            wrong = [
                j for j, (p, (_, top)) in enumerate(zip(prefixes, tops, strict=True)) if p != top
            ]
            j = max(wrong, key=lambda j: (gaps[j], -j))
        return j + 1, tops[j][1]

    def fit(self, X: Any, Y: Any, update: str, passes: int, seed: int) -> list[int]:
        """Return the number of updates in each pass."""
        rng, steps, updates = np.random.default_rng(seed), 1, []
        sums: dict[Any, float] = defaultdict(float)
        for _ in range(passes):
            updates.append(0)
            for i in rng.permutation(len(X)).tolist():
                gold = tuple(Y[i])
                if (at := self.updated_at(X[i], gold, update)) is not None:
                    updates[-1] += 1
                    for f, n in counts(self.use, X[i], gold[: at[0]]).items():
                        self.w[f] += n
                    for f, n in counts(self.use, X[i], at[1]).items():
                        self.w[f] -= n
                steps += 1
                for f, value in self.w.items():
                    sums[f] += value
        self.w = {f: value / steps for f, value in sums.items()}
        return updates


@pytest.mark.parametrize("update", ["early", "max-violation", "standard"])
@pytest.mark.parametrize("k", [1, 2, 1000])
@pytest.mark.parametrize("use", [["word", "bigram"], ["bigram", "trigram"], ["word", "again"]])
def test_the_perceptron_with_an_agenda(use: list[str], k: int, update: str) -> None:
    """Updates and answers are those of a program of its own, from the first step to the last."""
    labels, most, seed = ["u", "v"], 2, 3
    X, Y = drawn(np.random.default_rng(7), labels, most, 5)
    options: dict[str, Any] = {"max_length": most, "boundary_weights": False, "random_state": seed}
    options |= {"learner": "perceptron", "beam": k, "update": update, "max_iterations": 3}
    model = caesura.SemiCRF([DECLARED[name] for name in use], **options).fit(X, Y)
    twin = Learner(use, labels, most, k)
    assert [one.objective for one in model.history_] == twin.fit(X, Y, update, 3, seed)
    X, _ = drawn(np.random.default_rng(8), labels, most, 10)
    for beam in (k,) if "again" in use else (k, 1, None):
        twin.k = beam
        for x, found in zip(X, model.set_params(beam=beam).predict(X), strict=True):
            path = tuple((s, e, label) for s, e, label in found)
            best = max(twin.agendas(x)[-1])[0]
            if beam is None:
                every = paths_of(len(x), labels, dict.fromkeys(labels, most))
                best = max(twin.score(x, one) for one in every)
            assert twin.score(x, path) == pytest.approx(best, abs=1e-9)
