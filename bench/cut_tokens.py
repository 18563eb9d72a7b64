"""F1 where labelled spans cut words, beside the F1 on the unchanged data.

    python bench/cut_tokens.py [--task usaddress|citations] [--folds 3] [--data FOLDER]

Each text is changed in one of several ways, so that spans begin or end inside words:

- units: where a digit meets a letter, or a small letter a capital, between two segments, the space
  is dropped with a probability of 0.15, as in "12High St Chicago60601"
- endings: a span whose last letter is e or s ends before it, as "Robert" in "Roberts"
- glued: any space between the words of two segments is dropped with a probability of 0.15

`fit` chooses the tokeniser by itself, with default features.  The last change loses information,
which no tokeniser can bring back; the others do not.  F1 counts exact spans of characters, by
cross-validation of US addresses (usaddress' training data) and of references that the demo makes.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from timing import table

import caesura
import caesura.demo
from caesura.corpora import read_xml
from caesura.corpora.spans import spans_of
from caesura.documents import Document, as_document

Example = dict[str, Any]
SHARE = 0.15


def usaddress(data: Path) -> list[Example]:
    return [example(one) for one in read_xml(data / "usaddress" / "train.xml")]


def citations(data: Path) -> list[Example]:
    return [example(one) for one in caesura.demo.citations(300)]


def example(document: Document) -> Example:
    return {"text": document.text, "spans": [tuple(span) for span in spans_of(document) or ()]}


# -- modifications of texts ------------------------------------------------------------------------


def meets(before: str, after: str) -> bool:
    """Return whether a part of a word ends between two characters."""
    digits = before.isdigit() != after.isdigit() and before.isalnum() and after.isalnum()
    return digits or (before.islower() and after.isupper())


def joins(before: str, after: str) -> bool:
    return before.isalnum() and after.isalnum()


def glued(examples: list[Example], where: Callable[[str, str], bool], seed: int) -> list[Example]:
    """Drop some of the spaces between segments."""
    draw, out = random.Random(seed), []
    for one in examples:
        text, spans = one["text"], one["spans"]
        dropped = {
            a[1]
            for a, b in pairwise(spans)
            if b[0] - a[1] == 1 and text[a[1]] == " " and where(text[a[1] - 1], text[b[0]])
            if draw.random() < SHARE
        }
        at = [0]
        for i in range(len(text)):
            at.append(at[-1] + (i not in dropped))
        kept = "".join(c for i, c in enumerate(text) if i not in dropped)
        out.append({"text": kept, "spans": [(at[s], at[e], label) for s, e, label in spans]})
    return out


def without_endings(examples: list[Example]) -> list[Example]:
    """End spans before a last e or s."""

    def end(text: str, start: int, end: int) -> int:
        ends = text[end - 1] in "eEsS" and text[end - 2 : end].isalpha() and end - start > 2
        return end - ends

    return [
        {**one, "spans": [(s, end(one["text"], s, e), label) for s, e, label in one["spans"]]}
        for one in examples
    ]


CHANGES: dict[str, Callable[[list[Example]], list[Example]]] = {
    "unchanged": lambda given: given,
    "units": lambda given: glued(given, meets, 1),
    "endings": without_endings,
    "glued": lambda given: glued(given, joins, 2),
}


# -- measurement -----------------------------------------------------------------------------------


def f1(examples: list[Example], model: Any) -> float:
    """Return the F1 of exact spans of characters."""
    right = given = found = 0
    texts = [one["text"] for one in examples]
    for one, text, segments in zip(examples, texts, model.predict(texts), strict=True):
        offsets = as_document(text, model.tokeniser_).offsets or ()
        spans = {(offsets[s.start][0], offsets[s.end - 1][1], s.label) for s in segments}
        right += len(spans & set(one["spans"]))
        given, found = given + len(one["spans"]), found + len(spans)
    return 200 * right / (given + found)


def cut(examples: list[Example]) -> float:
    """Return the share of spans that cut a word, in percent."""
    ends = [as_document(one["text"]).offsets or () for one in examples]
    starts, stops = [{s for s, _ in one} for one in ends], [{e for _, e in one} for one in ends]
    spans = [(i, s, e) for i, one in enumerate(examples) for s, e, _ in one["spans"]]
    return 100 * sum(s not in starts[i] or e not in stops[i] for i, s, e in spans) / len(spans)


def measured(examples: list[Example], folds: int) -> tuple[str, list[float], float]:
    """Return the tokeniser, the F1 of each fold, and the CPU time of all."""
    scores, began, chosen = [], time.process_time(), ""
    for k in range(folds):
        train = [one for i, one in enumerate(examples) if i % folds != k]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the choice of another tokeniser
            model = caesura.SemiCRF(c2=1.0).fit(train)
        chosen = model.tokeniser_
        scores.append(f1(examples[k::folds], model))
    return chosen, scores, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--task", choices=["usaddress", "citations"])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    asked = parser.parse_args()
    tasks = {"usaddress": usaddress, "citations": citations}
    rows = []
    for name in [asked.task] if asked.task else tasks:
        examples, words = tasks[name](asked.data), 0.0
        for change, apply in CHANGES.items():
            changed = apply(examples)
            chosen, scores, seconds = measured(changed, asked.folds)
            mean = sum(scores) / len(scores)
            words = words or mean
            each = ", ".join(f"{one:.1f}" for one in scores)
            share, ahead = f"{cut(changed):.0f} %", f"{mean - words:+.2f}"
            rows.append([name, change, share, chosen, f"{mean:.2f}", ahead, each, f"{seconds:.0f}"])
            print(*rows[-1], sep="  ", flush=True)
    heads = ["task", "change", "cut", "tokens", "F1", "to words", "folds", "CPU s"]
    print(table(heads, rows))


if __name__ == "__main__":
    main()
