"""Predictions as JSON data: segments by characters, records, alternatives, explanations."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caesura.documents import Document, Tokeniser
from caesura.documents.tokenisers import Offsets
from caesura.errors import InvalidInput, message
from caesura.segments import Segment
from caesura.server.limits import Limits, Refused
from caesura.server.registry import Entry

__all__ = ["by_tokens", "explained", "extracted", "ranked", "segmented"]

PART = 50_000  # characters of text that are processed between checks of the time limit
Rules = Mapping[str, Any]
Plain = dict[str, Any]


def segmented(
    entry: Entry, texts: Sequence[str], rules: Sequence[Rules] | None, limits: Limits
) -> list[Plain]:
    """Return the segments of each text, by characters.

    Parameters
    ----------
    entry : Entry
        The model.
    texts : sequence of str
        The texts.
    rules : sequence of dict, optional
        Constraints on each text, by characters.
    limits : Limits
        `seconds` is used.

    Returns
    -------
    list of dict
        ``{"segments": [{"start", "end", "label", "text", "probability"}]}`` for each text.
    """
    out: list[Plain] = []
    if rules is None and entry.confident:  # models read texts faster than documents
        tokeniser = Tokeniser.of(entry.model.tokeniser_)
        spans = tokeniser.spans
        for some in _slices(texts, limits):
            sure = _confident(entry, _as_texts(some, tokeniser), None)
            for text, found in zip(some, sure, strict=True):
                offsets = spans(text) if found else ()
                out.append({"segments": [_at(text, offsets, s, p) for s, p, _, _ in found]})
        return out
    for documents, constraints in _parts(entry, texts, rules, limits):
        if entry.confident:
            sure = _confident(entry, documents, constraints)
            for document, found in zip(documents, sure, strict=True):
                out.append({"segments": [_placed(document, s, p) for s, p, _, _ in found]})
        else:
            best = entry.model.predict(documents, constraints)
            for document, bare in zip(documents, best, strict=True):
                out.append({"segments": [_placed(document, s, None) for s in bare]})
    return out


def extracted(
    entry: Entry, texts: Sequence[str], rules: Sequence[Rules] | None, limits: Limits
) -> list[Plain]:
    """Return a record for each text: fields with normalised values."""
    out: list[Plain] = []
    for documents, constraints in _parts(entry, texts, rules, limits):
        out += entry.model.extract(documents, constraints).to_dicts()
    for record in out:
        del record["text"]  # the client knows it
        for values in record["fields"].values():
            for value in values:
                value["value"] = _plain(value["value"])
    return out


def ranked(
    entry: Entry, texts: Sequence[str], rules: Sequence[Rules] | None, n: int, limits: Limits
) -> list[Plain]:
    """Return the n best segmentations of each text with their probabilities."""
    out: list[Plain] = []
    for documents, constraints in _parts(entry, texts, rules, limits):
        found = entry.model.predict_n_best(documents, n, constraints)
        for document, best in zip(documents, found, strict=True):
            alternatives = [
                {"probability": chance, "segments": [_placed(document, s) for s in segments]}
                for segments, chance in best
            ]
            out.append({"alternatives": alternatives})
    return out


def explained(
    entry: Entry, texts: Sequence[str], rules: Sequence[Rules] | None, n: int, limits: Limits
) -> list[Plain]:
    """Return the explanation of each segment: the runner-up, and the n most different features."""
    out: list[Plain] = []
    for documents, constraints in _parts(entry, texts, rules, limits):
        mine: list[Plain] | list[None] = constraints or [None] * len(documents)
        for document, rule in zip(documents, mine, strict=True):
            if not document.tokens:
                out.append({"segments": []})
                continue
            segments = [_reasons(document, why, n) for why in entry.model.explain(document, rule)]
            out.append({"segments": segments})
    return out


def by_tokens(document: Document, rules: Rules, name: str) -> Plain:
    """Convert constraints from characters to tokens, or raise.

    Examples
    --------
    >>> document = Document.from_text("12 High Street")
    >>> by_tokens(document, {"required": [[3, 14, "street"]], "boundaries": [3]}, "constraints")
    {'required': [(1, 3, 'street')], 'boundaries': [1]}
    """
    offsets = document.offsets or ()
    starts = {start: t for t, (start, _) in enumerate(offsets)}
    ends = {end: t + 1 for t, (_, end) in enumerate(offsets)}
    out: Plain = {}
    for key, items in rules.items():
        if key in ("required", "forbidden"):
            out[key] = []
            for i, (start, end, label) in enumerate(items):
                if start not in starts or end not in ends:
                    expected = "a span that begins and ends with tokens of the model"
                    raise InvalidInput(
                        message(f"{name}.{key}[{i}]", [start, end, label], expected, "widen it")
                    )
                out[key].append((starts[start], ends[end], label))
        elif key in ("boundaries", "no_boundaries"):
            for i, place in enumerate(items):
                if place not in starts:
                    expected = "the offset of the first character of a token"
                    raise InvalidInput(message(f"{name}.{key}[{i}]", place, expected, "move it"))
            out[key] = [starts[place] for place in items]
        else:
            out[key] = items
    return out


def _parts(
    entry: Entry, texts: Sequence[str], rules: Sequence[Rules] | None, limits: Limits
) -> Iterator[tuple[list[Document], list[Plain] | None]]:
    """Yield documents with their constraints in batches, within the time limit."""
    first = 0
    for some in _slices(texts, limits):
        documents = [Document.from_text(text, entry.model.tokeniser_) for text in some]
        constraints = None
        if rules is not None:
            constraints = [
                by_tokens(document, rules[i], f"constraints[{i}]")
                for i, document in enumerate(documents, first)
            ]
        yield documents, constraints
        first += len(some)


def _slices(texts: Sequence[str], limits: Limits) -> Iterator[Sequence[str]]:
    """Yield texts in batches, within the time limit."""
    began, first = time.monotonic(), 0
    while first < len(texts):
        if time.monotonic() - began > limits.seconds:
            reason = f"the answer takes longer than {limits.seconds:g} seconds; send fewer texts"
            raise Refused(413, reason)
        last, size = first, 0
        while last < len(texts) and size < PART:
            size += len(texts[last]) + 1
            last += 1
        yield texts[first:last]
        first = last


def _as_texts(texts: Sequence[str], tokeniser: Any) -> Sequence[Any]:
    """Return texts in the form of a model's input.

    The library refuses a text that is the name of a file, which clients must not learn.
    """
    if os.path.splitext(texts[0])[1][1:].isalnum():
        return [Document.from_text(texts[0], tokeniser), *texts[1:]]
    return texts


def _confident(entry: Entry, documents: Sequence[Any], constraints: Any) -> list[list[Any]]:
    found: list[list[Any]] = entry.model.predict_confident(documents, constraints=constraints)
    return found


def _placed(document: Document, segment: Segment, chance: float | str | None = "") -> Plain:
    """Return a segment by characters, with its probability if requested."""
    made = _at(document.text or "", document.offsets or (), segment, chance)
    if chance == "":
        del made["probability"]
    return made


def _at(text: str, offsets: Offsets, segment: Segment, chance: float | str | None) -> Plain:
    """Return a segment by the characters of its text."""
    first, last, label = segment
    start, end = offsets[first][0], offsets[last - 1][1]
    return {
        "start": start,
        "end": end,
        "label": label,
        "text": text[start:end],
        "probability": chance,
    }


def _reasons(document: Document, why: Any, n: int) -> Plain:
    """Return the explanation of a segment."""
    told = [one for one in why.reasons if one.difference]
    return _placed(document, why.segment, why.probability) | {
        "runner_up": [_placed(document, segment) for segment in why.runner_up],
        "margin": why.margin if math.isfinite(why.margin) else None,
        "reasons": [
            {
                "feature": one.feature,
                "for": one.states,
                "answer": one.answer,
                "runner_up": one.runner_up,
                "difference": one.difference,
            }
            for one in told[:n]
        ],
        "left_out": max(len(told) - n, 0),
    }


def _plain(value: Any) -> Any:
    """Convert the value of a normaliser to JSON data."""
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return str(value)
