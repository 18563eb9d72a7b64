"""Constraints of single sequences on chains of all schemes, against every path of tags."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import close

import caesura
from caesura import ChainCRF, Impossible, InvalidInput
from caesura.features import word
from caesura.models.schemes import TagSet, tag_set
from caesura.segments import fill_gaps

SCHEMES = ("BIO", "BIOES", "BCEU", None)
WORDS = ("u", "v", "w")
_SEGMENTS = [[(0, 1, "a"), (1, 2, "a"), (2, 5, "b")], [(0, 3, "a")], [(1, 2, "b"), (2, 4, "b")]]
_MODELS: dict[tuple[str | None, str], ChainCRF] = {}


def chain(scheme: str | None, forbid: str) -> ChainCRF:
    """Return a chain over two labels, fitted once."""
    if (scheme, forbid) not in _MODELS:
        y: Any = _SEGMENTS
        if scheme is None:
            y = [
                [next((s[2] for s in one if s[0] <= t < s[1]), "O") for t in range(6)] for one in y
            ]
        X = [[WORDS[(i * t) % 3] for t in range(6)] for i in range(1, 4)]
        made = ChainCRF([word[0]], scheme=scheme, forbid_invalid=forbid, c2=0.3, n_threads=1)
        _MODELS[scheme, forbid] = made.fit(X, y)
    return _MODELS[scheme, forbid]


@st.composite
def rules_for(draw: st.DrawFn, T: int) -> dict[str, Any]:
    """Return constraints of a sequence, which may be impossible."""

    def span() -> tuple[int, int, str]:
        start = draw(st.integers(0, T - 1))
        return start, draw(st.integers(start + 1, T)), draw(st.sampled_from(["a", "b", "O"]))

    out: dict[str, Any] = {"forbidden": [span() for _ in range(draw(st.integers(0, 3)))]}
    if draw(st.booleans()):
        out["required"] = [span()]
    inner = st.lists(st.integers(1, T - 1), max_size=1) if T > 1 else st.just([])
    if draw(st.booleans()):
        out["boundaries"] = draw(inner)
    elif draw(st.booleans()):
        out["no_boundaries"] = draw(inner)
    if draw(st.booleans()):
        out["allowed"] = {draw(st.integers(0, T - 1)): [draw(st.sampled_from(["a", "b"])), "O"]}
    return out


def keeps(tags: TagSet, path: tuple[int, ...], rules: dict[str, Any]) -> bool:
    """Return whether a path of tags keeps the constraints."""
    segments = tags.segments(path)
    T, full = len(path), {tuple(s) for s in fill_gaps(segments, len(path), "O")}
    starts = {t for t in range(1, T) if not tags.joined[path[t - 1], path[t]]}
    names = [tags.label_of[k] for k in path]
    for start, end, label in rules.get("required", ()):
        outside = label == "O" and all(names[t] == "O" for t in range(start, end))
        if not outside and (start, end, label) not in full:
            return False
    return (
        not full.intersection(rules["forbidden"])
        and starts.issuperset(rules.get("boundaries", ()))
        and not starts.intersection(rules.get("no_boundaries", ()))
        and all(names[t] in some for t, some in rules.get("allowed", {}).items())
    )


def best_of(model: ChainCRF, x: list[str], rules: dict[str, Any]) -> tuple[float, float]:
    """Return the score of the best path that keeps rules, and ln Z of these."""
    p, tags = model.potentials(x), tag_set(tuple(model.potentials(x).labels), scheme_of(model), "O")
    scores, kept = [], []
    for path in product(range(len(p.labels)), repeat=len(x)):
        score = (
            p.start[path[0]] + p.end[path[-1]] + sum(p.emission[t, k] for t, k in enumerate(path))
        )
        scores.append(score + sum(p.transition[a, b] for a, b in pairwise(path)))
        kept.append(keeps(tags, path, rules))
    some = np.array(scores)[np.array(kept)]
    total = np.logaddexp.reduce(some) if len(some) else -np.inf
    return float(some.max(initial=-np.inf)), float(total)


def scheme_of(model: ChainCRF) -> str:
    return model._known.scheme or "plain"


@pytest.mark.parametrize("forbid", ["predict", "never"])
@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_answers_keep_the_rules_of_each_sequence(
    scheme: str | None, forbid: str, data: st.DataObject
) -> None:
    model = chain(scheme, forbid)
    X = data.draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), max_size=3))
    given_rules: list[Any] = [data.draw(rules_for(len(x))) for x in X]
    expected = [best_of(model, x, rules) for x, rules in zip(X, given_rules, strict=True)]
    try:
        found = model.predict_tags(X, None, given_rules)
    except Impossible:
        assert min(total for _, total in expected) == -np.inf
        return
    except InvalidInput:  # contradictory rules are refused
        return
    marginals = model.predict_marginals(X, given_rules)
    for x, rules, path, m, want in zip(X, given_rules, found, marginals, expected, strict=True):
        p, bound = model.potentials(x), model.potentials(x, rules)
        top, total = want
        cut = [(t, t + 1, tag) for t, tag in enumerate(path)]
        assert close(caesura.score(p, cut), top)
        assert close(caesura.score(bound, cut), top)
        assert close(m.log_partition, total)
        assert close(caesura.log_partition(bound), total)
        assert close(caesura.log_partition(bound, method="reference"), total)


def test_rules_of_sequences_cost_little() -> None:
    """Masks for required segments; pairs or a history for each tag after a forbidden one."""
    labels = [f"label {k}" for k in range(40)]
    y = [[(0, 3, label)] for label in labels]
    for scheme in ("BIO", "BIOES", "BCEU"):
        model = ChainCRF([word[0]], scheme=scheme, max_iterations=1).fit([["u"] * 5] * 40, y)
        x, Y = ["u"] * 9, len(model.potentials(["u"]).labels)
        parts = model.potentials(x, {"required": [(1, 4, labels[0]), (4, 5, labels[1])]}).parts
        assert not parts.edges
        assert not parts.histories
        parts = model.potentials(x, {"forbidden": [(1, 4, labels[0]), (4, 5, labels[1])]}).parts
        assert len(parts.edges) < Y
        assert len(parts.histories) < Y
