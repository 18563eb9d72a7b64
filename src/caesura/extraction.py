"""Records: the fields found in texts, with position, probability and value.

::

    texts -> model.extract -> Records -> to_pandas, to_arrow, to_dicts
                              Record     label -> values
                              Value      text, start, end, probability, value
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from caesura.corpora.frames import array_of, series_of
from caesura.documents import Document
from caesura.documents.document import has_no_words
from caesura.errors import InvalidInput, MissingPackage, counted
from caesura.normalisers import Normaliser
from caesura.notebooks import MOST_SHOWN, bar, card, label_names, more, passage, table

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from caesura.segments import Segment

__all__ = ["BETWEEN", "Record", "Records", "Value", "paused_collection", "unused"]

BETWEEN = " | "
"""What stands between the values of one label in a cell of a table."""


class Value(NamedTuple):
    """One extracted field of a text.

    Examples
    --------
    >>> Value("(1998).", 10, 17, 0.98, "1998").value
    '1998'
    """

    text: str  # as in the source
    start: int  # character offset in the source
    end: int
    probability: float | None  # probability that it is exactly right; None if the model gives none
    value: Any  # the normalised text; None if the normaliser found no value in it


class Record(Mapping[str, tuple[Value, ...]]):
    """The fields of one text: a mapping from each label of the model to its values.

    A label that was not found has an empty tuple.

    Parameters
    ----------
    text : str
        The source.
    fields : sequence of (label, Value)
        What was found, in the order of the text.
    labels : sequence of str
        All labels of the model.
    probability : float, optional
        Of the whole segmentation, by the model itself (not calibrated).
    carried : mapping, optional
        The other columns of the row, or keys of the object, that the text is from.

    Examples
    --------
    >>> year = Value("(1998).", 6, 13, 0.98, "1998")
    >>> record = Record("Codd. (1998).", [("year", year)], ["author", "year"], 0.97)
    >>> record["year"][0].value, record["author"], record.first("author")
    ('1998', (), None)
    """

    __slots__ = ("_found", "_labels", "carried", "fields", "probability", "text")

    def __init__(
        self,
        text: str,
        fields: Sequence[tuple[str, Value]],
        labels: Sequence[str],
        probability: float | None = None,
        carried: Mapping[str, Any] | None = None,
    ) -> None:
        self.text, self.probability, self._labels = text, probability, labels
        self.carried: Mapping[str, Any] = carried or {}
        self.fields: tuple[tuple[str, Value], ...] = tuple(fields)
        found: dict[str, tuple[Value, ...]] = {}
        for label, value in self.fields:
            found[label] = (*found.get(label, ()), value)
        self._found = found

    def __getitem__(self, label: str) -> tuple[Value, ...]:
        if label in self._found:
            return self._found[label]
        if label in self._labels:
            return ()
        raise KeyError(label)

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        found = ", ".join(f"{label}={value.value!r}" for label, value in self.fields)
        return f"Record({found})"

    def _repr_html_(self) -> str:
        """Show the text with its fields in colour, and their values, in a notebook."""
        rows = [("label", "value", "probability")]
        bars = ["<td></td>"]
        for label, one in self.fields:
            chance = "" if one.probability is None else f"{one.probability:.3f}"
            rows.append((label, "" if one.value is None else str(one.value), chance))
            bars.append(bar(one.probability or 0.0))
        whole = self.probability
        title = "Record" if whole is None else f"Record, probability {whole:.3f}"
        return card(title, self.as_passage(), table("", rows, bars) if self.fields else "")

    def as_passage(self) -> str:
        """Return the text with its fields in colour, as an HTML fragment.

        Examples
        --------
        >>> town = Value("Leeds", 3, 8, 0.9, "Leeds")
        >>> "&amp;" in Record("At Leeds & York", [("town", town)], ["town"]).as_passage()
        True
        """
        spans = [(one.start, one.end, label) for label, one in self.fields]
        chances = [one.probability for _, one in self.fields]
        return passage(self.text, spans, chances, sorted(self._labels))

    def first(self, label: str) -> Value | None:
        """Return the first value of a label, or None if there is none.

        Parameters
        ----------
        label : str
            One of the labels of the model.
        """
        return next(iter(self[label]), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a dict for JSON.

        Examples
        --------
        >>> year = Value("1998", 6, 10, 0.5, "1998")
        >>> Record("Codd, 1998", [("year", year)], ["year"]).to_dict()["fields"]
        {'year': [{'text': '1998', 'start': 6, 'end': 10, 'probability': 0.5, 'value': '1998'}]}
        """
        fields = {label: [value._asdict() for value in self[label]] for label in self}
        found = {"text": self.text, "probability": self.probability, "fields": fields}
        return found | ({"carried": dict(self.carried)} if self.carried else {})


class Records(list[Record]):
    """The records of many texts.

    Parameters
    ----------
    records : iterable of Record
        One for each text.
    labels : sequence of str
        All labels of the model, in the order of columns.

    Attributes
    ----------
    labels : list of str
        The labels.

    Examples
    --------
    >>> import caesura
    >>> X, y = ["Codd (1970)."], [[(0, 1, "author"), (1, 5, "year")]]
    >>> records = caesura.SemiCRF(c2=0.01).fit(X, y).extract(X)
    >>> records[0].first("year").value, records.columns()["year"]
    ('1970', ['1970'])
    """

    def __init__(self, records: Iterable[Record] = (), labels: Sequence[str] = ()) -> None:
        super().__init__(records)
        self.labels = list(labels)
        self.index: Any = None  # index of the pandas DataFrame that contains the texts
        self.types: Mapping[str, Any] = {}  # types of the columns of the DataFrame
        self.text_column = "text"  # name of the texts' column, there and in tables

    def _repr_html_(self) -> str:
        """Show the first texts with their fields in colour in a notebook."""
        shown = [record.as_passage() for record in self[:MOST_SHOWN]]
        title = counted(len(self), "record")
        return card(title, label_names(sorted(self.labels)), *shown, more(len(self)))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the records as dicts for JSON, without loss."""
        return [record.to_dict() for record in self]

    def columns(self, details: bool = False, verbatim: bool = False) -> dict[str, list[Any]]:
        """Return the records as a table: column names with lists of cells.

        Parameters
        ----------
        details : bool
            Whether three more columns follow each label: the characters where its value starts
            and ends, and its probability; of several values the first start, the last end and
            the lowest probability.
        verbatim : bool
            Whether cells hold the original text in place of the value.

        Returns
        -------
        dict
            What texts carry along, the text (``text``, or its column in the DataFrame), a column
            for each label, and ``probability``, that of the whole row.  A cell is None if the label
            was not found.  Several values are joined by `BETWEEN`.  A column whose name is taken
            has a number at its end.
        """
        names = dict.fromkeys(name for record in self for name in record.carried)
        out = {name: [record.carried.get(name) for record in self] for name in names}
        out[unused(self.text_column, out)] = [record.text for record in self]
        for label in self.labels:
            values = [record[label] for record in self]
            name = unused(label, out)
            out[name] = [_cell(some, verbatim) for some in values]
            if details:
                places = [(v[0].start, v[-1].end) if v else (None, None) for v in values]
                out[unused(f"{name}_start", out)] = [start for start, _ in places]
                out[unused(f"{name}_end", out)] = [end for _, end in places]
                out[unused(f"{name}_probability", out)] = [least(some) for some in values]
        out[unused("probability", out)] = [record.probability for record in self]
        return out

    def to_pandas(self, details: bool = False, verbatim: bool = False) -> pandas.DataFrame:
        """Return a DataFrame with one row for each record; needs pandas.

        Columns that a DataFrame or an Arrow table carried along keep their types.

        Parameters
        ----------
        details, verbatim
            See `columns`.
        """
        try:
            import pandas
        except ImportError:
            raise MissingPackage("pandas", "tables", "to_pandas") from None
        columns = self.columns(details, verbatim)
        types = self._types()
        made = pandas.DataFrame({n: series_of(cells, types.get(n)) for n, cells in columns.items()})
        if self.index is not None and len(self.index) == len(self):
            made.index = self.index
        return made

    def to_arrow(self, details: bool = False, verbatim: bool = False) -> pyarrow.Table:
        """Return an Arrow table with one row for each record; needs pyarrow.

        Columns that a DataFrame or an Arrow table carried along keep their types.

        Parameters
        ----------
        details, verbatim
            See `columns`.
        """
        try:
            import pyarrow
        except ImportError:
            raise MissingPackage("pyarrow", "tables", "to_arrow") from None
        columns = self.columns(details, verbatim)
        types = self._types()
        return pyarrow.table({n: array_of(cells, types.get(n)) for n, cells in columns.items()})

    def _types(self) -> dict[str, Any]:
        """Return the types of carried columns, where they are known."""
        carried = {name for record in self for name in record.carried}
        return {name: kind for name, kind in self.types.items() if name in carried}


def _cell(values: Sequence[Value], verbatim: bool) -> Any:
    """Return the table cell for the values of one label."""
    found = [one.text if verbatim else one.value for one in values]
    found = [one for one in found if one is not None]
    if len(found) <= 1:
        return found[0] if found else None
    return BETWEEN.join(map(str, found))


def least(values: Iterable[Value]) -> float | None:
    """Return the lowest probability of some values; None if there is none.

    Examples
    --------
    >>> least([Value("a", 0, 1, 0.5, "a"), Value("b", 2, 3, 0.25, "b")])
    0.25
    """
    return min((one.probability for one in values if one.probability is not None), default=None)


def unused(name: str, taken: Mapping[str, Any]) -> str:
    """Return an unused column name, with a number appended where needed.

    Examples
    --------
    >>> unused("text", {"text": [], "text_2": []})
    'text_3'
    """
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


@contextlib.contextmanager
def paused_collection() -> Iterator[None]:
    """Pause the garbage collector while many acyclic objects are created.

    Python searches all objects again and again as their number grows, which takes longer than
    making the records of some thousand texts.

    Examples
    --------
    >>> with paused_collection():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# ---- conversion of model output ------------------------------------------------------------------


def source(document: Document, name: str = "x") -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the text of a document and the character span of each token.

    Tokens without a text are joined by spaces.

    Examples
    --------
    >>> source(Document(("New", "York")))
    ('New York', [(0, 3), (4, 8)])
    """
    if document.text is not None and document.offsets is not None:
        return document.text, document.offsets
    if has_no_words(document):
        raise InvalidInput(
            place=name,
            got="attributes or numbers without words",
            expected="a text, tokens or a Document with them",
            remedy="for segments of numbers, call predict_confident",
        )
    spans, reached = [], 0
    for token in document.tokens:
        spans.append((reached, reached + len(token)))
        reached += len(token) + 1
    return " ".join(document.tokens), spans


def record_of(
    document: Document,
    found: Iterable[tuple[Segment, float | None]],
    probability: float | None,
    labels: Sequence[str],
    normalisers: Mapping[str, Normaliser],
    name: str = "x",
) -> Record:
    """Return the record of segments and their probabilities.

    Examples
    --------
    >>> from caesura import Segment
    >>> document = Document.from_text("Codd (1970).")
    >>> record_of(document, [(Segment(1, 5, "year"), 0.9)], 0.9, ["year"], {"year": len})["year"]
    (Value(text='(1970).', start=5, end=12, probability=0.9, value=7),)
    """
    text, offsets = source(document, name)
    fields = []
    for (first, last, label), chance in found:
        start, end = offsets[first][0], offsets[last - 1][1]
        whole = text[start:end]
        try:
            value = normalisers[label](whole)
        except Exception as error:
            raise InvalidInput(
                f"raised {type(error).__name__} for {whole!r}: {error}",
                place=f"normalisers[{label!r}]",
                remedy="correct the function",
            ) from error
        fields.append((label, Value(whole, start, end, chance, value)))
    return Record(text, fields, labels, probability, document.carried)
