"""Draw the pictures of the documentation: ``python docs/pictures/draw.py``.

Plain SVG without fonts or scripts of its own, on a white ground, which ``docs/static/caesura.css``
inverts on a dark page.  Numbers in the pictures come from the engine.
"""

from __future__ import annotations

import html
import runpy
import sys
from pathlib import Path

import caesura
from caesura import render
from caesura.potentials import Potentials

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, VIOLET, RED = (shade for _, shade in render.PALETTE[:5])
INK, GREY, PALE = "#222222", "#767676", "#d9d9d9"
FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"


class Drawing:
    """A picture of a given size, to which shapes are added."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size = width, height
        self.title = title
        self.shapes: list[str] = []

    def words(
        self, x: float, y: float, words: str, colour: str = INK, size: int = 13, **more: str
    ) -> None:
        """Write words around x (or from it, or up to it: anchor), with the line at y."""
        anchor, weight = more.get("anchor", "middle"), more.get("weight", "normal")
        self.shapes.append(
            f"<text x='{x:g}' y='{y:g}' font-size='{size}' fill='{colour}' text-anchor='{anchor}' "
            f"font-weight='{weight}'>{html.escape(words, quote=False)}</text>"
        )

    def line(self, *points: tuple[float, float], colour: str = INK, width: float = 1.5) -> None:
        """Draw straight lines through points."""
        at = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.shapes.append(
            f"<polyline points='{at}' fill='none' stroke='{colour}' stroke-width='{width:g}'/>"
        )

    def dashed(self, *points: tuple[float, float], colour: str = GREY) -> None:
        """Draw dashed lines through points."""
        self.line(*points, colour=colour)
        self.shapes[-1] = self.shapes[-1].replace("/>", " stroke-dasharray='4 4'/>")

    def path(self, commands: str, colour: str = INK, width: float = 1.5) -> None:
        """Draw a curve, with a head at its end."""
        head = f" marker-end='url(#head-{colour[1:]})'"
        self.shapes.append(
            f"<path d='{commands}' fill='none' stroke='{colour}' stroke-width='{width:g}'{head}/>"
        )

    def dot(self, x: float, y: float, colour: str = INK, radius: float = 4) -> None:
        """Draw a dot."""
        self.shapes.append(f"<circle cx='{x:g}' cy='{y:g}' r='{radius:g}' fill='{colour}'/>")

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none"
    ) -> None:
        """Draw a box with round corners."""
        self.shapes.append(
            f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='6' "
            f"fill='{fill}' stroke='{stroke}' stroke-width='1.5'/>"
        )

    def svg(self) -> str:
        """Return the whole file."""
        width, height = self.size
        heads = "".join(
            f"<marker id='head-{colour[1:]}' viewBox='0 0 8 8' refX='6' refY='4' markerWidth='12' "
            "markerHeight='12' markerUnits='userSpaceOnUse' orient='auto'>"
            f"<path d='M0 0L8 4L0 8z' fill='{colour}'/></marker>"
            for colour in (INK, GREY, PALE, BLUE, ORANGE, GREEN, VIOLET)
            if f"head-{colour[1:]}" in "".join(self.shapes)
        )
        return "\n".join(
            [
                f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
                f"width='{width}' height='{height}' {FONT} role='img'>",
                f"<title>{html.escape(self.title, quote=False)}</title>",
                f"<defs>{heads}</defs>",
                f"<rect width='{width}' height='{height}' rx='8' fill='#ffffff'/>",
                *self.shapes,
                "</svg>\n",
            ]
        )


def tint(colour: str) -> str:
    """Return a light form of a colour."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{255 - (255 - part) // 6:02x}" for part in parts)


def segments() -> Drawing:
    """Draw the demo's first citation, each field with its exact probability."""
    demo = runpy.run_path(str(HERE.parent.parent / "examples" / "citation.py"))
    p: Potentials = demo["potentials"](
        "Sarawagi, S. and Cohen, W. W. (2004). Semi-Markov conditional random fields for "
        "information extraction. In NIPS, pp. 1185-1192."
    )
    path, m = caesura.viterbi(p), caesura.marginals(p)
    drawing = Drawing(760, 236, "A citation cut into five fields, each with its probability")
    x, y = 20.0, 24.0
    for start, end, label in path.segments:
        words = " ".join((p.tokens or ())[start:end])
        width = 8.0 * len(words) + 24
        if x + width > 740:
            x, y = 20.0, y + 70
        colour = render.PALETTE[p.labels.index(label)][1]
        drawing.box(x, y, width, 30, tint(colour))
        drawing.line((x + 3, y + 30), (x + width - 3, y + 30), colour=colour, width=3)
        drawing.words(x + width / 2, y + 20, words, size=14)
        chance = m.segment(start, end, label)
        drawing.words(x + width / 2, y + 49, f"{label}  {chance:.3f}", colour, weight="bold")
        x += width + 10
    return drawing


def kinds() -> Drawing:
    """Draw the four kinds of potentials over the boundaries of nine tokens."""
    drawing = Drawing(760, 372, "Four kinds of potentials as brackets with closed and open ends")
    left, step = 70.0, 44.0
    at = [left + step * t for t in range(10)]
    for t in range(10):
        drawing.dashed((at[t], 34), (at[t], 350), colour=PALE)
        drawing.words(at[t], 24, str(t), GREY)
    rows = [
        ("exact", False, False, BLUE, [(3, 5)]),
        ("starts with (open end)", False, True, ORANGE, [(3, 5), (3, 6), (3, 9)]),
        ("ends with (open start)", True, False, GREEN, [(3, 5), (2, 5), (0, 5)]),
        ("contains (both open)", True, True, VIOLET, [(3, 5), (1, 5), (2, 8)]),
    ]
    y = 52.0
    for name, open_start, open_end, colour, applies in rows:
        drawing.box(at[3], y - 9, at[5] - at[3], 18, tint(colour))
        low, high = at[0] if open_start else at[3], at[9] if open_end else at[5]
        for x, is_open, edge in ((at[3], open_start, low), (at[5], open_end, high)):
            inward = 6 if x == at[3] else -6
            if is_open:
                drawing.dashed((x, y), (edge, y), colour=colour)
                drawing.path(f"M{edge + inward:g} {y:g}L{edge:g} {y:g}", colour)
            else:
                drawing.line((x + inward, y - 9), (x, y - 9), (x, y + 9), (x + inward, y + 9))
                drawing.shapes[-1] = drawing.shapes[-1].replace(INK, colour)
        drawing.line((at[3], y), (at[5], y), colour=colour, width=3)
        drawing.words(490, y - 1, name, colour, anchor="start", weight="bold")
        flags = ", ".join(
            flag
            for flag, is_open in (("open_start=True", open_start), ("open_end=True", open_end))
            if is_open
        )
        drawing.words(490, y + 16, flags or "both ends closed", GREY, 11, anchor="start")
        for i, (start, end) in enumerate(applies):
            line = y + 22 + 11 * i
            drawing.line((at[start] + 2, line), (at[end] - 2, line), colour=colour, width=4)
        y += 40 + 11 * len(applies) + 14
    drawing.words(left, 364, "shaded: the core span [3, 5)", GREY, 11, anchor="start")
    drawing.words(330, 364, "bars: some segments that it applies to", GREY, 11, anchor="start")
    return drawing


def lattice() -> Drawing:
    """Draw a segmentation as a path through boundaries and labels."""
    drawing = Drawing(760, 246, "A segmentation is a path from boundary 0 to boundary T")
    names = [("author", BLUE), ("year", ORANGE), ("title", GREEN)]
    tokens = ["Orwell", ",", "G", "1949", "Animal", "Farm"]
    at = [110.0 + 104 * t for t in range(7)]
    row = {name: 86.0 + 52 * y for y, (name, _) in enumerate(names)}
    for t, x in enumerate(at):
        drawing.dashed((x, 50), (x, 214), colour=PALE)
        drawing.words(x, 40, str(t), GREY)
        if t < 6:
            drawing.words((x + at[t + 1]) / 2, 24, tokens[t], INK, 14)
    for name, colour in names:
        drawing.words(70, row[name] + 5, name, colour, anchor="end", weight="bold")
        for x in at:
            drawing.dot(x, row[name], PALE, 5)
    for start, end, name in [(0, 2, "title"), (2, 4, "author"), (1, 3, "author"), (3, 6, "title")]:
        drawing.path(
            f"M{at[start] + 8:g} {row[name]:g}Q{(at[start] + at[end]) / 2:g} {row[name] - 26:g} "
            f"{at[end] - 8:g} {row[name]:g}",
            PALE,
        )
    best = [(0, 3, "author", BLUE), (3, 4, "year", ORANGE), (4, 6, "title", GREEN)]
    for i, (start, end, name, colour) in enumerate(best):
        y = row[name]
        drawing.dot(at[start], y, colour, 5)
        drawing.dot(at[end], y, colour, 5)
        drawing.path(f"M{at[start] + 7:g} {y:g}L{at[end] - 8:g} {y:g}", colour, 4)
        if i:
            before = row[best[i - 1][2]]
            drawing.path(f"M{at[start]:g} {before + 7:g}L{at[start]:g} {y - 8:g}", INK)
    drawing.words(at[3] + 10, 116, "transition", INK, 11, anchor="start")
    drawing.words(at[4] + 10, 168, "transition", INK, 11, anchor="start")
    drawing.words(380, 236, "light: some of the other segments that the sweep sums over", GREY, 11)
    return drawing


def automaton() -> Drawing:
    """Draw the label-history automaton of one pattern, and of a rule."""
    drawing = Drawing(760, 330, "The automaton of the pattern author, year, title")
    state = {
        "author": (200, 80, BLUE),
        "year": (200, 165, ORANGE),
        "title": (200, 250, GREEN),
        "author year": (400, 165, ORANGE),
        "author year title": (610, 250, GREEN),
    }
    drawing.dot(50, 165, INK, 6)
    drawing.words(50, 150, "start", GREY, 11)
    for y in (80, 165, 250):
        drawing.path(f"M58 165L{140} {y}", GREY)
    for name, (x, y, colour) in state.items():
        wide = 112.0 if " " not in name else 8.2 * len(name) + 26
        drawing.box(x - wide / 2, y - 19, wide, 38, tint(colour), colour)
        drawing.words(x, y + 5, name, INK, 13)
    drawing.path("M256 92L346 148", ORANGE, 3)
    drawing.words(318, 112, "year", ORANGE, 12, anchor="start", weight="bold")
    drawing.path("M452 182L538 232", GREEN, 3)
    drawing.words(512, 200, "title", GREEN, 12, anchor="start", weight="bold")
    drawing.path("M396 146C396 110 330 76 262 76", BLUE)
    drawing.words(352, 84, "author", BLUE, 12, anchor="start")
    drawing.path("M342 165L262 165", ORANGE)
    drawing.words(302, 158, "year", ORANGE, 12)
    drawing.path("M528 250L262 250", GREEN)
    drawing.words(390, 243, "title", GREEN, 12)
    drawing.path("M610 231C610 60 440 40 262 66", BLUE)
    drawing.words(540, 76, "author", BLUE, 12)
    drawing.words(
        660, 288, "here the pattern's score is added", GREEN, 11, anchor="end", weight="bold"
    )
    drawing.words(
        380,
        316,
        "A state is the longest end of the label history that a pattern may still need. "
        "Each other arc leads to its label alone.",
        GREY,
        11,
    )
    return drawing


def window() -> Drawing:
    """Draw which starts a boundary still tells apart, and which share the open term."""
    drawing = Drawing(760, 330, "At boundary e = 8 the open term stands for the starts up to A(7)")
    at = [60.0 + 64 * t for t in range(11)]
    drawing.box(at[0] - 22, 48, at[3] - at[0] + 40, 262, tint(BLUE))
    drawing.box(at[4] - 22, 48, at[7] - at[4] + 44, 262, tint(ORANGE))
    for t, x in enumerate(at):
        drawing.dashed((x, 50), (x, 300), colour=PALE if t != 8 else INK)
        drawing.words(x, 34, "e = 8" if t == 8 else str(t), INK if t == 8 else GREY)
    for start, end, y in [(1, 3, 70), (4, 8, 70), (5, 7, 88)]:
        drawing.line(
            (at[start], y - 6), (at[start], y + 6), (at[start], y), (at[end], y), (at[end], y + 6)
        )
        drawing.line((at[end], y - 6), (at[end], y + 6))
    drawing.words(at[8] + 12, 74, "core spans", INK, 12, anchor="start")
    for s in range(4):
        y = 126.0 + 20 * s
        drawing.line((at[s], y), (at[7] - 20, y), colour=BLUE, width=2)
        drawing.dot(at[s], y, BLUE)
    drawing.path(f"M{at[7] - 20:g} 156L{at[8] - 8:g} 156", BLUE, 5)
    drawing.line((at[7] - 20, 122), (at[7] - 20, 190), colour=BLUE, width=3)
    drawing.words(at[8] + 12, 154, "O(7): one term", BLUE, 13, anchor="start", weight="bold")
    drawing.words(at[8] + 12, 171, "for all of them", BLUE, 13, anchor="start")
    for s in range(4, 8):
        y = 212.0 + 20 * (s - 4)
        drawing.path(f"M{at[s]:g} {y:g}L{at[8] - 8:g} {y:g}", ORANGE, 2)
        drawing.dot(at[s], y, ORANGE)
    drawing.words(at[8] + 12, 242, "one term each", ORANGE, 13, anchor="start", weight="bold")
    drawing.words(at[8] + 12, 259, "for the window", ORANGE, 13, anchor="start")
    drawing.words((at[0] + at[3]) / 2, 300, "s ≤ A(7) = 3", BLUE, 13, weight="bold")
    drawing.words((at[4] + at[7]) / 2, 300, "A(7) < s < 8", ORANGE, 13, weight="bold")
    return drawing


PICTURES = {
    "automaton": automaton,
    "kinds": kinds,
    "lattice": lattice,
    "segments": segments,
    "window": window,
}


def main(folder: Path = HERE) -> None:
    """Write every picture into a folder."""
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
