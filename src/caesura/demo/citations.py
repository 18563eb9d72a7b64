"""Bibliographic records rendered as references in many styles, with exact labels.

Every token belongs to a segment. A mark after a field belongs to that field; words and marks that
announce a field belong to the one that they announce: "In", "pp.", "edited by", an opening bracket
or quotation mark. Volume and number are one segment, and so are month and year. A number or a key
before the reference, as [12], is a note.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeVar

from caesura.demo.noise import Piece, forgotten, habits, scanned
from caesura.demo.records import Record, records
from caesura.demo.styles import LABELS, STYLES, Style, style
from caesura.demo.words import abbreviated, capitalised
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["citations", "render"]

_LONG = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_SHORT = (
    *("Jan.", "Feb.", "Mar.", "Apr.", "May", "June", "July"),
    *("Aug.", "Sept.", "Oct.", "Nov.", "Dec."),
)
Thing = TypeVar("Thing")
_FIELD = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"<([^>]*)>")


def citations(
    n: int,
    seed: int = 0,
    styles: Sequence[str] | None = None,
    noise: float = 1.0,
    of: Sequence[Record] | None = None,
) -> list[Document]:
    """Generate references, each with its text, its tokens and its exact segments.

    Parameters
    ----------
    n : int
        Number of references. All records are used once before any is repeated.
    seed : int
        The same seed gives the same references.
    styles : sequence of str, optional
        Some of `STYLES`; all of them if not given. They take turns.
    noise : float
        Rate of errors: 0 for none, 1 as in references on the web.
    of : sequence of Record, optional
        The publications; all of `RECORDS` if not given.

    Examples
    --------
    >>> document = citations(1, seed=2, styles=["apa"], noise=0)[0]
    >>> print(document.text)
    Press, W. H., Teukolsky, S. A., Vetterling, W. T., & Flannery, B. P. (2007). Numerical Recipes:
    The Art of Scientific Computing (3rd edition). Cambridge: Cambridge University Press.
    >>> [segment.label for segment in document.segments]
    ['author', 'date', 'title', 'note', 'location', 'publisher']
    """
    chosen = STYLES if styles is None else tuple(styles)
    of = records() if of is None else of
    _check(n, seed, chosen, noise, of)
    draw = random.Random(f"citations {seed}")
    order = _turns(of, draw)
    turns = _turns(chosen, draw)
    return [
        _document(render(next(order), style(next(turns)), draw, noise, i + 1)) for i in range(n)
    ]


def _check(n: int, seed: int, styles: Sequence[str], noise: float, of: Sequence[Record]) -> None:
    if not isinstance(n, int) or n < 0:
        raise InvalidInput(message("n", n, "a whole number, at least 0", "pass 100, for example"))
    if not isinstance(seed, int):
        raise InvalidInput(message("seed", seed, "a whole number", "pass 0, the default"))
    for name in styles or [""]:
        if name not in STYLES:
            raise InvalidInput(
                message("styles", name, ", ".join(STYLES), "pass names from this list")
            )
    if not isinstance(noise, int | float) or not noise >= 0:
        raise InvalidInput(message("noise", noise, "a number, at least 0", "pass 1.0, the default"))
    if not of:
        raise InvalidInput(message("of", of, "at least one record", "leave of out for all"))


def _turns(things: Sequence[Thing], draw: random.Random) -> Iterator[Thing]:
    """Yield items in random order, shuffled again after each pass."""
    while True:
        yield from draw.sample(things, len(things))


# ---- one reference ------------------------------------------------------------------------------


def render(
    record: Record, form: Style, draw: random.Random, noise: float = 1.0, number: int = 1
) -> list[Piece]:
    """Render one record in one style, as pieces of a label and a text.

    Parameters
    ----------
    record : Record
        The facts.
    form : Style
        The style.
    draw : random.Random
        Decides what goes wrong.
    noise : float
        How much does.
    number : int
        Of the reference in its list.

    Examples
    --------
    >>> record = next(one for one in records() if one.title == "Random forests")
    >>> render(record, style("vancouver"), random.Random(0), noise=0)
    [('note', '1.'), ('author', ' Breiman L.'), ('title', ' Random forests.'),
     ('journal', ' Mach Learn.'), ('date', ' 2001;'), ('volume', '45(1):'), ('pages', '5-32.')]
    """
    fields = _fields(forgotten(record, draw, noise), form, draw, noise, number)
    template = form.template(record.kind)
    pieces = _ended(_filled(template, fields), "." if template.endswith(".") else "")
    pieces = scanned(habits(pieces, draw, noise), draw, noise)
    return [(label, text) for label, text in pieces if text.strip()]


def _fields(
    record: Record, form: Style, draw: random.Random, noise: float, number: int
) -> dict[str, str]:
    """Return the fields of a record as a style writes them."""
    short = form.short
    if draw.random() < 0.2 * noise:
        short = "" if short else "dots"
    months = {"short": _SHORT, "long": _LONG}.get(form.month)
    title = capitalised(record.title) if form.capitals else record.title
    return {
        "author": form.authors.write(record.authors, record.more),
        "title": title.replace("'", "’"),
        "journal": _venue(record.journal, short),
        "booktitle": _venue(record.booktitle, short if record.kind == "paper" else ""),
        "volume": record.volume,
        "number": record.number if record.volume else "",
        "pages": record.pages.replace("-", form.dash),
        "month": months[record.month - 1] if months and record.month and record.year else "",
        "year": record.year,
        "publisher": record.publisher,
        "place": record.place,
        "editor": form.editors.write(record.editors),
        "eds": form.eds[len(record.editors) > 1],
        "institution": record.institution,
        "note": _note(record.note, draw, noise),
        "key": _key(record, form, draw, noise, number),
    }


def _venue(name: str, short: str) -> str:
    return abbreviated(name, dots=short == "dots") if short and name else name


def _note(note: str, draw: random.Random, noise: float) -> str:
    """Return a note, or an alternative wording of it."""
    for long, others in (
        (" edition", (" ed.", " edn")),
        ("PhD thesis", ("Ph.D. dissertation", "Ph.D. thesis", "Doctoral dissertation")),
        ("Technical Report", ("Tech. Rep.", "Tech. report")),
        ("arXiv:", ("arXiv preprint arXiv:", "CoRR abs/")),
    ):
        if long in note and draw.random() < 0.5 * noise:
            return note.replace(long, draw.choice(others))
    return note


def _key(record: Record, form: Style, draw: random.Random, noise: float, number: int) -> str:
    """Return the key that precedes the reference in a list."""
    if form.name == "alpha":
        initials = "".join(name.family[0] for name in record.authors[:3])
        one = len(record.authors) == 1
        return f"[{record.authors[0].family[:3] if one else initials}{record.year[2:]}]"
    if draw.random() < 0.5 * min(noise, 1.0):
        return ""
    return f"{number}." if form.name in ("vancouver", "nature", "lncs") else f"[{number}]"


def _filled(template: str, fields: dict[str, str]) -> list[Piece]:
    """Return the non-empty chunks of a template."""
    pieces: list[Piece] = []
    waiting = ""
    for chunk in template.split("|"):
        label, text = _rendered_chunk(chunk, fields)
        if label is None:
            waiting += text
            if pieces and not text and chunk[-1] in ".," and pieces[-1][1][-1].isalnum():
                pieces[-1] = (pieces[-1][0], pieces[-1][1] + chunk[-1])  # keep the punctuation mark
            continue
        text = waiting.rstrip() + " " + text.lstrip() if waiting else text
        waiting = ""
        if pieces and pieces[-1][0] == label:
            text = pieces.pop()[1] + text
        pieces.append((label, text))
    if pieces:
        pieces[0] = (pieces[0][0], pieces[0][1].lstrip())
    return pieces


def _rendered_chunk(chunk: str, fields: dict[str, str]) -> tuple[str | None, str]:
    """Return the label and the text of a chunk; an unlabelled chunk joins the next."""
    names = _FIELD.findall(chunk)
    if not names:
        return None, chunk
    needed = [name for name in _FIELD.findall(_OPTIONAL.sub("", chunk)) if name != "eds"]
    if not all(fields[name] for name in needed):
        return None, ""

    def optional(found: re.Match[str]) -> str:
        inner = found[1]
        return inner if all(fields[name] for name in _FIELD.findall(inner)) else ""

    text = _FIELD.sub(lambda found: fields[found[1]], _OPTIONAL.sub(optional, chunk))
    text = re.sub(r"([.?!])\.|([?!]),", r"\1\2", text)  # one mark is enough
    return LABELS[needed[0]], text


def _ended(pieces: list[Piece], mark: str) -> list[Piece]:
    """Close open brackets and end the last piece with the final mark of its style."""
    opened = 0
    out: list[Piece] = []
    for i, (label, text) in enumerate(pieces):
        opened += text.count("(") - text.count(")")
        if opened < 0:  # its opening bracket was left out
            text = text.replace(")", "", 1)
            opened = 0
        if i + 1 == len(pieces):
            text = text.rstrip(",:; ") + ")" * opened
            text += "" if text.endswith(mark) else mark
        out.append((label, text))
    return out


def _document(pieces: Sequence[Piece]) -> Document:
    """Join pieces into a document."""
    text = ""
    spans: list[tuple[int, str]] = []
    for label, piece in pieces:
        tail, head = text[-1:], piece[0]
        if text and not tail.isspace() and _glued(tail) and _glued(head):
            text += " "  # otherwise two fields would share a token
        spans.append((len(text) + len(piece) - len(piece.lstrip()), label))
        text += piece
    document = Document.from_text(text.rstrip())
    starts = [start for start, _ in document.offsets or ()]
    at = [bisect_left(starts, start) for start, _ in spans] + [len(starts)]
    segments = tuple(Segment(at[i], at[i + 1], label) for i, (_, label) in enumerate(spans))
    return Document(document.tokens, document.text, document.offsets, segments=segments)


def _glued(character: str) -> bool:
    return character.isalnum() or character in "_'’"
