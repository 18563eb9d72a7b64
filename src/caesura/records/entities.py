"""Entity tables with links to mentions: papers, authors, venues.

::

    mentions      one for each text: its fields, the paper that it is about, how sure that is
    papers        one for each entity, with the values that most of its mentions have
    authors       one for each person;  papers_authors: who wrote what, in which order
    venues        one for each journal or conference, which papers point to

Texts that arrive later are linked to what is there, so that the tables grow and do not repeat.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from caesura.errors import InvalidInput, message
from caesura.records.blocking import folded
from caesura.records.linking import Linker
from caesura.records.refusals import explained, known_reason
from caesura.records.sql import quoted

__all__ = ["Schema", "Stored", "split_names", "store_entities"]

_AND = re.compile(r"\s*(?:;|&|\band\b|\bund\b|\|)\s*", re.IGNORECASE)
_OTHERS = re.compile(r",?\s*\bet\.?\s+al\b\.?", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_]\.?[-\s]*){1,4}")  # in capitals
_INITIAL = re.compile(r"(?:^|\s)[^\W\d_](?:\.|\s|$)")
_SUFFIX = re.compile(r"(?:Jr|Sr)\.?|I{2,3}")
_BATCH = 500


class Schema(NamedTuple):
    """The fields and tables of entities.

    Examples
    --------
    >>> Schema("papers", many={"author": "authors"}, one={"journal": "venues"}).table
    'papers'
    """

    table: str  # the table of the entities
    many: Mapping[str, str] = {}  # field -> table, for things of which an entity has several
    one: Mapping[str, str] = {}  # field -> table, for things of which it has one


class Stored(NamedTuple):
    """The result of `store_entities`.

    Examples
    --------
    >>> Stored(10, 7, 3).new
    7
    """

    mentions: int  # number of texts in the table of mentions
    new: int  # number of new entities
    linked: int  # number of mentions of existing entities, or of those that an earlier text created


def split_names(text: str) -> list[str]:
    """Split a list of people into names; "et al." is none.

    Examples
    --------
    >>> split_names("Fellegi, I. P., & Sunter, A. B.")
    ['Fellegi, I. P.', 'Sunter, A. B.']
    >>> split_names("Jim Gray, Andreas Reuter and E. F. Codd")
    ['Jim Gray', 'Andreas Reuter', 'E. F. Codd']
    """
    names: list[str] = []
    for part in _AND.split(_OTHERS.sub("", text)):
        for piece in filter(None, (piece.strip() for piece in part.split(","))):
            if names and _belongs(piece, names[-1]):
                names[-1] = f"{names[-1]}, {piece}"
            else:
                names.append(piece)
    return names


def _belongs(piece: str, name: str) -> bool:
    """Return whether a piece belongs to the name before it: initials, or a suffix after a comma.

    Examples
    --------
    >>> _belongs("E. F.", "Codd"), _belongs("E. F.", "J. Gray"), _belongs("Jr.", "King, M. L.")
    (True, False, True)
    """
    if "," in name:
        return _SUFFIX.fullmatch(piece) is not None
    initials = piece.isupper() and _INITIALS.fullmatch(piece)
    return bool(initials) and not _INITIAL.search(name)


def store_entities(
    connection: Any,
    schema: Schema,
    linker: Linker,
    model: Any,
    texts: Iterable[str],
    n: int = 5,
) -> Stored:
    """Segment texts, link them to the entities of a database, and store mentions and entities.

    Parameters
    ----------
    connection
        A connection of DuckDB or sqlite3 without an open transaction.  Everything is written in one
        transaction.  Tables that this function did not create are never written to.
    schema : Schema
        The tables and their fields; all other labels of the model are columns of the entities.
    linker : Linker
        A fitted linker.
    model : SemiCRF or ChainCRF
        The model.
    texts : iterable of str
        One mention each.  A text that is stored already is skipped.
    n : int
        Number of segmentations considered for each text; see `Linker.read`.

    Notes
    -----
    Identifiers of entities and mentions are stable; those of authors and similar tables are
    reassigned, since canonical values follow the mentions.  All entities are held in memory during
    the call.

    Examples
    --------
    >>> import sqlite3, caesura
    >>> X = ["Codd 1970", "Codd 1971", "Chen 1976"]
    >>> model = caesura.SemiCRF(c2=0.01).fit(X, [[(0, 1, "author"), (1, 2, "year")]] * 3)
    >>> rows = [{"author": "Codd", "year": "1970"}, {"author": "codd", "year": "1970"},
    ...         {"author": "Chen", "year": "1976"}]
    >>> linker = Linker(["author", "year"], c2=0.01).fit(rows, matches=[(0, 1)])
    >>> connection = sqlite3.connect(":memory:")
    >>> schema = Schema("papers", many={"author": "authors"})
    >>> store_entities(connection, schema, linker, model, ["Codd 1970", "Chen 1976", "codd 1970"])
    Stored(mentions=3, new=2, linked=1)
    >>> connection.execute("SELECT id, year, mentions FROM papers ORDER BY id").fetchall()
    [(1, '1970', 2), (2, '1976', 1)]
    """
    if not isinstance(schema, Schema):
        raise InvalidInput(message("schema", schema, "a Schema", 'pass Schema("papers")'))
    if not isinstance(linker, Linker):
        remedy = "pass Linker(fields).fit(records, matches=...)"
        raise InvalidInput(message("linker", linker, "a fitted Linker", remedy))
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidInput(message("texts", texts, "a list of texts", "pass [text]"))
    if not hasattr(model, "labels_"):
        expected = "a fitted SemiCRF or ChainCRF"
        raise InvalidInput(message("model", model, expected, "load one with caesura.load"))
    labels = list(model.labels_)
    for field in (*schema.many, *schema.one):
        if field not in labels:
            expected = f"labels of the model, which are {', '.join(labels)}"
            raise InvalidInput(message("schema", field, expected, "correct the label"))
    store = _Store(connection, schema, labels)
    with explained("connection", connection):
        store.begin()
        try:
            store.create()
            known = store.read()
            result = known.add(linker, model, store.unseen(texts), n)
            store.write(known)
            connection.commit()
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one to raise
                connection.rollback()
            raise
    return result


class _Mention(NamedTuple):
    text: str
    fields: dict[str, str]
    entity: int  # index of its entity
    probability: float  # probability of the segmentation
    log_odds: float  # log-odds of the link; 0 for a new entity


class _Known:
    """Entities and their mentions in memory."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = labels
        self.mentions: list[_Mention] = []
        self.canonical: list[dict[str, str]] = []

    def add(self, linker: Linker, model: Any, texts: Sequence[str], n: int) -> Stored:
        """Link texts to entities block by block, so that each block sees the earlier ones."""
        first, before = len(self.mentions), len(self.canonical)
        for start in range(0, len(texts), _BATCH):
            block = texts[start : start + _BATCH]
            found = linker.read(model, block, self.canonical, n)
            fresh = [k for k, one in enumerate(found) if one.entity is None]
            own = linker.entities([found[k].fields for k in fresh])
            place: dict[int, int] = {}
            for k, head in zip(fresh, own, strict=True):
                if head not in place:
                    place[head] = len(self.canonical)
                    self.canonical.append(dict(found[k].fields))
            entity = {k: place[head] for k, head in zip(fresh, own, strict=True)}
            for k, (text, one) in enumerate(zip(block, found, strict=True)):
                where = entity.get(k, one.entity)
                assert where is not None
                self.mentions.append(
                    _Mention(text, one.fields, where, math.exp(one.log_probability), one.log_odds)
                )
            self.settle()
        new = len(self.canonical) - before
        return Stored(len(self.mentions) - first, new, len(self.mentions) - first - new)

    def settle(self) -> None:
        """Set each field of each entity to the most frequent value of its mentions."""
        values: list[dict[str, Counter[str]]] = [{} for _ in self.canonical]
        for mention in self.mentions:
            for label, value in mention.fields.items():
                values[mention.entity].setdefault(label, Counter())[value] += 1
        for entity, some in zip(self.canonical, values, strict=True):
            for label, counts in some.items():
                entity[label] = max(counts, key=lambda v: (counts[v], len(v), v))


class _Store:
    """The tables of a schema."""

    def __init__(self, connection: Any, schema: Schema, labels: Sequence[str]) -> None:
        self.connection, self.schema, self.labels = connection, schema, labels
        self.plain = [x for x in labels if x not in schema.many and x not in schema.one]
        self.mentions = f"{schema.table}_mentions"
        self.things = list(dict.fromkeys((*schema.many.values(), *schema.one.values())))

    def _run(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> Any:
        if rows:
            return self.connection.executemany(statement, rows)
        return self.connection.execute(statement)

    def begin(self) -> None:
        """Begin a transaction, or raise if one is open."""
        if not hasattr(self.connection, "execute"):
            expected = "a connection of DuckDB or sqlite3"
            remedy = "pass sqlite3.connect(...) or duckdb.connect(...)"
            raise InvalidInput(message("connection", self.connection, expected, remedy))
        try:
            self._run("BEGIN TRANSACTION")
        except Exception as error:  # each database has its own exceptions
            if "transaction" not in str(error) or known_reason(error):
                raise
            expected = "a connection without an open transaction"
            remedy = f"call its commit() first ({error})"
            raise InvalidInput(message("connection", self.connection, expected, remedy)) from error

    def create(self) -> None:
        """Create missing tables; existing ones must have the expected columns."""
        tables = self._tables()
        found = {name: self._columns(name) for name in tables}
        for name, columns in tables.items():
            if found[name] and (not found[self.mentions] or found[name] != list(columns)):
                expected = "names of tables that do not exist, or that store_entities has made"
                remedy = f"choose another name; this table has {', '.join(found[name])}"
                raise InvalidInput(message("schema", name, expected, remedy))
            inner = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns.items())
            self._run(f"CREATE TABLE IF NOT EXISTS {quoted(name)} ({inner})")

    def _tables(self) -> dict[str, dict[str, str]]:
        """Return the columns of each table with their types, or raise for duplicate names."""
        number, text = "INTEGER", "VARCHAR"
        columns = [*self.plain, *(f"{x}_id" for x in self.schema.one)]
        names = [name.casefold() for name in columns]
        for name, column in zip(names, columns, strict=True):
            if name in ("id", "mentions") or names.count(name) > 1:
                expected = "labels that differ from the columns id, mentions and LABEL_id"
                raise InvalidInput(message("model", column, expected, "rename the label"))
        kinds = [text] * len(self.plain) + [number] * len(self.schema.one)
        own = {"id": number, **dict(zip(columns, kinds, strict=True)), "mentions": number}
        mention = {"id": number, "text": text, "fields": text, "entity_id": number}
        pair = {"entity_id": number, "position": number, "id": number}
        many = list(dict.fromkeys(self.schema.many.values()))
        tables = [
            (self.schema.table, own),
            (self.mentions, mention | {"probability": "DOUBLE", "log_odds": "DOUBLE"}),
            *((name, {"id": number, "name": text}) for name in self.things),
            *((self._pairs(name), pair) for name in many),
        ]
        if len({name.casefold() for name, _ in tables}) < len(tables):
            came = ", ".join(name for name, _ in tables)
            raise InvalidInput(message("schema", came, "different tables", "rename one"))
        return dict(tables)

    def _columns(self, table: str) -> list[str]:
        """Return the columns of a table, empty if it does not exist."""
        query = "SELECT name FROM pragma_table_info(?) ORDER BY cid"
        if not isinstance(self.connection, sqlite3.Connection):
            query = """SELECT column_name FROM information_schema.columns
                       WHERE lower(table_name) = lower(?) AND table_schema = current_schema()
                       AND table_catalog = current_database() ORDER BY ordinal_position"""
        return [name for (name,) in self.connection.execute(query, [table]).fetchall()]

    def _pairs(self, name: str) -> str:
        return f"{self.schema.table}_{name}"

    def read(self) -> _Known:
        """Return what is stored."""
        known = _Known(self.labels)
        wanted = "text, fields, entity_id, probability, log_odds"
        rows = self._run(f"SELECT {wanted} FROM {quoted(self.mentions)} ORDER BY id").fetchall()
        for text, fields, entity, probability, log_odds in rows:
            mention = _Mention(text, json.loads(fields), entity - 1, probability, log_odds)
            known.mentions.append(mention)
        count = max((mention.entity for mention in known.mentions), default=-1) + 1
        known.canonical = [{} for _ in range(count)]
        known.settle()
        return known

    def unseen(self, texts: Iterable[str]) -> list[str]:
        """Return the distinct texts that are not stored."""
        rows = self._run(f"SELECT text FROM {quoted(self.mentions)}").fetchall()
        seen = {row[0] for row in rows}
        return [text for text in dict.fromkeys(texts) if text not in seen]

    def write(self, known: _Known) -> None:
        """Replace the stored contents."""
        names = self.things
        tables = [self.schema.table, self.mentions, *names]
        for name in (*tables, *map(self._pairs, self.schema.many.values())):
            self._run(f"DELETE FROM {quoted(name)}")
        rows = [
            (k, text, json.dumps(fields, ensure_ascii=False), entity + 1, *scores)
            for k, (text, fields, entity, *scores) in enumerate(known.mentions, 1)
        ]
        self._insert(self.mentions, rows)
        things = {name: _Things() for name in names}
        counts = Counter(mention.entity for mention in known.mentions)
        entities: list[tuple[Any, ...]] = []
        pairs: dict[str, list[tuple[int, int, int]]] = {x: [] for x in self.schema.many.values()}
        for k, entity in enumerate(known.canonical):
            ones = [
                things[name].id(entity[field]) if field in entity else None
                for field, name in self.schema.one.items()
            ]
            plain = [entity.get(label) for label in self.plain]
            entities.append((k + 1, *plain, *ones, counts[k]))
            for field, name in self.schema.many.items():
                for place, one in enumerate(split_names(entity.get(field, "")), 1):
                    pairs[name].append((k + 1, place, things[name].id(one)))
        self._insert(self.schema.table, entities)
        for name in names:
            self._insert(name, [(i, text) for text, i in things[name].names()])
        for name, some in pairs.items():
            self._insert(self._pairs(name), some)

    def _insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._run(f"INSERT INTO {quoted(table)} VALUES ({places})", rows)


class _Things:
    """Distinct names, ignoring case and punctuation."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._shown: dict[int, str] = {}

    def id(self, name: str) -> int:
        """Return the number of a name."""
        key = folded(name)
        found = self._ids.setdefault(key, len(self._ids) + 1)
        self._shown.setdefault(found, name)
        return found

    def names(self) -> list[tuple[str, int]]:
        """Return each name as it was first seen, with its number."""
        return [(name, i) for i, name in self._shown.items()]
