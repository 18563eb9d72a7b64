"""Record linkage: blocking, field similarities and a learnt match score.

::

    records -> distinct records -> WordIndex -> pairs worth a comparison
            -> similarities of fields -> log-odds of a match -> links, entities

The log-odds are a logistic regression, learnt from pairs that are known to match or not: a sum over
fields of piecewise linear functions of similarities.  Straight lines would not do: a title that is
40 % alike says no more than one that is 20 % alike, and one that is 90 % alike says far more.

A record that is still a text is segmented and linked in one step (`Linker.read`): of the n best
segmentations s and the entities e that are known, or none, the most likely pair is taken,

    argmax over s, e of  ln P(s | text) + log-odds(e matches the fields of s),  0 where e is none

so that a segmentation that fits an entity can win over one that is a little more likely by itself
(Mansuri and Sarawagi, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.errors import InvalidInput, message, not_fitted
from caesura.extraction import Record
from caesura.records.blocking import WordIndex, folded
from caesura.records.pairs import (
    Distinct,
    Link,
    Pair,
    checked_matches,
    logistic,
    merged,
    one_to_one_links,
    probabilities,
    spread,
    strangers,
)
from caesura.records.tuning import Settings, checked_entities, fitted, tuned

__all__ = ["Link", "Linker", "ReadRecord"]

Floats = npt.NDArray[np.float64]
Fields = Mapping[str, Any]  # label -> text, or the values of an extracted Record
PER_FIELD = 5  # number of similarities per field
KNOTS = (0.4, 0.6, 0.8)  # similarities where the slope of the log-odds may change


class ReadRecord(NamedTuple):
    """A text with its record and its link.

    Examples
    --------
    >>> ReadRecord({"town": "York"}, -0.1, None, 0.0).entity is None
    True
    """

    fields: dict[str, str]
    log_probability: float  # log-probability of the chosen segmentation
    entity: int | None  # index of the matching record; None for a new one
    log_odds: float  # log-odds of the match; 0 without one


class Linker:
    """Compare records by their fields, link matches, and group them into entities.

    Parameters
    ----------
    fields : sequence of str
        The fields that are compared.
    candidates : int
        With how many others each record is compared: those that share the rarest words.
    c2 : float
        Penalty on the squared weights of the match score.

    Attributes
    ----------
    weights_ : array of shape (11 * len(fields) + 10,)
        For each field: neither has it, one has it, similarity of sorted words, share of the shorter
        one's words that the other has, both equal; then the similarities of all fields together and
        a constant; then, for each of 0.4, 0.6 and 0.8, by how much the two similarities of each
        field, and of all fields together, exceed it.
    settings_ : Settings
        Penalty, weights of pairs and threshold that `fit` used.

    Examples
    --------
    >>> papers = [{"title": "A relational model of data", "year": "1970"},
    ...           {"title": "Relational model of data, a", "year": "1970"},
    ...           {"title": "The entity-relationship model", "year": "1976"},
    ...           {"title": "Entity relationship model", "year": "1976"}]
    >>> linker = Linker(["title", "year"], c2=0.01).fit(papers, matches=[(0, 1), (2, 3)])
    >>> [(link.record, link.other) for link in linker.link(papers)]
    [(0, 1), (2, 3)]
    >>> linker.entities(papers)
    [0, 0, 2, 2]
    """

    weights_: Floats
    settings_: Settings

    def __init__(self, fields: Sequence[str], candidates: int = 20, c2: float = 1.0) -> None:
        if isinstance(fields, str) or not fields:
            expected = "names of fields"
            raise InvalidInput(message("fields", fields, expected, 'pass ["title", "year"]'))
        self.fields = [str(name) for name in fields]
        self.candidates = whole("candidates", candidates, 1)
        if not isinstance(c2, int | float) or not 0 <= c2 < math.inf:
            raise InvalidInput(message("c2", c2, "a finite number, at least 0", "try 1.0"))
        self.c2 = float(c2)

    # -- learning -----------------------------------------------------------------------------

    def fit(
        self,
        records: Sequence[Fields],
        others: Sequence[Fields] | None = None,
        *,
        matches: Iterable[Pair],
        tune: bool = False,
    ) -> Linker:
        """Fit the match score to records with known matches.

        Parameters
        ----------
        records : sequence of dict or Record
            Records.
        others : sequence of dict or Record, optional
            The records that they are linked to; without it, records of one set are compared.
        matches : iterable of (int, int)
            The places of all pairs that match: of records and of others.
        tune : bool
            Whether the penalty (c2 or ten times as much), the weights of pairs and the threshold
            are chosen by cross-validation over the entities, for the pair F1 of `entities`.  This
            needs records of one set, with four entities or more.  Log-odds are then relative to
            that threshold, and no longer calibrated.

        Returns
        -------
        self
        """
        mine = self._prepared(records, "records")
        theirs = None if others is None else self._prepared(others, "others")
        n_theirs = len(mine if theirs is None else theirs)
        known = checked_matches(matches, len(mine), n_theirs, theirs is None)
        easy = strangers(len(mine), n_theirs, theirs is None)
        pairs = sorted({*self._candidates(mine, theirs), *known, *easy})
        right = np.array([pair in known for pair in pairs], np.float64)
        if not right.any() or right.all():
            expected = "some pairs that match and some that do not"
            came = f"{len(known)} of {len(pairs)} pairs"
            raise InvalidInput(message("matches", came, expected, "give more records"))
        X = self._similarities(mine, mine if theirs is None else theirs, pairs)
        if tune:
            entity = checked_entities(known, len(mine), theirs is None)
            self.settings_ = tuned(X, pairs, entity, self.c2)
            self.weights_ = fitted(X, pairs, entity, self.settings_)
            self.weights_[self._constant] -= self.settings_.threshold
        else:
            self.settings_ = Settings(self.c2)
            self.weights_ = logistic(X, right, self.c2)
        return self

    # -- inference ----------------------------------------------------------------------------

    def log_odds(self, record: Fields, other: Fields) -> float:
        """Return the log-odds that two records refer to the same entity."""
        mine, theirs = self._prepared([record], "record"), self._prepared([other], "other")
        return float((self._similarities(mine, theirs, [(0, 0)]) @ self._known)[0])

    def link(
        self,
        records: Sequence[Fields],
        others: Sequence[Fields] | None = None,
        at_least: float = 0.5,
        one_to_one: bool = False,
    ) -> list[Link]:
        """Return the matching pairs.

        Parameters
        ----------
        records : sequence of dict or Record
            Records.
        others : sequence of dict or Record, optional
            The records that they are linked to; without it, records of one set are compared.
        at_least : float
            The least probability of a match.
        one_to_one : bool
            Whether a record matches one other at most; the likeliest pairs are taken first.
        """
        if not isinstance(at_least, int | float) or not 0 <= at_least <= 1:
            raise InvalidInput(message("at_least", at_least, "a number from 0 to 1", "try 0.5"))
        mine = _Records(self._prepared(records, "records"))
        theirs = None if others is None else _Records(self._prepared(others, "others"))
        there = mine if theirs is None else theirs
        pairs = sorted(self._candidates(mine.values, None if theirs is None else theirs.values))
        if theirs is None:
            pairs += mine.equal_pairs()
        found = probabilities(self._similarities(mine.values, there.values, pairs) @ self._known)
        links = [
            Link(*both, chance)
            for (a, b), chance in zip(pairs, found.tolist(), strict=True)
            if chance >= at_least
            for both in spread(mine.places[a], there.places[b], self.candidates, theirs is None)
        ]
        return one_to_one_links(links) if one_to_one else sorted(links)

    def entities(self, records: Sequence[Fields]) -> list[int]:
        """Group records of the same entity.

        Returns
        -------
        list of int
            For each record the first record of its entity.  Groups are merged, the likeliest pair
            first, as long as the mean log-odds of the compared pairs between them are above 0.
            Records with equal fields are compared once, and are one entity if their log-odds say
            so.
        """
        mine = _Records(self._prepared(records, "records"))
        pairs = sorted(self._candidates(mine.values, None))
        pairs += mine.equal_pairs()
        scores = (self._similarities(mine.values, mine.values, pairs) @ self._known).tolist()
        found = dict(zip(pairs, scores, strict=True))
        others = {(a, b): x for (a, b), x in found.items() if a != b}
        group = merged(len(mine.values), others, [len(places) for places in mine.places])
        heads = [mine.places[k][0] for k in group]
        alone = {k for k in range(len(group)) if found.get((k, k), 0.0) <= 0.0}
        return [
            i if k in alone and i != mine.places[k][0] else heads[k]
            for i, k in enumerate(mine.numbers)
        ]

    def read(
        self,
        model: Any,
        texts: Sequence[str],
        known: Sequence[Fields],
        n: int = 5,
        reread: bool = False,
    ) -> list[ReadRecord]:
        """Segment texts and link them to known records in one step.

        Parameters
        ----------
        model : SemiCRF or ChainCRF
            Whose scores are logarithms of probabilities.
        texts : sequence of str
            Texts.
        known : sequence of dict or Record
            The records that there are.
        n : int
            Number of segmentations considered for each text; 1 is a pipeline of both steps.
        reread : bool
            Whether ``known[i]`` is an earlier reading of ``texts[i]``, with which it is not linked.
        """
        from caesura.records.alternatives import alternatives

        if isinstance(texts, str) or not isinstance(texts, Sequence):
            raise InvalidInput(message("texts", texts, "a list of texts", "pass [text]"))
        theirs, weights = _Records(self._prepared(known, "known")), self._known
        index = WordIndex(record.whole for record in theirs.values)
        out = []
        for i, ranked in enumerate(alternatives(model, texts, whole("n", n, 1))):
            own = i if reread else None
            best: ReadRecord | None = None
            for fields, log_probability in ranked:
                mine = self._prepared([fields], "texts")
                near = [k for k, _ in index.nearest(mine[0].whole, self.candidates)]
                near = [k for k in near if theirs.places[k] != [own]]
                scores = self._similarities(mine, theirs.values, [(0, k) for k in near]) @ weights
                entity, odds = None, 0.0
                if len(near) and scores.max() > 0.0:
                    k = int(scores.argmax())
                    entity = next(j for j in theirs.places[near[k]] if j != own)
                    odds = float(scores[k])
                if best is None or log_probability + odds > best.log_probability + best.log_odds:
                    best = ReadRecord(fields, log_probability, entity, odds)
            assert best is not None
            out.append(best)
        return out

    # -- similarities -------------------------------------------------------------------------

    @property
    def _constant(self) -> int:
        """Return the place of the weight that counts for every pair."""
        return PER_FIELD * len(self.fields) + 3

    @property
    def _known(self) -> Floats:
        if not hasattr(self, "weights_"):
            raise not_fitted(
                "not fitted yet", place="Linker", remedy="call fit(records, matches=...) first"
            )
        return self.weights_

    def _prepared(self, records: Sequence[Fields], name: str) -> list[_Prepared]:
        if not isinstance(records, Iterable):
            raise InvalidInput(message(name, records, "a list of records", "pass dicts of fields"))
        return [_prepared(record, self.fields, f"{name}[{i}]") for i, record in enumerate(records)]

    def _candidates(self, mine: list[_Prepared], theirs: list[_Prepared] | None) -> set[Pair]:
        """Return the candidate pairs; within one set, with the smaller index first."""
        index = WordIndex(record.whole for record in (mine if theirs is None else theirs))
        pairs = set()
        for i, record in enumerate(mine):
            more = self.candidates + (theirs is None)  # each record is nearest to itself
            for j, _ in index.nearest(record.whole, more):
                if theirs is not None:
                    pairs.add((i, j))
                elif i != j:
                    pairs.add((min(i, j), max(i, j)))
        return pairs

    def _similarities(
        self, mine: list[_Prepared], theirs: list[_Prepared], pairs: Sequence[Pair]
    ) -> Floats:
        """Return the similarities of each pair of records, of shape (pairs, weights).

        Equal pairs are compared once.
        """
        X = np.ones((len(pairs), PER_FIELD * len(self.fields) + 4))
        seen: dict[tuple[_Prepared, _Prepared], int] = {}
        for n, (i, j) in enumerate(pairs):
            first = seen.setdefault((mine[i], theirs[j]), n)
            if first < n:
                X[n] = X[first]
                continue
            for k, (a, b) in enumerate(zip(mine[i].fields, theirs[j].fields, strict=True)):
                X[n, PER_FIELD * k : PER_FIELD * (k + 1)] = _field(a, b)
            X[n, -4:-1] = _field(mine[i].whole, theirs[j].whole)[2:]
        graded = [PER_FIELD * k + at for k in range(len(self.fields)) for at in (2, 3)] + [-4, -3]
        return np.hstack([X, *(np.maximum(0.0, X[:, graded] - knot) for knot in KNOTS)])


# ---- records prepared for comparison -------------------------------------------------------------


class _Prepared(NamedTuple):
    """A record prepared for comparison: its fields without case and punctuation."""

    fields: tuple[str, ...]
    whole: str


class _Records(Distinct[_Prepared]):
    """Records with duplicates removed for comparison."""

    def equal_pairs(self) -> list[Pair]:
        """Return the records that occur several times, each paired with itself.

        Records without any value say nothing about each other.
        """
        return [
            (k, k)
            for k, (record, places) in enumerate(zip(self.values, self.places, strict=True))
            if len(places) > 1 and record.whole
        ]


def _prepared(record: Fields, names: Sequence[str], name: str) -> _Prepared:
    if not isinstance(record, Mapping):
        expected = "a dict of fields, or a Record"
        raise InvalidInput(message(name, record, expected, "pass what model.extract returns"))
    fields = []
    for one in names:
        value = record.get(one)
        if isinstance(record, Record):
            value = " ".join(str(v.value) for v in value or () if v.value is not None)
        fields.append(folded("" if value is None else str(value)))
    return _Prepared(tuple(fields), " ".join(filter(None, fields)))


def _field(a: str, b: str) -> tuple[float, float, float, float, float]:
    """Return the similarity features of two values of a field."""
    from rapidfuzz import fuzz

    if not a or not b:
        return float(not a and not b), float(bool(a) != bool(b)), 0.0, 0.0, 0.0
    first, second = set(a.split()), set(b.split())
    shared = len(first & second) / min(len(first), len(second))
    return 0.0, 0.0, fuzz.token_sort_ratio(a, b) / 100.0, shared, float(a == b)
