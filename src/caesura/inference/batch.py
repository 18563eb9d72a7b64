"""Batched inference with scores from outside (NumPy, torch).

A `Batch` holds arrays of scores for many sequences, padded or ragged, and the functions of this
module answer for all of them at once: no Python object is made for a sequence, float32 and float64
arrays are read where they are, and the work is spread over threads.  The model is that of
`caesura.Potentials`, and so are the answers.

Padded arrays have the shape (B, T, ...) and `lengths` holds the number of real tokens of each row;
ragged arrays have the shape (sum of lengths, ...), one sequence after the other.  Padding is never
read, and expected counts of padding are 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.inference.batch_scores import MOST_INDEX, Array, Batch, float_array, with_shape
from caesura.inference.kernel_calls import called, check_answers, require_possible, threads_of

__all__ = [
    "Batch",
    "BatchPaths",
    "BatchPosterior",
    "batch_best",
    "batch_entropy",
    "batch_log_partition",
    "batch_n_best",
    "batch_posterior",
    "batch_sample",
]


class BatchPosterior(NamedTuple):
    """Log-partition functions and expected counts of a batch.

    A count is the derivative of the sum of the sequences' log-partition functions, each multiplied
    by its weight where weights are given, with respect to the score in the same place.
    """

    log_partition: Array  #: (B,)
    tokens: Array | None  #: shaped like the scores; None if none were given
    segments: Array | None  #: shaped like the scores; None if none were given
    starts: Array | None  #: shaped like the scores; None if none were given
    ends: Array | None  #: shaped like the scores; None if none were given
    span_scores: Array | None  #: shaped like the scores; None if none were given
    transition: Array  #: (Y, Y), summed over the batch; (B, Y, Y) if the scores are
    start: Array  #: (Y,), summed over the batch; (B, Y) if the scores are
    end: Array  #: (Y,), summed over the batch; (B, Y) if the scores are
    patterns: Array | None  #: (n,), summed over the batch; None if none were given


class BatchPaths(NamedTuple):
    """The concatenated segmentations of all sequences of a batch.

    Path i has the segments ``offsets[i]:offsets[i + 1]``, and sequence b has the paths
    ``sequences[b]:sequences[b + 1]``.
    """

    scores: npt.NDArray[np.float64]  #: (paths,) score of each path
    offsets: npt.NDArray[np.int64]  #: (paths + 1,) offset of the segments of each path
    starts: npt.NDArray[np.int32]  #: (segments,) first token of each segment
    ends: npt.NDArray[np.int32]  #: (segments,) one past the last token of each segment
    labels: npt.NDArray[np.int32]  #: (segments,) index of the label of each segment
    sequences: npt.NDArray[np.int64]  #: (B + 1,) offset of the paths of each sequence

    def segments(self, path: int) -> list[tuple[int, int, int]]:
        """Return the segments of one path as (start, end, label) tuples.

        Parameters
        ----------
        path : int
            Number of the path, counted over the whole batch.

        Returns
        -------
        list of (int, int, int)

        Examples
        --------
        >>> import numpy as np
        >>> from caesura.inference.batch import Batch, batch_best
        >>> batch_best(Batch(np.zeros((2, 3, 2)), max_length=1)).segments(1)
        [(0, 1, 0), (1, 2, 0), (2, 3, 0)]
        """
        part = slice(int(self.offsets[path]), int(self.offsets[path + 1]))
        columns = (self.starts[part], self.ends[part], self.labels[part])
        return list(zip(*(column.tolist() for column in columns), strict=True))


def batch_log_partition(batch: Batch, *, n_threads: int | None = None) -> Array:
    """Return ln Z of each sequence.

    Parameters
    ----------
    batch : Batch
        The scores.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.

    Returns
    -------
    array of shape (B,)
        -inf where no segmentation is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.inference.batch import Batch, batch_log_partition
    >>> batch = Batch(np.zeros((3, 4, 2)), lengths=[4, 1, 0], max_length=1)
    >>> np.exp(batch_log_partition(batch)).round()  # all scores are 0: Z counts the labellings
    array([16.,  2.,  1.])
    """
    _check(batch)
    out = np.empty(len(batch.lengths), batch.dtype)
    called(batch.kernel.log_partition, out, threads_of(n_threads))
    return out


def batch_posterior(
    batch: Batch, *, weights: npt.ArrayLike | None = None, n_threads: int | None = None
) -> BatchPosterior:
    """Return ln Z of each sequence and the expected counts of all scores.

    Parameters
    ----------
    batch : Batch
        The scores.
    weights : array of shape (B,), optional
        Factors of the sequences' counts.  With the gradient of a loss with respect to each ln Z,
        the counts are the gradient of the loss with respect to the scores.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.

    Returns
    -------
    BatchPosterior

    Raises
    ------
    Impossible
        No segmentation of some sequence is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.inference.batch import Batch, batch_posterior
    >>> found = batch_posterior(Batch(np.zeros((2, 2, 2)), lengths=[2, 1], max_length=1))
    >>> found.tokens[1]  # the second token of the second sequence is padding
    array([[0.5, 0.5],
           [0. , 0. ]])
    >>> found.transition  # summed over the batch
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    _check(batch)
    B, Y = len(batch.lengths), batch.n_labels
    factors = None
    if weights is not None:
        factors = with_shape("weights", float_array("weights", weights, np.dtype(np.float64)), (B,))
        if not np.isfinite(factors).all():
            remedy = "correct them, or leave them out"
            raise InvalidInput(message("weights", factors, "finite numbers", remedy))

    zeros = batch.kernel.zeros  # like numpy.zeros, but reuses the memory of earlier answers

    def like(scores: Array | None) -> Any:
        return None if scores is None else zeros(scores.shape)

    def shared(scores: Array | None, shape: tuple[int, ...]) -> Array:
        return zeros(shape if scores is None else scores.shape)

    found = BatchPosterior(
        log_partition=np.empty(B, batch.dtype),
        tokens=like(batch.tokens),
        segments=like(batch.segments),
        starts=like(batch.starts),
        ends=like(batch.ends),
        span_scores=like(batch.span_scores),
        transition=shared(batch.transition, (Y, Y)),
        start=shared(batch.start, (Y,)),
        end=shared(batch.end, (Y,)),
        patterns=like(batch.pattern_scores),
    )
    called(
        batch.kernel.posterior,
        found.log_partition,
        None,
        *found[1:],
        factors,
        threads_of(n_threads),
    )
    _require_possible(found.log_partition > -np.inf)
    return found


def batch_entropy(batch: Batch, *, n_threads: int | None = None) -> Array:
    """Return the entropy of each sequence's distribution, in nats.

    Parameters
    ----------
    batch : Batch
        The scores.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.

    Returns
    -------
    array of shape (B,)

    Raises
    ------
    Impossible
        No segmentation of some sequence is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.inference.batch import Batch, batch_entropy
    >>> batch = Batch(np.zeros((2, 4, 2)), lengths=[4, 3], max_length=1)
    >>> np.exp(batch_entropy(batch)).round(9)  # the number of labellings, all alike
    array([16.,  8.])
    """
    _check(batch)
    log_z, entropy = (np.empty(len(batch.lengths), batch.dtype) for _ in range(2))
    called(
        batch.kernel.posterior,
        log_z,
        entropy,
        *[None] * 10,
        threads_of(n_threads),
    )
    _require_possible(log_z > -np.inf)
    return entropy


def batch_best(batch: Batch, *, n_threads: int | None = None) -> BatchPaths:
    """Return the best segmentation of each sequence.

    Parameters
    ----------
    batch : Batch
        The scores.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.

    Returns
    -------
    BatchPaths
        One path for each sequence.

    Raises
    ------
    Impossible
        No segmentation of some sequence is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.inference.batch import Batch, batch_best
    >>> scores = np.zeros((1, 3, 2, 2))
    >>> scores[0, 0, 1, 1] = 1.0  # tokens 0 and 1 are one segment with label 1
    >>> batch_best(Batch(segments=scores)).segments(0)
    [(0, 2, 1), (2, 3, 0)]
    """
    _check(batch)
    return _paths(called(batch.kernel.best, threads_of(n_threads)))


def batch_n_best(batch: Batch, n: int, *, n_threads: int | None = None) -> BatchPaths:
    """Return the n best segmentations of each sequence, all different, the best first.

    Parameters
    ----------
    batch : Batch
        The scores.
    n : int
        Number of segmentations; a sequence has fewer where fewer are possible.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.

    Returns
    -------
    BatchPaths

    Raises
    ------
    Impossible
        No segmentation of some sequence is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.inference.batch import Batch, batch_n_best
    >>> scores = np.array([[[0.0, 1.0], [0.0, 3.0]]])
    >>> batch_n_best(Batch(scores, max_length=1), 3).scores
    array([4., 3., 1.])
    """
    _check(batch)
    whole("n", n, 1, MOST_INDEX)
    return _paths(called(batch.kernel.n_best, int(n), threads_of(n_threads)))


def batch_sample(
    batch: Batch, n: int, seed: int = 0, *, n_threads: int | None = None
) -> BatchPaths:
    """Draw n segmentations of each sequence.

    Parameters
    ----------
    batch : Batch
        The scores.
    n : int
        Number of segmentations of each sequence.
    seed : int
        Seed of the random number generator; sequence b uses ``seed + b``, as `caesura.sample` does.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.

    Returns
    -------
    BatchPaths

    Raises
    ------
    Impossible
        No segmentation of some sequence is possible.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.inference.batch import Batch, batch_sample
    >>> drawn = batch_sample(Batch(np.zeros((2, 3, 2)), max_length=1), 100, seed=1)
    >>> drawn.sequences.tolist()
    [0, 100, 200]
    """
    _check(batch)
    whole("n", n, 1, MOST_INDEX)
    whole("seed", seed, 0, 2**64 - 1)
    check_answers(int(n) * len(batch.lengths))
    return _paths(called(batch.kernel.sample, int(n), int(seed), threads_of(n_threads)))


def _check(batch: object) -> None:
    if not isinstance(batch, Batch):
        raise InvalidInput(message("batch", batch, "a Batch", "make one from the arrays"))


def _require_possible(possible: npt.NDArray[np.bool_]) -> None:
    for b in np.flatnonzero(~possible)[:1].tolist():
        require_possible(False, b, "batch")


def _paths(arrays: tuple[Array, ...]) -> BatchPaths:
    paths = BatchPaths(*arrays)
    _require_possible(np.diff(paths.sequences) > 0)
    return paths
