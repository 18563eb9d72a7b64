"""Line search under the weak Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Point", "search"]

Floats = npt.NDArray[np.float64]
DECREASE = 1e-4  # minimum share of the predicted decrease that a step must achieve
CURVATURE = 0.9  # maximum share of the initial slope that a step may leave


class Point(NamedTuple):
    """A point on the search line with its value and gradient."""

    step: float
    objective: float  # with penalties
    slope: float  # directional derivative; NaN with c1, whose penalty has kinks
    promise: float  # change of the objective up to here, predicted by the initial slope; negative
    w: Floats
    gradient: Floats  # including the gradient of c2 |w|^2
    norm: float  # norm of the gradient, or of the pseudo-gradient
    w_norm: float
    n_active: int


def search(
    at: Callable[[float], Point], objective: float, slope: float, step: float, most: int
) -> Point | None:
    """Return a point that satisfies the weak Wolfe conditions, or None if none is lower.

    ::

        F(w + t d) <= F(w) + DECREASE * promise        else t is too long
        slope(t)   >= CURVATURE * slope(0)             else t is too short (not asked under c1)

    Parameters
    ----------
    at : callable
        Function that evaluates the point at a step.
    objective, slope : float
        Their values at step 0.
    step : float
        The first step size to try.
    most : int
        Maximum number of evaluations; then the lowest point so far is returned, if it is lower than
        the start.
    """
    low = (0.0, objective, slope)
    high: tuple[float, float, float] | None = None
    lowest: Point | None = None
    for _ in range(most):
        point = at(step)
        if point.objective <= objective and (lowest is None or point.objective < lowest.objective):
            lowest = point
        here = (step, point.objective, point.slope)
        # If rounding hides the decrease, a flatter slope is accepted as evidence of it.
        flatter = point.objective <= objective and abs(point.slope) <= CURVATURE * abs(slope)
        # A step must lower the objective, however small the predicted decrease; otherwise the
        # search could accept steps that change nothing for ever.
        lower = point.objective < objective
        enough = lower and point.objective <= objective + DECREASE * point.promise
        if not (enough or flatter):
            high = here
        elif point.slope < CURVATURE * slope:
            low = here
        else:
            return point
        step = _longer(low, slope) if high is None else _between(low, high)
    return lowest if lowest is not None and lowest.objective < objective else None


def _longer(low: tuple[float, float, float], slope: float) -> float:
    """Return a longer step by extrapolation of the slope to 0."""
    t, _, slope_here = low
    guess = t * slope / (slope - slope_here) if slope_here > slope else math.inf
    return min(max(guess, 2.0 * t), 10.0 * t)


def _between(low: tuple[float, float, float], high: tuple[float, float, float]) -> float:
    """Return a step between two: the minimum of the interpolating cubic or parabola."""
    (a, f_a, slope_a), (b, f_b, slope_b) = low, high
    width = b - a
    guess = math.nan
    if math.isfinite(f_b) and math.isfinite(slope_b):
        theta = slope_a + slope_b - 3.0 * (f_b - f_a) / width
        inside = theta * theta - slope_a * slope_b
        if inside >= 0.0 and slope_b - slope_a + 2.0 * math.sqrt(inside) != 0.0:
            root = math.sqrt(inside)
            guess = b - width * (slope_b + root - theta) / (slope_b - slope_a + 2.0 * root)
    elif math.isfinite(f_b):
        bend = f_b - f_a - slope_a * width
        guess = a - 0.5 * slope_a * width * width / bend if bend > 0.0 else math.nan
    if math.isnan(guess):
        guess = a + 0.5 * width
    return min(max(guess, a + 0.1 * width), b - 0.1 * width)
