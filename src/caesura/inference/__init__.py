"""The door to the kernels: every question that can be asked of `Potentials`.

Each function takes one `Potentials` or many (a list gives a list), and

method : {"auto", "overlapping", "bounded", "reference"}
    How to compute; all agree.  "overlapping" shares work between segments and needs no bound on
    their length; "bounded" sums over each length (max_length, or T where there is none);
    "reference" is plain Python, for small inputs.  "auto" is "overlapping".
n_threads : int, optional
    Threads for many sequences; all cores where not given.  Results do not depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from caesura import _kernels
from caesura.errors import CaesuraError, Impossible, InvalidInput
from caesura.inference import divergence, lazy, reference, risk
from caesura.inference.problems import MOST_TRACKED, problem_of
from caesura.inference.results import Marginals, Path, named
from caesura.potentials import Label, Potentials
from caesura.segments import Segment

__all__ = [
    "Marginals",
    "Path",
    "entropy",
    "kl_divergence",
    "log_partition",
    "log_probability",
    "marginals",
    "minimum_risk",
    "n_best",
    "sample",
    "score",
    "viterbi",
]

T = TypeVar("T")
METHODS = {"auto": 0, "overlapping": 0, "bounded": 1, "reference": None}


def log_partition(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return ln Z, the logarithm of the sum of exp(score) over all segmentations.

    It is 0 for a sequence of length 0, and -inf where no segmentation is possible.

    Examples
    --------
    >>> import caesura, math
    >>> p = caesura.Potentials(4, 2)  # all scores 0: ln Z counts the segmentations
    >>> round(math.exp(caesura.log_partition(p)))
    54
    """
    return _each(p, method, n_threads, _kernels.log_partition, reference.log_partition)


def score(
    p: Potentials | Sequence[Potentials],
    segments: Sequence[Any],
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the sum of all potentials of a segmentation; -inf where a constraint is broken.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"])
    >>> p.emission[:, 0] = 1.0
    >>> caesura.score(p, [(0, 2, "name"), (2, 3, "other")])
    2.0
    """
    _number(method)
    _threads(n_threads)
    listed = _listed(p)
    if not isinstance(p, Potentials):
        if len(listed) != len(segments):
            raise InvalidInput(
                f"segments: got {len(segments)} segmentations for {len(listed)} sequences"
            )
        return [score(one, cut, method=method) for one, cut in zip(listed, segments, strict=True)]
    indexed = _indexed(p, segments)
    if method == "reference":
        return reference.score(p, named(indexed, p))
    tracked = None if len(p._once) <= MOST_TRACKED else ()
    if tracked is not None and lazy.broken(p, indexed):
        return -np.inf
    return _called(problem_of(p, tracked).score, indexed)


def log_probability(
    p: Potentials | Sequence[Potentials],
    segments: Sequence[Any],
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the log-probability of a segmentation.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(1, ["name", "other"])
    >>> round(caesura.log_probability(p, [(0, 1, "name")]), 4)
    -0.6931
    """
    scores = score(p, segments, method=method)
    log_z = log_partition(p, method=method, n_threads=n_threads)
    if isinstance(p, Potentials):
        _require_possible(log_z > -np.inf)
        return scores - log_z
    for i, value in enumerate(log_z):
        _require_possible(value > -np.inf, i)
    return [a - b for a, b in zip(scores, log_z, strict=True)]


def marginals(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return the probabilities of segments, tokens, boundaries and transitions, and expected counts.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(2, ["name", "other"])
    >>> p.add(0, 2, "name", 1.0)
    >>> m = caesura.marginals(p)
    >>> m.tokens.round(3)
    array([[0.611, 0.389],
           [0.611, 0.389]])
    >>> m.potentials.round(3)  # the derivative of ln Z by the score that was added
    array([0.352])
    """
    number = _number(method)
    if number is None:
        return _each(p, method, n_threads, _never, reference.marginals)
    listed = _listed(p)
    rows = _posterior(listed, number, n_threads, False, isinstance(p, Potentials))
    answers = [Marginals(one, row, number) for one, row in zip(listed, rows, strict=True)]
    return answers[0] if isinstance(p, Potentials) else answers


def viterbi(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return the best segmentation and its score.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"])
    >>> p.emission[1:, 1] = 1.0
    >>> p.transition[:] = -0.5  # long segments are better than many
    >>> caesura.viterbi(p)
    Path(segments=[Segment(start=0, end=3, label='other')], score=2.0)
    """

    def kernel(problems: list[Potentials], number: int, threads: int) -> list[Any]:
        answers = _split(
            problems,
            lambda plain: _kernels.best([problem_of(one) for one in plain], number, threads),
            lambda one: next(iter(lazy.n_best(one, 1, number)), None),
        )
        return [_path(one, answer) for one, answer in zip(problems, answers, strict=True)]

    return _each_possible(p, method, n_threads, kernel, lambda one: Path(*reference.viterbi(one)))


def n_best(
    p: Potentials | Sequence[Potentials],
    n: int,
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the n best segmentations with their scores, all different, the best first.

    There are fewer where fewer are possible.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(2, ["name", "other"])
    >>> p.add(0, 2, "name", 2.0)
    >>> p.add(0, 2, "other", 1.0)
    >>> [path.score for path in caesura.n_best(p, 3)]
    [2.0, 1.0, 0.0]
    """
    _count("n", n)

    def kernel(problems: list[Potentials], number: int, threads: int) -> list[Any]:
        answers = _split(
            problems,
            lambda plain: _kernels.n_best([problem_of(one) for one in plain], n, number, threads),
            lambda one: lazy.n_best(one, n, number),
        )
        return [
            [_path(one, answer) for answer in found] or None
            for one, found in zip(problems, answers, strict=True)
        ]

    return _each_possible(
        p, method, n_threads, kernel, lambda one: [Path(*a) for a in reference.n_best(one, n)]
    )


def sample(
    p: Potentials | Sequence[Potentials],
    n: int,
    seed: int = 0,
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Draw n segmentations from the distribution.

    The same seed gives the same samples; of many sequences, the i-th uses ``seed + i``.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"])
    >>> len(caesura.sample(p, 100, seed=1))
    100
    """
    _count("n", n)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed: got {seed!r}, expected a whole number, at least 0")

    def kernel(problems: list[Potentials], number: int, threads: int) -> list[Any]:
        seeds = [(int(seed) + i) % 2**64 for i in range(len(problems))]
        few = [i for i, one in enumerate(problems) if len(one._once) <= MOST_TRACKED]
        drawn = dict.fromkeys(range(len(problems)), list[Any]())
        drawn |= zip(
            few,
            _kernels.sample(
                [problem_of(problems[i]) for i in few], n, [seeds[i] for i in few], number, threads
            ),
            strict=True,
        )
        drawn |= {
            i: lazy.sample(one, n, seeds[i], number)
            for i, one in enumerate(problems)
            if len(one._once) > MOST_TRACKED
        }
        return [
            [named(segments, one) for segments in drawn[i]] or None
            for i, one in enumerate(problems)
        ]

    seeds = iter(range(int(seed), int(seed) + len(_listed(p))))
    return _each_possible(
        p, method, n_threads, kernel, lambda one: reference.sample(one, n, next(seeds))
    )


def entropy(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return the entropy of the distribution, in nats.

    It is summed over the choices that lead to a segmentation, so nothing cancels on long inputs.

    Examples
    --------
    >>> import caesura, math
    >>> p = caesura.Potentials(4, 2)
    >>> round(math.exp(caesura.entropy(p)))  # 54 segmentations, all alike
    54
    """
    number = _number(method)
    if number is None:
        return _each(p, method, n_threads, _never, reference.entropy)
    rows = _posterior(_listed(p), number, n_threads, True, isinstance(p, Potentials))
    return rows[0].entropy if isinstance(p, Potentials) else [row.entropy for row in rows]


def kl_divergence(
    p: Potentials | Sequence[Potentials],
    q: Potentials | Sequence[Potentials],
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the Kullback-Leibler divergence of q from p, in nats; +inf where q forbids what p allows.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, 2)
    >>> q = caesura.Potentials(3, 2)
    >>> q.add(0, 3, 0, 1.0)
    >>> round(caesura.kl_divergence(p, q), 4)
    0.0355
    """
    number = _number(method)
    _threads(n_threads)
    ps, qs = _listed(p), _listed(q, "q")
    if not isinstance(p, Potentials):
        if isinstance(q, Potentials) or len(ps) != len(qs):
            raise InvalidInput(f"q: got {len(qs)} of Potentials, expected {len(ps)}, as many as p")
        return [kl_divergence(a, b, method=method) for a, b in zip(ps, qs, strict=True)]
    if not isinstance(q, Potentials):
        raise InvalidInput("q: got a list, expected Potentials, as p is")
    if number is None:
        return reference.kl_divergence(p, q)
    for one in (p, q):
        _require_possible(log_partition(one, method=method) > -np.inf)
    return _called(divergence.kl_divergence, p, q, number)


def minimum_risk(
    p: Potentials | Sequence[Potentials],
    outside: Label = "O",
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the possible segmentation with the most expected correct segments.

    That is the largest sum of segment probabilities; segments labelled `outside` (if there is such a
    label) do not count.  The score of the path is that sum.  Where a label has no max_length, all
    O(T^2 Y) segments are looked at, in time and in memory.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "O"])
    >>> p.add(0, 2, "name", 3.0)
    >>> caesura.minimum_risk(p).segments[0]
    Segment(start=0, end=2, label='name')
    """
    number = _number(method)
    _threads(n_threads)
    if not isinstance(p, Potentials):
        return [minimum_risk(one, outside, method=method, n_threads=n_threads) for one in _listed(p)]
    if number is None:
        return Path(*reference.minimum_risk(p, outside))  # type: ignore[arg-type]
    return _called(risk.minimum_risk, p, outside, number)


# -- the way to the kernels ----------------------------------------------------------------------


def _number(method: str) -> int | None:
    """Return the kernels' number of a method; None for the reference."""
    if method not in METHODS:
        raise InvalidInput(f"method: got {method!r}, expected one of {list(METHODS)}")
    return METHODS[method]


def _threads(n_threads: int | None) -> int:
    if n_threads is None:
        return os.cpu_count() or 1
    _count("n_threads", n_threads)
    return int(n_threads)


def _count(name: str, value: object) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name}: got {value!r}, expected a whole number, at least 1")


def _listed(p: Potentials | Sequence[Potentials], name: str = "p") -> list[Potentials]:
    listed = [p] if isinstance(p, Potentials) else list(p) if isinstance(p, Iterable) else [p]
    for one in listed:
        if not isinstance(one, Potentials):
            raise InvalidInput(
                f"{name}: got {type(one).__name__}, expected Potentials or a list of Potentials"
            )
    return listed


def _called(function: Callable[..., T], *arguments: Any) -> T:
    """Call a kernel; what it says about a bad score is bad input."""
    try:
        return function(*arguments)
    except CaesuraError:
        raise
    except ValueError as error:
        raise InvalidInput(str(error)) from None


def _each(
    p: Potentials | Sequence[Potentials],
    method: str,
    n_threads: int | None,
    kernel: Callable[[list[_kernels.Problem], int, int], list[Any]],
    plain: Callable[[Potentials], Any],
) -> Any:
    """Ask the kernel about all sequences at once, or the reference about one after the other."""
    number, threads, listed = _number(method), _threads(n_threads), _listed(p)
    if number is None:
        answers = [plain(one) for one in listed]
    else:
        answers = _called(kernel, [problem_of(one) for one in listed], number, threads)
    return answers[0] if isinstance(p, Potentials) else answers


def _each_possible(
    p: Potentials | Sequence[Potentials],
    method: str,
    n_threads: int | None,
    kernel: Callable[[list[Potentials], int, int], list[Any]],
    plain: Callable[[Potentials], Any],
) -> Any:
    """As `_each`, for kernels that take Potentials and answer None where nothing is possible."""
    number, threads, listed = _number(method), _threads(n_threads), _listed(p)
    if number is None:
        answers = [plain(one) for one in listed]
    else:
        answers = _called(kernel, listed, number, threads)
        for i, answer in enumerate(answers):
            _require_possible(answer is not None, None if isinstance(p, Potentials) else i)
    return answers[0] if isinstance(p, Potentials) else answers


def _split(
    listed: list[Potentials],
    plain: Callable[[list[Potentials]], list[Any]],
    one_by_one: Callable[[Potentials], Any],
) -> list[Any]:
    """Ask `plain` about all sequences with few enough limited labels, `one_by_one` about the rest."""
    few = [one for one in listed if len(one._once) <= MOST_TRACKED]
    answers = iter(plain(few))
    return [next(answers) if len(one._once) <= MOST_TRACKED else one_by_one(one) for one in listed]


def _posterior(
    listed: list[Potentials], number: int, n_threads: int | None, entropies: bool, single: bool
) -> list[_kernels.Posterior]:
    problems = [problem_of(one) for one in listed]
    rows = _called(_kernels.posterior, problems, number, _threads(n_threads), entropies)
    for i, row in enumerate(rows):
        if row.log_partition == -np.inf:
            _require_possible(False, None if single else i)
    return rows


def _require_possible(possible: bool, sequence: int | None = None) -> None:
    if not possible:
        where = "" if sequence is None else f" of sequence {sequence}"
        raise Impossible(
            f"p: no segmentation{where} is possible, each breaks a constraint or scores -inf; "
            "loosen the constraints, max_length or the -inf scores"
        )


def _path(p: Potentials, answer: tuple[list[tuple[int, int, int]], float] | None) -> Path | None:
    return None if answer is None else Path.of(p, *answer)


def _indexed(p: Potentials, segments: Iterable[Any]) -> list[tuple[int, int, int]]:
    """Return a whole segmentation by label index, or say what is wrong with it."""
    if not isinstance(segments, Iterable):
        raise InvalidInput(f"segments: got {segments!r}, expected a list of (start, end, label)")
    indexed = [p._segment(f"segments[{i}]", segment) for i, segment in enumerate(segments)]
    at = 0
    for i, (start, end, _) in enumerate(indexed):
        if start != at:
            raise InvalidInput(
                f"segments[{i}]: starts at {start}, expected {at}; a score is that of a whole "
                "segmentation, so fill gaps first (caesura.fill_gaps)"
            )
        at = end
    if at != p.length:
        raise InvalidInput(
            f"segments: end at {at}, expected {p.length}; a score is that of a whole segmentation, "
            "so fill gaps first (caesura.fill_gaps)"
        )
    return indexed


def _never(*_: Any) -> list[Any]:
    raise AssertionError("the reference was asked")
