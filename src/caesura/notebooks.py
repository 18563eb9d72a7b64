"""HTML views of models, reports, explanations and predictions for notebooks.

The functions return pieces of a page.  They take their colours from the page around them, so that
they can be read on light and on dark ones, and all text in them is escaped.
"""

from __future__ import annotations

import html as markup
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from caesura.render import PALETTE, Written, html, visible

__all__ = ["MOST_SHOWN", "Listed", "bar", "card", "facts", "label_names", "more", "passage"]
__all__ += ["scrolled", "table", "written"]

MOST_SHOWN = 10  # items of a list
T = TypeVar("T")

STYLE = """
.caesura { --line: rgba(128, 128, 128, .35); --accent: 45, 135, 215; max-width: 64em;
  margin: .3em 0; padding: .6em .9em; border: 1px solid var(--line); border-radius: 6px;
  background: transparent; color: inherit; font: .95em/1.5 system-ui, sans-serif; }
.caesura h4 { margin: 0 0 .4em; font-size: 1.05em; font-weight: 600; color: inherit; }
.caesura p, .caesura caption, .caesura dt, .caesura summary { opacity: .75; font-size: .9em; }
.caesura p { margin: .3em 0; }
.caesura dl { display: flex; flex-wrap: wrap; gap: .2em 1.6em; margin: .3em 0; }
.caesura dd { margin: 0; font-weight: 600; }
.caesura .wide { overflow-x: auto; }
.caesura table { margin: .4em 0; border-collapse: collapse; color: inherit; font-size: .95em;
  font-variant-numeric: tabular-nums; }
.caesura caption { text-align: left; caption-side: bottom; }
.caesura tr, .caesura tbody tr:nth-child(odd) { background: transparent; }
.caesura th, .caesura td { padding: .1em .7em; border: 0; border-bottom: 1px solid var(--line);
  text-align: right; font-weight: 400; }
.caesura thead th { font-weight: 600; }
.caesura th[scope=row], .caesura th:first-child { padding-left: 0; }
.caesura th[scope=row], .caesura th:first-child, .caesura .words { text-align: left; }
.caesura .bar { display: block; width: 7em; height: .6em; border-radius: 2px;
  background: rgba(var(--accent), .18); }
.caesura .bar i { display: block; height: 100%; border-radius: 2px;
  background: rgb(var(--accent)); }
"""


class Listed(list[T]):
    """A list whose items a notebook shows below each other.

    Examples
    --------
    >>> Listed([1, 2]) == [1, 2]
    True
    >>> "1 more" in Listed(range(11))._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Show the first items in a notebook, and how many there are."""
        shown = [_shown(item) for item in self[:MOST_SHOWN]]
        return "".join(shown) + more(len(self)) or card("Nothing was found.")


def _shown(item: Any) -> str:
    draw = getattr(item, "_repr_html_", None)
    return f"<pre>{written(repr(item))}</pre>" if draw is None else str(draw())


def more(count: int) -> str:
    """Return a note on the number of items not shown.

    Examples
    --------
    >>> more(12), more(10)
    ('<p>2 more</p>', '')
    """
    return f"<p>{count - MOST_SHOWN:,} more</p>" if count > MOST_SHOWN else ""


def written(words: object) -> str:
    """Escape text for HTML, including invisible characters.

    Examples
    --------
    >>> written("<b>")
    '&lt;b&gt;'
    """
    return markup.escape(visible(str(words)) if str(words) else "")


def card(title: str, *parts: str) -> str:
    """Return a framed HTML card with a title.

    Examples
    --------
    >>> "<h4>a &lt; b</h4><p>yes</p></div>" in card("a < b", "<p>yes</p>")
    True
    """
    head = f"<h4>{written(title)}</h4>" if title else ""
    return f'<style>{STYLE}</style><div class="caesura">{head}{"".join(parts)}</div>'


def facts(known: Mapping[str, object]) -> str:
    """Return names and values as one HTML row.

    Examples
    --------
    >>> facts({"weights": 12})
    '<dl><div><dt>weights</dt><dd>12</dd></div></dl>'
    """
    items = (f"<div><dt>{written(n)}</dt><dd>{written(v)}</dd></div>" for n, v in known.items())
    return f"<dl>{''.join(items)}</dl>" if known else ""


def label_names(labels: Sequence[str]) -> str:
    """Return labels in the colours of their segments.

    Examples
    --------
    >>> label_names(["<x>"]).count("&lt;x&gt;")
    1
    """
    names = (
        f'<b style="border-bottom:2px solid {PALETTE[y % len(PALETTE)][1]}">{written(label)}</b>'
        for y, label in enumerate(labels)
    )
    return f"<div>{'&ensp;'.join(names)}</div>"


def table(caption: str, rows: Sequence[Sequence[str]], extra: Sequence[str] = ()) -> str:
    """Return an HTML table with headings in the first row and the first column.

    `extra` holds a cell for each row, as markup, that comes last.

    Examples
    --------
    >>> page = table("scores", [("", "F1"), ("micro", "0.5")])
    >>> '<th scope="row">micro</th><td>0.5</td>' in page
    True
    """
    cells = [*extra] or [""] * len(rows)
    kinds = [' class="words"' if _has_words(column) else "" for column in zip(*rows, strict=True)]
    corner = f'<th scope="col">{written(rows[0][0])}</th>' if rows[0][0] else "<td></td>"
    columns = [*zip(kinds[1:], rows[0][1:], strict=True)]
    heads = "".join(f'<th scope="col"{kind}>{written(cell)}</th>' for kind, cell in columns)
    lines = []
    for row, last in zip(rows[1:], cells[1:], strict=True):
        pairs = zip(kinds[1:], row[1:], strict=True)
        values = "".join(f"<td{kind}>{written(cell)}</td>" for kind, cell in pairs)
        lines.append(f'<tr><th scope="row">{written(row[0])}</th>{values}{last}</tr>')
    head = f"<thead><tr>{corner}{heads}{cells[0]}</tr></thead>"
    body = f"<tbody>{''.join(lines)}</tbody>"
    return scrolled("<table>", written(caption), head + body)


def _has_words(column: Sequence[str]) -> bool:
    """Return whether a column contains text, which is aligned left."""
    return any(cell.strip("+-.,%0123456789") for cell in column[1:])


def scrolled(start: str, caption: str, body: str) -> str:
    """Return a table in a scrollable container that is accessible by keyboard.

    Examples
    --------
    >>> scrolled("<table>", "", "<tr></tr>")
    '<div class="wide" tabindex="0"><table><tr></tr></table></div>'
    """
    below = f"<caption>{caption}</caption>" if caption else ""
    return f'<div class="wide" tabindex="0">{start}{below}{body}</table></div>'


def bar(share: float) -> str:
    """Return a cell with a bar, hidden from screen readers since the number is beside it.

    Examples
    --------
    >>> "width:50.0%" in bar(0.5)
    True
    """
    width = f"{100 * min(max(share, 0.0), 1.0):.1f}%"
    return f'<td aria-hidden="true"><span class="bar"><i style="width:{width}"></i></span></td>'


def passage(
    text: str, spans: Iterable[tuple[int, int, str]], probabilities: Any, labels: Sequence[str]
) -> str:
    """Return a text as HTML with labelled character spans in colour.

    Examples
    --------
    >>> "probability 0.9" in passage("in Leeds", [(3, 8, "town")], [0.9], ["town"])
    True
    """
    places = Written(text, [(at, at + 1) for at in range(len(text))])
    known = None if probabilities is None or None in probabilities else probabilities
    return html([*spans], text, known, labels=labels, written=places)
