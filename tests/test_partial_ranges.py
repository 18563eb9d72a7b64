"""Partial labels whose sums leave the range of plain numbers: loss and gradient stay right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import caesura
from caesura import Partial, SemiCRF
from caesura.features import history, word
from caesura.models.training import Training

Floats = npt.NDArray[np.float64]
ONE = np.array([0], np.int32)


def weights(training: Training, score: dict[tuple[str, ...], float]) -> Floats:
    """Return weights by the word that an attribute is, and the labels that it goes with."""
    P, states = training.parameters, training.structure.states
    names = training.encoder.names(P.attribute.tolist())
    w = np.zeros(len(P))
    for k, (name, target) in enumerate(zip(names, P.label.tolist(), strict=True)):
        Y = len(states)
        labels = [target] if target < Y else P.patterns[target - Y]
        w[k] = score.get((name.split("=")[1], *(states[y] for y in labels)), 0.0)
    return w


def expected(model: SemiCRF, training: Training, w: Floats, x: list[str], **known: Any) -> float:
    """Return the loss of partial labels by the engine."""
    model._set_fitted(training.fitted(w))
    p = model.potentials(x)
    return caesura.log_partition(p) - caesura.log_partition(p.copy().constrain(**known))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("ends", [False, True])
def test_a_long_segment_that_is_known_and_unlikely(order: int, ends: bool) -> None:
    n = 600
    X = [["x"] + ["p"] * (n - 1), ["x", "p", "x"]]
    barred = list(range(1, n - 1 if ends else n))
    part = Partial(tokens={0: "a", n - 1: "a"} if ends else {0: "a"}, no_boundaries=barred)
    y = [part, [(0, 1, "a"), (1, 2, "c"), (2, 3, "a")]]
    model = SemiCRF([word[0]], order=order, all_possible_states=True)
    training = model._training(model._read(X, y, None), None, None)
    w = weights(training, {("p", "c"): 2.0})
    loss, gradient = training.objective.evaluate(w, ONE, False, 1)
    allowed = {0: ["a"], n - 1: ["a"]} if ends else {0: ["a"]}
    truth = expected(model, training, w, X[0], no_boundaries=barred, allowed=allowed)
    assert loss == pytest.approx(truth, rel=1e-12)
    assert np.isfinite(gradient).all()
    step = np.random.default_rng(0).normal(size=len(w)) * 1e-5
    up, down = (training.objective.evaluate(w + s * step, ONE, False, 1)[0] for s in (1, -1))
    assert gradient @ step == pytest.approx((up - down) / 2, rel=1e-4)


@pytest.mark.parametrize(("n", "score"), [(9, 90.0), (200, 5.0)])
def test_histories_that_are_equal_only_in_the_end(n: int, score: float) -> None:
    """One history falls far behind inside a known segment, and comes back before it ends."""
    X = [["x"] + ["p"] * n + ["q"] * n, ["x", "p", "q"], ["x", "p", "q"]]
    segment = (1, 2 * n + 1, "y")
    y: list[Any] = [Partial(segments=[segment], tokens={0: {"a", "b"}})]
    y += [[(0, 1, "a"), (1, 3, "y")], [(0, 1, "b"), (1, 3, "y")]]
    model = SemiCRF([history(word[0], 1)])
    training = model._training(model._read(X, y, None), None, None)
    w = weights(training, {("q", "a", "y"): -score, ("p", "b", "y"): -score})
    loss, gradient = training.objective.evaluate(w, ONE, False, 1)
    truth = expected(model, training, w, X[0], required=[segment], allowed={0: ["a", "b"]})
    assert loss == pytest.approx(truth, rel=1e-12)
    assert np.isfinite(gradient).all()
