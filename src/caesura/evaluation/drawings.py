"""Page fragments: a heat map in HTML and a reliability diagram in SVG.

All text goes through `written`, which escapes it.  Colours are the page's: see ``STYLE``.
"""

from __future__ import annotations

import numpy as np

from caesura.errors import counted
from caesura.evaluation.calibration import Reliability
from caesura.evaluation.error_analysis import NONE, Confusion
from caesura.evaluation.tables import shown
from caesura.notebooks import scrolled, written

__all__ = ["STYLE", "diagram", "heat_map"]

MOST_LABELS = 15  # rows and columns of a heat map
SIDE, LEFT, TOP, COUNTS = 280, 52, 12, 48  # of the diagram: plot, margins, bars of counts

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1f24; --quiet: #5c6470; --line: #d7dbe0;
  --accent: 0, 101, 176; --wrong: 196, 84, 0; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e6e8eb; --quiet: #a0a8b2; --line: #373d45;
    --accent: 90, 175, 245; --wrong: 255, 150, 70; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 1rem; font-size: 1.7rem; }
h2 { margin: 2.2rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line);
  font-size: 1.2rem; }
h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; }
p, caption, .quiet { color: var(--quiet); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { padding: .2rem 0; text-align: left; caption-side: bottom; font-size: .85rem; }
@media (max-width: 40rem) { caption { position: sticky; left: 0; max-width: 88vw; } }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th { font-weight: 600; white-space: nowrap; }
th[scope=row], th:first-child, td:first-child { padding-left: 0; text-align: left; }
.figures { display: flex; flex-wrap: wrap; gap: .8rem 2.2rem; margin: 0 0 1rem; }
.figures dt { color: var(--quiet); font-size: .85rem; }
.figures dd { margin: 0; font-size: 1.5rem; font-weight: 600; }
.figures small { display: block; font-size: .75rem; font-weight: 400; color: var(--quiet); }
.bar { display: block; width: 9rem; height: .7rem; border-radius: 2px;
  background: rgba(var(--accent), .16); }
.bar i { display: block; height: 100%; border-radius: 2px; background: rgb(var(--accent)); }
.map td { min-width: 2.2rem; padding: .25rem .4rem; border: 1px solid var(--paper);
  text-align: center; }
.map th { border: 0; font-weight: 400; }
.map thead th { padding: .25rem 0; text-align: left; vertical-align: bottom; }
.map thead span { writing-mode: vertical-rl; transform: rotate(180deg); }
.map tbody td { background: rgba(var(--accent), .04); }
.beside { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: center; }
.sides { display: grid; gap: 0 1.5rem; grid-template-columns: 1fr 1fr; }
.sides h4 { margin: .2rem 0; color: var(--quiet); font-size: .85rem; font-weight: 400; }
@media (max-width: 48rem) { .sides { grid-template-columns: 1fr; } }
svg { max-width: 100%; height: auto; }
svg text { fill: var(--quiet); font: 12px system-ui, sans-serif; }
svg .axis { fill: none; stroke: var(--line); }
svg .even { stroke: var(--quiet); stroke-dasharray: 4 4; }
svg .share { fill: rgba(var(--accent), .3); }
svg .mean { fill: rgb(var(--accent)); stroke: var(--paper); }
svg .count { fill: rgba(var(--accent), .6); }
"""


def heat_map(confusion: Confusion) -> str:
    """Return the label confusions as an HTML table with shaded cells.

    Labels that were never confused with another one are not shown.

    Examples
    --------
    >>> import numpy as np
    >>> page = heat_map(Confusion(("A", "B"), np.array([[3, 1, 0], [0, 2, 0], [0, 0, 0]])))
    >>> 'title="gold A, predicted B: 1"' in page
    True
    """
    Y = len(confusion.labels)
    wrong = confusion.counts[:Y, :Y].copy()
    np.fill_diagonal(wrong, 0)
    sizes = wrong.sum(axis=0) + wrong.sum(axis=1)
    confused = [y for y in range(Y) if sizes[y]]
    if not confused:
        return "<p>No label was taken for another one.</p>"
    kept = sorted(sorted(confused, key=lambda y: -sizes[y])[:MOST_LABELS])
    places = [*kept, Y]
    names = [*(written(shown(confusion.labels[y])) for y in kept), NONE]
    heads = "".join(f'<th scope="col"><span>{name}</span></th>' for name in names)
    lines = []
    for a, row_name in zip(places, names, strict=True):
        total = max(1, int(confusion.counts[a].sum()))
        cells = "".join(
            _cell(f"gold {row_name}, predicted {name}", int(confusion.counts[a, b]), total, a == b)
            for b, name in zip(places, names, strict=True)
            if (a, b) != (Y, Y)
        )
        lines.append(f'<tr><th scope="row">{row_name}</th>{cells}{"<td></td>" * (a == Y)}</tr>')
    caption = "Rows are gold labels, columns what they were taken for; (none): missed or spurious."
    if len(kept) < len(confused):
        caption += f" The {len(kept)} labels of {Y} that were taken for others most often."
    elif len(kept) < Y:
        were = "was" if Y - len(kept) == 1 else "were"
        caption += f" Of {Y} labels, {Y - len(kept)} {were} never taken for another one."
    head = f"<thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return scrolled('<table class="map">', caption, head)


def _cell(title: str, count: int, total: int, right: bool) -> str:
    """Return a table cell; `title` is already escaped."""
    if not count:
        return f'<td title="{title}: 0"></td>'
    # The square root keeps small counts visible. Up to 0.52, the number is readable in the dark
    # theme.
    strength = 0.12 + 0.4 * (count / total) ** 0.5
    colour = f"rgba(var(--{'accent' if right else 'wrong'}),{strength:.2f})"
    return f'<td title="{title}: {count}" style="background:{colour}">{count}</td>'


def diagram(found: Reliability) -> str:
    """Return a reliability diagram as SVG: accuracy against probability.

    Examples
    --------
    >>> from caesura.evaluation.calibration import reliability
    >>> diagram(reliability([0.9, 0.4], [True, False])).startswith("<svg")
    True
    """
    width, height = LEFT + SIDE + 16, TOP + SIDE + COUNTS + 44
    floor, base = TOP + SIDE, TOP + SIDE + 8 + COUNTS
    most = max((bin.segments for bin in found.bins), default=1)
    shapes = [f'<rect class="axis" x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>']
    for low, high, count, confidence, accuracy in found.bins:
        if not count:
            continue
        x, wide = LEFT + SIDE * low + 1, SIDE * (high - low) - 2
        tip = f"{low:.2f} to {high:.2f}: {counted(count, 'segment')}, mean {confidence:.3f}, "
        tip = f"<title>{tip}right {accuracy:.3f}</title>"
        shapes.append(f"<g>{tip}{_column('share', x, wide, floor, SIDE * accuracy)}")
        shapes.append(_column("count", x, wide, base, (COUNTS - 4) * count / most))
        at = f'cx="{LEFT + SIDE * confidence:.1f}" cy="{floor - SIDE * accuracy:.1f}"'
        shapes.append(f'<circle class="mean" {at} r="4"/></g>')
    shapes.append(f'<line class="even" x1="{LEFT}" y1="{floor}" x2="{LEFT + SIDE}" y2="{TOP}"/>')
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = LEFT + SIDE * tick, floor - SIDE * tick
        shapes.append(f'<text x="{x:.0f}" y="{base + 16}" text-anchor="middle">{tick:g}</text>')
        shapes.append(f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{tick:g}</text>')
    middle = LEFT + SIDE // 2
    shapes.append(f'<text x="{middle}" y="{base + 32}" text-anchor="middle">probability</text>')
    turned = f'transform="translate(14 {TOP + SIDE // 2}) rotate(-90)" text-anchor="middle"'
    shapes.append(f"<text {turned}>share right</text>")
    shapes.append(f'<text x="{LEFT - 8}" y="{base}" text-anchor="end">count</text>')
    error = f"{found.expected_calibration_error:.3f}"
    about = f"Reliability diagram of {found.segments} segments: expected calibration error {error}"
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    size = f'width="{width}" height="{height}" role="img" aria-label="{about}"'
    return f"{start} {size}><title>{about}</title>{''.join(shapes)}</svg>"


def _column(kind: str, x: float, width: float, floor: int, height: float) -> str:
    place = f'x="{x:.1f}" y="{floor - height:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {place}/>'
