"""A filter for feature-based semi-CRFs: spans pruned by a cheap first model, on NCBI disease.

    python bench/pruned.py [--data ../shared/data] [--sentences 2000]

- first: a semi-CRF with the token features of the preset ner.
- full: the same with a function of whole spans, which is called for every span of up to 12 tokens.
- pruned: `PrunedSemiCRF`, the same function for the spans that the first model keeps, at several
  bounds on the share of given segments that may be lost.

"lost" is the share of given segments that the threshold prunes: "held out" is what it was chosen by
(cross-validation on the training data), "test" what came out.  Seconds are processor time; calls
are those of the function in training and test together.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from timing import table

import caesura
from caesura.corpora import read_conll
from caesura.features import SegmentFunction, preset
from caesura.models import PrunedSemiCRF

LONGEST = 12
calls = 0


def described(document: caesura.Document, start: int, end: int) -> Iterator[str]:
    """Describe a whole span: its text, its parts, its form and what surrounds it."""
    global calls
    calls += 1
    words = [word.lower() for word in document.tokens[start:end]]
    yield f"text={' '.join(words)}"
    yield f"length={end - start}"
    yield f"ends={words[0]} .. {words[-1]}"
    yield f"sorted={' '.join(sorted(words))}"
    yield f"initials={''.join(word[0] for word in words)}"
    before = document.tokens[start - 1].lower() if start else "<"
    after = document.tokens[end].lower() if end < len(document) else ">"
    yield f"around={before} .. {after}"
    yield f"before={before} {words[0]}"
    yield f"after={words[-1]} {after}"
    text = " ".join(words)
    yield f"balanced={text.count('(') == text.count(')')}"
    for size in (3, 4):
        yield f"suffix={text[-size:]}"
    yield from (f"has={word}" for word in words)


def measured(model: Any, train: Any, test: Any) -> tuple[float, float, float, int]:
    """Return F1 on the test data, seconds of fit and predict, and calls of the function."""
    global calls
    calls = 0
    began = time.process_time()
    model.fit(train)
    fitted = time.process_time()
    score = model.score(test)
    return 100 * score, fitted - began, time.process_time() - fitted, calls


def lost(model: PrunedSemiCRF, test: Any) -> float:
    """Return the share of test segments that the model prunes."""
    marginals = model.first_.predict_marginals(test)
    chances = [
        m.segment(*s)
        for m, document in zip(marginals, test, strict=True)
        for s in document.segments
    ]
    return sum(p < model.threshold_ for p in chances) / len(chances)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sentences", type=int, default=2000, help="to learn from")
    options = parser.parse_args()
    folder = options.data / "ncbi_disease"
    if not folder.is_dir():
        print(f"no NCBI disease in {options.data}: skipped; name its folder with --data")
        return
    train, test = (
        list(read_conll(folder / f"{name}.tsv", comment=None)) for name in ("train", "test")
    )
    train = train[: options.sentences]
    tokens = sum(map(len, train))
    common: dict[str, Any] = {"c2": 0.3, "precision": "mixed", "delta": 1e-4}
    features = preset("ner")
    first = caesura.SemiCRF(features, **common)
    full = caesura.SemiCRF([*features, SegmentFunction(described, LONGEST)], **common)
    head = ["model", "F1", "fit s", "predict s", "calls", "spans/token", "held out", "test"]
    rows = []
    for name, model in (("first", first), ("full", full)):
        score, fit, predict, called = measured(model, train, test)
        rows.append([name, f"{score:.2f}", f"{fit:.1f}", f"{predict:.2f}", f"{called:,}", *"---"])
    for bound in (0.001, 0.005, 0.02, 0.05):
        pruned = PrunedSemiCRF(described, first, max_lost=bound, c2=0.1)
        score, fit, predict, called = measured(pruned, train, test)
        shares = [f"{pruned.kept_:.2f}", f"{pruned.lost_:.4f}", f"{lost(pruned, test):.4f}"]
        shown = [f"{score:.2f}", f"{fit:.1f}", f"{predict:.2f}", f"{called:,}"]
        rows.append([f"pruned {bound}", *shown, *shares])
    print(f"{len(train):,} sentences, {tokens:,} tokens; {len(test):,} to test")
    print(table(head, rows))


if __name__ == "__main__":
    main()
