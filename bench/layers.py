"""The layers of caesura.neural beside torch-struct, flash-semicrf and pytorch-crf.

    python bench/layers.py [--case large] [--seconds 5]     # the peers are slow

Loss plus backward on the CPU, one thread, processor time, the same scores for all in one process.
log Z and its gradients are compared while timing.  "times" is how many times longer a peer takes
than the layer in the same precision, "MB" the peak of memory above that at the start of the call.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import torch
from peers import Answer, Contender, Scores, draw, errors, flash_edges, flash_streaming, measure
from peers import torch_struct as struct

from caesura.neural import ChainCRFLayer, OverlappingSemiCRFLayer, SemiCRFLayer

TOLERANCE = {"float32": 2e-4, "float64": 1e-8}  # relative
HEAD = " " * 25 + "dtype       CPU ms    times      MB   log Z  counts calls"
ROW = "{:25}{:8}{:10.3f}{:9.1f}{:8.1f}{:8.0e}{:8.0e}{:6}"


class Case(NamedTuple):
    name: str
    T: int
    L: int  # 1 for a chain
    Y: int
    B: int = 8


CASES = (
    Case("small", 32, 16, 8),
    Case("medium", 256, 16, 16),
    Case("large", 512, 32, 16),
    Case("short", 64, 8, 4),
    Case("labels", 128, 8, 64),
    Case("chain", 256, 1, 16),
    Case("chain-1", 256, 1, 16, 1),
    Case("chain-64", 256, 1, 16, 64),
    Case("chain-labels", 64, 1, 64),
)


def tensors(scores: Scores, dtype: str) -> dict[str, Any]:
    """Return the scores of segments with the tokens added in, and the parameters."""
    real = getattr(torch, dtype)
    _, T, L, _ = scores.spans.shape
    segments = np.array(scores.spans, order="C")
    before = np.pad(scores.emission.cumsum(1), ((0, 0), (1, 0), (0, 0)))
    for k in range(1, min(L, T) + 1):
        segments[:, : T - k + 1, k - 1] += before[:, k:] - before[:, :-k]
    arrays = {"segments": segments, "transition": scores.transition}
    arrays |= {"start": scores.start, "end": scores.end}
    return {name: torch.tensor(a, dtype=real) for name, a in arrays.items()}


def gold_rows(B: int, T: int, L: int) -> Any:
    """Return a segmentation of each sequence: all segments have length L and label 0."""
    starts = np.arange(0, T, L)
    rows = [(b, s, min(s + L, T), 0) for b in range(B) for s in starts.tolist()]
    return torch.tensor(rows)


def filled(layer: Any, given: dict[str, Any]) -> Any:
    layer.to(given["segments"].dtype)
    with torch.no_grad():
        for name in ("transition", "start", "end"):
            getattr(layer, name).copy_(given[name])
    return layer


def layer(scores: Scores, dtype: str) -> Contender:
    """SemiCRFLayer, or ChainCRFLayer where L is 1; what is timed is the loss and its backward."""
    B, T, L, Y = scores.spans.shape
    given = tensors(scores, dtype)
    of_segments = given["segments"]
    if L == 1:
        made, gold = filled(ChainCRFLayer(Y), given), torch.zeros(B, T, dtype=torch.int64)
        x = of_segments[:, :, 0].contiguous().requires_grad_()
    else:
        made, gold = filled(SemiCRFLayer(Y, L), given), gold_rows(B, T, L)
        x = of_segments.requires_grad_()
    lengths = torch.full((B,), T)

    def call() -> Any:
        made.zero_grad(set_to_none=True)
        x.grad = None
        made(x, lengths, gold, "sum").backward()

    def answer(_: Any) -> Answer:
        """Ask for log Z itself, whose gradient the peers are compared in."""
        log_z = made.log_partition(x, lengths)
        grads = torch.autograd.grad(log_z.sum(), [x, made.transition])
        spans, transitions = (g.double().numpy().reshape(g.shape) for g in grads)
        spans = spans.reshape(B, T, L, Y)
        return Answer(log_z.detach().double().numpy(), None, spans, spans.sum((0, 1)), transitions)

    return Contender("caesura layer", dtype, call, answer)


def overlapping(scores: Scores, dtype: str) -> Contender:
    """The layer without a bound on lengths, on the scores of tokens alone: for its time only."""
    B, T, _, Y = scores.spans.shape
    made = OverlappingSemiCRFLayer(Y).to(getattr(torch, dtype))
    x = torch.tensor(scores.emission, dtype=getattr(torch, dtype), requires_grad=True)
    gold = gold_rows(B, T, T)

    def call() -> Any:
        made.zero_grad(set_to_none=True)
        x.grad = None
        made(x, None, gold, "sum").backward()

    return Contender("caesura overlapping", dtype, call, lambda _: None)  # type: ignore[arg-type, return-value]


def pytorch_crf(scores: Scores, dtype: str) -> Contender:
    """The chain of pytorch-crf, given the same labels."""
    B, T, _, Y = scores.spans.shape
    given = tensors(scores, dtype)
    made = import_module("torchcrf").CRF(Y, batch_first=True).to(given["segments"].dtype)
    with torch.no_grad():
        made.transitions.copy_(given["transition"])
        made.start_transitions.copy_(given["start"])
        made.end_transitions.copy_(given["end"])
    x = given["segments"][:, :, 0].contiguous().requires_grad_()
    gold = torch.zeros(B, T, dtype=torch.int64)

    def call() -> Any:
        made.zero_grad(set_to_none=True)
        x.grad = None
        (-made(x, gold, reduction="sum")).backward()

    def answer(_: Any) -> Answer:
        everywhere = torch.ones(T, B, dtype=torch.bool)
        log_z = made._compute_normalizer(x.transpose(0, 1), everywhere)
        grads = torch.autograd.grad(log_z.sum(), [x, made.transitions])
        tokens, transitions = (g.double().numpy() for g in grads)
        spans = tokens[:, :, None]
        found = log_z.detach().double().numpy()
        return Answer(found, None, spans, spans.sum((0, 1)), transitions)

    return Contender("pytorch-crf", dtype, call, answer)


def contenders(case: Case, dtypes: list[str], without: list[str]) -> Iterator[Contender | str]:
    scores = draw(case.T, case.L, case.Y, case.L > 1, case.B)
    makers: list[Callable[[Scores, str], Contender]] = [pytorch_crf]
    if case.L > 1:
        makers = [overlapping, struct, flash_edges, flash_streaming]
    for dtype in dtypes:
        yield layer(scores, dtype)
        for maker in (one for one in makers if one.__name__ not in without):
            try:
                yield maker(scores, dtype)
            except (ImportError, MemoryError) as problem:
                yield f"{maker.__name__} {dtype}: not run ({problem})"


def run(case: Case, dtypes: list[str], seconds: float, without: list[str]) -> None:
    title = f"{case.name}: T={case.T} L={case.L} Y={case.Y}, {case.B} sequences"
    print(f"\n{title}\n{HEAD}", flush=True)
    expected: Answer | None = None
    ours = 0.0
    for contender in contenders(case, dtypes, without):
        if isinstance(contender, str):
            print(contender, flush=True)
            continue
        answer, times, peak = measure(contender, seconds)
        best = min(times)
        if contender.name == "caesura layer":
            ours = best
            expected = expected or answer
        off = (0.0, 0.0) if answer is None or expected is None else errors(answer, expected)
        mark = "" if max(off) < TOLERANCE[contender.dtype] else "  DIFFERS"
        row = ROW.format(*contender[:2], 1e3 * best, best / ours, peak, *off, len(times))
        print(row + mark, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append")
    parser.add_argument("--dtype", choices=list(TOLERANCE), action="append")
    parser.add_argument("--seconds", type=float, default=5.0, help="to repeat a call for")
    slow = ("torch_struct", "flash_edges")
    parser.add_argument("--without", choices=slow, action="append", help="leave out a slow peer")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for case in CASES:
        if case.name in (options.case or [case.name]):
            dtypes = options.dtype or ["float64", "float32"]
            run(case, dtypes, options.seconds, options.without or [])


if __name__ == "__main__":
    main()
