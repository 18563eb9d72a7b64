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


def test_grow_with_order_one_is_a_model_without_patterns() -> None:
    from sklearn.model_selection import GridSearchCV

    plain = SemiCRF([word[0]]).fit(X, Y)
    grown = SemiCRF([word[0]], patterns="grow").fit(X, Y)
    assert grown._known.w.tolist() == plain._known.w.tolist()
    tried = {"order": [1, 2], "patterns": [None, "grow"]}
    model = SemiCRF([word[0]], max_iterations=5)
    search = GridSearchCV(model, tried, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0
