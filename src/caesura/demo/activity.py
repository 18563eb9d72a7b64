"""Simulated recordings of a wrist sensor with three channels, cut into phases."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import numpy as np

from caesura.demo.templates import check
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["activity"]


class _Phase(NamedTuple):
    """The signal parameters of a phase."""

    swing: tuple[float, float, float]  # amplitude of each channel
    period: float  # samples per swing
    length: tuple[int, int]  # minimum and maximum number of samples


_PHASES = {
    "rest": _Phase((0.0, 0.0, 0.0), 1.0, (5, 14)),
    "walk": _Phase((0.9, 0.3, 0.5), 5.0, (6, 16)),
    "run": _Phase((2.4, 1.0, 1.5), 3.0, (5, 13)),
    "jump": _Phase((2.4, 1.0, 1.5), 3.0, (2, 3)),
}
_AFTER = {
    "rest": ("walk", "jump", "walk"),
    "walk": ("rest", "run", "jump"),
    "run": ("walk", "rest"),
    "jump": ("rest", "walk"),
}


def activity(n: int, seed: int = 0, noise: float = 0.2) -> list[Document]:
    """Generate recordings of a sensor with three channels, each with its phases.

    Parameters
    ----------
    n : int
        Number of recordings, of 8 phases each.
    seed : int
        The same seed gives the same recordings.
    noise : float
        The standard deviation of the noise in each channel.

    Returns
    -------
    list of Document
        Their numbers are in `dense`, of shape (T, 3); their tokens are empty. The labels are rest,
        walk, run and jump; no two neighbours have the same.

    Examples
    --------
    >>> recording = activity(1, seed=0)[0]
    >>> recording.dense.shape
    (52, 3)
    >>> recording.segments[:2]
    (Segment(start=0, end=3, label='jump'), Segment(start=3, end=13, label='walk'))
    """
    check(n, seed)
    if not isinstance(noise, int | float) or not 0 <= noise < math.inf:
        raise InvalidInput(message("noise", noise, "a number, at least 0", "pass 0.2, the default"))
    draw = random.Random(f"activity {seed}")
    return [_recording(draw, noise) for _ in range(n)]


def _recording(draw: random.Random, noise: float) -> Document:
    segments: list[Segment] = []
    rows: list[list[float]] = []
    label = draw.choice(list(_PHASES))
    for _ in range(8):
        segments.append(Segment(len(rows), len(rows) + draw.randint(*_PHASES[label].length), label))
        rows += _samples(_PHASES[label], segments[-1].length, draw, noise)
        label = draw.choice(_AFTER[label])
    dense = np.array(rows).round(3)
    return Document(("",) * len(rows), dense=dense, segments=tuple(segments))


def _samples(phase: _Phase, length: int, draw: random.Random, noise: float) -> list[list[float]]:
    """Return the samples of a phase, of shape (n, 3), around the posture of the arm."""
    held = [draw.uniform(-1.5, 1.5) for _ in phase.swing]
    turn = draw.random()
    wave = [math.sin(2 * math.pi * (k / phase.period + turn)) for k in range(length)]
    channels = list(zip(held, phase.swing, strict=True))
    return [[at + swing * w + draw.gauss(0.0, noise) for at, swing in channels] for w in wave]
