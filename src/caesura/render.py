"""Rendering of segments: coloured text, tables, and HTML for notebooks.

The functions share these parameters:

segments : list of (start, end, label), or Path
    In order, with or without gaps.  A path brings its tokens and exact probabilities along.
tokens : sequence of str, optional
    The text of the tokens; their numbers are shown where there is none.
probabilities : sequence of float, optional
    One for each segment.
labels : sequence, optional
    All labels, in the order of their colours.  Give them to have the same colours in each call.
outside : str or int
    The label of text outside any segment, which has no colour.
colour : bool, optional
    Whether to use the colours of a terminal; by default where `colour_wanted`.
"""

from __future__ import annotations

import html as markup
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TextIO

from caesura.errors import InvalidInput, message
from caesura.segments.segmentation import typed

__all__ = ["PALETTE", "Shown", "Written", "colour_wanted", "heat_map", "html", "table", "text"]
__all__ += ["display_width", "visible"]

# Each colour as a number in terminals and its equivalent in HTML, readable on black and on white.
PALETTE = (
    (32, "#0087d7"),
    (166, "#d75f00"),
    (28, "#008700"),
    (134, "#af5fd7"),
    (160, "#d70000"),
    (30, "#008787"),
    (162, "#d70087"),
    (100, "#878700"),
    (62, "#5f5fd7"),
    (131, "#af5f5f"),
    (137, "#af875f"),
    (94, "#875f00"),
    (197, "#ff005f"),
    (92, "#8700d7"),
    (29, "#00875f"),
    (200, "#ff00d7"),
)
MOST_TEXT = 44  # columns of a table for the text of a segment
MOST_ROWS, MOST_COLUMNS = 24, 80  # maximum size of a heat map
MOST_STRONG = 10  # potentials in a list of the strongest
BAR = 10  # width of a bar, in columns
INHERIT = "color:inherit"  # without it, tables are black on black in some notebooks
CELL = "padding:0;min-width:15px;height:15px;"
NOTHING = "(no segments)"

Label = str | int


class Shown(NamedTuple):
    """The content to display of a segmentation."""

    segments: Sequence[tuple[int, int, Label]]
    tokens: Sequence[str] | None = None
    probabilities: Sequence[float] | None = None
    labels: Sequence[Label] | None = None


class Written(NamedTuple):
    """A text with the position of each token."""

    text: str
    offsets: Sequence[tuple[int, int]]


class Showable(Protocol):
    """The interface of objects with a display form, such as paths."""

    def shown(self) -> Shown: ...


class _Piece(NamedTuple):
    """A segment, or the text between two segments."""

    span: str
    text: str
    label: str | None  # None for text between segments
    probability: float | None
    colour: tuple[int, str] | None  # None for text outside segments

    def painted(self, words: str, colour: bool) -> str:
        """Return words in the colour of the label."""
        if not colour or self.colour is None:
            return words
        return f"\x1b[38;5;{self.colour[0]}m{words}\x1b[0m"


def colour_wanted(stream: TextIO | None = None) -> bool:
    """Return whether a stream, by default the standard output, supports colours.

    It should if it is a terminal that is not dumb, unless the environment sets ``NO_COLOR``.

    Examples
    --------
    >>> import io
    >>> colour_wanted(io.StringIO())
    False
    """
    terminal = (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"
    return terminal and not os.environ.get("NO_COLOR")


def text(
    segments: Sequence[tuple[int, int, Label]] | Showable,
    tokens: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    *,
    labels: Sequence[Label] | None = None,
    outside: Label = "O",
    colour: bool | None = None,
    width: int | None = None,
) -> str:
    """Return the tokens as running text, each segment in brackets with label and probability.

    Lines are broken between words to fit `width`, by default that of the terminal.

    Examples
    --------
    >>> tokens = ["to", "New", "York", "from", "Paris"]
    >>> print(text([(1, 3, "LOC"), (4, 5, "LOC")], tokens, [0.97, 0.8], width=60))
    to [New York](LOC 0.970) from [Paris](LOC 0.800)
    """
    colour = colour_wanted() if colour is None else colour
    width = shutil.get_terminal_size().columns if width is None else width
    lines: list[list[str]] = [[]]
    used = 0
    for piece in _pieces(segments, tokens, probabilities, labels, outside):
        for word in _bracketed(piece).split(" "):
            if lines[-1] and used + display_width(word) > width:
                lines.append([])
                used = 0
            lines[-1].append(piece.painted(word, colour))
            used += display_width(word) + 1
    return "\n".join(" ".join(line) for line in lines) or NOTHING


def table(
    segments: Sequence[tuple[int, int, Label]] | Showable,
    tokens: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    *,
    labels: Sequence[Label] | None = None,
    outside: Label = "O",
    colour: bool | None = None,
) -> str:
    """Return a line for each segment: span, text, label and probability, with a bar.

    Examples
    --------
    >>> tokens = ["to", "New", "York", "from", "Paris"]
    >>> print(table([(1, 3, "LOC"), (4, 5, "LOC")], tokens, [0.97, 0.8]))
    [1, 3)  New York  LOC  0.970 █████████▊
    [4, 5)  Paris     LOC  0.800 ████████
    """
    colour = colour_wanted() if colour is None else colour
    pieces = _pieces(segments, tokens, probabilities, labels, outside)
    kept = [(piece, piece.label) for piece in pieces if piece.label is not None]
    texts = [_cut(piece.text, MOST_TEXT) for piece, _ in kept]
    columns = ([piece.span for piece, _ in kept], texts, [label for _, label in kept])
    widths = [max(map(display_width, column), default=0) for column in columns]
    lines = []
    for (piece, _), *cells in zip(kept, *columns, strict=True):
        padded = [
            cell + " " * (w - display_width(cell)) for cell, w in zip(cells, widths, strict=True)
        ]
        line = "  ".join(piece.painted(cell, colour) for cell in padded)
        if piece.probability is not None:
            bar = piece.painted(_bar(piece.probability), colour)
            line += f"  {piece.probability:.3f} {bar}"
        lines.append(line.rstrip())
    return "\n".join(lines) or NOTHING


def html(
    segments: Sequence[tuple[int, int, Label]] | Showable,
    tokens: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    *,
    labels: Sequence[Label] | None = None,
    outside: Label = "O",
    notes: Sequence[str] | None = None,
    written: Written | None = None,
) -> str:
    """Return the tokens as HTML with coloured segments; hovering shows the probability.

    Notes, one for each segment, follow its label; non-empty ones are framed.
    Where a text is given from which the tokens were cut, it is shown in their place.

    Examples
    --------
    >>> page = html([(0, 1, "PER")], ["<Ann>", "sings"], [0.97])
    >>> "&lt;Ann&gt;" in page, 'title="PER [0, 1): probability 0.97"' in page
    (True, True)
    >>> ann = Written("(Ann)", [(0, 1), (1, 4), (4, 5)])
    >>> ">(Ann) <b" in html([(0, 3, "PER")], ["(", "Ann", ")"], written=ann)
    True
    """
    spans = []
    remarks = iter(notes or ())
    for piece in _pieces(segments, tokens, probabilities, labels, outside, written):
        words = markup.escape(piece.text)
        if piece.label is not None:
            title = f"{piece.label} {piece.span}"
            if piece.probability is not None:
                title += f": probability {piece.probability:.4g}"
            style = ""
            if piece.colour is not None:
                shade = piece.colour[1]
                style = f"background:{shade}2b;border-bottom:2px solid {shade};"
                words += f' <b style="font-size:75%">{markup.escape(piece.label)}</b>'
            style += "border-radius:3px;padding:2px 4px"
            if note := next(remarks, ""):
                style += ";outline:1px dashed"
                words += f' <i style="font-size:75%">{markup.escape(note)}</i>'
            words = f'<span title="{markup.escape(title)}" style="{style}">{words}</span>'
        spans.append(words)
    body = " ".join(spans) or markup.escape(NOTHING)
    return f'<div style="line-height:2.2;overflow-wrap:anywhere">{body}</div>'


def heat_map(values: Any, rows: Sequence[object], columns: Sequence[object]) -> str:
    """Return an array of shape (columns, rows) as HTML; hovering shows the number.

    Positive numbers are orange, negative ones blue, minus infinity is grey.  Rows and columns that
    would make it too large are left out, which the caption mentions.

    Examples
    --------
    >>> 'title="Ann, PER: 1.5"' in heat_map([[1.5, -0.5]], ["PER", "O"], ["Ann"])
    True
    """
    shown = [[float(x) for x in line[:MOST_ROWS]] for line in values[:MOST_COLUMNS]]
    largest = max((abs(x) for line in shown for x in line if abs(x) != float("inf")), default=0.0)
    names = [markup.escape(visible(str(name))) for name in rows[:MOST_ROWS]]
    heads = [markup.escape(visible(str(name))) for name in columns[:MOST_COLUMNS]]
    style = "writing-mode:vertical-rl;font-weight:normal;padding:2px 0;text-align:right"
    lines = ["<td></td>" + "".join(f'<th style="{style}">{head}</th>' for head in heads)]
    for r, name in enumerate(names):
        cells = "".join(
            f'<td title="{head}, {name}: {line[r]:.4g}" style="{CELL}'
            f'background:{_shade(line[r], largest)}"></td>'
            for head, line in zip(heads, shown, strict=True)
        )
        lines.append(f'<th style="text-align:right;padding:0 6px">{name}</th>{cells}')
    left_out = max(0, len(rows) - MOST_ROWS), max(0, len(columns) - MOST_COLUMNS)
    caption = f"<caption>{left_out[0]} more rows, {left_out[1]} more columns</caption>"
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    start = f'<table style="border-collapse:separate;border-spacing:1px;font-size:85%;{INHERIT}">'
    return f"{start}{caption if any(left_out) else ''}{body}</table>"


def summary(lines: str, rows: Sequence[tuple[float, str, str]]) -> str:
    """Return lines of text and the strongest (score, labels, place) entries as HTML.

    Examples
    --------
    >>> "<td>+2</td><td>PER</td>" in summary("1 potential", [(2.0, "PER", "[0, 1)")])
    True
    """
    strongest = sorted(rows, key=lambda row: -abs(row[0]))[:MOST_STRONG]
    cells = [(f"{score:+.4g}", labels, where) for score, labels, where in strongest]
    body = "".join(
        "<tr>" + "".join(f"<td>{markup.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in cells
    )
    listed = f'<p>strongest</p><table style="{INHERIT}">{body}</table>' if rows else ""
    return f"<pre>{markup.escape(lines)}</pre>{listed}"


def place(
    start: int, end: int, open_start: object, open_end: object, tokens: Sequence[str] | None = None
) -> str:
    """Format the core span of a potential, with its open ends and its text.

    Examples
    --------
    >>> print(place(1, 3, False, True, ["to", "New", "York"]))
    [1, ≥3) New York
    """
    span = f"[{'≤' if open_start else ''}{start}, {'≥' if open_end else ''}{end})"
    return span if tokens is None else f"{span} {_joined(tokens[start:end])}"


def visible(token: str) -> str:
    """Escape invisible and control characters of a token."""
    if not token or token.isspace():
        return repr(token)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in token)


def _pieces(
    segments: Sequence[tuple[int, int, Label]] | Showable,
    tokens: Sequence[str] | None,
    probabilities: Sequence[float] | None,
    labels: Sequence[Label] | None,
    outside: Label,
    written: Written | None = None,
) -> Iterator[_Piece]:
    """Iterate over the segments and the text between them."""
    own = segments.shown() if hasattr(segments, "shown") else Shown(segments)
    cuts = typed(own.segments)
    words = own.tokens if tokens is None else tokens
    chances = own.probabilities if probabilities is None else probabilities
    T = _checked(cuts, words, chances)
    words = [str(t) for t in range(T)] if words is None else words
    used = own.labels if labels is None else labels
    used = sorted({label for _, _, label in cuts}, key=str) if used is None else used
    colours = {label: PALETTE[y % len(PALETTE)] for y, label in enumerate(used) if label != outside}
    reached = 0

    def between(start: int, end: int) -> str:
        return _joined(words[start:end]) if written is None else _original(written, start, end)

    for i, (start, end, label) in enumerate([*cuts, (T, T, outside)]):
        if reached < start:
            yield _Piece("", between(reached, start), None, None, None)
        if start < end:
            chance = None if chances is None else float(chances[i])
            name, colour = visible(str(label)), colours.get(label)
            yield _Piece(f"[{start}, {end})", between(start, end), name, chance, colour)
        reached = end


def _checked(
    cuts: Sequence[tuple[int, int, Label]],
    tokens: Sequence[str] | None,
    probabilities: Sequence[float] | None,
) -> int:
    """Return the number of tokens, or raise if the arguments do not match."""
    T = len(tokens) if tokens is not None else max((end for _, end, _ in cuts), default=0)
    reached = 0
    for i, (start, end, _) in enumerate(cuts):
        if not reached <= start < end <= T:
            expected = f"a segment from {reached} or later to {T} or earlier"
            came = tuple(cuts[i])
            raise InvalidInput(message(f"segments[{i}]", came, expected, "sort them, cut overlaps"))
        reached = end
    if probabilities is not None and len(probabilities) != len(cuts):
        expected = f"{len(cuts)} of them, one for each segment"
        raise InvalidInput(message("probabilities", len(probabilities), expected, "give them all"))
    return T


def _bracketed(piece: _Piece) -> str:
    if piece.label is None:
        return piece.text
    chance = "" if piece.probability is None else f" {piece.probability:.3f}"
    return f"[{piece.text}]({piece.label}{chance})"


def _original(written: Written, start: int, end: int) -> str:
    """Return the original text of some tokens, with white space collapsed."""
    first, last = written.offsets[start][0], written.offsets[end - 1][1]
    return _joined(written.text[first:last].split())


def _joined(tokens: Sequence[str]) -> str:
    return " ".join(visible(str(token)) for token in tokens)


def display_width(words: str) -> int:
    """Return the width of a text in terminal columns."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in words)
    return len(words) + wide - sum(unicodedata.combining(c) != 0 for c in words)


def _cut(words: str, most: int) -> str:
    """Truncate a text to a number of columns."""
    if display_width(words) <= most:
        return words
    while display_width(words) >= most:
        words = words[:-1]
    return words + "…"


def _bar(probability: float) -> str:
    eighths = round(8 * BAR * min(max(probability, 0.0), 1.0))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _shade(value: float, largest: float) -> str:
    if value == -float("inf"):
        return "#808080"
    strength = abs(value) / largest if largest else 0.0
    return f"rgba({'215,95,0' if value > 0 else '0,135,215'},{strength:.2f})"
