"""Chains: what tags say about segments, and when a chain and a semi-CRF are the same model."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from oracle import close
from toys import addresses, chances_of, tag_paths

import caesura
from caesura import ChainCRF, Segment, SemiCRF, fill_gaps, to_tags
from caesura.features import first, last, lower, shape, single, window
from caesura.models.fitted import Fitted, blocks_of
from caesura.models.schemes import bars_of
from caesura.segments import TAG_SCHEMES, from_tags

X, Y = addresses(40, seed=1)
TOKENS = [*window(lower, -1, 1), shape[0]]


@pytest.mark.parametrize("scheme", TAG_SCHEMES)
def test_bars_leave_just_what_the_scheme_writes(scheme: str) -> None:
    segments = [(0, 3, "x"), (3, 4, "y"), (4, 5, "x"), (6, 7, "x"), (7, 8, "x")]
    some = segments[:4] if scheme in ("plain", "IO") else segments
    states = tuple(sorted({*to_tags(some, scheme, 9), *to_tags([(0, 4, "y")], scheme)}))
    bars = bars_of(states, scheme, "O")
    for path in tag_paths(3, len(states)):
        tags = [states[k] for k in path]
        said = from_tags(tags, scheme, repair="repair")
        valid = tags == to_tags(said, scheme, 3)
        barred = bars.start[path[0]] or bars.end[path[-1]]
        barred = barred or any(bars.pairs[pair] for pair in pairwise(path))
        assert valid == (not barred), tags


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES", "plain", "IO", "IOE1", "IOE2"])
@pytest.mark.parametrize("forbid", ["never", "predict"])
def test_segments_of_a_chain_sum_over_all_tags(scheme: str, forbid: str) -> None:
    """Where nothing is forbidden, B and I may say the same."""
    model = ChainCRF(TOKENS, scheme=scheme, forbid_invalid=forbid, c2=2.0).fit(X, Y)
    states = model._known.structure.states
    x = ["12", "Park", "York"]
    p = model.potentials(x)
    log_z = caesura.log_partition(p)
    total: dict[tuple[Segment, ...], float] = defaultdict(float)
    for path in tag_paths(3, len(states)):
        tags = [Segment(t, t + 1, states[k]) for t, k in enumerate(path)]
        chance = float(np.exp(caesura.score(p, tags) - log_z))
        total[tuple(from_tags([s.label for s in tags], scheme, repair="repair"))] += chance
    total = {segments: chance for segments, chance in total.items() if chance}
    best = model.predict_n_best([x], 100000)[0]
    assert close([chance for _, chance in best], sorted(total.values(), reverse=True))
    assert all(close(total[tuple(segments)], chance) for segments, chance in best)
    for segment, chance, *_ in model.predict_confident([x])[0]:
        assert close(chance, sum(p for some, p in total.items() if segment in some))
    for start in range(3):
        for stop in range(start + 1, 4):
            for label in model.labels_:
                segment = Segment(start, stop, label)
                expected = sum(p for some, p in total.items() if segment in some)
                assert close(chances_of(model, p, [segment])[0], expected)


# -- the same model twice --------------------------------------------------------------------------

LETTERS = {
    "B": ["", "first:"],
    "C": [""],
    "E": ["", "last:"],
    "U": ["", "first:", "last:", "single:"],
}
LETTERS["O"] = LETTERS["U"]  # outside segments are one token long


def named_weights(model: Any) -> tuple[dict[tuple[str, str], int], dict[str, dict[Any, int]]]:
    """Where the weight of each attribute and state is, and those of pairs, starts and ends."""
    fitted = model._known
    parameters, states = fitted.parameters, fitted.structure.states
    names = fitted.encoder.names(parameters.attribute.tolist())
    labels = [states[y] for y in parameters.label.tolist()]
    rows = {pair: k for k, pair in enumerate(zip(names, labels, strict=True))}
    blocks, Y = blocks_of(parameters), len(states)
    pairs = [(states[k // Y], states[k % Y]) for k in parameters.transition.tolist()]
    rest: dict[str, dict[Any, int]] = {
        "transition": {pair: blocks.transitions.start + k for k, pair in enumerate(pairs)}
    }
    for name, block in (("start", blocks.starts), ("end", blocks.ends)):
        places = getattr(parameters, name).tolist()
        rest[name] = {states[y]: block.start + k for k, y in enumerate(places)}
    return rows, rest


def mapped(semi: SemiCRF, w: Any, chain: ChainCRF) -> Any:
    """The weights of a chain that make it the same model as a semi-CRF.

    A token with the tag B-y has what the semi-CRF says of a first token, and so on. Transitions are
    tied: those into a segment depend on the two labels, and those inside one are zero.
    """
    v = np.zeros(chain.n_features_)
    rows, rest = named_weights(semi)
    chain_rows, chain_rest = named_weights(chain)

    def label_of(tag: str) -> str:
        return tag.partition("-")[2] or "O"

    for (name, tag), k in chain_rows.items():
        pairs = [(place + name, label_of(tag)) for place in LETTERS[tag[0]]]
        v[k] = sum(w[rows[pair]] for pair in pairs if pair in rows)
    for (before, tag), k in chain_rest["transition"].items():
        if tag[0] not in "CE":
            v[k] = w[rest["transition"][label_of(before), label_of(tag)]]
    for name in ("start", "end"):
        for tag, k in chain_rest[name].items():
            v[k] = w[rest[name][label_of(tag)]]
    return v


def with_weights(model: Any, w: Any) -> Any:
    fitted = model._known
    model._fitted = Fitted.of(fitted[:3], fitted.encoder, fitted.parameters, w, fitted.rules)
    return model


def with_all_weights(model: Any, xs: Any, ys: Any) -> Any:
    """Fitting drops weights of zero, which all of those that cannot matter are."""
    training = model._training(model._read(xs, ys, None), None, None)
    model._set_fitted(training.fitted(np.ones(len(training.parameters))))
    return model


def test_a_chain_and_a_semi_crf_can_be_the_same_model() -> None:
    options: dict[str, Any] = {"all_possible_states": True}
    columns = [lower[0], shape[0]]
    before = lower[-1]  # said of every token, whatever its place
    every = [(0, 1, "number"), (1, 4, "number"), (4, 7, "town"), (7, 8, "street")]  # every tag
    xs, ys = [*X, ["7"] * 8], [*Y, every]
    chain = ChainCRF([*columns, before], scheme="BCEU", forbid_invalid="always", **options)
    with_all_weights(chain, xs, ys)
    places = [place(c) for place in (first, last, single) for c in columns]
    semi = with_all_weights(SemiCRF([*columns, before, *places], **options), xs, ys)
    w = np.random.default_rng(5).normal(size=semi.n_features_)
    v = mapped(semi, w, chain)
    with_weights(semi, w)
    with_weights(chain, v)
    for x, y in zip(X, Y, strict=True):
        tags = [Segment(t, t + 1, tag) for t, tag in enumerate(to_tags(y, "BCEU", len(x)))]
        a = caesura.log_probability(semi.potentials(x), fill_gaps(y, len(x)))
        b = caesura.log_probability(chain.potentials(x), tags)
        assert abs(a - b) < 1e-9
    assert semi.predict(X) == chain.predict(X)
    both = zip(semi.predict_n_best(X[:5], 5), chain.predict_n_best(X[:5], 5), strict=True)
    for ours, theirs in both:
        assert [segments for segments, _ in ours] == [segments for segments, _ in theirs]
        assert close([p for _, p in ours], [p for _, p in theirs])
