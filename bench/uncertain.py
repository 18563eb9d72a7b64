"""Uncertain rows: how far they are from the model, how well they answer, and what they cost.

    python bench/uncertain.py [--texts 40] [--train 100] [--corpus cora] [--plot FILE]

A semi-CRF learns from a few references, so that much is left in doubt, and the distribution over
the rows of other references is kept in each form.  Printed for each: the mean divergence from the
model in nats (of n-best rows: -ln of their probability, the divergence of the model from them), the
mean absolute error in the probability of conjunctions of two fields against the model's exact
answer, the number of stored cells, and the time for a text beside that of `predict_n_best(200)`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from orders_data import cora
from plots import BLUE, GREY, ORANGE, figure, save
from timing import table

import caesura
from caesura import Document, demo
from caesura.normalisers import normaliser
from caesura.records import UncertainRecord, answer_probability, uncertain_rows
from caesura.records.uncertain_columns import choices

ROWS = (1, 2, 4, 8, 16)
DRAWN = (100, 1000)
Query = dict[str, Any]


def corpus(name: str, data: Path, n: int, train: int) -> tuple[Any, list[Document]]:
    """Return a model that learnt from a few references, and others."""
    if name == "demo":
        documents = demo.citations(train + n, seed=1)
        labelled = [(document, document.segments) for document in documents]
    else:
        part, _ = cora(data)
        labelled = list(zip(part.documents, map(tuple, part.segments), strict=True))
    model = caesura.SemiCRF(features="citations", c2=0.3, max_iterations=100)
    model.fit([x for x, _ in labelled[:train]], [y for _, y in labelled[:train]])
    return model, [x for x, _ in labelled[train : train + n]]


def queries(model: Any, texts: Sequence[Document]) -> list[list[Query]]:
    """Return conjunctions of two fields of the ten best rows of each text."""
    asked = []
    for record in uncertain_rows(model, texts, form="n-best", n_best=10):
        some: list[Query] = []
        for row in record.rows:
            values = {label: next(iter(cells)) for label, cells in row.cells.items()}
            there = [label for label, value in values.items() if value is not None]
            some += [{a: values[a], b: values[b]} for a, b in pairwise(there)]
        asked.append([q for i, q in enumerate(some) if q not in some[:i]])
    return asked


def sampled(model: Any, text: Document, query: Query, drawn: Any) -> float:
    """Return the share of samples that match."""
    return sum(_matches(model, text, segments, query) for segments in drawn) / len(drawn)


def _matches(model: Any, text: Document, segments: Any, query: Query) -> bool:
    spans = choices(segments, list(query))
    for label, wanted in query.items():
        function = normaliser(model.normalisers_[label])
        texts = [text.text_of(span) for span in spans[label]]
        found = tuple(one if (v := function(one)) is None else str(v) for one in texts)
        if found != (wanted if isinstance(wanted, tuple) else (wanted,)):
            return False
    return True


def error(
    records: Sequence[UncertainRecord], asked: Sequence[list[Query]], exact: Sequence[list[float]]
) -> float:
    """Return the mean absolute error of the probability of answers."""
    return mean(
        abs(record.probability(query) - chance)
        for record, some, chances in zip(records, asked, exact, strict=True)
        for query, chance in zip(some, chances, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--train", type=int, default=100)
    parser.add_argument("--corpus", choices=("demo", "cora"), default="demo")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    model, texts = corpus(options.corpus, options.data, options.texts, options.train)
    entropies = caesura.entropy([model.potentials(text) for text in texts])
    print(f"{len(texts)} texts, mean entropy {mean(entropies):.2f} nats")
    asked = queries(model, texts)
    exact = [
        [answer_probability(model, text, query) for query in some]
        for text, some in zip(texts, asked, strict=True)
    ]
    began = time.process_time()
    model.predict_n_best(texts, 200)
    unit = time.process_time() - began
    rows, curves, bounds = [], dict[str, list[float]](), list[float]()
    for name in ("n-best", "mixture", "em", "em over 200 best"):
        form = name.split()[0]
        for k in ROWS:
            more: dict[str, Any] = {"n_best": k} if form == "n-best" else {"k": k}
            if name != form:
                more["mass"] = 0
            began = time.process_time()
            records = uncertain_rows(model, texts, form=form, **more)
            spent = time.process_time() - began
            kl = [-math.log(r.mass) if form == "n-best" else r.kl for r in records]
            slack = mean(record.slack for record in records)
            cells = mean(
                sum(map(len, row.cells.values())) for r in records for row in r.rows
            ) * mean(len(record.rows) for record in records)
            mass = mean(record.mass for record in records)
            curves.setdefault(name, []).append(mean(kl))
            bounds.append(mean(kl) + slack) if form == "mixture" else None
            wrong = error(records, asked, exact)
            rows.append(
                [name, k, f"{mean(kl):.3f}", f"{slack:.3f}", f"{mass:.3f}", f"{wrong:.4f}",
                 f"{cells:.0f}", f"{spent / unit:.1f}"]
            )  # fmt: skip
    for n in DRAWN:
        wrong = mean(
            abs(sampled(model, text, query, drawn) - chance)
            for text, some, chances, drawn in zip(
                texts, asked, exact, model.sample(texts, n, seed=1), strict=True
            )
            for query, chance in zip(some, chances, strict=True)
        )
        rows.append(["samples", n, "", "", "", f"{wrong:.4f}", "", ""])
    print(table(["form", "rows", "KL", "slack", "mass", "error", "cells", "time"], rows))
    if options.plot:
        plot(options.plot, curves, bounds)


def plot(path: Path, curves: dict[str, list[float]], bounds: list[float]) -> None:
    """Draw the divergence against the number of rows, and its upper bound."""
    made, (axis,) = figure(6.4, columns=1)
    names = {"n-best": "n best rows", "mixture": "mixture, by partition", "em": "mixture, by EM"}
    looks = (("s--", GREY), ("o-", ORANGE), ("^-", BLUE))
    for (form, name), (line, colour) in zip(names.items(), looks, strict=True):
        axis.plot(ROWS, curves[form], line, color=colour, ms=4, label=name)
    axis.fill_between(ROWS, curves["mixture"], bounds, alpha=0.15, color=ORANGE, linewidth=0)
    axis.set_xscale("log", base=2)
    axis.set_xticks(ROWS, [str(k) for k in ROWS])
    axis.set_xlabel("rows")
    axis.set_ylabel("KL divergence, nats")
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=8)
    save(made, path)


if __name__ == "__main__":
    main()
