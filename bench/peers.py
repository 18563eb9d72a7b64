"""Caesura beside torch-struct and flash-semicrf: the same potentials, one process, one thread.

python bench/peers.py [--case small]      # all cases take ten minutes: the peers are slow
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Sum = Callable[[Any], Any]  # tensor of edges -> log Z
BATCH = 8
TOLERANCE = {"float32": 1e-4, "float64": 1e-8}  # relative
STATUS = Path("/proc/self/status")
HEAD = " " * 25 + "dtype       CPU ms    times      MB   log Z  counts calls"
ROW = "{:25}{:8}{:10.3f}{:9.1f}{:8.1f}{:8.0e}{:8.0e}{:6}"


class Case(NamedTuple):
    name: str
    T: int
    L: int
    Y: int
    by_length: bool  # whether spans[s] is the same for all s, as streaming requires


CASES = (
    Case("small", T=32, L=16, Y=8, by_length=False),
    Case("medium", T=256, L=16, Y=16, by_length=True),
    Case("large", T=512, L=32, Y=16, by_length=True),
)


class Scores(NamedTuple):
    emission: Floats  # (B, T, Y)
    spans: Floats  # (B, T, L, Y): segment [s, s + k) is at [s, k - 1]
    transition: Floats  # (Y, Y): previous, label
    start: Floats  # (Y,)
    end: Floats  # (Y,)


class Answer(NamedTuple):
    """log Z, and its gradient as expected counts; None where a library does not give them."""

    log_z: Floats  # (B,)
    tokens: Floats | None  # (B, T, Y)
    spans: Floats | None  # (B, T, L, Y)
    durations: Floats  # (L, Y), summed over the batch
    transitions: Floats  # (Y, Y), summed over the batch


class Contender(NamedTuple):
    name: str
    dtype: str
    call: Callable[[], Any]  # the timed call: log Z and its gradient
    answer: Callable[[Any], Answer]  # converts the result of the call


def draw(T: int, L: int, Y: int, by_length: bool, batch: int = BATCH) -> Scores:
    rng = np.random.default_rng(0)
    shapes = (batch, T, Y), (batch, T, L, Y), (Y, Y), (Y,), (Y,)
    scores = Scores(*(rng.normal(size=shape) for shape in shapes))
    if by_length:  # streaming has no start and end: it sums over a label before the first segment
        spans = np.broadcast_to(scores.spans[0, 0], scores.spans.shape)
        start = np.logaddexp.reduce(scores.transition)
        scores = scores._replace(spans=spans, start=start, end=np.zeros(Y))
    return scores


def prefix_sums(emission: Floats) -> Floats:
    """Scores (B, T, Y) of tokens -> (B, T+1, Y) of all tokens before a boundary."""
    return np.pad(emission.cumsum(1), ((0, 0), (1, 0), (0, 0)))


def caesura_build(scores: Scores) -> list[Any]:
    _, T, L, Y = scores.spans.shape
    batch = []
    for emission, spans in zip(scores.emission, scores.spans, strict=True):
        p = import_module("caesura").Potentials(T, Y, max_length=L)
        p.emission[...], p.spans[...] = emission, spans[:, :T]
        p.transition[...], p.start[...], p.end[...] = scores.transition, scores.start, scores.end
        batch.append(p)
    return batch


def caesura_infer(batch: list[Any]) -> list[Any]:
    results = import_module("caesura").marginals(batch, n_threads=1, method="bounded")
    return [(m.log_partition, m.tokens, m.spans, m.transitions) for m in results]


def caesura_answer(results: list[Any]) -> Answer:
    log_z, tokens, spans, transitions = (np.array(field) for field in zip(*results, strict=True))
    return Answer(log_z, tokens, spans, spans.sum((0, 1)), transitions.sum(0))


def edge_tensor(scores: Scores, first: int) -> Floats:
    """Edges of shape (B, T, first + L, Y, Y): [s, first + k - 1, label, previous].

    torch-struct never reads index 0 of the length axis (first = 1), flash-semicrf's scan does
    (first = 0).  Both also sum over a label before the first segment, which therefore gets
    start - log Y from each of them.  Segments beyond the end are read by neither, and stay 0.
    """
    B, T, L, Y = scores.spans.shape
    before = prefix_sums(scores.emission)
    edge = np.zeros((B, T, first + L, Y, Y))
    for k in range(1, min(L, T) + 1):
        segment = before[:, k:] - before[:, :-k] + scores.spans[:, : T - k + 1, k - 1]
        segment[:, -1] += scores.end
        edge[:, : T - k + 1, first + k - 1] = segment[..., None] + scores.transition.T
        edge[:, 0, first + k - 1] = segment[:, 0, :, None] + scores.start[:, None] - math.log(Y)
    return edge


def edge_contender(name: str, first: int, sum_up: Sum, scores: Scores, dtype: str) -> Contender:
    torch = import_module("torch")
    edge = torch.tensor(edge_tensor(scores, first), dtype=getattr(torch, dtype), requires_grad=True)

    def call() -> tuple[Any, Any]:
        log_z = sum_up(edge)
        return log_z.detach(), torch.autograd.grad(log_z.sum(), edge)[0]

    def answer(raw: tuple[Any, Any]) -> Answer:
        log_z, counts = (tensor.double().numpy() for tensor in raw)
        spans, transitions = counts[:, :, first:].sum(-1), counts[:, 1:].sum((0, 1, 2)).T
        return Answer(log_z, None, spans, spans.sum((0, 1)), transitions)

    return Contender(name, dtype, call, answer)


def torch_struct(scores: Scores, dtype: str) -> Contender:
    B, T, L, Y = scores.spans.shape
    # The first product: T/2 pairs of (L Y) x (L Y) matrices, multiplied but not yet summed.
    request = np.dtype(dtype).itemsize * B * T / 2 * (L * Y) ** 3
    if request > 4e9:
        raise MemoryError(f"one tensor takes {request / 1e9:.0f} GB")
    model = import_module("torch_struct").SemiMarkov()
    return edge_contender("torch-struct", 1, model.sum, scores, dtype)


def flash_edges(scores: Scores, dtype: str) -> Contender:
    scan = partial(import_module("flash_semicrf").SemiMarkov().sum, use_linear_scan=True)
    return edge_contender("flash-semicrf edges", 0, scan, scores, dtype)


def flash_streaming(scores: Scores, dtype: str) -> Contender:
    """Takes prefix sums, transition[previous, label] and durations[k - 1, label]."""
    flash, torch = import_module("flash_semicrf"), import_module("torch")
    B, T, L, _ = scores.spans.shape
    inputs = [
        torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=True)
        for array in (prefix_sums(scores.emission), scores.transition, scores.spans[0, 0])
    ]

    def call() -> tuple[Any, ...]:
        log_z = flash.semi_crf_streaming_forward(*inputs, torch.full((B,), T), L)
        return log_z.detach(), *torch.autograd.grad(log_z.sum(), inputs)

    def answer(raw: tuple[Any, ...]) -> Answer:
        log_z, by_boundary, transitions, durations = (tensor.double().numpy() for tensor in raw)
        tokens = np.flip(np.flip(by_boundary[:, 1:], 1).cumsum(1), 1)
        # Subtract the transitions from the label before the first segment, which we do not have.
        fictitious = np.exp(scores.transition - scores.start) * tokens[:, 0].sum(0)
        return Answer(log_z, tokens, None, durations, transitions - fictitious)

    return Contender("flash-semicrf streaming", dtype, call, answer)


def contenders(case: Case, dtypes: list[str]) -> Iterator[Contender | str]:
    """Caesura, then the peers; a string says why one does not run."""
    scores = draw(*case[1:])
    try:
        batch = caesura_build(scores)
        yield Contender("caesura", "float64", lambda: caesura_infer(batch), caesura_answer)
        anew = lambda: caesura_infer(caesura_build(scores))  # noqa: E731
        yield Contender("caesura, building too", "float64", anew, caesura_answer)
    except ImportError as problem:
        yield f"not installed: {problem}"
    makers = (torch_struct, flash_edges, flash_streaming)[: 2 + case.by_length]
    for maker, dtype in itertools.product(makers, dtypes):
        try:
            yield maker(scores, dtype)
        except (ImportError, MemoryError) as problem:
            yield f"{maker.__name__} {dtype}: not run ({problem})"


def resident(field: str) -> float:
    """Memory of this process in MB: now (VmRSS) or at most (VmHWM); NaN where there is no /proc."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith(field)), math.nan)


def measure(contender: Contender, seconds: float) -> tuple[Answer, list[float], float]:
    """The answer, CPU seconds of each call, and the peak of memory above that at the start."""
    if STATUS.exists():
        ctypes.CDLL(None).malloc_trim(0)
        STATUS.with_name("clear_refs").write_text("5")  # resets the peak
    before, begin = resident("VmRSS"), time.process_time()
    raw = contender.call()
    times, peak = [time.process_time() - begin], resident("VmHWM") - before
    while sum(times) < seconds and len(times) < 500:
        begin = time.process_time()
        contender.call()
        times.append(time.process_time() - begin)
    return contender.answer(raw), times, peak


def errors(answer: Answer, expected: Answer) -> tuple[float, float]:
    """Of log Z and of the counts: the largest difference by the largest value of its field."""
    pairs = [(a, b) for a, b in zip(answer, expected, strict=True) if not (a is None or b is None)]
    log_z, *counts = (float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)
    return log_z, max(counts)


def run(case: Case, dtypes: list[str], seconds: float) -> None:
    print(f"\n{case.name}: T={case.T} L={case.L} Y={case.Y}, {BATCH} sequences\n{HEAD}", flush=True)
    expected, ours = None, math.nan
    for contender in contenders(case, dtypes):
        if isinstance(contender, str):
            print(contender)
            continue
        answer, times, peak = measure(contender, seconds)
        if expected is None:
            expected, ours = answer, min(times)
        off, best = errors(answer, expected), min(times)
        mark = "" if max(off) < TOLERANCE[contender.dtype] else "  DIFFERS"
        row = ROW.format(*contender[:2], 1e3 * best, best / ours, peak, *off, len(times))
        print(row + mark, flush=True)


def enumerate_log_z(scores: Scores, s: int = 0, previous: int = -1) -> float:
    """By the definition: every segmentation of the tokens from s of the first sequence."""
    _, T, L, Y = scores.spans.shape
    if s == T:
        return float(scores.end[previous])
    into = scores.transition[previous] if s else scores.start  # (Y,)
    totals = []
    for k, y in itertools.product(range(1, min(L, T - s) + 1), range(Y)):
        segment = scores.emission[0, s : s + k, y].sum() + scores.spans[0, s, k - 1, y]
        totals.append(into[y] + segment + enumerate_log_z(scores, s + k, y))
    return float(np.logaddexp.reduce(totals))


def where_they_differ() -> None:
    """Print log Z of sequences of different lengths in one padded batch: all rows should agree."""
    torch, flash, struct = map(import_module, ("torch", "flash_semicrf", "torch_struct"))
    scores, sizes = draw(8, 4, 2, by_length=True, batch=4), (8, 2, 5, 3)
    cuts = [(slice(i, i + 1), slice(T)) for i, T in enumerate(sizes)]
    alone = [scores._replace(emission=scores.emission[c], spans=scores.spans[c]) for c in cuts]
    edges, longer = (torch.tensor(edge_tensor(scores, first)) for first in (0, 1))
    lengths, padded = torch.tensor(sizes), torch.tensor(scores.emission)
    nines = torch.where(torch.arange(8)[:, None] < lengths[:, None, None], padded, 9.0)
    layer = flash.SemiMarkovCRFHead(2, 4).double()
    layer.transition.data[...] = torch.tensor(scores.transition)
    layer.duration_dist.duration_bias.data[...] = torch.tensor(scores.spans[0, 0])
    rows = {
        "enumeration": [enumerate_log_z(one) for one in alone],
        "caesura": [m[0] for m in caesura_infer([caesura_build(one)[0] for one in alone])],
        "torch-struct": struct.SemiMarkov().sum(longer, lengths + 1),
        "flash-semicrf scan": flash.SemiMarkov().sum(edges, lengths + 1, use_linear_scan=True),
        "flash-semicrf default": flash.SemiMarkov().sum(edges, lengths + 1),
        "flash-semicrf layer": layer(padded, lengths)["partition"],
        "the same, padded with 9": layer(nines, lengths)["partition"],
    }
    print(f"log Z of {sizes} tokens in one batch")
    for name, values in rows.items():
        print(f"{name:25}" + "".join(f"{float(value):11.4f}" for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append")
    parser.add_argument("--dtype", choices=list(TOLERANCE), action="append", help="of the peers")
    parser.add_argument("--seconds", type=float, default=10.0, help="to repeat a call for")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        import_module("torch").set_num_threads(1)
        where_they_differ()
    except ImportError as problem:
        print(f"not installed: {problem}")
    for case in CASES:
        if case.name in (options.case or [case.name]):
            run(case, options.dtype or list(TOLERANCE), options.seconds)


if __name__ == "__main__":
    main()
