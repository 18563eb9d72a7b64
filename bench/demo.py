"""The settings of ``caesura demo``: their selection and their average scores.

python bench/demo.py choose    # on styles and records of the training data, never on the test
python bench/demo.py test      # the demonstration with the seeds 0 to 3
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from statistics import mean
from typing import NamedTuple

from caesura import ChainCRF, Document, SemiCRF, evaluate
from caesura.demo import HELD_OUT_STYLES, STYLES, citations, split
from caesura.demo.trial import data, learn, lexicons
from caesura.features import Lexicon, SegmentFeature, Template, preset

# Each group is held out once, with its own records; the other styles are trained on.
HELD_OUT = (
    ("apa", "ieee", "plain"),
    ("chicago", "science", "abbrv"),
    ("harvard", "elsevier", "acm"),
    ("notes", "springer", "vancouver"),
)
PENALTIES = ((0.05, 0.01), (0.0, 0.1), (0.05, 0.1), (0.1, 0.1))  # candidates of (c1, c2)


class Rehearsal(NamedTuple):
    """Training data cut as the demonstration cuts all data."""

    train: list[Document]
    records: list[Document]  # other records in the same styles
    styles: list[Document]  # other records in other styles
    lexicons: list[Lexicon]


def rehearsals() -> Iterator[Rehearsal]:
    for seed, others in enumerate(HELD_OUT):
        parts = split(seed)
        same = [name for name in STYLES if name not in (*others, *HELD_OUT_STYLES)]
        n = 2 * len(parts.dev)
        yield Rehearsal(
            citations(400, 100 + seed, same, of=parts.train),
            citations(n, 200 + seed, same, of=parts.dev),
            citations(n, 300 + seed, others, of=parts.dev),
            lexicons(parts.train),
        )


def f1(model: SemiCRF | ChainCRF, documents: list[Document]) -> float:
    return evaluate([d.segments or () for d in documents], model.predict(documents)).micro.f1


def of(lexicons: list[Lexicon], segments: bool) -> list[Template | SegmentFeature]:
    return preset("citations", gazetteers=lexicons, segments=segments)


def choose() -> None:
    made = list(rehearsals())
    print("model  features  c1  c2: F1 on unseen records, on unseen styles, mean")
    for scheme, (c1, c2) in itertools.product(("BIO", "BIOES"), PENALTIES):
        report(
            ("chain", scheme, c1, c2),
            [(ChainCRF(of(one.lexicons, False), scheme=scheme, c1=c1, c2=c2), one) for one in made],
        )
    for c1, c2 in PENALTIES:
        report(
            ("semi", c1, c2),
            [(SemiCRF(of(one.lexicons, True), c1=c1, c2=c2), one) for one in made],
        )


def report(name: tuple[object, ...], trials: list[tuple[SemiCRF | ChainCRF, Rehearsal]]) -> None:
    scores = []
    for model, one in trials:
        if isinstance(model, SemiCRF):
            model.set_params(same_label_adjacent=False)
        model.set_params(max_iterations=100, n_threads=1).fit(one.train)
        scores.append((f1(model, one.records), f1(model, one.styles)))
    records, styles = (100 * mean(column) for column in zip(*scores, strict=True))
    print(*name, f"{records:.1f} {styles:.1f} {(records + styles) / 2:.2f}", flush=True)


def test() -> None:
    for kind in ("semi", "chain"):
        learnt = [learn(kind, data(400, seed)) for seed in range(4)]
        for seed, one in enumerate(learnt):
            print(kind, seed, *(f"{100 * r.micro.f1:.1f}" for r in (one.records, one.styles)))
        means = [
            100 * mean(r.micro.f1 for r in column)
            for column in zip(*((one.records, one.styles) for one in learnt), strict=True)
        ]
        print(kind, "mean", *(f"{value:.1f}" for value in means), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["choose", "test"])
    {"choose": choose, "test": test}[parser.parse_args().what]()
