"""Tables in memory: pandas and polars DataFrames, and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from caesura.corpora.cells import document_of
from caesura.corpora.columns import checked_names, choose
from caesura.corpora.corpus import Align, Tally
from caesura.documents import Document, Tokeniser
from caesura.documents.frames import is_frame
from caesura.errors import InvalidInput, message

__all__ = ["from_frame"]


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
            f"text: got None and the columns {listed}, expected the name of the column with the "
            "text; pass text='...'"
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
            where = f"frame, row {i}"
            argument = f"{where}: {error.argument}" if error.argument else where
            fields = {"argument": argument}
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
