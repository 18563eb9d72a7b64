"""A trie of integer sequences: the Python counterpart of the kernel."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message

__all__ = ["Trie"]


class Trie:
    """A trie of key sequences with payloads.

    Examples
    --------
    >>> trie = Trie()
    >>> trie.add(np.array([5, 6], np.int32), payload=1)
    >>> trie.add(np.array([6], np.int32), payload=2)
    >>> starts, ends, payloads = trie.scan(np.array([5, 6, 6]), np.array([0, 2, 3]))
    >>> list(zip(starts.tolist(), ends.tolist(), payloads.tolist()))
    [(0, 2, 1), (1, 2, 2), (2, 3, 2)]
    """

    def __init__(self) -> None:
        # A node maps the next key to the next node, and None to its payloads.
        self._root: dict[int | None, Any] = {}

    def add(self, ids: npt.ArrayLike, payload: int) -> None:
        """Add a non-empty sequence of non-negative keys."""
        keys = np.asarray(ids).tolist()
        if not keys or min(keys) < 0:
            remedy = "negative keys stand for words that no entry has"
            raise InvalidInput(message("ids", ids, "one key or more, each 0 or more", remedy))
        node = self._root
        for key in keys:
            node = node.setdefault(key, {})
        node.setdefault(None, []).append(int(payload))

    def scan(
        self, keys: npt.ArrayLike, offsets: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Find all entries in each document, sorted by start and then by end.

        Parameters
        ----------
        keys : array of shape (N,)
            The tokens of all documents; a negative key is in no entry.
        offsets : array of shape (n + 1,)
            Document i has the keys offsets[i] to offsets[i + 1].

        Returns
        -------
        starts, ends, payloads : arrays
            Half-open spans in `keys`.
        """
        row = np.asarray(keys).tolist()
        bounds = np.asarray(offsets).tolist()
        found: list[tuple[int, int, int]] = []
        for low, high in pairwise(bounds):
            for start in range(low, high):
                node = self._root.get(row[start])
                at = start + 1
                while node is not None:
                    found += [(start, at, payload) for payload in node.get(None, ())]
                    node = node.get(row[at]) if at < high else None
                    at += 1
        table = np.array(found, np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2].astype(np.int32)
