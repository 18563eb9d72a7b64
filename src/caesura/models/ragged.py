"""Ragged lists of answers for scikit-learn and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from caesura.documents import as_document
from caesura.errors import CaesuraError, counted
from caesura.models.calibration import Confident
from caesura.notebooks import MOST_SHOWN, card, label_names, more
from caesura.render import Written, html

__all__ = ["Ragged"]

T = TypeVar("T")


class Ragged(list[T]):
    """A list with one answer per sequence, which NumPy converts to an object array.

    `cross_val_predict` of scikit-learn joins the predictions of its folds with NumPy, which refuses
    plain lists of lists that differ in length.  Notebooks show the segments in colour.  This is a
    list in every other respect; copies and pickles are plain lists of answers, without X.

    Parameters
    ----------
    answers : iterable
        For each sequence its segments, with or without probabilities, or its n best segmentations.
    model : object, optional
        The model that gave them.
    X : optional
        The sequences; only a list or a tuple is kept, since others may be read once only.

    Examples
    --------
    >>> found = Ragged([[(0, 2, "PER")], []])
    >>> found == [[(0, 2, "PER")], []]
    True
    >>> np.concatenate([found, found]).shape
    (4,)
    """

    __slots__ = ("_X", "_labels", "_tokeniser")

    def __init__(self, answers: Iterable[T] = (), model: Any = None, X: Any = None) -> None:
        super().__init__(answers)
        self._X: Sequence[Any] | None = X if isinstance(X, list | tuple) else None
        self._labels: list[str] | None = getattr(model, "labels_", None)
        self._tokeniser = getattr(model, "tokeniser_", getattr(model, "tokeniser", "words"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Ragged, (list(self),)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        out = np.empty(len(self), object)
        for i, answer in enumerate(self):
            out[i] = answer
        return out if dtype is None else out.astype(dtype)

    def _repr_html_(self) -> str:
        """Show the segments of the first sequences in colour in a notebook."""
        shown = (part for i in range(len(self[:MOST_SHOWN])) for part in self._parts(i))
        names = label_names(self._labels or [])
        return card(counted(len(self), "sequence"), names, *shown, more(len(self)))

    def _parts(self, i: int) -> Iterator[str]:
        """Yield each segmentation of a sequence as an HTML fragment."""
        tokens, text = self._source(i)
        for whole, segments, chances in _segmentations(self[i]):
            note = "" if whole is None else f"<p>probability {whole:.3f}</p>"
            try:
                yield note + html(segments, tokens, chances, labels=self._labels, written=text)
            except CaesuraError:  # X has changed since the prediction
                yield note + html(segments, None, chances, labels=self._labels)

    def _source(self, i: int) -> tuple[Sequence[str] | None, Written | None]:
        """Return the tokens of a sequence, and their original text if known."""
        if self._X is None or i >= len(self._X):
            return None, None
        try:
            document = as_document(self._X[i], self._tokeniser)
        except CaesuraError:
            return None, None
        if document.text is None or document.offsets is None:
            return document.tokens if any(document.tokens) else None, None
        return document.tokens, Written(document.text, document.offsets)


def _segmentations(answer: Any) -> Iterator[tuple[float | None, list[Any], list[float] | None]]:
    """Yield the segmentations of an answer with their probabilities."""
    answer = list(answer)
    if answer and isinstance(answer[0], Confident):
        yield None, [one.segment for one in answer], [one.probability for one in answer]
    elif answer and isinstance(answer[0][0], list):
        yield from ((chance, segments, None) for segments, chance in answer)
    else:
        yield None, answer, None
