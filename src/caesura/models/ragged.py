"""Lists of answers that scikit-learn can join."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Ragged"]

T = TypeVar("T")


class Ragged(list[T]):
    """A list with an answer for each sequence, which NumPy takes for a vector of objects.

    `cross_val_predict` of scikit-learn joins the predictions of its folds with NumPy, which refuses
    plain lists of lists that differ in length. This is a list in every other respect.

    Examples
    --------
    >>> found = Ragged([[(0, 2, "PER")], []])
    >>> found == [[(0, 2, "PER")], []]
    True
    >>> np.concatenate([found, found]).shape
    (4,)
    """

    __slots__ = ()

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        out = np.empty(len(self), object)
        for i, answer in enumerate(self):
            out[i] = answer
        return out if dtype is None else out.astype(dtype)
