"""Progress lines on the terminal; `rich` is imported on first use."""

from __future__ import annotations

import contextvars
import math
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self

from caesura.learning.objectives import Progress

__all__ = [
    "PROGRAM",
    "ProgressLine",
    "Stage",
    "StatusLine",
    "duration",
    "in_library",
    "most_seconds_left",
]

FIRST, EVERY = 2.0, 5.0  # seconds until the first line and between lines, without a terminal
REFRESH = 0.1  # seconds between updates on a terminal
PACE = 10  # iterations over which the time per iteration is averaged

# The progress display if `show` is None. library: on a terminal only; program: also without a
# terminal, as one line every few seconds; quiet: never.
PROGRAM: contextvars.ContextVar[Literal["library", "program", "quiet"]] = contextvars.ContextVar(
    "PROGRAM", default="library"
)


def in_library() -> bool:
    """Return whether the code runs outside a command, which handles interruptions itself."""
    return PROGRAM.get() == "library"


class StatusLine:
    """A line on stderr that is updated in place; without a terminal, one line per update.

    Off a terminal there is a line every few seconds, the first after two, and the last one at the
    end.

    Parameters
    ----------
    show : bool, optional
        Whether to show anything. Where not given, only if stderr is a terminal; in the program,
        also elsewhere if it takes longer than two seconds.
    transient : bool
        Whether the line is removed at the end.

    Examples
    --------
    >>> with StatusLine(show=False) as line:
    ...     line.update("half of it is done")
    """

    def __init__(self, show: bool | None = None, transient: bool = False) -> None:
        asked, terminal = PROGRAM.get(), sys.stderr.isatty()
        self.show = asked == "program" or (asked == "library" and terminal)
        self.show = self.show if show is None else show
        self._at_least_one = show is True  # print at least one line, even if the task is short
        self._transient, self._terminal = transient, terminal
        self._began = self._last = time.monotonic()
        self._shown = self._text = ""
        self._live: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def width(self) -> int | None:
        """The available width in characters; None without a terminal."""
        if not self._terminal:
            return None
        self._start()
        return int(self._live.console.width)

    def update(self, text: str) -> None:
        """Update the line."""
        if not self.show:
            return
        self._text, now = text, time.monotonic()
        wait = REFRESH if self._terminal else EVERY if self._shown else FIRST
        if self._terminal and not self._shown:
            wait = 0.0
        if now - self._last >= wait:
            self._put(now)

    def _put(self, now: float) -> None:
        """Print the current text."""
        self._last, self._shown = now, self._text
        if not self._terminal:
            sys.stderr.write(f"{self._text}\n")
            sys.stderr.flush()
            return
        from rich.text import Text

        self._start()
        self._live.update(Text(self._text, no_wrap=True, overflow="crop"), refresh=True)

    def _start(self) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=sys.stderr)
            self._live = Live(console=console, auto_refresh=False, transient=self._transient)
            self._live.start()

    def close(self) -> None:
        """Print the last text, if it is to stay."""
        late = self._shown or self._at_least_one or time.monotonic() - self._began >= FIRST
        if self.show and self._text != self._shown and (self._terminal or late):
            self._put(time.monotonic())
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._text = self._shown = ""


class Stage(StatusLine):
    """A progress line for one stage: share done and time left.

    Parameters
    ----------
    name : str
        Name of the stage, for example "features".
    total : int, optional
        Total number of items.
    show : bool, optional
        Whether to show the line, as in `StatusLine`.
    what : str
        Name of the items that are counted.

    Examples
    --------
    >>> with Stage("reading", show=False) as stage:
    ...     stage.done(1000, share=0.25)
    ...     stage._began -= 10.0
    ...     stage.line(1000, share=0.25)
    'reading: 1,000 sequences, 25%, about 30 s left'
    """

    def __init__(
        self,
        name: str = "",
        total: int | None = None,
        show: bool | None = None,
        what: str = "sequences",
    ) -> None:
        super().__init__(show, transient=True)
        self.name, self.total, self.what = name, total, what

    def done(self, count: int, more: str = "", share: float | None = None) -> None:
        """Show the number done; the share follows from the total unless given."""
        if self.show:
            self.update(self.line(count, more, share))

    def line(self, count: int, more: str = "", share: float | None = None) -> str:
        """Return the line."""
        if share is None and self.total:
            share = count / self.total
        of = "" if self.total is None else f" of {self.total:,}"
        head = f"{self.name}: " if self.name else ""
        parts = [f"{head}{count:,}{of} {self.what}"]
        gone = time.monotonic() - self._began
        if share is not None:
            parts.append(f"{min(share, 1.0):.0%}")
            if 0.0 < share < 1.0 and gone >= 1.0:
                parts.append(f"about {duration(gone * (1.0 - share) / share)} left")
        elif gone >= 1.0:
            parts.append(f"{count / gone:,.0f} a second")
        return ", ".join([*parts, more] if more else parts)


class ProgressLine:
    """A callback that shows iteration, objective, score, time left at most and gradient norm.

    Parameters
    ----------
    show : bool, optional
        Whether to show anything, as in `StatusLine`.
    max_iterations : int, optional
        Maximum number of iterations of the optimiser; with it the time left is bounded.
    title : str
        The text at the start of the line, such as the part of a longer task.

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
        title: str = "",
    ) -> None:
        self.title = title
        self._status = StatusLine(show)
        self.show = self._status.show
        self.max_iterations = max_iterations
        self._history: list[Progress] = []
        self._part = ""  # progress within the current iteration

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.close()

    def __call__(self, progress: Progress) -> None:
        """Update the display."""
        if not self.show:
            return
        self._history.append(progress)
        self._part = ""
        self._update()

    def begin(self) -> None:
        """Show the start of the first iteration."""
        if self.show and not self._history:
            self._part = "learning: first iteration"
            self._update()

    def part(self, done: int, total: int) -> None:
        """Show the share of sequences processed in the current iteration."""
        if self.show:
            iteration = self._history[-1].iteration + 1 if self._history else 1
            self._part = f"pass {iteration}: {done / max(total, 1):.0%} of {total:,} sequences"
            self._update()

    def reading(self, done: int) -> None:
        """Show the number of sequences read before the first iteration."""
        if self.show:
            self._part = f"reading: {done:,} sequences"
            self._update()

    def _update(self) -> None:
        self._status.update(self.line(self._status.width))

    def line(self, width: int | None = None) -> str:
        """Return the line for the latest progress, shortened to fit.

        Parameters
        ----------
        width : int, optional
            Maximum number of characters; the first part is shown even if it is longer.
        """
        parts = [self.title] if self.title else []
        parts += [self._part] if self._part else []
        if not self._history:
            return "  ".join(parts)
        p = self._history[-1]
        left = most_seconds_left(self._history, self.max_iterations)
        parts += [f"iteration {p.iteration}", f"objective {p.objective:.6g}"]  # important first
        if p.dev_score is not None:
            parts.append(f"F1 {p.dev_score:.4f}")
        if p.gap is not None:
            parts.append(f"gap {p.gap:.3g}")
        if left is not None:
            parts.append(f"< {duration(left)} left")
        if not math.isnan(p.gradient_norm):
            parts.append(f"gradient {p.gradient_norm:.3g}")
        parts.append(f"{duration(p.seconds)} gone")
        if p.precision == "single":
            parts.append("single precision")
        while width is not None and len(parts) > 1 and len("  ".join(parts)) > width:
            parts.pop()
        return "  ".join(parts)


def most_seconds_left(history: Sequence[Progress], max_iterations: int | None) -> float | None:
    """Return the time that an optimiser takes at most, or None without a limit of iterations.

    Where an optimiser stops before its limit cannot be foretold: relative decreases go up and down
    by a factor of ten.

    Examples
    --------
    >>> history = [Progress(i, 1.0, 0.1, 1.0, i, 3, 2.0 * i) for i in range(1, 21)]
    >>> most_seconds_left(history, 100)
    160.0
    """
    if len(history) < 2 or max_iterations is None:
        return None
    last, first = history[-1], history[max(0, len(history) - 1 - PACE)]
    pace = (last.seconds - first.seconds) / max(1, last.iteration - first.iteration)
    return max(0, max_iterations - last.iteration) * pace


def duration(seconds: float) -> str:
    """Format a duration.

    Examples
    --------
    >>> duration(12.3), duration(340), duration(9000), duration(700_000)
    ('12 s', '6 min', '2.5 h', '8 days')
    """
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    if minutes < 120:
        return f"{minutes} min"
    hours = minutes / 60
    return f"{hours:.1f} h" if hours < 100 else f"{hours / 24:.0f} days"
