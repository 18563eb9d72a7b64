"""Tables in memory: pandas and polars DataFrames, and Arrow tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from caesura.corpora.cells import document_of
from caesura.corpora.columns import checked_names, choose
from caesura.corpora.corpus import Align, Tally
from caesura.documents import Document, Tokeniser
from caesura.documents.frames import is_frame
from caesura.errors import InvalidInput, message

__all__ = ["array_of", "column_types", "from_frame", "series_of"]

# Errors of pandas and Arrow about values that a type does not hold.
REFUSALS = (ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError)


def from_frame(
    frame: Any,
    *,
    text: str | None = None,
    labels: Iterable[str] = (),
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
) -> list[Document]:
    """Convert each row of a pandas or polars DataFrame, or an Arrow table, to a document.

    Parameters
    ----------
    frame : DataFrame or Table
        The table.
    text : str, optional
        The column with the text; by default the one named text.
    labels : iterable of str
        The columns whose cells are segments, which are located in the text; see `read_csv`.
        Without them, documents have no segments.  All other columns are carried along.  A value
        that occurs more than once in its text causes a warning with the number of its row.
    tokeniser : Tokeniser, str or dict
        How a text is split into tokens: the tokeniser of the model.
    align : {"strict", "expand", "contract"}
        How to treat a segment that begins or ends inside a token, as in `caesura.corpora.read`.

    Returns
    -------
    list of Document

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"id": [7], "title": ["Fairphone 5"], "brand": ["Fairphone"]})
    >>> [document] = from_frame(frame, text="title", labels=["brand"])
    >>> document.segments, document.carried
    ((Segment(start=0, end=1, label='brand'),), {'id': 7})
    """
    if not is_frame(frame):
        expected = "a DataFrame of pandas or polars, or a table of Arrow"
        raise InvalidInput(message("frame", frame, expected, "pass one of these"))
    names, columns = _columns(frame)
    names = checked_names(names)
    wanted = [labels] if isinstance(labels, str) else list(labels)
    if text is None and not any(name.strip().casefold() == "text" for name in names):
        listed = ", ".join(map(repr, names[:12]))
        raise InvalidInput(
            place="text",
            got=f"None and the columns {listed}",
            expected="the name of the column with the text",
            remedy="pass text='...'",
        )
    chosen = choose(names, [], text, wanted)
    place = {name: i for i, name in enumerate(names)}
    cutter, tally = Tokeniser.of(tokeniser), Tally("raise", align)
    out = []
    for i, row in enumerate(zip(*columns, strict=True)):
        tally.place = f"row {i}, "
        try:
            out.append(document_of(chosen, place, row, cutter, tally))
        except InvalidInput as error:
            fields: dict[str, Any] = {"file": "frame", "line": i, "unit": "row"}
            cell = row[place[error.argument]] if error.argument in wanted else None
            if isinstance(cell, int | float) and not isinstance(cell, bool):
                fields["remedy"] = (
                    "its column holds numbers, which lose leading zeros: read it as text "
                    "(dtype=str), or correct the cell"
                )
            raise error.changed(**fields) from None
    tally.notes.warn_of_repeated("frame", stacklevel=2)
    return out


def _columns(frame: Any) -> tuple[list[Any], list[list[Any]]]:
    """Return the names and the cells of columns."""
    kind = type(frame).__module__.partition(".")[0]
    if kind == "pandas":
        missing = frame.isna().to_numpy()
        columns = []
        for k, empty in enumerate(missing.T.tolist()):
            cells = zip(frame.iloc[:, k].tolist(), empty, strict=True)
            columns.append([None if gone else cell for cell, gone in cells])
        return list(frame.columns), columns
    if kind == "polars":
        if type(frame).__name__ == "LazyFrame":
            frame = frame.collect()
        return list(frame.columns), [series.to_list() for series in frame.get_columns()]
    if kind == "pyarrow":
        return list(frame.schema.names), [column.to_pylist() for column in frame.columns]
    try:
        import pyarrow

        return _columns(pyarrow.table(frame))
    except Exception:
        expected = "a DataFrame of pandas or polars, or a table of Arrow"
        raise InvalidInput(message("frame", type(frame), expected, "convert it")) from None


# ---- types of columns ----------------------------------------------------------------------------


def column_types(frame: Any) -> dict[str, Any]:
    """Return the types of columns: those of pandas, or of Arrow for other libraries.

    Examples
    --------
    >>> import pandas
    >>> column_types(pandas.DataFrame({"ok": [True]}))
    {'ok': dtype('bool')}
    """
    if type(frame).__module__.partition(".")[0] == "pandas":
        return dict(zip(checked_names(list(frame.columns)), frame.dtypes, strict=True))
    with contextlib.suppress(Exception):  # a library's own: a type that Arrow does not have
        frame = frame.head(0) if hasattr(frame, "head") else frame
        if type(frame).__name__ == "LazyFrame":
            frame = frame.collect()
        schema = (frame.to_arrow() if hasattr(frame, "to_arrow") else frame).schema
        return dict(zip(checked_names(schema.names), schema.types, strict=True))
    return {}


def series_of(cells: list[Any], dtype: Any = None) -> Any:
    """Return cells as a pandas Series, of a type of pandas or Arrow if it holds them.

    By default, integers stay integers where cells are missing.

    Examples
    --------
    >>> series_of([1, None]).dtype, series_of([2**70]).dtype
    (Int64Dtype(), dtype('O'))
    """
    import pandas

    kinds = {type(cell) for cell in cells if cell is not None}
    kind = "Int64" if kinds == {int} else "float64" if kinds == {float} else "object"
    with contextlib.suppress(*REFUSALS):
        if hasattr(dtype, "to_pandas_dtype"):
            integers = kinds <= {int, bool} and None in cells  # Arrow would make them floats
            made = None if integers else array_of(cells, dtype).to_pandas()
        else:
            made = None if dtype is None else pandas.Series(cells, dtype=dtype)
        if made is not None and _holds(made, cells):
            return made
    with contextlib.suppress(*REFUSALS):  # more than 64 bits
        return pandas.Series(pandas.array(cells, kind))
    return pandas.Series(pandas.array(cells, "object"))


def _holds(made: Any, cells: list[Any]) -> bool:
    """Return whether a Series has the values of cells."""
    pairs = zip(made.tolist(), made.isna().tolist(), cells, strict=True)
    return all(gone if cell is None else bool(value == cell) for value, gone, cell in pairs)


def array_of(cells: list[Any], type_: Any = None) -> Any:
    """Return cells as an Arrow array, of a type of pandas or Arrow if it holds them.

    By default strings, if cells are empty or of mixed types.

    Examples
    --------
    >>> array_of([2**70, None]).type, array_of([1, "a"]).type
    (Decimal128Type(decimal128(22, 0)), DataType(string))
    """
    import pyarrow as pa

    with contextlib.suppress(*REFUSALS):
        if hasattr(type_, "to_pandas_dtype"):
            return pa.array(cells, type_)
        if type_ is not None and str(type_) != "object":
            made = series_of(cells, type_)
            return pa.Array.from_pandas(made) if made.dtype == type_ else array_of(cells)
    if all(cell is None for cell in cells):
        return pa.array(cells, pa.string())
    tried = [cells]
    if {type(cell) for cell in cells} <= {int, type(None)}:  # beyond 64 bits
        tried.append([None if cell is None else Decimal(cell) for cell in cells])
    for some in tried:
        with contextlib.suppress(*REFUSALS):
            return pa.array(some)
    return pa.array([None if cell is None else str(cell) for cell in cells])
