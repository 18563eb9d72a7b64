"""Citation styles as templates.

A template is made of chunks, with ``|`` between them. A chunk is a field in braces with the marks
and words around it that belong to it; it is left out where the record does not have the field, and
so is what stands in ``<`` and ``>`` for its own fields. A chunk without a field goes to the next
one that is written: the "In" of "In Proceedings".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from caesura.demo.words import Names

__all__ = ["HELD_OUT_STYLES", "LABELS", "STYLES", "Style", "style"]

LABELS: Mapping[str, str] = {
    "author": "author",
    "title": "title",
    "journal": "journal",
    "booktitle": "booktitle",
    "volume": "volume",
    "number": "volume",
    "pages": "pages",
    "month": "date",
    "year": "date",
    "publisher": "publisher",
    "place": "location",
    "editor": "editor",
    "institution": "institution",
    "note": "note",
    "key": "note",
}
"""The label of each field, twelve labels in all."""


class Style(NamedTuple):
    """The formatting rules of one citation style."""

    name: str
    authors: Names
    editors: Names
    eds: tuple[str, str]  # after one editor, and after several
    article: str
    paper: str  # also for chapters
    book: str
    report: str
    preprint: str
    capitals: bool = False  # whether titles are capitalised
    short: str = ""  # "dots" or "bare" if venues are abbreviated
    month: str = ""  # "short" or "long" if months are written
    dash: str = "–"  # between page numbers

    def template(self, kind: str) -> str:
        """Return the template for a kind of publication."""
        return str(getattr(self, "paper" if kind == "chapter" else kind))


_FULL = Names("given", "full")
_INITIALS = Names("given", "J. A.")
_BARE = Names("family", "JA", comma=" ", two=", ", last=", ", most=6, kept=6, others=", et al")

_STYLES = (
    Style(
        "apa",
        Names("family", "J. A.", two=", & ", last=", & ", most=7, kept=6),
        Names("given", "J. A.", two=" & ", last=", & "),
        ("(Ed.)", "(Eds.)"),
        "{author}| ({year}).| {title}.| {journal},| {volume}<({number})>,| {pages}.",
        "{author}| ({year}).| {title}.| In |{editor} {eds},| {booktitle}| (pp. {pages}).| "
        "{place}:| {publisher}.",
        "{author}| ({year}).| {title}| ({note}).| {place}:| {publisher}.",
        "{author}| ({year}).| {title}| ({note}).| {institution},| {place}.",
        "{author}| ({year}).| {title}.| {note}.",
    ),
    Style(
        "mla",
        Names("mixed", "full", two=", and ", most=2),
        _FULL,
        ("", ""),
        "{author}.| “{title}.”| {journal},| vol. {volume}<, no. {number}>,| <{month} >{year},| "
        "pp. {pages}.",
        "{author}.| “{title}.”| {booktitle},| edited by {editor},| {publisher},| {year},| "
        "pp. {pages}.",
        "{author}.| {title}.| {note},| {publisher},| {year}.",
        "{author}.| {title}.| {year}.| {institution},| {note}.",
        "{author}.| “{title}.”| {note},| {year}.",
        capitals=True,
        month="short",
    ),
    Style(
        "chicago",
        Names("mixed", "full", two=", and ", most=10, kept=7, others=", et al."),
        _FULL,
        ("", ""),
        "{author}.| {year}.| “{title}.”| {journal}| {volume}< ({number})>:| {pages}.",
        "{author}.| {year}.| “{title}.”| In |{booktitle},| edited by {editor},| {pages}.| "
        "{place}:| {publisher}.",
        "{author}.| {year}.| {title}.| {note}.| {place}:| {publisher}.",
        "{author}.| {year}.| “{title}.”| {note},| {institution},| {place}.",
        "{author}.| {year}.| “{title}.”| {note}.",
        capitals=True,
    ),
    Style(
        "notes",
        Names("given", "full", most=3),
        _FULL,
        ("", ""),
        "{author},| “{title},”| {journal}| {volume}<, no. {number}>| (<{month} >{year}):| {pages}.",
        "{author},| “{title},”| in |{booktitle},| ed. {editor}| ({place}:| {publisher},| {year}),| "
        "{pages}.",
        "{author},| {title},| {note}| ({place}:| {publisher},| {year}).",
        "{author},| “{title}”| ({note},| {institution},| {year}).",
        "{author},| “{title}”| ({year}),| {note}.",
        capitals=True,
        month="long",
    ),
    Style(
        "ieee",
        Names("given", "J. A.", most=6),
        _INITIALS,
        (", Ed.", ", Eds."),
        "{key}| {author},| “{title},”| {journal},| vol. {volume}<, no. {number}>,| pp. {pages},| "
        "<{month} >{year}.",
        "{key}| {author},| “{title},”| in |{booktitle},| {editor}{eds},| {place}:| {publisher},| "
        "{year},| pp. {pages}.",
        "{key}| {author},| {title},| {note}.| {place}:| {publisher},| {year}.",
        "{key}| {author},| “{title},”| {note},| {institution},| {place},| {year}.",
        "{key}| {author},| “{title},”| {note},| {year}.",
        short="dots",
        month="short",
    ),
    Style(
        "acm",
        _FULL,
        _FULL,
        (" (Ed.)", " (Eds.)"),
        "{author}.| {year}.| {title}.| {journal}| {volume}<, {number}>| (<{month} >{year}),| "
        "{pages}.",
        "{author}.| {year}.| {title}.| In |{booktitle},| {editor}{eds}.| {publisher},| {place},| "
        "{pages}.",
        "{author}.| {year}.| {title}| ({note}).| {publisher},| {place}.",
        "{author}.| {year}.| {title}.| {note}.| {institution},| {place}.",
        "{author}.| {year}.| {title}.| {note}.",
        month="short",
    ),
    Style(
        "vancouver",
        _BARE,
        _BARE,
        (", editor", ", editors"),
        "{key}| {author}.| {title}.| {journal}.| {year}< {month}>;|{volume}<({number})>:|{pages}.",
        "{key}| {author}.| {title}.| In: |{editor}{eds}.| {booktitle}.| {place}:| {publisher};| "
        "{year}.| p. {pages}.",
        "{key}| {author}.| {title}.| {note}.| {place}:| {publisher};| {year}.",
        "{key}| {author}.| {title}| [{note}].| {place}:| {institution};| {year}.",
        "{key}| {author}.| {title}.| {note}.| {year}.",
        short="bare",
        month="short",
        dash="-",
    ),
    Style(
        "harvard",
        Names("family", "J.A.", last=" and ", most=4),
        Names("family", "J.A.", last=" and "),
        (" (ed.)", " (eds)"),
        "{author},| {year}.| {title}.| {journal},| {volume}<({number})>,| pp.{pages}.",
        "{author},| {year}.| {title}.| In |{editor}{eds},| {booktitle}| (pp. {pages}).| {place}:| "
        "{publisher}.",
        "{author},| {year}.| {title}.| {note}.| {place}:| {publisher}.",
        "{author},| {year}.| {title}.| {note},| {institution},| {place}.",
        "{author},| {year}.| {title}.| {note}.",
        dash="-",
    ),
    Style(
        "plain",
        _FULL,
        _FULL,
        (", editor", ", editors"),
        "{author}.| {title}.| {journal},| {volume}<({number})>:|{pages},| <{month} >{year}.",
        "{author}.| {title}.| In |{editor}{eds},| {booktitle},| pages {pages},| {place},| {year}.| "
        "{publisher}.",
        "{author}.| {title}.| {publisher},| {place},| {note},| {year}.",
        "{author}.| {title}.| {note},| {institution},| {place},| {year}.",
        "{author}.| {title}.| {note},| {year}.",
        month="long",
    ),
    Style(
        "abbrv",
        _INITIALS,
        _INITIALS,
        (", editor", ", editors"),
        "{key}| {author}.| {title}.| {journal},| {volume}<({number})>:|{pages},| <{month} >{year}.",
        "{key}| {author}.| {title}.| In |{editor}{eds},| {booktitle},| pages {pages}.| "
        "{publisher},| {year}.",
        "{key}| {author}.| {title}.| {publisher},| {place},| {note},| {year}.",
        "{key}| {author}.| {title}.| {note},| {institution},| {year}.",
        "{key}| {author}.| {title}.| {note},| {year}.",
        short="dots",
        month="short",
        dash="-",
    ),
    Style(
        "alpha",
        _FULL,
        _FULL,
        (", editor", ", editors"),
        "{key}| {author}.| {title}.| {journal},| {volume}<({number})>:|{pages},| {year}.",
        "{key}| {author}.| {title}.| In |{editor}{eds},| {booktitle},| pages {pages},| {place},| "
        "{year}.| {publisher}.",
        "{key}| {author}.| {title}.| {publisher},| {place},| {note},| {year}.",
        "{key}| {author}.| {title}.| {note},| {institution},| {place},| {year}.",
        "{key}| {author}.| {title}.| {note},| {year}.",
        dash="--",
    ),
    Style(
        "lncs",
        Names("family", "J.A.", two=", ", last=", ", most=8, kept=3, others=", et al."),
        Names("family", "J.A.", two=", ", last=", "),
        (" (ed.)", " (eds.)"),
        "{key}| {author}:| {title}.| {journal}| {volume}<({number})>,| {pages}| ({year})",
        "{key}| {author}:| {title}.| In: |{editor}{eds}| {booktitle},| pp. {pages}.| {publisher},| "
        "{place}| ({year})",
        "{key}| {author}:| {title}.| {publisher},| {place},| {note}| ({year})",
        "{key}| {author}:| {title}.| {note},| {institution},| {place}| ({year})",
        "{key}| {author}:| {title}.| {note}| ({year})",
        short="dots",
    ),
    Style(
        "nature",
        Names("family", "J. A.", two=" & ", last=" & ", most=5),
        Names("family", "J. A.", two=" & ", last=" & "),
        ("", ""),
        "{key}| {author}| {title}.| {journal}| {volume},| {pages}| ({year}).",
        "{key}| {author}| {title}.| in |{booktitle}| (eds {editor})| {pages}| ({publisher},| "
        "{place},| {year}).",
        "{key}| {author}| {title}| ({publisher},| {place},| {note},| {year}).",
        "{key}| {author}| {title}.| {note},| {institution}| ({year}).",
        "{key}| {author}| {title}.| {note}| ({year}).",
        short="dots",
    ),
    Style(
        "ams",
        Names("given", "J. A."),
        _INITIALS,
        (", ed.", ", eds."),
        "{author},| {title},| {journal}| {volume}| ({year}),| no. {number},| {pages}.",
        "{author},| {title},| {booktitle}| ({editor}{eds}),| {publisher},| {place},| {year},| "
        "pp. {pages}.",
        "{author},| {title},| {note},| {publisher},| {place},| {year}.",
        "{author},| {title},| {note},| {institution},| {place},| {year}.",
        "{author},| {title},| {note}| ({year}).",
        short="dots",
    ),
    Style(
        "science",
        Names("given", "J. A.", two=", ", last=", ", most=5, others=" et al."),
        _INITIALS,
        (", Ed.", ", Eds."),
        "{key}| {author},| {title}.| {journal}| {volume},| {pages}| ({year}).",
        "{key}| {author},| “{title}”| in |{booktitle},| {editor}{eds}| ({publisher},| {place},| "
        "{year}),| pp. {pages}.",
        "{key}| {author},| {title}| ({publisher},| {place},| {note},| {year}).",
        "{key}| {author},| “{title},”| {note},| {institution},| {place}| ({year}).",
        "{key}| {author},| {title}.| {note}| ({year}).",
        short="dots",
        dash="-",
    ),
    Style(
        "elsevier",
        Names("given", "J.A.", two=", ", last=", ", most=6, kept=3, others=", et al."),
        Names("given", "J.A.", two=", ", last=", "),
        (" (Ed.)", " (Eds.)"),
        "{key}| {author},| {title},| {journal}| {volume}< ({number})>| ({year})| {pages}.",
        "{key}| {author},| {title},| in: |{editor}{eds},| {booktitle},| {publisher},| {place},| "
        "{year},| pp. {pages}.",
        "{key}| {author},| {title},| {note},| {publisher},| {place},| {year}.",
        "{key}| {author},| {title},| {note},| {institution},| {place},| {year}.",
        "{key}| {author},| {title},| {note},| {year}.",
        short="dots",
    ),
    Style(
        "springer",
        Names("family", "JA", comma=" ", two=", ", last=", ", most=3, kept=3, others=" et al"),
        Names("family", "JA", comma=" ", two=", ", last=", "),
        (" (ed)", " (eds)"),
        "{author}| ({year})| {title}.| {journal}| {volume}<({number})>:|{pages}",
        "{author}| ({year})| {title}.| In: |{editor}{eds}| {booktitle}.| {publisher},| {place},| "
        "pp {pages}",
        "{author}| ({year})| {title},| {note}.| {publisher},| {place}",
        "{author}| ({year})| {title}.| {note},| {institution},| {place}",
        "{author}| ({year})| {title}.| {note}",
        short="bare",
    ),
)
_BY_NAME = {one.name: one for one in _STYLES}

STYLES: tuple[str, ...] = tuple(_BY_NAME)
"""The names of the styles."""
HELD_OUT_STYLES: tuple[str, ...] = ("mla", "lncs", "nature")
"""Those that the demo does not learn from."""


def style(name: str) -> Style:
    """Return a style by its name.

    Examples
    --------
    >>> style("vancouver").dash
    '-'
    """
    return _BY_NAME[name]
