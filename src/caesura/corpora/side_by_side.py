"""Gold and predicted tags side by side, the format of conlleval.

::

    Ann    NNP  B-PER  B-PER
    Lee    NNP  I-PER  B-PER       token, other columns, gold tag, predicted tag
    sings  VBZ  O      O
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from caesura.corpora.conll import check_columns
from caesura.corpora.corpus import Notes, OnError, Tally
from caesura.corpora.files import Name, Source
from caesura.corpora.rows import TOKEN, Form, Rows, sequences
from caesura.corpora.schemes import TagCounts, check_foreign, find_scheme
from caesura.documents import Document
from caesura.errors import InvalidInput, counted
from caesura.segments import Segment, from_tags
from caesura.segments.tags import Repair, check_repair

__all__ = ["SideBySide", "read_conlleval"]

BOUNDARY = "-X-"  # a line that begins with it separates sequences, like a blank line
GOLD, PREDICTED = "gold", "predicted"


class SideBySide(NamedTuple):
    """The result of `read_conlleval`.

    Examples
    --------
    >>> ann = Document(("Ann",), segments=(Segment(0, 1, "PER"),))
    >>> SideBySide([ann], [[]], "BIO", tags=1, equal_tags=0).documents[0].segments
    (Segment(start=0, end=1, label='PER'),)
    """

    documents: list[Document]  # with gold segments
    predicted: list[list[Segment]]  # segments of each document
    scheme: str  # tag scheme of both columns
    tags: int  # number of compared tags; as in conlleval, those of -DOCSTART- lines count
    equal_tags: int  # number of equal pairs, as written in the file
    notes: Notes = Notes()  # notes taken while reading


def read_conlleval(
    path: Name,
    scheme: str = "auto",
    *,
    columns: Sequence[str | None] | None = None,
    outside: str = "O",
    untyped: str = "",
    repair: Repair = "error",
    separator: str | None = None,
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> SideBySide:
    r"""Read gold and predicted tags from adjacent columns, as conlleval does.

    A line for each token; the last two columns are the gold and the predicted tag. Blank lines and
    lines that begin with ``-X-`` or ``-DOCSTART-`` stand between sequences.

    Parameters
    ----------
    path : str or path
        The file; decompressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    scheme : str
        The tag scheme, as in `from_tags`; ``auto``: the one that the gold tags fit best.
    columns : sequence of str, optional
        The names of the columns, with ``gold`` and ``predicted`` among them; by default the first
        is ``token`` and the last two are these.
    outside, untyped, repair
        Outside tag, label of untyped tags and treatment of ill-formed tags, as in `from_tags`, for
        both columns of tags.
    separator : str, optional
        The column separator; by default spaces and tabs.
    on_error : {"raise", "skip"}
        Whether a sequence that cannot be read is an error, or skipped on both sides and noted.
    encoding : str
        The encoding of the file.

    Returns
    -------
    SideBySide
        The documents with their gold segments, the predicted segments, and how many tags are equal.

    Raises
    ------
    InvalidInput
        If the file is malformed; the message contains its name and the number of the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "output.txt")
    ...     _ = file.write_text("Ann NNP B-PER B-PER\nLee NNP I-PER B-PER\n")
    ...     found = read_conlleval(file)
    >>> found.documents[0].segments, found.predicted[0][0]
    ((Segment(start=0, end=2, label='PER'),), Segment(start=0, end=1, label='PER'))
    >>> found.scheme, found.equal_tags, found.tags
    ('BIO', 1, 2)
    """
    tally = Tally(on_error, "strict")
    check_repair(repair)
    check_columns(columns, (GOLD, PREDICTED))
    source, apart = Source(path, encoding), list[list[str]]()
    form = Form(columns, separator, None, BOUNDARY, apart.append)
    read = [_tagged(rows, layout, columns, source) for rows, layout in sequences(source, form)]
    foreign = frozenset[str]()
    if scheme == "auto":
        scheme, foreign = _detect(read, outside, source, on_error == "skip")
    documents: list[Document] = []
    predicted: list[list[Segment]] = []
    tags = [(a, b) for first, *_, a, b in (f for f in apart if len(f) > 2) if first != BOUNDARY]
    for one in read:
        try:
            if one.problem is not None:
                raise one.problem
            check_foreign([*one.gold, *one.predicted], one.lines * 2, foreign, source)
            gold, guess = (
                _segments(name, one, source, (scheme, outside, repair, untyped))
                for name in (GOLD, PREDICTED)
            )
        except InvalidInput as error:
            tally.refuse(error)
            continue
        tally.documents += 1
        documents.append(Document(one.tokens, segments=tuple(gold)))
        predicted.append(guess)
        tags += zip(one.gold, one.predicted, strict=True)
    equal = sum(a == b for a, b in tags)
    return SideBySide(documents, predicted, scheme, len(tags), equal, tally.notes)


class _Tagged(NamedTuple):
    """The tokens and tags of a sequence, before decoding."""

    tokens: tuple[str, ...]
    gold: list[str]
    predicted: list[str]
    lines: list[int]
    problem: InvalidInput | None  # why the sequence cannot be read


def _tagged(
    rows: Rows, layout: dict[str, int], columns: Sequence[str | None] | None, source: Source
) -> _Tagged:
    """Return the columns of a sequence, or raise if there are too few."""
    if rows.problem is not None:
        return _Tagged((), [], [], [], rows.problem)
    width = len(layout)
    if columns is None and width < 3:
        error = InvalidInput(
            got=counted(width, "field"),
            expected="at least 3: the token, the gold tag and the predicted tag",
            remedy="name the columns, as gold,predicted, if there are no tokens, or give "
            "predictions in a second file",
        )
        raise source.error(rows.lines[0], error)
    places = layout if columns is not None else {TOKEN: 0, GOLD: width - 2, PREDICTED: width - 1}
    gold, guess = ([fields[places[name]] for fields in rows.fields] for name in (GOLD, PREDICTED))
    tokens = [str(t) for t in range(1, len(gold) + 1)]
    if TOKEN in places:
        tokens = [fields[places[TOKEN]] for fields in rows.fields]
    return _Tagged(tuple(tokens), gold, guess, rows.lines, None)


def _detect(
    read: list[_Tagged], outside: str, source: Source, skip: bool
) -> tuple[str, frozenset[str]]:
    """Detect the scheme of all tags, and the tags of others."""
    gold, guess = TagCounts(), TagCounts()
    for one in read:
        if one.problem is not None and not skip:
            raise one.problem
        gold.add(one.gold, one.lines)
        guess.add(one.predicted, one.lines)
    return find_scheme(gold, outside, source, skip, guess)


def _segments(
    name: str, one: _Tagged, source: Source, how: tuple[str, str, Repair, str]
) -> list[Segment]:
    """Return the gold or the predicted segments of a sequence."""
    scheme, outside, repair, untyped = how
    tags = one.gold if name == GOLD else one.predicted
    try:
        return from_tags(tags, scheme, outside, repair, untyped=untyped)
    except InvalidInput as error:
        if error.argument != "tags":
            raise
        raise source.error(
            one.lines[error.index or 0], error.changed(place=f"{name} tag")
        ) from None
