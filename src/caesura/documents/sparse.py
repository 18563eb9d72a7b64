"""Sparse arrays as attributes of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from caesura.errors import InvalidInput, message

__all__ = ["rows_of"]


def rows_of(table: Any, name: str) -> list[dict[str, float]]:
    """Return the rows of a dense or sparse array as dicts without zeros.

    Examples
    --------
    >>> rows_of(np.array([[0.0, 2.0], [1.0, 0.0]]), "X[0]")
    [{'1': 2.0}, {'0': 1.0}]
    """
    if table.ndim == 1 and table.dtype.kind == "O":
        return list(table)  # an object array with the attributes of each token
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        came = f"an array of {table.dtype} of shape {table.shape}"
        expected = "an array of numbers of shape (T, D)"
        raise InvalidInput(message(name, came, expected, "give one row for each token"))
    if isinstance(table, np.ndarray):
        rows, columns = np.nonzero(table)
        values = table[rows, columns]
    else:
        found = table.tocoo()
        rows, columns, values = found.row, found.col, found.data
    out: list[dict[str, float]] = [{} for _ in range(table.shape[0])]
    for t, j, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        out[t][str(j)] = out[t].get(str(j), 0.0) + value
    return out
