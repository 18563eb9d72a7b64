"""Arrays of sequences, as sklearn-crfsuite returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Sequences", "sequences"]


class Sequences(np.ndarray[Any, np.dtype[np.object_]]):
    """A one-dimensional object array of sequences of any lengths.

    scikit-learn can join and reorder such vectors, which is what `cross_val_predict` does. Compared
    with ``==`` it is a table where all sequences have one length, as NumPy would have made of them.

    Examples
    --------
    >>> found = sequences([["D", "N"], ["N", "V"]])
    >>> found.shape, found[0]
    ((2,), ['D', 'N'])
    >>> found == [["D", "N"], ["N", "N"]]
    array([[ True,  True],
           [ True, False]])
    """

    def __eq__(self, other: object) -> Any:
        return _table(self) == _table(other)

    def __ne__(self, other: object) -> Any:
        return _table(self) != _table(other)

    __hash__ = None


def sequences(found: Sequence[Any]) -> Sequences:
    """Return an object array with one element for each sequence."""
    made = np.empty(len(found), object)
    made[:] = [None] * len(found)
    for i, one in enumerate(found):
        made[i] = one
    return made.view(Sequences)


def _table(given: Any) -> Any:
    """Return a two-dimensional array if all sequences have one length, else one dimension."""
    if not isinstance(given, list | tuple | Sequences):
        return given
    listed = list(given)
    if len({len(one) for one in listed if isinstance(one, list | tuple)}) > 1:
        return np.asarray(sequences(listed))
    return np.array(listed, object)
