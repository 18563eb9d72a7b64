"""Speed of neural models by step: Tables 2 and 3 of Filtered Semi-Markov CRF (2023).

    python bench/vectors.py --cache FOLDER
    python bench/neural_speed.py --cache FOLDER [--data ../shared/data] [--sentences 200]

Each model first learns for one epoch from stored vectors of MiniLM.  Then the sentences of the test
set are answered, with a forward pass of the encoder: "encoder" is that pass, "scoring" all between
its vectors and the scores of tokens or spans, "decoding" the search.  Training is a step with its
gradient through the whole encoder.  One thread, processor time, batches of 32 and 16 sentences of
similar length.  The encoder is timed twice, scoring and decoding three times, and the least counts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ner import COMMON, FROZEN, MODELS, SIZE, TABLE, WIDTH, Segmenter, fitting
from timing import table
from vectors import Documents, Store, Stored, corpus, distinct, minilm

from caesura.neural import segmenter
from caesura.neural.transformer import Transformer


def learnt(name: str, task: str, train: Documents, known: Store) -> Segmenter:
    """Return a model after one epoch."""
    chosen = COMMON | FROZEN | MODELS[name] | {"epochs": 1, "max_length": WIDTH[task]}
    vars(segmenter)["Transformer"] = lambda folder, frozen: Stored(known, folder, frozen)
    model = Segmenter(transformer=minilm(), **chosen)
    return model.fit(fitting(train, WIDTH[task]))


def by_length(documents: Documents, size: int) -> list[Documents]:
    order = sorted(documents, key=len)
    return [order[k : k + size] for k in range(0, len(order), size)]


def answered(model: Segmenter, batches: list[Documents]) -> tuple[float, float]:
    """Return the seconds of scoring and of decoding."""
    network, spent = model.fitted_network(), np.zeros(2)
    head: Any = network.head
    stored = Cache(network.encoder.transformer)
    network.encoder.transformer = stored
    for batch in batches:
        stored.fill(batch)
        with torch.no_grad():
            times = [time.process_time()]
            states, lengths, extra = network.states(batch)
            if model.model == "filtered":
                scores = head.scores(states, lengths, extra)
                times.append(time.process_time())
                head.layer.decode_scores(*scores, lengths)
            else:
                scores, _ = head.network_scores(states, extra)
                times.append(time.process_time())
                head.layer.decode(scores, lengths)
            times.append(time.process_time())
        spent += np.diff(times)
    network.encoder.transformer = stored.inner
    return float(spent[0]), float(spent[1])


class Cache(torch.nn.Module):
    """Vectors of one batch, read beforehand so that the disk is not timed."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner, self.size, self.frozen = inner, inner.size, True

    now: torch.Tensor

    def fill(self, batch: Documents) -> None:
        self.now = self.inner([one.tokens for one in batch], max(map(len, batch)))

    def forward(self, *_: Any) -> torch.Tensor:
        """Return them."""
        return self.now


def encoded(batches: list[Documents], encoder: Transformer) -> float:
    began = time.process_time()
    with torch.no_grad():
        for batch in batches:
            encoder([one.tokens for one in batch], max(map(len, batch)))
    return time.process_time() - began


def trained(model: Segmenter, batches: list[Documents], encoder: Transformer) -> float:
    """Return the seconds of steps through the whole encoder."""
    network = model.fitted_network().train()
    network.encoder.transformer = encoder.train()
    optimiser = torch.optim.AdamW(network.parameters(), 1e-5)
    began = time.process_time()
    for batch in batches:
        optimiser.zero_grad()
        network.loss(batch, [list(one.segments or ()) for one in batch]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--task", choices=WIDTH, action="append", help="all where not given")
    parser.add_argument("--sentences", type=int, default=200, help="of the test set")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for task in arguments.task or WIDTH:
        parts = corpus(arguments.data, task)
        known = Store(distinct(parts), arguments.cache / f"{task}.f16", SIZE)
        n = arguments.sentences
        batches, steps = by_length(parts[2][:n], 32), by_length(fitting(parts[0][:64], 8), 16)
        frozen = Transformer(minilm(), frozen=True).eval()
        encoded(batches[-1:], frozen)  # loads libraries
        own = min(encoded(batches, frozen) for _ in range(2))
        for name in TABLE[:4]:
            model = learnt(name, task, parts[0], known)
            answered(model, batches[:1])
            scoring, decoding = np.min([answered(model, batches) for _ in range(3)], 0)
            encoder = Transformer(minilm())
            trained(model, steps[-1:], encoder)
            taken = trained(model, steps, encoder)
            parted = [f"{1e3 * x / n:.3f}" for x in (own, scoring, decoding)]
            speeds = [64 / taken, n / (own + scoring + decoding), n / (scoring + decoding)]
            rows.append([task, name, *(f"{x:.0f}" for x in speeds), *parted])
            print(*rows[-1], flush=True)
    head = ["task", "model", "train/s", "answer/s", "without encoder/s"]
    print(table([*head, "encoder ms", "scoring ms", "decoding ms"], rows))


if __name__ == "__main__":
    main()
