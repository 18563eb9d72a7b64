"""A function over batches of rows, for Spark, Ray Data and Dask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from caesura.documents import Document, as_document
from caesura.errors import InvalidInput, message
from caesura.scale.models import model_at
from caesura.segments import Segment

__all__ = ["SegmentBatches", "segment_batches"]


class SegmentBatches:
    """A function that adds a column of segments to batches of rows."""

    def __init__(self, model: str, text: str, column: str) -> None:
        self._path, self._text, self._column = model, text, column
        self._model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_model": None}  # workers load the model themselves

    def __call__(self, batches: Any) -> Any:
        """Return batches of the same type with the column of segments added."""
        import pyarrow as pa

        if isinstance(batches, pa.Table):
            return batches.append_column(self._column, self._segments(batches))
        if isinstance(batches, pa.RecordBatch):
            arrays = [*batches.columns, self._segments(batches)]
            return pa.RecordBatch.from_arrays(arrays, [*batches.schema.names, self._column])
        if hasattr(batches, "iloc"):  # a pandas DataFrame
            table = pa.table({self._text: pa.array(batches.get(self._text, []), pa.string())})
            found = self._segments(table).to_pylist()
            return batches.assign(**{self._column: found})
        if isinstance(batches, Iterable):
            return self._each(batches)
        expected = "a table, a batch, a frame, or an iterator over batches"
        raise InvalidInput(message("batches", batches, expected, "pass one of them"))

    def _each(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield self(batch)

    def _segments(self, rows: Any) -> Any:
        """Return the segments of each row; null where there is no text."""
        import pyarrow as pa

        if self._text not in rows.schema.names:
            expected = f"one of the columns, {', '.join(rows.schema.names)}"
            raise InvalidInput(message("text", self._text, expected, "name the column of texts"))
        if self._model is None:
            self._model = model_at(self._path)
        texts = rows.column(self._text).to_pylist()
        there = [as_document(text, self._model.tokeniser_) for text in texts if text is not None]
        answers = zip(there, self._model.predict(there), strict=True)
        found = (_fields(document, segments) for document, segments in answers)
        rows_of = [None if text is None else next(found) for text in texts]
        return pa.array(rows_of, _type())


def _fields(document: Document, segments: Iterable[Segment]) -> list[dict[str, Any]]:
    """Return the segments of a document as rows."""
    text, offsets = document.text or "", document.offsets or ()
    out = []
    for start, end, label in segments:
        first, last = offsets[start][0], offsets[end - 1][1]
        out.append({"label": label, "text": text[first:last], "start": first, "end": last})
    return out


def _type() -> Any:
    import pyarrow as pa

    fields = {"label": pa.string(), "text": pa.string(), "start": pa.int64(), "end": pa.int64()}
    return pa.list_(pa.struct(fields))


def segment_batches(model: str, text: str = "text", column: str = "segments") -> SegmentBatches:
    """Return a function that adds segments to batches of rows, for any engine.

    It takes and returns tables and batches of Arrow, iterators over batches, and frames of pandas,
    and so fits into Spark's ``mapInArrow``, Ray Data's ``map_batches(..., batch_format="pyarrow")``
    and Dask's ``map_partitions``.  Each worker process loads the model once, and a call uses one
    thread.

    Parameters
    ----------
    model : path
        A model file, which all workers can open.
    text : str
        The column with the texts.
    column : str
        The column that is added: a list with label, text, start and end of each segment, the
        last two in characters; null where there is no text.

    Returns
    -------
    callable
        The function.

    Examples
    --------
    >>> import os, tempfile, caesura, pyarrow as pa
    >>> from caesura.demo import addresses
    >>> with tempfile.TemporaryDirectory() as place:
    ...     file = os.path.join(place, "model")
    ...     caesura.SemiCRF(max_iterations=5).fit(addresses(30)).save(file)
    ...     add = segment_batches(file)
    ...     found = add(pa.table({"id": [7], "text": ["12 High Street Leeds"]}))
    >>> found.column_names, len(found)
    (['id', 'text', 'segments'], 1)
    """
    return SegmentBatches(str(model), text, column)
