"""DataFrames and Arrow tables: detection and conversion to numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.documents.document import Document
from caesura.errors import InvalidInput

__all__ = ["is_frame", "numbers_of", "refuse_frame"]

_ONE = "one sequence as numbers, a row for each token"


def is_frame(x: object) -> bool:
    """Return whether an object is a DataFrame or Arrow table of any library.

    Examples
    --------
    >>> is_frame({"text": ["a"]}), is_frame(["a"])
    (False, False)
    """
    if isinstance(x, str | bytes | Mapping | Document | list | tuple):
        return False
    kind = type(x)  # attributes of the type, since those of the object may be computed on access
    named = hasattr(kind, "columns") or hasattr(kind, "column_names")
    marks = ("__dataframe__", "__arrow_c_stream__", "__arrow_c_array__", "lazy", "iterrows")
    return named and any(hasattr(kind, mark) for mark in marks)


def refuse_frame(x: object, name: str, expected: str, remedy: str) -> None:
    """Raise if an argument is a DataFrame, where iteration would yield columns, not rows."""
    if is_frame(x):
        raise InvalidInput(place=name, got=_shown(x), expected=expected, remedy=remedy)


def _shown(frame: Any) -> str:
    """Return a description of a DataFrame for errors."""
    kind = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
    listed = ", ".join(repr(str(one)) for one in _names_of(frame)[:8])
    return f"a {kind} with the columns {listed}"


def _names_of(frame: Any) -> list[Any]:
    """Return the column names of a DataFrame."""
    if hasattr(frame, "collect_schema"):  # Polars, also if lazy
        return list(frame.collect_schema().names())
    if hasattr(frame, "schema") and hasattr(frame.schema, "names"):  # Arrow
        return list(frame.schema.names)
    return list(frame.columns)


def numbers_of(frame: Any, name: str) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Return the values of a DataFrame, of shape (T, D), and its column names, or raise.

    Examples
    --------
    >>> import pandas
    >>> numbers, names = numbers_of(pandas.DataFrame({"x": [1, 2], "y": [0.5, 0.0]}), "X[0]")
    >>> numbers.tolist(), names
    ([[1.0, 0.5], [2.0, 0.0]], ('x', 'y'))
    """
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    names = [str(one) for one in _names_of(frame)]
    columns = [_numbers(frame, k) for k in range(len(names))]
    wrong = [one for one, column in zip(names, columns, strict=True) if column is None]
    if wrong or not names:
        came = f", of which {', '.join(map(repr, wrong[:8]))} hold no numbers" if wrong else ""
        came += _first_text(frame, names.index(wrong[0])) if wrong else ""
        raise InvalidInput(
            place=name,
            got=_shown(frame) + came,
            expected=_ONE,
            remedy="leave other columns out, or encode them as numbers; for texts, pass a column "
            "of texts as X",
        )
    if len(set(names)) < len(names):
        expected = "each column once"
        raise InvalidInput(
            place=name, got=_shown(frame), expected=expected, remedy="rename or drop some"
        )
    array = np.column_stack([column for column in columns if column is not None])
    if not np.isfinite(array).all():
        t, d = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InvalidInput(
            place=f"{name}[{names[d]!r}]",
            got=f"{float(array[t, d])} in row {t}",
            expected="a finite number",
            remedy="fill in missing values",
        )
    return array, tuple(names)


def _first_text(frame: Any, k: int) -> str:
    """Return where a column first has something that cannot be read as a number."""
    column = frame.iloc[:, k] if hasattr(frame, "iloc") else frame[_names_of(frame)[k]]
    for t, cell in enumerate(column.to_pylist() if hasattr(column, "to_pylist") else column):
        try:
            float(cell)
        except (TypeError, ValueError):
            return f" ({cell!r} in row {t})"
    return " (text that can be read as numbers here; look for a cell elsewhere that cannot)"


def _numbers(frame: Any, k: int) -> npt.NDArray[np.float64] | None:
    """Return a column as numbers; None if it holds something else."""
    kind = type(frame).__module__.partition(".")[0]
    if kind == "pandas":
        column = frame.iloc[:, k]
        if getattr(column.dtype, "kind", "O") not in "biuf":
            return None
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "polars":
        column = frame.get_columns()[k]
        right = column.dtype.is_numeric() or str(column.dtype) == "Boolean"
        return np.array(column.to_list(), np.float64) if right else None
    column = frame.column(k) if hasattr(frame, "column") else None
    found = None if column is None else np.array(column.to_pylist())
    if found is None or found.dtype.kind not in "biufO":
        return None
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError):
        return None
