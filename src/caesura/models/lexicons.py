"""Replacement of lexicon entries in fitted models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caesura.errors import InvalidInput, message
from caesura.features import Lexicon, from_spec, lexicons_of, to_spec
from caesura.models.estimator import fitted_of
from caesura.models.files import pickled, unpickle

__all__ = ["lexicons_in", "with_lexicons"]


def lexicons_in(model: Any) -> dict[str, Lexicon]:
    """Return the lexicons of a fitted model by name.

    Examples
    --------
    >>> import caesura
    >>> from caesura.features import Dictionary, Lexicon
    >>> towns = Dictionary(Lexicon("towns", ["York"]))
    >>> lexicons_in(caesura.SemiCRF([towns]).fit(["in York"], [[(1, 2, "town")]]))
    {'towns': Lexicon('towns', 1 entry)}
    """
    return lexicons_of(fitted_of(model).encoder.features)


def with_lexicons(model: Any, lexicons: Mapping[str, Lexicon]) -> Any:
    """Return a fitted model with the same weights and new entries in some lexicons.

    Parameters
    ----------
    model : SemiCRF or ChainCRF
        The model, which is not changed.
    lexicons : mapping of name to Lexicon
        The lexicons that replace those of the same names.

    Examples
    --------
    >>> import caesura
    >>> from caesura.features import Dictionary, Lexicon, bias
    >>> towns = Dictionary(Lexicon("towns", ["York"]))
    >>> X, y = ["in York", "in haste"], [[(1, 2, "town")], []]
    >>> model = caesura.SemiCRF([bias, towns], c2=0.01).fit(X, y)
    >>> with_lexicons(model, {"towns": Lexicon("towns", ["Leeds"])}).predict(["in Leeds"])
    [[Segment(start=1, end=2, label='town')]]
    """
    known = lexicons_in(model)
    for name in lexicons:
        if name not in known:
            expected = f"the name of a lexicon of the model, which has {', '.join(known) or 'none'}"
            raise InvalidInput(message("lexicons", name, expected, "fit a model with its features"))
    state = pickled(model)
    state["features"] = from_spec(to_spec(state["features"]), {**known, **lexicons}, True)
    kind: Any = type(model)
    again = kind.__new__(kind)
    unpickle(again, state)
    return again
