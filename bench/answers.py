"""Every kind of prediction beside `predict`, and beside the address parsers.

    python bench/answers.py [--data ../shared/data] [--rounds 5]

One core, processor time, library calls from raw text to result objects.  All programs run in one
process and take turns; the figure is the median of the rounds.  Digits of the addresses are drawn
anew for every call, so that no program has met the numbers before.  Garbage is not collected
while timing, as in `timeit`.

- addresses: usaddress and fastaddress with the model that they ship; ours learn from usaddress'
  training file with the preset "addresses".  F1 is on its test file.
- chunking: CoNLL-2000 from lists of tokens with their parts of speech, the preset "chunking".

While timing, answers are compared: `predict_confident` and the first of `predict_n_best` say what
`predict` says, and constrained answers keep their constraints.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timing import table

import caesura
from caesura.corpora import read
from caesura.evaluation import evaluate
from caesura.features import preset

ONCE = {"at_most_once": ["AddressNumber", "StreetName", "PlaceName", "StateName"]}
ONCE_CHUNKS = {"at_most_once": ["ADJP", "SBAR", "ADVP", "PRT"]}
Call = Callable[[list[Any]], Any]


def questions(model: Any, once: dict[str, list[str]]) -> dict[str, Call]:
    return {
        "predict": model.predict,
        "predict_confident": model.predict_confident,
        "predict_marginals": model.predict_marginals,
        "four labels at most once": lambda X: model.predict(X, constraints=once),
        "predict_n_best(5)": lambda X: model.predict_n_best(X, 5),
    }


def one_by_one(model: Any) -> Call:
    return lambda X: [model.predict([x]) for x in X]


def rates(calls: dict[str, Call], batch: Callable[[], list[Any]], rounds: int) -> dict[str, float]:
    """Return items per second: the median over rounds, alternating between calls."""
    rated: dict[str, list[float]] = {name: [] for name in calls}
    for k in range(rounds + 1):
        for name, call in calls.items():
            items = batch()
            gc.collect()
            gc.disable()
            start = time.thread_time()
            call(items)
            rate = len(items) / (time.thread_time() - start)
            gc.enable()
            rated[name] += [rate] if k else []  # the first round is a warm-up
    return {name: statistics.median(each) for name, each in rated.items()}


def check(model: Any, X: list[Any], once: dict[str, list[str]], chain: bool) -> None:
    said = model.predict(X)
    confident = model.predict_confident(X)
    assert [[one.segment for one in some] for some in confident] == said
    if not chain:  # a chain's best tags may differ from its best segments
        assert [ranked[0][0] for ranked in model.predict_n_best(X, 2)] == said
    for segments in model.predict(X, constraints=once):
        labels = [segment.label for segment in segments]
        assert all(labels.count(label) <= 1 for label in once["at_most_once"])


def addresses(data: Path, rounds: int) -> None:
    import fastaddress
    import usaddress

    train, test = (list(read(data / "usaddress" / f"{name}.xml")) for name in ("train", "test"))
    texts = [" ".join(document.tokens) for document in [*train, *test]]
    rng = random.Random(0)

    def fresh(n: int) -> list[str]:
        drawn = rng.choices(texts, k=n)
        return [re.sub(r"\d", lambda _: str(rng.randrange(10)), text) for text in drawn]

    options: dict[str, Any] = {"tokeniser": "whitespace", "n_threads": 1, "delta": 1e-3}
    segments = preset("addresses", segments=True)
    models = {
        "chain": caesura.ChainCRF(preset("addresses"), scheme="BIO", c1=0.05, c2=0.01, **options),
        "semi-CRF": caesura.SemiCRF(segments, same_label_adjacent=False, c2=0.3, **options),
    }
    peers: dict[str, Call] = {
        "usaddress.parse": lambda X: [usaddress.parse(x) for x in X],
        "fastaddress.parse": lambda X: [fastaddress.parse(x) for x in X],
        "fastaddress with confidence": lambda X: [fastaddress.parse_with_confidence(x) for x in X],
    }
    n = 2000
    rows: list[list[object]] = []
    found = rates(peers, lambda: fresh(n), rounds)
    fast = found["fastaddress with confidence"]
    rows += [[name, f"{rate:,.0f}", f"{rate / fast:.2f}", ""] for name, rate in found.items()]
    for name, model in models.items():
        model.fit(train)
        check(model, fresh(300), ONCE, name == "chain")
        found = rates(questions(model, ONCE), lambda: fresh(n), rounds)
        for question, rate in found.items():
            share = rate / found["predict"]
            cells = [f"{rate:,.0f}", f"{rate / fast:.2f}", f"{share:.2f}"]
            rows.append([f"{name} {question}", *cells])
        gold: list[Any] = [document.segments for document in test]
        print(f"{name}: F1 {evaluate(gold, model.predict(test)).micro.f1:.4f}")
    print(table(["addresses, raw text", "a second", "of fastaddress", "of predict"], rows))
    single = {f"{name} predict": one_by_one(model) for name, model in models.items()}
    alone = rates({**peers, **single}, lambda: fresh(200), rounds)
    rows = [[name, f"{1e6 / rate:.1f}"] for name, rate in alone.items()]
    print(table(["one text at a time", "microseconds"], rows))


def sentences(path: Path) -> list[tuple[caesura.Document, list[str]]]:
    out = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        words, pos, tags = zip(*(line.split() for line in block.split("\n")), strict=True)
        out.append((caesura.Document(words, columns={"pos": pos}), list(tags)))
    return out


def chunking(data: Path, rounds: int) -> None:
    train, test = (sentences(data / "conll2000" / f"{name}.txt") for name in ("train", "test"))
    asked: list[Any] = [x for x, _ in test]
    rows: list[list[object]] = []
    for name, model in {
        "chain": caesura.ChainCRF(preset("chunking"), c2=1.0, max_iterations=60, n_threads=1),
        "semi-CRF": caesura.SemiCRF(
            preset("chunking", segments=True), c2=1.0, max_iterations=40, n_threads=1
        ),
    }.items():
        model.fit([x for x, _ in train[:3000]], [tags for _, tags in train[:3000]])
        check(model, asked[:100], ONCE_CHUNKS, name == "chain")
        found = rates(questions(model, ONCE_CHUNKS), lambda: asked, rounds)
        for question, rate in found.items():
            cells = [f"{rate:,.0f}", f"{rate / found['predict']:.2f}"]
            rows.append([f"{name} {question}", *cells])
    print(table(["chunking, sentences", "a second", "of predict"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--task", choices=["addresses", "chunking", "both"], default="both")
    given = parser.parse_args()
    if given.task != "chunking":
        addresses(given.data, given.rounds)
    if given.task != "addresses":
        chunking(given.data, given.rounds)


if __name__ == "__main__":
    main()
