"""Models of high order, and what the second seed's experiments need beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from toys import addresses

import caesura
from caesura import InvalidInput, Partial, SemiCRF
from caesura.features import word

X, Y = addresses(30, seed=1)


# -- the longest segments of the training data ---------------------------------------------------


def bounds_of(model: Any) -> dict[str, int]:
    structure = model._known.structure
    return dict(zip(structure.states, structure.bounds.tolist(), strict=True))


def test_observed_lengths_are_bounds(tmp_path: Path) -> None:
    x = [["a", "b", "c", "d", "e", "f"]]
    y: list[Any] = [[(0, 2, "A"), (4, 5, "B")]]
    assert bounds_of(SemiCRF([word[0]], max_length="observed").fit(x, y)) == {
        "A": 2,
        "B": 1,
        "O": 1,
    }
    model = SemiCRF([word[0]], max_length="observed", outside_length=None).fit(x, y)
    assert bounds_of(model) == {"A": 2, "B": 1, "O": 2}
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.max_length == "observed"
    assert bounds_of(again) == bounds_of(model)
    long = [["a"] * 9]
    assert max(s.length for s in again.predict(long)[0]) <= 2
    assert again.predict(long) == model.predict(long)
    by_hand = SemiCRF([word[0]], max_length={"A": 2, "B": 1, "O": 2}, outside_length=None)
    assert by_hand.fit(x, y)._known.w.tolist() == model._known.w.tolist()


def test_observed_lengths_grow_with_a_warm_start() -> None:
    x = [["a", "b", "c"]]
    model = SemiCRF([word[0]], max_length="observed", warm_start=True)
    assert bounds_of(model.fit(x, [[(0, 2, "A"), (2, 3, "B")]])) == {"A": 2, "B": 1}
    assert bounds_of(model.fit(x, [[(0, 1, "A"), (1, 3, "B")]])) == {"A": 2, "B": 2}


def test_observed_lengths_of_partial_labels() -> None:
    """A label of which no segment is known has no bound."""
    some = [[(0, 1, "A"), (1, 3, "B")], Partial(segments=[(0, 2, "A")], tokens={2: "C"})]
    model = SemiCRF([word[0]], max_length="observed").fit([["a", "b", "c"]] * 2, some)
    assert bounds_of(model) == {"A": 2, "B": 2, "C": 0}


def test_no_other_word_is_a_length() -> None:
    with pytest.raises(InvalidInput, match=r"max_length: got .longest., .* or .observed."):
        SemiCRF([word[0]], max_length="longest").fit(X, Y)
