"""Token attributes in python-crfsuite's form, encoded as integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents.sparse import rows_of
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.features import attributes
from caesura.features.bags import pairs

__all__ = ["ItemSequence", "Read", "corpus_of", "each", "label_of", "new_encoder", "read"]


class ItemSequence:
    """The attributes of a sequence, converted once for repeated use.

    Parameters
    ----------
    items : iterable, or array of shape (T, D)
        For each token strings, or a dict: {"a": 2.0} is a with the value 2, {"a": True} a with 1,
        {"a": "x"} is a:x, {"a": {"b": 1}} and {"a": ["b"]} are a:b, and a vector of numbers is a:0,
        a:1 and so on. The columns of an array, also of a sparse one of SciPy, are the attributes
        0, 1, ...; zeros are left out.

    Examples
    --------
    >>> sequence = ItemSequence([["foo"], {"bar": {"baz": 1}}])
    >>> sequence
    <ItemSequence of size 2>
    >>> sequence.items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, items: Iterable[Any]) -> None:
        def flatten(given: Any, _: int, t: int) -> list[tuple[str, float]]:
            return pairs(given, f"items[{t}]")

        self._bags = _kernels.flat_bags(_tokens(items, "items"), flatten)

    def items(self) -> list[dict[str, float]]:
        """Return the attributes of each token with their values; duplicates are summed."""
        out = []
        for one in self._bags:
            values: dict[str, float] = {}
            for name in one:
                value = one[name] if isinstance(one, dict) else 1.0
                values[name] = values.get(name, 0.0) + value
            out.append(values)
        return out

    def __iter__(self) -> Iterator[Any]:
        return iter(self._bags)

    def __len__(self) -> int:
        return len(self._bags)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


class Read(NamedTuple):
    """Sequences as ragged arrays."""

    offsets: npt.NDArray[np.int64]  # (n + 1,) offset of the tokens of each sequence
    ptr: npt.NDArray[np.int64]  # (tokens + 1,) offset of the attributes of each token
    ids: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64] | None  # None if all are 1


def new_encoder() -> Encoder:
    """Return an encoder for user-supplied attributes."""
    return Encoder([attributes[0]])


def read(encoder: Encoder, sequences: Sequence[Any], grow: bool, first: int | None = 0) -> Read:
    """Encode sequences; unless `grow` is set, unknown attributes are skipped.

    An error calls them xseq where `first` is None, and else X[first], ...
    """
    names = ["xseq" if first is None else f"X[{first + i}]" for i in range(len(sequences))]
    tokens = [_tokens(one, name) for one, name in zip(sequences, names, strict=True)]

    def flatten(given: Any, i: int, t: int) -> list[tuple[str, float]]:
        return pairs(given, f"{names[i]}[{t}]")

    return Read(*_kernels.read_bags(encoder.values[0], tokens, grow, flatten))


def corpus_of(encoder: Encoder, parts: Iterable[Read], grow: bool) -> _kernels.Corpus:
    """Return encoded sequences as a corpus for the kernels."""
    corpus = _kernels.Corpus()
    for part in parts:
        encoder.append_columns(corpus, part.offsets, [(part.ptr, part.ids, part.values)], grow)
    return corpus


def each(given: Any, name: str, expected: str) -> Iterator[Any]:
    """Return an iterator over the argument, or raise."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInput(message(name, given, expected, "put the value into a list"))
    return iter(given)


def label_of(name: str, given: Any) -> str:
    """Return a label as a string, decoding bytes, or raise."""
    if isinstance(given, bytes):
        try:
            return given.decode()
        except UnicodeDecodeError:
            remedy = "decode it with the encoding that it is in"
            raise InvalidInput(message(name, given, "a label in UTF-8", remedy)) from None
    if not isinstance(given, str):
        raise InvalidInput(message(name, given, "a label", "give strings"))
    return given


def _tokens(items: Any, name: str) -> Any:
    """Return an iterable of tokens, or raise."""
    if isinstance(items, ItemSequence):
        return items._bags
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        expected = "a list with the attributes of each token"
        raise InvalidInput(message(name, items, expected, "write [['w=a', 'first'], {'w=b': 0.5}]"))
    if isinstance(items, list | tuple):
        return items
    if isinstance(items, np.ndarray) or hasattr(items, "tocoo"):
        return rows_of(items, name)
    return list(items)
