"""Potentials as text and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caesura import render
from caesura.constraints import BARRED, FORCED
from caesura.segments.cores import OPEN_END, OPEN_START

if TYPE_CHECKING:
    from caesura.potentials.potentials import Potentials

__all__ = ["html_summary", "text_summary"]


def text_summary(p: Potentials) -> str:
    """Return the number of potentials and constraints of each kind."""
    parts = p.parts
    arrays = {"emission": p.emission, "transition": p.transition}
    arrays |= {"start": p.start, "end": p.end}
    arrays |= {} if parts.spans is None else {"spans": parts.spans}
    flags = np.concatenate([np.zeros(0, np.uint8), *(chunk[4] for chunk in parts.added)])
    kinds = np.bincount(flags, minlength=4)
    limited = (
        0
        if parts.constraints.allowed is None
        else int((parts.constraints.allowed == 0).any(axis=1).sum())
    )
    rules = {
        "forced boundaries": int((parts.constraints.boundary & FORCED > 0).sum()),
        "barred boundaries": int((parts.constraints.boundary & BARRED > 0).sum()),
        "forbidden segments": len(parts.constraints.forbidden),
        "tokens limited to some labels": limited,
        "labels at most once": sum(not must for must in parts.constraints.once.values()),
        "labels exactly once": sum(parts.constraints.once.values()),
        "orders of labels": len(parts.constraints.ordered),
        "rules about the segments of tags": len(parts.constraints.tables),
    }
    scores = [f"{name} {np.count_nonzero(a)} of {a.size}" for name, a in arrays.items()]
    held = [f"{rule}: {count}" for rule, count in rules.items() if count]
    names = [str(name) for name in p.labels[:8]] + ["..."] * (len(p.labels) > 8)
    lines = [
        f"Potentials of {p.length} tokens, {len(p.labels)} labels: {', '.join(names)}",
        f"not 0: {', '.join(scores)}",
        f"potentials: {kinds[0]} exact, {kinds[OPEN_END]} with open end, "
        f"{kinds[OPEN_START]} with open start, {kinds[OPEN_START | OPEN_END]} with both open",
        f"edges: {len(parts.edges)}; patterns: {len(parts.patterns)}",
        f"max_length: {p.max_length}; same_label_adjacent: {p.same_label_adjacent}",
        f"constraints: {', '.join(held) or 'none'}",
    ]
    return "\n  ".join(lines)


def html_summary(p: Potentials) -> str:
    """Return a summary, the strongest potentials and the emission as HTML."""
    parts = p.parts
    names = {y: str(name) for y, name in enumerate(p.labels)}
    for history, target in parts.histories.items():
        names[target] = " > ".join(names[y] for y in history)
    rows = [
        (w, names[z], render.place(s, e, flags & OPEN_START, flags & OPEN_END, p.tokens))
        for chunk in parts.added
        for s, e, z, w, flags in (
            [column[i].item() for column in chunk]
            for i in np.argsort(-np.abs(chunk[3]), kind="stable")[: render.MOST_STRONG]
        )
    ]
    rows += [(w, f"{names[a]} > {names[b]}", f"at {t}") for t, a, b, w in parts.edges]
    rows += [
        (w, names[z], "anywhere" if s < 0 and e < 0 else f"from {s}" if e < 0 else f"to {e}")
        for z, w, s, e in parts.patterns
    ]
    columns = range(p.length) if p.tokens is None else p.tokens
    heat = render.heat_map(p.emission, p.labels, columns)
    return render.summary(text_summary(p), rows) + "<p>emission</p>" + heat
