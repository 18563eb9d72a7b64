r"""Reproducible sums along one fixed binary tree.

Sums of floating-point numbers depend on their order.  Values are numbered, and added as here::

    0   1   2   3   4   5   6
     \ /     \ /     \ /   /
     01      23      45   /
       \    /          \ /
        0123           456
            \_________/

So a total has the same bits wherever its parts were added, and however many workers there were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["Tree", "added", "subtrees", "total"]


def added(a: Any, b: Any) -> Any:
    """Return the sum of two numbers, arrays, or tuples of them.

    Examples
    --------
    >>> added((1, 2.5), (3, 4.0))
    (4, 6.5)
    """
    if isinstance(a, tuple):
        return tuple(map(added, a, b))
    return a + b


class Tree:
    """An incremental sum in a fixed order that keeps few values in memory.

    Examples
    --------
    >>> tree = Tree()
    >>> for text in "abcdefg":
    ...     tree.push(f"({text})")
    >>> tree.total()
    '(a)(b)(c)(d)(e)(f)(g)'
    """

    def __init__(self, add: Callable[[Any, Any], Any] = added) -> None:
        self._add = add
        self._parts: list[tuple[int, Any]] = []  # (size, sum), of decreasing size

    def push(self, value: Any, size: int = 1) -> None:
        """Add the next value, or the sum of the next ``size``, as `subtrees` names it."""
        while self._parts and self._parts[-1][0] == size:
            value, size = self._add(self._parts.pop()[1], value), 2 * size
        self._parts.append((size, value))

    def total(self) -> Any:
        """Return the sum."""
        _, value = self._parts.pop()
        while self._parts:
            value = self._add(self._parts.pop()[1], value)
        return value


def total(values: Iterable[Any]) -> Any:
    """Return the sum of values along the tree.

    Examples
    --------
    >>> total([1, 2, 3])
    6
    """
    tree = Tree()
    for value in values:
        tree.push(value)
    return tree.total()


def subtrees(first: int, last: int) -> list[tuple[int, int]]:
    """Return the largest subtrees of the numbers in [first, last).

    Each is its first number and its size; who has these values can add them up.

    Examples
    --------
    >>> subtrees(3, 9)
    [(3, 1), (4, 4), (8, 1)]
    """
    found = []
    while first < last:
        size = first & -first or 1 << (last - first).bit_length()
        while first + size > last:
            size //= 2
        found.append((first, size))
        first += size
    return found
