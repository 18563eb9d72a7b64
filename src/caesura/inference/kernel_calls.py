"""Calls of the kernels: checks, batches, threads, and errors that name the sequence."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from caesura import _kernels
from caesura.checks import listed, whole
from caesura.errors import CaesuraError, Impossible, InvalidInput, TooLarge, message
from caesura.inference.problems import problems_of
from caesura.inference.results import Path, named
from caesura.potentials import Potentials

__all__ = [
    "METHODS",
    "answer_count",
    "answer_path",
    "as_indices",
    "as_list",
    "called",
    "check_answers",
    "check_count",
    "each",
    "kernel_number",
    "label_lists",
    "on_threads",
    "posteriors",
    "require_possible",
    "threads_of",
]

MOST_THREADS = 1024
MOST_SEGMENTS = 100_000_000  # in all answers of a call; kMostSegments in cpp/infer/walk.hpp
SEGMENTS_PER_ANSWER = 10  # memory of an answer itself, in segments; kSegmentsPerAnswer
MOST_ANSWERS = 2**31 - 1  # for one sequence: the kernels count in 32 bits

S = TypeVar("S")
T = TypeVar("T")
METHODS = {"auto": 0, "overlapping": 0, "bounded": 1, "reference": None}


def kernel_number(method: str) -> int | None:
    """Return the kernel number of a method; None for the reference."""
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidInput(message("method", method, f"one of {list(METHODS)}", "pass one of them"))
    return METHODS[method]


def threads_of(n_threads: int | None) -> int:
    """Return the number of threads; all cores by default."""
    if n_threads is None:
        return os.cpu_count() or 1
    return whole("n_threads", n_threads, 1, MOST_THREADS)


def check_count(name: str, value: object) -> None:
    """Raise unless an argument is an integer of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        expected = "a whole number, at least 1"
        remedy = "arguments may be swapped" if isinstance(value, Iterable) else "pass 1 or more"
        raise InvalidInput(message(name, value, expected, remedy))


def answer_count(value: Any) -> int:
    """Return the checked number of requested answers per sequence."""
    check_count("n", value)
    if value > MOST_ANSWERS:
        raise TooLarge(
            message(
                "n", value, f"{MOST_ANSWERS:,} answers or fewer for a sequence", "ask for fewer"
            )
        )
    return int(value)


def check_answers(count: int) -> None:
    """Raise if the requested answers exceed the limit even for empty segmentations."""
    if count * SEGMENTS_PER_ANSWER > MOST_SEGMENTS:
        raise _too_many()


def _too_many() -> TooLarge:
    return TooLarge(
        place="n",
        got=f"a number of answers that needs the memory of more than {MOST_SEGMENTS:,} segments",
        expected="fewer",
        remedy="ask for fewer, or for fewer sequences at a time",
    )


def as_list(p: Potentials | Sequence[Potentials], name: str = "p") -> list[Potentials]:
    """Return one or many `Potentials` as a list."""
    expected = "Potentials or a list of Potentials"
    found = [p] if isinstance(p, Potentials) else listed(name, p, expected)
    for one in found:
        if not isinstance(one, Potentials):
            raise InvalidInput(
                place=name,
                got=type(one).__name__,
                expected=expected,
                remedy="make them with Potentials(T, labels)",
            )
    return found


def called(function: Callable[..., T], *arguments: Any) -> T:
    """Call a kernel; errors of its checks become `InvalidInput`."""
    try:
        return function(*arguments)
    except CaesuraError:
        raise
    except OverflowError:  # std::overflow_error of SegmentCount in cpp/infer/walk.hpp
        raise _too_many() from None
    except ValueError as error:
        remedy = "check the scores and the constraints"
        raise InvalidInput(str(error), remedy=remedy) from None


def on_threads(call: Callable[[S], T], items: Sequence[S], n_threads: int | None) -> list[T]:
    """Run a function of several kernel calls for each sequence on threads."""
    from concurrent.futures import ThreadPoolExecutor  # takes 10 ms to import

    with ThreadPoolExecutor(threads_of(n_threads)) as pool:
        return list(pool.map(call, items))


def each(
    p: Potentials | Sequence[Potentials],
    method: str,
    n_threads: int | None,
    kernel: Callable[[list[Potentials], int, int], list[Any]],
    plain: Callable[[Potentials], Any],
) -> Any:
    """Run the kernel for all sequences at once, or the reference one by one.

    The kernel returns None where no segmentation is possible, which is an error.
    """
    number, threads, listed = kernel_number(method), threads_of(n_threads), as_list(p)
    if number is None:
        answers = [plain(one) for one in listed]
    else:
        answers = called(kernel, listed, number, threads)
        for i, answer in enumerate(answers):
            if answer is None:
                require_possible(False, None if isinstance(p, Potentials) else i)
    return answers[0] if isinstance(p, Potentials) else answers


def posteriors(
    listed: list[Potentials], number: int, threads: int, entropies: bool
) -> list[_kernels.Posterior | None]:
    """Return ln Z and expected counts of each sequence; None where no segmentation is possible."""
    problems = problems_of(listed)
    rows = _kernels.posterior(problems, number, threads, entropies)
    nothing = -math.inf
    return [None if row.log_partition == nothing else row for row in rows]


def require_possible(possible: bool, sequence: int | None = None, name: str = "p") -> None:
    """Raise `Impossible` where no segmentation is possible."""
    if not possible:
        where = "" if sequence is None else f" of sequence {sequence}"
        raise Impossible(
            f"no segmentation{where} is possible, each breaks a constraint or scores -inf",
            place=name,
            remedy="loosen the constraints, max_length or the -inf scores",
        )


def answer_path(
    p: Potentials, answer: tuple[list[tuple[int, int, int]], float] | None
) -> Path | None:
    """Return a kernel result as a `Path`."""
    return None if answer is None else Path.about(p, named(answer[0], p), answer[1])


def label_lists(listed: Sequence[Potentials]) -> list[list[str]]:
    """Return the label names of each sequence in the form of the kernels."""
    return [list(p.labels) for p in listed]


def as_indices(p: Potentials, segments: Iterable[Any]) -> list[tuple[int, int, int]]:
    """Return a full segmentation by label index, or raise."""
    found = listed("segments", segments, "a list of (start, end, label)")
    indexed = [p.segment_index(segment, f"segments[{i}]") for i, segment in enumerate(found)]
    at = 0
    for i, (start, end, _) in enumerate(indexed):
        if start != at:
            raise InvalidInput(
                f"starts at {start}",
                place=f"segments[{i}]",
                expected=f"{at}",
                remedy="a score is that of a whole segmentation, so fill gaps first "
                "(caesura.fill_gaps)",
            )
        at = end
    if at != p.length:
        raise InvalidInput(
            f"end at {at}",
            place="segments",
            expected=f"{p.length}",
            remedy="a score is that of a whole segmentation, so fill gaps first "
            "(caesura.fill_gaps)",
        )
    return indexed
