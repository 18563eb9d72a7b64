"""A sensor worn at the wrist that does not exist: three channels, cut into phases."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import numpy as np

from caesura.demo.templates import check
from caesura.documents import Document
from caesura.segments import Segment

__all__ = ["activity"]


class _Phase(NamedTuple):
    """What the sensor sees in a phase."""

    mean: tuple[float, float, float]  # of each channel
    swing: tuple[float, float, float]  # around it
    period: float  # samples in a swing
    length: tuple[int, int]  # the least and the most samples in the phase


_PHASES = {
    "rest": _Phase((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 1.0, (12, 40)),
    "walk": _Phase((0.1, 0.0, 1.0), (0.9, 0.3, 0.5), 6.0, (15, 50)),
    "run": _Phase((0.2, 0.0, 1.0), (1.8, 0.6, 1.2), 4.0, (10, 30)),
    "lift": _Phase((0.1, 0.9, 0.3), (0.1, 0.2, 0.1), 8.0, (4, 8)),
}
_AFTER = {
    "rest": ("walk", "lift", "walk", "run"),
    "walk": ("rest", "run", "lift"),
    "run": ("walk", "rest"),
    "lift": ("rest", "walk"),
}


def activity(n: int, seed: int = 0, noise: float = 0.35) -> list[Document]:
    """Make recordings of a sensor with three channels, each with its phases.

    Parameters
    ----------
    n : int
        How many recordings, of 6 phases each.
    seed : int
        The same seed gives the same recordings.
    noise : float
        The standard deviation of the noise in each channel.

    Returns
    -------
    list of Document
        Their numbers are in `dense`, of shape (T, 3); their tokens are empty. The labels are rest,
        walk, run and lift; no two neighbours have the same.

    Examples
    --------
    >>> recording = activity(1, seed=0)[0]
    >>> recording.dense.shape
    ()
    >>> recording.segments[:2]
    ()
    """
    check(n, seed)
    draw = random.Random(f"activity {seed}")
    return [_recording(draw, noise) for _ in range(n)]


def _recording(draw: random.Random, noise: float) -> Document:
    segments: list[Segment] = []
    rows: list[list[float]] = []
    label = draw.choice(list(_PHASES))
    for _ in range(6):
        segments.append(Segment(len(rows), len(rows) + draw.randint(*_PHASES[label].length), label))
        rows += _samples(_PHASES[label], segments[-1].length, draw, noise)
        label = draw.choice(_AFTER[label])
    dense = np.array(rows).round(3)
    return Document(("",) * len(rows), dense=dense, segments=tuple(segments))


def _samples(phase: _Phase, length: int, draw: random.Random, noise: float) -> list[list[float]]:
    """Return the three numbers of each sample of a phase."""
    turn, force = draw.random(), draw.uniform(0.8, 1.2)
    wave = [force * math.sin(2 * math.pi * (k / phase.period + turn)) for k in range(length)]
    channels = list(zip(phase.mean, phase.swing, strict=True))
    return [[mean + swing * w + draw.gauss(0.0, noise) for mean, swing in channels] for w in wave]
