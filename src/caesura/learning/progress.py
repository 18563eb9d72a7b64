"""A line on the terminal that tells how training goes; `rich` is imported when it is shown."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from caesura.learning.objectives import Progress

__all__ = ["ProgressLine", "seconds_left"]


class ProgressLine:
    """Show iteration, objective, score, time left and gradient norm, as a callback.

    Parameters
    ----------
    show : bool, optional
        Whether to show anything; where not given, only if stderr is a terminal.
    max_iterations : int, optional
        Of the optimiser; with it the time left is bounded.
    period, delta : int, float
        Of the optimiser; from them the time left is guessed.
    title : str
        What is shown first: which part of a longer work this is.

    Examples
    --------
    >>> with ProgressLine(show=False) as line:
    ...     line(Progress(1, 120.5, 2.25, 1.0, 2, 7, 0.1))
    """

    def __init__(
        self,
        show: bool | None = None,
        *,
        max_iterations: int | None = None,
        period: int = 10,
        delta: float = 1e-5,
        title: str = "",
    ) -> None:
        self.title = title
        self.show = sys.stderr.isatty() if show is None else show
        self.max_iterations, self.period, self.delta = max_iterations, period, delta
        self._history: list[Progress] = []
        self._part = ""  # how far the iteration has come
        self._live: Any = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, progress: Progress) -> None:
        """Show this progress in place of the last."""
        if not self.show:
            return
        self._history.append(progress)
        self._part = ""
        self._update()

    def part(self, done: int, total: int) -> None:
        """Show how much of the sequences the iteration of now has seen."""
        if self.show:
            iteration = self._history[-1].iteration + 1 if self._history else 1
            self._part = f"pass {iteration}: {done / max(total, 1):.0%} of {total:,} sequences"
            self._update()

    def reading(self, done: int) -> None:
        """Show how many sequences have been read before the first iteration."""
        if self.show:
            self._part = f"reading: {done:,} sequences"
            self._update()

    def _update(self) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), auto_refresh=False)
            self._live.start()
        console = self._live.console
        text = console.render_str(self.line(console.width))
        text.no_wrap, text.overflow = True, "crop"  # where not even the first part fits
        self._live.update(text, refresh=True)

    def line(self, width: int | None = None) -> str:
        """Return the line for the last progress, without its last parts where they do not fit.

        Parameters
        ----------
        width : int, optional
            Characters that there is room for; the first part is there even if it is longer.
        """
        parts = [self.title] if self.title else []
        parts += [self._part] if self._part else []
        if not self._history:
            return "  ".join(parts)
        p = self._history[-1]
        left = seconds_left(self._history, self.period, self.delta, self.max_iterations)
        parts += [f"iteration {p.iteration}", f"objective {p.objective:.6g}"]  # important first
        if p.dev_score is not None:
            parts.append(f"F1 {p.dev_score:.4f}")
        if p.gap is not None:
            parts.append(f"gap {p.gap:.3g}")
        if left is not None:
            parts.append(f"about {_duration(left)} left")
        if not math.isnan(p.gradient_norm):
            parts.append(f"gradient {p.gradient_norm:.3g}")
        parts.append(f"{_duration(p.seconds)} gone")
        if p.precision == "single":
            parts.append("single precision")
        while width is not None and len(parts) > 1 and len("  ".join(parts)) > width:
            parts.pop()
        return "  ".join(parts)


def seconds_left(
    history: Sequence[Progress], period: int, delta: float, max_iterations: int | None = None
) -> float | None:
    """Guess how long an optimiser will go on, or return None where nothing can be said yet.

    The relative decrease over a period is taken to go on falling as it does now, until it is below
    `delta`.

    Parameters
    ----------
    history : sequence of Progress
        So far.
    period, delta, max_iterations : int, float, int
        Of the optimiser.

    Returns
    -------
    float or None
        Seconds.

    Examples
    --------
    >>> def after(i):
    ...     return Progress(i, 1.0 + 0.5**i, 0.1, 1.0, i, 3, 2.0 * i)
    >>> round(seconds_left([after(i) for i in range(1, 21)], 5, 0.5**25))
    20
    """
    if len(history) < 2:
        return None
    last, first = history[-1], history[max(0, len(history) - 1 - period)]
    pace = (last.seconds - first.seconds) / max(1, last.iteration - first.iteration)
    bounds = [] if max_iterations is None else [float(max_iterations - last.iteration)]
    if len(history) > 2 * period:
        values = [history[-1 - period * k].objective for k in range(3)]
        fell, fell_before = values[1] - values[0], values[2] - values[1]
        if 0.0 < fell < fell_before and values[0] != 0.0:
            slower = math.log(fell_before / fell) / period
            to_go = math.log(max(1.0, fell / abs(values[0]) / delta)) if delta > 0.0 else math.inf
            bounds.append(to_go / slower)
    return max(0.0, min(bounds)) * pace if bounds else None


def _duration(seconds: float) -> str:
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
