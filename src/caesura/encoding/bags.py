"""Encoding of user-supplied token attributes without documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caesura import _kernels
from caesura.encoding.encoder import Encoder
from caesura.encoding.values import Longs, read_bags
from caesura.features import Template
from caesura.features.document_columns import AttributesColumn

__all__ = ["encode_bags", "takes_bags"]


def takes_bags(encoder: Encoder, sequences: list[Any]) -> bool:
    """Return whether `encode_bags` applies: all features are given attributes, and all sequences
    lists of them.

    Examples
    --------
    >>> from caesura.features import attributes, word
    >>> takes_bags(Encoder([attributes[0]]), [[["w=New"], {"w=York": 1.0}]])
    True
    >>> takes_bags(Encoder([word[0]]), [[["w=New"], {"w=York": 1.0}]])
    False
    """
    return (
        encoder.corpus_kind is _kernels.Corpus
        and [type(column) for column in encoder.columns] == [AttributesColumn]
        and all(isinstance(feature, Template) for feature in encoder.features)
        and _kernels.are_bags(sequences)
    )


def encode_bags(
    encoder: Encoder, sequences: Sequence[Any], first: int = 0
) -> tuple[_kernels.Corpus, Longs]:
    """Encode sequences as a corpus of known attributes; return it with their lengths.

    Parameters
    ----------
    encoder : Encoder
        What knows the attributes.
    sequences : sequence
        Lists and dicts of attributes for each token of each sequence.
    first : int
        What errors call the first sequence: ``X[first]``.

    Examples
    --------
    >>> from caesura.features import attributes
    >>> corpus, lengths = encode_bags(Encoder([attributes[0]]), [[["w=New"], {"w=York": 1.0}]])
    >>> lengths.tolist()
    [2]
    """
    corpus = _kernels.Corpus()
    offsets, values = read_bags(encoder.values[0], sequences, False, first)
    encoder.append_columns(corpus, offsets, [values], False)
    return corpus, np.diff(offsets)
