"""What a model suggests for a text of which a person has fixed some segments."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from caesura.documents import Document
from caesura.errors import CaesuraError, Impossible, InvalidInput
from caesura.segments import Segment
from caesura.server.edits import State

__all__ = ["suggested"]


def suggested(
    model: Any, document: Document, state: State, draft: Sequence[Segment] = ()
) -> list[dict[str, Any]]:
    """Return the segments of a text: those that are fixed, and the best others under them.

    Parameters
    ----------
    model : model or None
        What suggests; None: nothing does.
    document : Document
        The text.
    state : State
        What is fixed.
    draft : sequence of Segment
        Segments that came with the text. They are shown until the first correction, after which
        the model decodes the rest; without a model those that agree with all corrections are.

    Returns
    -------
    list of dict
        ``{"start", "end", "label", "probability", "fixed"}`` by tokens, in order.

    Examples
    --------
    >>> import caesura
    >>> X, y = ["12 High Street", "3 Park Lane"], [[(0, 1, "number"), (1, 3, "street")]] * 2
    >>> model = caesura.SemiCRF(c2=0.01).fit(X, y)
    >>> document = Document.from_text("7 Mill Road")
    >>> found = suggested(model, document, State(segments=((0, 1, "flat"),)))
    >>> [(one["label"], one["fixed"]) for one in found]
    [('flat', True), ('street', False)]
    """
    out = [
        {"start": start, "end": end, "label": label, "probability": None, "fixed": True}
        for start, end, label in state.segments
    ]
    if state.status == "open" and document.tokens:
        taken = [(s[0], s[1]) for s in (*state.segments, *state.outside)]
        others: list[tuple[Any, float | None]] = [(segment, None) for segment in draft]
        if model is not None and (taken or not draft):
            others = _decoded(model, document, state)
        for (start, end, label), chance in others:
            if all(end <= a or b <= start for a, b in taken):
                made = {"start": start, "end": end, "label": label, "probability": chance}
                out.append(made | {"fixed": False})
    return sorted(out, key=lambda one: int(one["start"]))


def _decoded(model: Any, document: Document, state: State) -> list[tuple[Any, float | None]]:
    """Return the model's segments with probabilities, under what is fixed where that is possible.

    Labels that the model has not learnt yet cannot be required of it: their segments are cut out
    by boundaries, and whatever it says about them is not shown.
    """
    rules = _rules(model, document, state)
    try:
        [found] = model.predict_confident([document], constraints=rules)
    except Impossible:
        [found] = model.predict_confident([document])
    return [(one.segment, one.probability) for one in found]


def _rules(model: Any, document: Document, state: State) -> dict[str, Any] | None:
    if not state.segments and not state.outside:
        return None
    required: list[tuple[int, int, str]] = []
    boundaries: set[int] = set()
    for start, end, label in state.segments:
        if label in model.labels_:
            required.append((start, end, label))
        else:
            boundaries |= {start, end}
    for start, end in state.outside:
        if _knows_outside(model):
            required.append((start, end, model.outside))
        else:
            boundaries |= {start, end}
    inner = sorted(t for t in boundaries if 0 < t < len(document))
    return {"required": required, "boundaries": inner}


@functools.lru_cache(8)
def _knows_outside(model: Any) -> bool:
    """Say whether a model has learnt that tokens can be in no segment."""
    try:
        model.predict([["a"]], constraints={"allowed": {0: [model.outside]}})
    except InvalidInput:
        return False
    except CaesuraError:
        return True
    return True
