"""Token embeddings: words, characters, shapes, static vectors, transformers, and context.

::

    word | characters | shape | static vector | transformer  ->  context (LSTM, CNN)  ->  (B, T, H)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from caesura.errors import InvalidInput, message

__all__ = ["Sizes", "TokenEncoder", "Vocabulary", "mask_of", "read_vectors", "shape_of"]

PAD, UNKNOWN = 0, 1
CONTEXTS = ("lstm", "cnn", "none")
CHARACTERS = ("cnn", "lstm", "none")
LARGEST = 1e6  # maximum absolute value in a file of vectors
LONGEST_WORD = 32  # characters of a word that are read


class Sizes(NamedTuple):
    """The sizes of the parts of a token embedding, 0 for none, and of the context."""

    word: int = 50
    character: int = 25
    shape: int = 10
    hidden: int = 100
    characters: str = "cnn"
    context: str = "lstm"
    dropout: float = 0.3


class Vocabulary:
    """A numbering of strings: 0 is padding, 1 is any unknown string.

    Examples
    --------
    >>> Vocabulary.of(["b", "a", "b"]).numbers(["b", "c"])
    [2, 1]
    """

    def __init__(self, items: Sequence[str]) -> None:
        self.items = list(items)
        self._number = {item: i for i, item in enumerate(self.items, 2)}

    @classmethod
    def of(cls, items: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of strings, in order of first occurrence."""
        return cls(list(dict.fromkeys(items)))

    def __len__(self) -> int:
        return len(self.items) + 2

    def numbers(self, items: Iterable[str]) -> list[int]:
        """Return the number of each string."""
        return [self._number.get(item, UNKNOWN) for item in items]


@lru_cache(maxsize=100_000)
def shape_of(word: str) -> str:
    """Return the character classes of a word, with runs collapsed.

    Examples
    --------
    >>> shape_of("McGraw-2"), shape_of("IL-2"), shape_of("IL")
    ('XxXx-9', 'X-9', 'XX')
    """
    kinds = re.sub(r"[^\W\d_]", lambda m: "X" if m.group().isupper() else "x", word)
    kinds = re.sub(r"\d", "9", kinds)
    short = re.sub(r"(.)\1+", r"\1", kinds)
    return short * 2 if short == "X" and len(word) > 1 else short[:10]


def read_vectors(path: str | os.PathLike[str]) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Read static vectors from a text file in GloVe's format: a word and its numbers per line.

    Parameters
    ----------
    path : path
        The file.  A first line with two numbers, as word2vec writes it, is skipped.

    Returns
    -------
    tuple of list of str and array of shape (n, D)
    """
    words, rows, size = [], [], 0
    if not os.path.isfile(path):
        expected = "a text file with a word and its numbers in each line"
        raise InvalidInput(message("vectors", str(path), expected, "correct the path"))
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(_lines(file, path), 1):
            word, *numbers = line.rstrip("\n").split(" ")
            if number == 1 and len(numbers) == 1:
                continue
            try:
                row = np.array(numbers, np.float32)
            except ValueError:
                row = np.zeros(0, np.float32)
            size = size or len(row)
            if not size or len(row) != size:
                came = f"{len(numbers)} columns after the word"
                expected = f"{size or 'some'} numbers"
                raise InvalidInput(message(f"{path}:{number}", came, expected, "correct the line"))
            if not np.abs(row).max() < LARGEST:  # also true for NaN
                came, expected = f"{word!r} with {row.max()}", f"numbers below {LARGEST:g}"
                raise InvalidInput(message(f"{path}:{number}", came, expected, "correct the line"))
            words.append(word)
            rows.append(row)
    if not rows:
        raise InvalidInput(
            place=path,
            got="no vectors",
            expected="a word and numbers in each line",
            remedy="check the file",
        )
    return words, np.stack(rows)


def _lines(file: TextIO, path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a file, or raise if it is not UTF-8."""
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"not UTF-8: {error.reason}", place=path, remedy="convert the file"
        ) from None


def mask_of(lengths: Sequence[int], T: int) -> Tensor:
    """Return the mask of tokens without padding, (B, T)."""
    return torch.arange(T) < torch.as_tensor(lengths)[:, None]


class TokenEncoder(nn.Module):
    """Contextual embeddings of tokens.

    Parameters
    ----------
    sizes : Sizes
        Of the parts.
    words, characters, shapes : Vocabulary
        What was seen in training.
    vectors : tuple of words and array, optional
        Static vectors, which are not trained.
    transformer : module, optional
        Gives a vector of `size` for each word of a sentence.
    """

    def __init__(
        self,
        sizes: Sizes,
        words: Vocabulary,
        characters: Vocabulary,
        shapes: Vocabulary,
        vectors: tuple[Sequence[str], npt.NDArray[np.float32]] | None = None,
        transformer: Any = None,
    ) -> None:
        super().__init__()
        self.sizes, self.words, self.characters, self.shapes = sizes, words, characters, shapes
        self.transformer = transformer
        self.static_words: Vocabulary | None = None
        total = 0 if transformer is None else int(transformer.size)
        if sizes.word:
            self.word = nn.Embedding(len(words), sizes.word, PAD)
            total += sizes.word
        if sizes.character and sizes.characters != "none":
            self.character = nn.Embedding(len(characters), sizes.character, PAD)
            self.spelling = _spelling(sizes)
            total += sizes.character
        if sizes.shape:
            self.shape = nn.Embedding(len(shapes), sizes.shape, PAD)
            total += sizes.shape
        if vectors is not None:
            self.static_words = Vocabulary(vectors[0])
            table = np.concatenate([np.zeros((2, vectors[1].shape[1]), np.float32), vectors[1]])
            self.static = nn.Embedding(len(table), table.shape[1])
            self.static.weight.data = torch.from_numpy(table)
            self.static.requires_grad_(False)
            total += table.shape[1]
        if not total:
            raise InvalidInput(
                place="word_size, character_size, shape_size",
                got="0 for all and neither vectors nor a transformer",
                expected="some part of a vector",
                remedy="raise one of them",
            )
        self.dropout = nn.Dropout(sizes.dropout)
        self.size = total
        if sizes.context == "lstm":
            self.context: Any = nn.LSTM(total, sizes.hidden, batch_first=True, bidirectional=True)
            self.size = 2 * sizes.hidden
        elif sizes.context == "cnn":
            inner = (nn.Conv1d(n, sizes.hidden, 3, padding=1) for n in (total, sizes.hidden))
            self.context = nn.ModuleList(inner)
            self.size = sizes.hidden

    def forward(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, list[int]]:
        """Return vectors (B, T, H), 0 for padding, and the lengths."""
        lengths = [len(words) for words in sentences]
        T = max([1, *lengths])
        device = next(self.parameters()).device
        distinct = list(dict.fromkeys(word for words in sentences for word in words))
        place = {word: i for i, word in enumerate(distinct, 1)}
        index = torch.zeros(len(sentences), T, dtype=torch.int64)
        for b, words in enumerate(sentences):
            index[b, : len(words)] = torch.tensor(
                [place[word] for word in words], dtype=torch.int64
            )
        mask = mask_of(lengths, T).to(device)[..., None]
        parts = self._of_words(distinct, index.to(device))
        if self.transformer is not None:
            parts.append(self.transformer(sentences, T))
        states = self.dropout(torch.cat(parts, -1)) * mask
        return self._in_context(states, lengths, mask), lengths

    def _of_words(self, distinct: list[str], index: Tensor) -> list[Tensor]:
        """Return the embeddings that depend on the word alone, computed once per word."""
        device, parts = index.device, []

        def placed(numbers: list[int]) -> Tensor:
            return torch.tensor([PAD, *numbers], device=device)[index]

        if self.sizes.word:
            numbers = placed(self.words.numbers(word.lower() for word in distinct))
            if self.training:  # else the vector of unknown words would never be trained
                lost = torch.rand(numbers.shape, device=device) < 0.05
                numbers = numbers.masked_fill(lost & (numbers != PAD), UNKNOWN)
            parts.append(self.word(numbers))
        if hasattr(self, "spelling"):
            parts.append(self._spelt(distinct, device)[index])
        if self.sizes.shape:
            parts.append(self.shape(placed(self.shapes.numbers(map(shape_of, distinct)))))
        if self.static_words is not None:
            known = self.static_words.numbers(distinct)
            lower = self.static_words.numbers(word.lower() for word in distinct)
            both = [b if a == UNKNOWN else a for a, b in zip(known, lower, strict=True)]
            parts.append(self.static(placed(both)))
        return parts

    def _spelt(self, distinct: list[str], device: torch.device) -> Tensor:
        """Return a vector for each distinct word, after one for padding."""
        rows = [self.characters.numbers(word[:LONGEST_WORD]) or [PAD] for word in distinct]
        width = max([3, *map(len, rows)])
        table = torch.tensor([[PAD] * width, *(row + [PAD] * (width - len(row)) for row in rows)])
        inner = self.character(table.to(device))  # (words, characters, size)
        if self.sizes.characters == "lstm":
            sizes = torch.tensor([1, *map(len, rows)])
            packed = nn.utils.rnn.pack_padded_sequence(
                inner, sizes, batch_first=True, enforce_sorted=False
            )
            last: Tensor = self.spelling(packed)[1][0]
            return last.transpose(0, 1).reshape(len(table), -1)[:, : self.sizes.character]
        made: Tensor = self.spelling(inner.transpose(1, 2)).relu().amax(-1)
        return made

    def _in_context(self, states: Tensor, lengths: Sequence[int], mask: Tensor) -> Tensor:
        if self.sizes.context == "lstm":
            sizes = torch.tensor([max(n, 1) for n in lengths])
            packed = nn.utils.rnn.pack_padded_sequence(
                states, sizes, batch_first=True, enforce_sorted=False
            )
            states, _ = nn.utils.rnn.pad_packed_sequence(
                self.context(packed)[0], batch_first=True, total_length=states.shape[1]
            )
        elif self.sizes.context == "cnn":
            for layer in self.context:
                states = layer(states.transpose(1, 2)).transpose(1, 2).relu() * mask
        dropped: Tensor = self.dropout(states)
        return dropped * mask


def _spelling(sizes: Sizes) -> Any:
    if sizes.characters == "lstm":
        half = (sizes.character + 1) // 2
        return nn.LSTM(sizes.character, half, batch_first=True, bidirectional=True)
    return nn.Conv1d(sizes.character, sizes.character, 3, padding=1)
