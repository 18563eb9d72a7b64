"""Uncertain records: rows with weights whose columns are independent given the row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from caesura.errors import InvalidInput, message

__all__ = ["UncertainRecord", "UncertainRow", "Value", "check_query", "ranked"]

Value = (
    str | tuple[str, ...] | None
)  # value of a cell: None if absent, a tuple if there are several


class UncertainRow(NamedTuple):
    """A row of independent columns.

    Examples
    --------
    >>> row = UncertainRow(0.5, {"town": {"York": 0.5, None: 0.5}, "number": {"7": 1.0}})
    >>> row.probability({"town": "York", "number": "7"})
    0.5
    """

    weight: float  #: its probability
    cells: dict[str, dict[Value, float]]  #: label -> value -> probability

    def probability(self, query: Mapping[str, Value]) -> float:
        """Return the probability that some columns have the given values."""
        return math.prod(self.cells[label].get(value, 0.0) for label, value in query.items())


class UncertainRecord(NamedTuple):
    """The distribution over the rows of one text.

    Examples
    --------
    >>> row = UncertainRow(1.0, {"town": {"York": 0.9, None: 0.1}, "number": {"7": 1.0}})
    >>> record = UncertainRecord("7 York", (row,), kl=0.0, slack=0.0)
    >>> record.probability({"town": "York", "number": "7"})
    0.9
    >>> record.values("town")
    {'York': 0.9, None: 0.1}
    """

    text: str  #: the text
    rows: tuple[UncertainRow, ...]  #: the rows, the most probable first
    kl: float  #: KL divergence of the rows from the model in nats; see `uncertain_rows`
    slack: float  #: the divergence is at least `kl` and at most `kl + slack`
    sampled: float = 0.0  #: probability of the segmentations for which samples stand

    @property
    def mass(self) -> float:
        """The sum of the weights, which is the probability of the represented segmentations."""
        return min(1.0, math.fsum(row.weight for row in self.rows))

    def probability(self, query: Mapping[str, Value]) -> float:
        """Return the probability that some columns have the given values.

        Parameters
        ----------
        query : dict of label to value
            A value is a string, None for "absent", or a tuple of strings where the label occurs
            several times.
        """
        check_query(query, self.rows[0].cells if self.rows else {})
        return min(1.0, math.fsum(row.weight * row.probability(query) for row in self.rows))

    def values(self, label: str) -> dict[Value, float]:
        """Return the values of a column with their probabilities, the most probable first."""
        check_query({label: None}, self.rows[0].cells if self.rows else {})
        sums: dict[Value, list[float]] = {}
        for row in self.rows:
            for value, chance in row.cells[label].items():
                sums.setdefault(value, []).append(row.weight * chance)
        return ranked({value: math.fsum(some) for value, some in sums.items()})


def check_query(query: Mapping[str, Value], labels: Mapping[str, Any]) -> None:
    """Raise if a query has unknown columns or invalid values.

    Examples
    --------
    >>> check_query({"town": "York"}, {"town": None})
    """
    if not isinstance(query, Mapping) or not query:
        remedy = "pass at least one label with its value"
        raise InvalidInput(message("query", query, "a dict of labels to values", remedy))
    for label, value in query.items():
        if label not in labels:
            expected = f"one of the columns, {', '.join(labels)}"
            raise InvalidInput(message("query", label, expected, "correct the label"))
        several = isinstance(value, tuple) and all(isinstance(part, str) for part in value)
        if not (value is None or isinstance(value, str) or (several and len(value) > 1)):
            expected = "a string, None, or a tuple of two strings or more"
            remedy = "pass None to ask for an absent field"
            raise InvalidInput(message(f"query[{label!r}]", value, expected, remedy))


def ranked(chances: Mapping[Any, float]) -> dict[Any, float]:
    """Sort values by decreasing probability; ties keep their order.

    Examples
    --------
    >>> ranked({"Leeds": 0.2, "York": 0.8})
    {'York': 0.8, 'Leeds': 0.2}
    """
    return dict(sorted(chances.items(), key=lambda item: -item[1]))
