"""What people ask of models of high order, rightly and wrongly: parameters, limits, messages."""

from __future__ import annotations

from typing import Any

import pytest
from toys import addresses

from caesura import ChainCRF, SemiCRF
from caesura.features import word

X, Y = addresses(20, seed=1)
KINDS = [SemiCRF, ChainCRF]


def test_positions_of_parameters() -> None:
    """What came with high order stands at the end: earlier calls mean what they meant."""
    semi = SemiCRF([word[0]], 1, 20, "O", 1, max_iterations=2).fit(X, Y)
    assert (semi.max_length, semi.outside, semi.patterns) == (20, "O", None)
    chain = ChainCRF([word[0]], 1, "BIO", "always", max_iterations=2).fit(X, Y)
    assert (chain.scheme, chain.forbid_invalid, chain.patterns) == ("BIO", "always", None)
