"""Lists in pages: items of HTML lists and tables, and lines of texts.

HTML is read with Python's own `html.parser`, which never fails on broken pages and needs no
package; what it leaves open is closed here by the rules that matter for lists (an item ends where
the next one begins).  lxml and html5lib repair more, but a list needs no more.

Each token of an item knows the tags around it, so that features can see them: the columns ``tag``
(the innermost one, with the number of the cell in tables), ``open`` and ``close`` (tags that begin
directly before the token and end directly behind it).  The column ``often`` says whether a token is
in nearly all items of the list, and so part of its layout, in some, or in few.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["Item", "ItemList", "items_of", "read_pages"]

LONGEST_ITEM = 60  # tokens; longer ones are prose, not list items
LAYOUT, SOME = 0.9, 0.3  # tokens in this share of the items are layout, or at least not rare
DEEPEST = 100  # maximum nesting of elements, doubled for lists; deeper ones are closed at once
NONE = "-"  # stands for no tag
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"}
_HIDDEN = {"script", "style", "template", "noscript", "head", "title", "textarea", "select", "svg"}
_LISTS = {"ul", "ol", "menu", "dl", "table"}
_CELLS = {"td", "th"}
_BLOCKS = {
    *_LISTS,
    *_CELLS,
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "div", "dt"),
    *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "html", "li"),
    *("main", "nav", "p", "pre", "section", "tbody", "tfoot", "thead", "tr"),
}
# Start tag -> tags that it closes, unless one of the second set was opened after them.
_CLOSES = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "tr": ({"tr"}, {"table"}),
    "td": (_CELLS, {"tr", "table"}),
    "th": (_CELLS, {"tr", "table"}),
    "thead": ({"thead", "tbody", "tfoot"}, {"table"}),
    "tbody": ({"thead", "tbody", "tfoot"}, {"table"}),
    "tfoot": ({"thead", "tbody", "tfoot"}, {"table"}),
}
_HTML = re.compile(r"<(!doctype|html|head|body|ul|ol|dl|li|table|tr|p|div|br)\b", re.IGNORECASE)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_WORDS = Tokeniser("words")


class Item(NamedTuple):
    """One item of a list."""

    document: Document  #: its tokens, with the columns tag, open, close and often
    page: str  #: the name of the page
    number: int  #: of the list in the page, from 1
    item: int  #: of the item in the list, from 1


class ItemList(NamedTuple):
    """The items of one list."""

    page: str  #: the name of the page
    number: int  #: of the list in the page, from 1
    kind: str  #: the tag of the list, "br" for lines in HTML, "text" for lines of a text
    items: tuple[Item, ...]


class _Node:
    """An element of a page; its children are nodes and strings."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.children: list[_Node | str] = []


class _Reader(HTMLParser):
    """A lenient HTML parser that builds a tree."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = _Node("page")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        closes, inside = _CLOSES.get(tag, (set(), set()))
        if tag in _BLOCKS:
            self._close({"p"}, {*_LISTS, *_CELLS, "li", "dd", "div", "td"})
        self._close(set(closes), set(inside))
        node = _Node(tag)
        self.open[-1].children.append(node)
        room = DEEPEST * (2 if tag in _CLOSES or tag in _LISTS else 1)
        if tag not in _VOID and len(self.open) < room:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        inline = tag not in _BLOCKS
        self._close({tag}, {*_BLOCKS} if inline else {"table"} - {tag})

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def _close(self, tags: set[str], inside: set[str]) -> None:
        """Close the innermost of some tags, unless one of `inside` is opened later."""
        for i in range(len(self.open) - 1, 0, -1):
            if self.open[i].tag in tags:
                del self.open[i:]
                return
            if self.open[i].tag in inside:
                return


# ---- reading of pages ----------------------------------------------------------------------------


def read_pages(pages: Mapping[str, str] | Iterable[str | Path]) -> dict[str, str]:
    """Return the text of each page by its name.

    Parameters
    ----------
    pages : iterable of paths, or mapping of names to texts
        Files, or the contents of pages themselves.

    Examples
    --------
    >>> read_pages({"a.html": "<ul><li>France</ul>"})
    {'a.html': '<ul><li>France</ul>'}
    """
    if isinstance(pages, Mapping):
        for name, text in pages.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise InvalidInput(message(f"pages[{name!r}]", text, "a string", "pass the text"))
        return dict(pages)
    if isinstance(pages, str | Path) or not isinstance(pages, Iterable):
        remedy = "pass paths, or a dict of names to texts"
        raise InvalidInput(message("pages", pages, "a list of files", remedy))
    found: dict[str, str] = {}
    for path in pages:
        if not isinstance(path, str | Path):
            raise InvalidInput(message("pages", path, "a path", "pass names of files"))
        try:
            found[str(path)] = _decoded(Path(path).read_bytes())
        except OSError as error:
            reason = error.strerror or str(error)
            raise InvalidInput(
                f"cannot be read: {reason.lower()}",
                place=path,
                remedy="check the file and its permissions",
            ) from None
    return found


def _decoded(content: bytes) -> str:
    """Decode a file by its byte order mark, as UTF-8, or by its declared encoding."""
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            return content.decode(name, "replace")
    said = _CHARSET.search(content[:2048])
    for name in ("utf-8", said[1].decode("ascii") if said else "cp1252"):
        try:
            return content.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("latin-1")


def items_of(text: str, page: str = "page") -> list[ItemList]:
    """Return the lists of a page.

    Parameters
    ----------
    text : str
        HTML, or plain text of which each line is an item; tabs in it separate cells.
    page : str
        The name of the page.

    Returns
    -------
    list of ItemList
        Lists, tables, definition lists, lines that ``<br>`` ends, and paragraphs side by side.  An
        item of more than 60 tokens is taken for prose and left out; so is a list of one item.

    Examples
    --------
    >>> found = items_of("<ul><li><b>France</b>: Paris<li>Italy: Rome</ul>")[0]
    >>> [item.document.tokens for item in found.items]
    [('France', ':', 'Paris'), ('Italy', ':', 'Rome')]
    >>> found.items[0].document.columns["tag"]
    ('b', '-', '-')
    """
    if _HTML.search(text):
        reader = _Reader()
        reader.feed(text)
        reader.close()
        groups = list(_groups(reader.root))
    else:
        groups = [("text", [_cells(line) for line in some]) for some in _blocks(text)]
    found: list[ItemList] = []
    for kind, items in groups:
        documents = [document for pieces in items if (document := _document(pieces)) is not None]
        if len(documents) > 1:
            number = len(found) + 1
            numbered = enumerate(_counted(documents), start=1)
            made = tuple(Item(document, page, number, i) for i, document in numbered)
            found.append(ItemList(page, number, kind, made))
    return found


def _blocks(text: str) -> list[list[str]]:
    """Return the lines of each block of a text; single lines between empty ones are one block."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    single = [block[0] for block in blocks if len(block) == 1]
    return [block for block in blocks if len(block) > 1] + ([single] if single else [])


def _cells(line: str) -> list[_Piece]:
    """Return the parts of a line between tabs, each in tags like those of a table."""
    parts = line.split("\t")
    if len(parts) == 1:
        return [_Piece(line, ())]
    numbered = enumerate(parts, start=1)
    return [piece for i, part in numbered for piece in (_Piece(part, (f"td{i}",)), _Piece(" ", ()))]


# ---- items of lists ------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A run of characters with its enclosing tags inside the item."""

    text: str
    tags: tuple[str, ...]


def _groups(node: _Node) -> Iterator[tuple[str, list[list[_Piece]]]]:
    """Yield the kind and the items of each list in a tree."""
    if node.tag in _HIDDEN:
        return
    children = [child for child in node.children if isinstance(child, _Node)]
    if node.tag == "table":
        rows = [row for row in _rows(node) if any(c.tag == "td" for c in _nodes(row))]
        yield "table", [list(_pieces(row, ())) for row in rows]
    elif node.tag == "dl":
        yield (
            "dl",
            [
                [p for part in some for p in (*_pieces(part, (part.tag,)), _Piece(" ", ()))]
                for some in _definitions(children)
            ],
        )
    elif node.tag in _LISTS:
        yield node.tag, [list(_pieces(child, ())) for child in children if child.tag == "li"]
    else:
        lines = _lines(node)
        if len(lines) > 2:
            yield "br", lines
        beside = [c for c in children if c.tag in ("p", "div", "li", "h3", "h4") and _is_leaf(c)]
        yield "p", [list(_pieces(child, ())) for child in beside if len(_lines(child)) <= 2]
    for child in children:
        yield from _groups(child)


def _nodes(node: _Node) -> list[_Node]:
    return [child for child in node.children if isinstance(child, _Node)]


def _rows(node: _Node) -> Iterator[_Node]:
    """Yield the rows of a table, not those of tables inside it."""
    for child in _nodes(node):
        if child.tag == "tr":
            yield child
        elif child.tag != "table":
            yield from _rows(child)


def _definitions(children: list[_Node]) -> list[list[_Node]]:
    """Return each term with what follows it."""
    groups: list[list[_Node]] = []
    for child in children:
        if child.tag == "dt" or (child.tag == "dd" and not groups):
            groups.append([child])
        elif child.tag == "dd":
            groups[-1].append(child)
    return groups


def _is_leaf(node: _Node) -> bool:
    """Return whether an element contains no block element."""
    return all(c.tag not in _BLOCKS and _is_leaf(c) for c in _nodes(node))


def _lines(node: _Node) -> list[list[_Piece]]:
    """Return the lines of an element separated by line breaks."""
    lines: list[list[_Piece]] = [[]]
    for child in node.children:
        if isinstance(child, str):
            lines[-1].append(_Piece(child, ()))
        elif child.tag == "br":
            lines.append([])
        elif child.tag not in _BLOCKS:
            lines[-1] += _pieces(child, (child.tag,))
        else:
            lines.append([])
    return [line for line in lines if any(piece.text.strip() for piece in line)]


def _pieces(node: _Node, tags: tuple[str, ...]) -> Iterator[_Piece]:
    """Yield the text of an element without the lists inside it."""
    cell = 0
    for child in node.children:
        if isinstance(child, str):
            yield _Piece(child, tags)
        elif child.tag in _CELLS:
            cell += 1
            yield _Piece(" ", tags)
            yield from _pieces(child, (*tags, f"td{cell}"))
            yield _Piece(" ", tags)
        elif child.tag in _BLOCKS or child.tag == "br":
            yield _Piece(" ", tags)
            if child.tag not in _LISTS:
                yield from _pieces(child, tags)
                yield _Piece(" ", tags)
        elif child.tag not in _HIDDEN:
            yield from _pieces(child, (*tags, child.tag))


def _document(pieces: list[_Piece]) -> Document | None:
    """Return the document of an item; None if it is empty or too long."""
    characters: list[str] = []
    around: list[tuple[str, ...]] = []  # tags around each character
    for piece in pieces:
        for character in piece.text:
            space = character.isspace() or character in "\u200b\ufeff"
            if not space or (characters and characters[-1] != " "):
                characters.append(" " if space else character)
                around.append(piece.tags)
    text = "".join(characters).rstrip()
    offsets = _WORDS.spans(text)
    if not offsets or len(offsets) > LONGEST_ITEM:
        return None
    tags = [around[start] for start, _ in offsets]
    opened, closed = [], []
    for t, own in enumerate(tags):
        before = tags[t - 1] if t else ()
        after = tags[t + 1] if t + 1 < len(tags) else ()
        opened.append("+".join(own[_common(own, before) :]) or NONE)
        closed.append("+".join(own[_common(own, after) :]) or NONE)
    columns = {"tag": [own[-1] if own else NONE for own in tags], "open": opened, "close": closed}
    return Document(tuple(text[s:e] for s, e in offsets), text, offsets, columns)


def _counted(documents: list[Document]) -> list[Document]:
    """Return items with a column of the number of items that contain each token."""
    counts = Counter(word for one in documents for word in {t.casefold() for t in one.tokens})

    def level(token: str) -> str:
        share = counts[token.casefold()] / len(documents)
        return "all" if share >= LAYOUT else "some" if share >= SOME else "few"

    return [
        replace(one, columns={**one.columns, "often": [level(token) for token in one.tokens]})
        for one in documents
    ]


def _common(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """Return the length of the common prefix of two tag paths."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n
