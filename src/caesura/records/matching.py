"""Known database values as features for segmenting new text.

::

    tables -> KnownValues -> features of segments      -> SemiCRF.fit
    rows that arrive -> KnownValues.add -> attach(model): the same weights, more values

A segment that equals a known author, or nearly does, is probably an author.  The weights tell how
much that counts, and not which values there are, so values can be added after training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from caesura.documents import Tokeniser
from caesura.errors import CaesuraError, InvalidInput, message
from caesura.features import Dictionary, Lexicon, SegmentFeature, Similar
from caesura.models.lexicons import lexicons_in, with_lexicons
from caesura.records.blocking import WordIndex, folded
from caesura.records.column_values import column_values
from caesura.records.refusals import known_reason, refusal

__all__ = ["KnownValues", "Match"]

Model = TypeVar("Model")
PREFIX = "known "  # prefix of lexicon names, as a model may have other lexicons
CANDIDATES = 10  # entries that are compared with each text
THRESHOLDS = (0.6, 0.75, 0.9)  # similarity thresholds of features
LONGEST = 12  # longest segment, in tokens, that is compared with all entries


class Match(NamedTuple):
    """A known value that matches a text.

    Examples
    --------
    >>> Match("E. F. Codd", 0.9).value
    'E. F. Codd'
    """

    value: str  # as in the known values; see `KnownValues.of` for those of a model
    similarity: float  # 1 if only case, punctuation and the order of words differ


class KnownValues:
    """The known values of each field in a database, as segment features.

    Parameters
    ----------
    values : mapping of label to iterable of str
        What is known for each label of a model.
    tokeniser : str, dict or Tokeniser
        How values are split; that of the model.

    Examples
    --------
    >>> import caesura
    >>> known = KnownValues({"town": ["Stoke on Trent"], "street": ["High Street"]})
    >>> X = ["High Street Stoke on Trent", "Mill Lane York", "Low Road Leeds"]
    >>> y = [[(0, 2, "street"), (2, 5, "town")]] + [[(0, 2, "street"), (2, 3, "town")]] * 2
    >>> model = caesura.SemiCRF([caesura.features.bias, *known.features()]).fit(X, y)
    >>> known.add({"town": ["Bury St Edmunds"]})
    1
    >>> known.attach(model).predict(["Low Road Bury St Edmunds"])[0][-1]
    Segment(start=2, end=5, label='town')
    >>> known.canonical("town", "STOKE-ON-TRENT.")
    Match(value='Stoke on Trent', similarity=1.0)
    """

    def __init__(
        self, values: Mapping[str, Iterable[str]], tokeniser: str | dict[str, str] = "words"
    ) -> None:
        if not isinstance(values, Mapping) or not values:
            expected = "a dict of label to values"
            raise InvalidInput(message("values", values, expected, 'pass {"author": [...]}'))
        self._cut = Tokeniser.of(tokeniser)
        self._values: dict[str, dict[str, None]] = {str(label): {} for label in values}
        self._entries: dict[str, list[str]] = {label: [] for label in self._values}  # in order
        self._indexes = {label: WordIndex() for label in self._values}
        self._lexicons: dict[str, Lexicon] = {}
        self.add(values)

    @classmethod
    def read(
        cls,
        connection: Any,
        table: str,
        columns: Mapping[str, str] | Iterable[str],
        tokeniser: str | dict[str, str] = "words",
    ) -> KnownValues:
        """Read the values of table columns.

        Of a table that `load` wrote, rows that are marked for review are left out, and several
        values in a cell are separate values.

        Parameters
        ----------
        connection
            A connection of DuckDB, sqlite3, or another database of Python whose connections have
            ``execute``.
        table : str
            The table.
        columns : mapping of label to column, or iterable of str
            The column of each label, or a list of columns with the names of labels.
        tokeniser : str, dict or Tokeniser
            That of the model.

        Examples
        --------
        >>> import sqlite3
        >>> connection = sqlite3.connect(":memory:")
        >>> _ = connection.execute("CREATE TABLE papers (title TEXT, venue TEXT)")
        >>> _ = connection.execute("INSERT INTO papers VALUES ('Paxos', 'TOCS'), ('Spanner', NULL)")
        >>> KnownValues.read(connection, "papers", {"title": "title", "journal": "venue"})
        KnownValues(title: 2, journal: 1)
        """
        if isinstance(columns, str):
            expected = "a list of columns, or a dict of label to column"
            raise InvalidInput(message("columns", columns, expected, f"pass [{columns!r}]"))
        named = dict(columns) if isinstance(columns, Mapping) else {c: c for c in columns}
        values = {}
        for label, column in named.items():
            try:
                values[label] = column_values(connection, table, column)
            except CaesuraError:
                raise
            except Exception as error:  # each database has its own exceptions
                if known_reason(error):
                    raise refusal("connection", connection, error) from error
                expected = f"a table {table!r} with a column {column!r}"
                said = str(error).split("\n")[0]  # without the query
                remedy = f"check the names ({said})"
                raise InvalidInput(message("columns", {label: column}, expected, remedy)) from error
        return cls(values, tokeniser)

    @classmethod
    def of(cls, model: Any) -> KnownValues:
        """Return the known values of a fitted model, to which others can be added.

        A model keeps the tokens of values only, so values are tokens joined by spaces, as in ``York
        , N . Yorks``. `canonical` finds them all the same; `read` has values as they are stored.

        Parameters
        ----------
        model : SemiCRF
            Fitted with `features`.

        Examples
        --------
        >>> import caesura
        >>> known = KnownValues({"town": ["Stoke on Trent", "York"]})
        >>> model = caesura.SemiCRF([caesura.features.bias, *known.features()])
        >>> KnownValues.of(model.fit(["in York"], [[(1, 2, "town")]]))
        KnownValues(town: 2)
        """
        found = {
            name.removeprefix(PREFIX): [" ".join(entry) for entry in lexicon.entries]
            for name, lexicon in lexicons_in(model).items()
            if name.startswith(PREFIX)
        }
        if not found:
            raise InvalidInput(
                place="model",
                got="one without features of known values",
                remedy="fit it with KnownValues(...).features(), or with caesura train --known",
            )
        return cls(found, model.tokeniser_)

    def __repr__(self) -> str:
        counts = ", ".join(f"{label}: {count}" for label, count in self.counts.items())
        return f"KnownValues({counts})"

    @property
    def counts(self) -> dict[str, int]:
        """The number of values of each label."""
        return {label: len(some) for label, some in self._values.items()}

    @property
    def labels(self) -> list[str]:
        """The labels that have values."""
        return list(self._values)

    def add(self, values: Mapping[str, Iterable[str | None]]) -> int:
        """Add values as rows arrive; return the number of new ones.

        Parameters
        ----------
        values : mapping of label to iterable of str
            Labels that are not known here are an error; values that are empty or None are left out.
        """
        new = 0
        if not isinstance(values, Mapping):
            expected = "a dict of label to values"
            raise InvalidInput(message("values", values, expected, 'pass {"author": [...]}'))
        for label, some in values.items():
            if label not in self._values:
                expected = f"one of {', '.join(self._values)}"
                remedy = "create KnownValues with this label, as in KnownValues({label: []})"
                raise InvalidInput(message("values", label, expected, remedy))
            if isinstance(some, str) or not isinstance(some, Iterable):
                raise InvalidInput(message("values", {label: some}, "a list", "put it into a list"))
            mine = self._values[label]
            for value in some:
                if value is not None and not isinstance(value, str):
                    name = f"values[{label!r}]"
                    raise InvalidInput(message(name, value, "texts", "write numbers as text"))
                if value and value not in mine:
                    mine[value] = None
                    self._entries[label].append(value)
                    self._indexes[label].add(value)
                    self._lexicons.pop(label, None)
                    new += 1
        return new

    def lexicons(self) -> dict[str, Lexicon]:
        """Return a lexicon for each label, rebuilt only where values were added."""
        for label, values in self._values.items():
            if label not in self._lexicons:
                self._lexicons[label] = Lexicon(PREFIX + label, values, self._cut)
        return {label: self._lexicons[label] for label in self._values}

    def features(self, similar: bool = True) -> list[SegmentFeature]:
        """Return segment features for a model to be fitted.

        Parameters
        ----------
        similar : bool
            Whether segments are compared with values by similarity too, which takes longer than
            looking for equal ones.

        Notes
        -----
        A value should be known for about as many of the training texts as of those to come: if all
        fields of the training data are among the values, the model relies on them too much.
        """
        features: list[SegmentFeature] = []
        for lexicon in self.lexicons().values():
            features.append(Dictionary(lexicon, casefold=True, loose=True, length=True))
            if similar:
                features.append(Similar(lexicon, thresholds=THRESHOLDS, max_length=LONGEST))
        return features

    def attach(self, model: Model) -> Model:
        """Return a model with the same weights and the current values.

        Parameters
        ----------
        model : SemiCRF
            Fitted with `features` of these labels; it is not changed.
        """
        lexicons = {lexicon.name: lexicon for lexicon in self.lexicons().values()}
        found: Model = with_lexicons(model, lexicons)
        return found

    def canonical(self, label: str, text: str, at_least: float = 0.8) -> Match | None:
        """Return the known value that matches a text, or None.

        Parameters
        ----------
        label : str
            One of `labels`.
        text : str
            The text of a field.
        at_least : float
            The least similarity, from 0 to 1: one minus the insertions and deletions between both
            over their total length, in the order of their words or with the words sorted.
        """
        from rapidfuzz import fuzz

        if label not in self._values:
            expected = f"one of {', '.join(self._values)}"
            raise InvalidInput(message("label", label, expected, "pass one of them"))
        if not isinstance(text, str):
            raise InvalidInput(message("text", text, "the text of a field", "pass a string"))
        if not isinstance(at_least, int | float) or not 0 <= at_least <= 1:
            raise InvalidInput(message("at_least", at_least, "a number from 0 to 1", "try 0.8"))
        entries, best, asked = self._entries[label], None, folded(text)
        for number, _ in self._indexes[label].nearest(text, CANDIDATES):
            value = folded(entries[number])
            similarity = max(fuzz.ratio(asked, value), fuzz.token_sort_ratio(asked, value)) / 100.0
            if similarity >= at_least and (best is None or similarity > best.similarity):
                best = Match(entries[number], similarity)
        return best
