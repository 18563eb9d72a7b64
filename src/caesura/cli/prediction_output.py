"""Output of predictions: JSON lines, CoNLL, CSV, coloured text, HTML."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import orjson

from caesura import corpora, render
from caesura.cli.output import warn
from caesura.cli.prediction_formats import TABLES, Answer, Style
from caesura.cli.prediction_tables import write_table
from caesura.corpora.columns import plain_text, renamed
from caesura.corpora.files import writing
from caesura.corpora.jsonl import RESERVED
from caesura.corpora.sinks import csv_cell
from caesura.documents import Document
from caesura.segments import Segment

__all__ = ["as_written", "field_text", "line_of", "record", "write"]

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Segments</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}
div.one{{border-bottom:1px solid #8884;padding:.4em 0}}small{{opacity:.75}}</style></head><body>
<p>{legend}</p>
{key}"""
DOUBTFUL = 0.9  # pages mark segments below this probability
KEY = f"<p><small>A dashed frame and a ? mark a probability below {DOUBTFUL}.</small></p>\n"


def write(path: str, form: str, batches: Iterable[Sequence[Answer]], style: Style) -> int:
    """Write predictions as they arrive; a file is moved into place once complete.

    Returns
    -------
    int
        Number of predictions written.
    """
    count = 0

    def counted() -> Iterator[Sequence[Answer]]:
        nonlocal count
        for batch in batches:
            count += len(batch)
            yield batch

    if form in TABLES:
        write_table(path, form, counted(), style)
        return count
    if form == "conll":
        empty = 0

        def documents() -> Iterator[Document]:
            nonlocal empty
            for one in itertools.chain.from_iterable(counted()):
                if len(one.document):
                    yield replace(one.document, segments=tuple(one.segments))
                else:
                    empty += 1

        corpora.write(path, documents(), form, scheme=style.scheme)
        if empty:
            some = f"{empty:,} sequence{'s' * (empty != 1)}"
            warn(f"left out: {some} without tokens, which CoNLL cannot represent")
        return count - empty
    with writing(path) as file:
        WRITERS[form](file, counted(), style)
    return count


# ---- JSON lines ----------------------------------------------------------------------------------


def record(answer: Answer) -> dict[str, Any]:
    """Return a prediction as a JSON object: the document as ``train`` reads it, and more.

    Examples
    --------
    >>> ann = Document(("Ann", "sings"))
    >>> record(Answer(ann, [Segment(0, 1, "PER")], [0.9]))
    {'tokens': ('Ann', 'sings'), 'segments': [Segment(start=0, end=1, label='PER')],
     'confidence': {'probabilities': [0.9], 'calibrated': False}}
    """
    document = answer.document
    found: dict[str, Any] = {}
    if document.text is not None:
        found["text"] = document.text
    found["tokens"] = document.tokens
    if document.offsets is not None:
        found["offsets"] = document.offsets
    found["segments"] = answer.segments
    found |= {n: v for n, v in document.columns.items() if n not in document.carried}
    if document.attributes is not None:
        found["attributes"] = document.attributes
    if document.dense is not None:
        found["dense"] = document.dense.tolist()
    if document.dense_names is not None:
        found["dense_names"] = list(document.dense_names)
    if document.carried:
        found |= renamed(document.carried, (*found, *RESERVED, "confidence", "n_best"))
    if answer.probabilities is not None:  # an object, so that it is never taken for a column
        shares = [round(one, 6) for one in answer.probabilities]
        found["confidence"] = {"probabilities": shares, "calibrated": answer.calibrated}
    if answer.n_best is not None:
        found["n_best"] = [
            {"segments": segments, "probability": round(share, 6)}
            for segments, share in answer.n_best
        ]
    return found


def line_of(answer: Answer) -> str:
    """Return a prediction as one line of JSON."""
    found = record(answer)
    try:
        return orjson.dumps(found, _plain).decode()
    except TypeError as error:  # a lone surrogate, or an integer beyond 64 bits
        if error.__cause__ is not None:  # raised by `_plain`; may be a KeyboardInterrupt
            raise error.__cause__ from None
        return json.dumps(found, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Convert a value without a JSON form, such as those that Parquet holds."""
    if isinstance(value, tuple):
        return tuple(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value.isoformat() if hasattr(value, "isoformat") else plain_text(value)


def _jsonl(file: IO[str], batches: Iterable[Sequence[Answer]], style: Style) -> None:
    for batch in batches:
        file.writelines(f"{line_of(answer)}\n" for answer in batch)
        file.flush()


# ---- CSV -----------------------------------------------------------------------------------------


def field_text(document: Document, segment: Segment) -> str:
    """Return the original text of a segment.

    Examples
    --------
    >>> field_text(Document.from_text("Ann  Lee sings"), Segment(0, 2, "PER"))
    'Ann  Lee'
    """
    start, end, _ = segment
    if document.text is None or document.offsets is None:
        return " ".join(document.tokens[start:end])
    return document.text[document.offsets[start][0] : document.offsets[end - 1][1]]


# ---- output for people ---------------------------------------------------------------------------


def as_written(
    document: Document, segments: Sequence[Segment]
) -> tuple[list[Segment], Sequence[str]]:
    """Return segments with their original texts.

    Examples
    --------
    >>> lee = Document.from_text("Lee, A. (ed.)")
    >>> as_written(lee, [Segment(0, 4, "author")])
    ([Segment(start=0, end=1, label='author')], ['Lee, A.', '(ed.)'])
    """
    if document.text is None or document.offsets is None:
        return list(segments), document.tokens
    texts: list[str] = []
    shown: list[Segment] = []
    at = 0
    for segment in [*segments, Segment(len(document), len(document), "")]:
        if at < segment.start:
            texts.append(" ".join(field_text(document, Segment(at, segment.start, "")).split()))
        if segment.start < segment.end:
            shown.append(Segment(len(texts), len(texts) + 1, segment.label))
            texts.append(" ".join(field_text(document, segment).split()))
        at = segment.end
    return shown, texts


def _text(file: IO[str], batches: Iterable[Sequence[Answer]], style: Style) -> None:
    for batch in batches:
        for answer in batch:
            shown: list[tuple[str, Any, Any]] = [("", answer.segments, answer.probabilities)]
            if answer.n_best is not None:
                shown = [(f"{share:.3f}  ", some, None) for some, share in answer.n_best]
            for head, segments, chances in shown:
                words = render.text(
                    *as_written(answer.document, segments),
                    chances,
                    labels=style.labels,
                    colour=style.colour,
                    width=style.width,
                )
                file.write(f"{head}{words}\n")
        file.flush()


def _html(file: IO[str], batches: Iterable[Sequence[Answer]], style: Style) -> None:
    shades = (render.PALETTE[y % len(render.PALETTE)][1] for y in range(len(style.labels)))
    legend = " ".join(
        f'<b style="border-bottom:3px solid {shade}">{html.escape(label)}</b>'
        for shade, label in zip(shades, style.labels, strict=True)
    )
    file.write(HEAD.format(legend=legend, key=KEY if style.sure else ""))
    for batch in batches:
        for answer in batch:
            file.write('<div class="one">')
            if answer.document.carried:
                told = (f"{name}: {csv_cell(v)}" for name, v in answer.document.carried.items())
                file.write(f"<small>{html.escape(' · '.join(told))}</small> ")
            if answer.n_best is None:
                file.write(_piece(answer.document, answer.segments, answer.probabilities, style))
            for segments, share in answer.n_best or ():
                file.write(f"<small>{share:.3f}</small>")
                file.write(_piece(answer.document, segments, None, style))
            file.write("</div>\n")
        file.flush()
    file.write("</body></html>\n")


def _piece(
    document: Document, segments: Sequence[Segment], chances: Sequence[float] | None, style: Style
) -> str:
    """Return a prediction as an HTML fragment, with the original text where available."""
    written = None
    if document.text is not None and document.offsets is not None:
        written = render.Written(document.text, document.offsets)
    notes = [f"? {chance:.2f}" if chance < DOUBTFUL else "" for chance in chances or ()]
    return render.html(
        segments, document.tokens, chances, labels=style.labels, notes=notes, written=written
    )


WRITERS: dict[str, Callable[[IO[str], Iterable[Sequence[Answer]], Style], None]] = {
    "jsonl": _jsonl,
    "text": _text,
    "html": _html,
}
