"""Milliseconds of log Z and its gradient over kept spans: the span graph beside explicit arcs; and
throughput of the chain, the semi-CRF and the filtered semi-CRF as layers of a network.

    python bench/filtered.py

One thread, processor time.  "all" keeps every span of up to K tokens, the worst case of a filter;
"few" keeps as many spans as there are tokens.  Explicit arcs are those of the plain torch path,
which lists them; values are compared while timing.

In the second table all layers get the same vectors of tokens: "score" makes scores of tokens or of
spans of up to K tokens, "decode" finds the best answer, "train" is loss plus backward, scores
included.  The filter keeps two spans of a hundred, or all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from timing import best_seconds, table

from caesura.neural import ChainCRFLayer, FilteredSemiCRF, SemiCRFLayer, graph
from caesura.neural.spans import SpanRepresentation

CASES = ((16, 16), (32, 32), (128, 8), (512, 8), (512, 32))  # T, K
LABELS = 4
MOST_ARCS = 20_000  # maximum size of a graph for the plain implementation


def spans(T: int, K: int, few: bool) -> Any:
    rng = np.random.default_rng(0)
    every = [(0, s, e, 0) for s in range(T) for e in range(s + 1, min(T, s + K) + 1)]
    rows = np.array(every, np.int64)
    if few:
        rows = rows[np.sort(rng.choice(len(rows), min(T, len(rows)), replace=False))]
    rows[:, 3] = rng.integers(0, LABELS, len(rows))
    return rows


def states_and_gold(B: int, T: int, H: int, K: int) -> tuple[torch.Tensor, list[Any]]:
    """Return vectors of tokens, and segments of up to K tokens with text between them."""
    rng = np.random.default_rng(0)
    gold = []
    for _ in range(B):
        cut, t = [], int(rng.integers(0, 4))
        while t + K < T:
            end = t + int(rng.integers(1, K + 1))
            cut.append((t, end, int(rng.integers(LABELS))))
            t = end + int(rng.integers(1, 10))
        gold.append(cut)
    return torch.randn(B, T, H), gold


def covered(cut: list[Any], T: int) -> list[Any]:
    """Return segments that cover a sequence: text between them has the label 0."""
    out, at = [], 0
    for start, end, y in [*cut, (T, T, 0)]:
        out += [(t, t + 1, 0) for t in range(at, start)] + ([(start, end, y + 1)] if y >= 0 else [])
        at = end
    return out[:-1]


def throughput(B: int, T: int, H: int, K: int) -> list[list[str]]:
    """Return a row for each layer."""
    states, gold = states_and_gold(B, T, H, K)
    full = [covered(cut, T) for cut in gold]
    tags = torch.tensor([[y for s, e, y in cut for _ in range(s, e)] for cut in full])
    chain, to_tags = ChainCRFLayer(LABELS + 1), torch.nn.Linear(H, LABELS + 1)
    semi, to_spans = SemiCRFLayer(LABELS + 1, K), torch.nn.Linear(H, LABELS + 1)
    vectors = SpanRepresentation("sum", H, K)
    rows = []

    def measure(name: str, score: Any, decode: Any, loss: Any) -> None:
        with torch.no_grad():
            scored = best_seconds(score)
            found = score()
            decoded = best_seconds(lambda: decode(found))
        trained = best_seconds(lambda: loss().backward())
        times = [f"{1e3 * x:.2f}" for x in (scored, decoded, trained)]
        rates = [f"{B / (scored + decoded):,.0f}", f"{B / trained:,.0f}"]
        rows.append([str(T), str(K), name, *times, *rates])

    measure(
        "chain",
        lambda: to_tags(states),
        chain.decode,
        lambda: chain(to_tags(states), None, tags),
    )
    measure(
        "semi-CRF",
        lambda: vectors.projected(states, to_spans),
        semi.decode,
        lambda: semi(vectors.projected(states, to_spans), None, full),
    )
    for name, share in (("filtered, few kept", 0.02), ("filtered, all kept", 1.0)):
        layer = FilteredSemiCRF(H, LABELS, K)
        with torch.no_grad():
            layer.local.weight[0] = 0.0
            best = layer.span_scores(states)[0][..., 1:].amax(-1)
            layer.local.bias[0] = best.quantile(1.0 - share) - float(share == 1.0)
        measure(
            name,
            lambda layer=layer: layer.scored(states),
            lambda found, layer=layer: layer.decode_scores(*found),
            lambda layer=layer: layer(states, None, gold),
        )
    return rows


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    head = ["T", "K", "kept", "spans", "arcs", "span graph ms", "explicit ms", "times"]
    lines = []
    for T, K in CASES:
        for few in (True, False):
            rows, lengths = spans(T, K, few), np.array([T])
            scores = torch.randn(len(rows), dtype=torch.float64, requires_grad=True)
            transition = torch.randn(LABELS, LABELS, dtype=torch.float64, requires_grad=True)
            nodes, arcs = graph.size_of(rows[:, 1:3])

            def ask(
                use: bool,
                rows: Any = rows,
                lengths: Any = lengths,
                scores: torch.Tensor = scores,
                transition: torch.Tensor = transition,
            ) -> torch.Tensor:
                log_z = graph.log_partition(rows, lengths, scores, transition, use)
                torch.autograd.grad(log_z.sum(), [scores, transition])
                return log_z.detach()

            ours = best_seconds(lambda ask=ask: ask(True))  # type: ignore[misc]
            shown = [T, K, "few" if few else "all", nodes, arcs, f"{1e3 * ours:.3f}"]
            if arcs > MOST_ARCS:
                lines.append([*shown, "not run", "-"])
                continue
            assert torch.allclose(ask(True), ask(False))
            plain = best_seconds(lambda ask=ask: ask(False), least=0.0)  # type: ignore[misc]
            lines.append([*shown, f"{1e3 * plain:.1f}", f"{plain / ours:.0f}"])
    print(table(head, lines))
    head = ["T", "K", "layer", "score ms", "decode ms", "train ms", "decoded/s", "trained/s"]
    print("\n8 sequences, vectors of 128 numbers, 4 labels")
    print(table(head, [row for T in (32, 128) for row in throughput(8, T, 128, 8)]))


if __name__ == "__main__":
    main()
