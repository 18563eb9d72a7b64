"""Caesura beside torch-struct and flash-semicrf: the same potentials, in one process, on one thread.

    python bench/peers.py                     # everything, about six minutes: the peers are slow
    python bench/peers.py --case small        # one case
    python bench/peers.py --dtype float32     # one precision of the peers

Each call gives log Z and its gradient with respect to all inputs, for a batch of 8 sequences.
A peer that is not installed is reported as such.  How the same model is put into each
library's inputs is written at the functions that do it, and in bench/README.md.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BATCH = 8
TOLERANCE = {"float32": 1e-4, "float64": 1e-8}  # relative, of log Z and of expected counts
STATUS = Path("/proc/self/status")


class Case(NamedTuple):
    name: str
    T: int
    L: int
    Y: int
    by_length: bool  # segments are scored by length and label only: all that streaming can express


CASES = (
    Case("small", T=32, L=16, Y=8, by_length=False),
    Case("medium", T=256, L=16, Y=16, by_length=True),
    Case("large", T=512, L=32, Y=16, by_length=True),
)


class Scores(NamedTuple):
    """Log-potentials of a batch, in Caesura's conventions."""

    emission: Floats  # (B, T, Y)
    spans: Floats  # (B, T, L, Y): segment [s, s + k) is at [s, k - 1]
    durations: Floats | None  # (L, Y): if given, what spans is a broadcast view of
    transition: Floats  # (Y, Y): previous, label
    start: Floats  # (Y,)
    end: Floats  # (Y,)


class Answer(NamedTuple):
    """log Z, and its gradient as expected counts, in Caesura's conventions."""

    log_z: Floats  # (B,)
    tokens: Floats  # (B, T, Y)
    transitions: Floats  # (Y, Y), summed over the batch
    durations: Floats  # (L, Y), summed over the batch
    spans: Floats | None  # (B, T, L, Y); streaming does not give it


class Contender(NamedTuple):
    name: str
    dtype: str
    call: Callable[[], Any]  # what is timed
    answer: Callable[[Any], Answer]  # reads what the call returned


class Timing(NamedTuple):
    seconds: float  # the fastest call
    calls: int
    peak: float | None  # bytes above what was resident before the first call


def draw(case: Case, seed: int = 0) -> Scores:
    rng = np.random.default_rng(seed)
    T, L, Y = case.T, case.L, case.Y
    emission, transition = rng.normal(size=(BATCH, T, Y)), rng.normal(size=(Y, Y))
    if not case.by_length:
        spans = rng.normal(size=(BATCH, T, L, Y))
        return Scores(emission, spans, None, transition, rng.normal(size=Y), rng.normal(size=Y))
    durations = rng.normal(size=(L, Y))
    spans = np.broadcast_to(durations, (BATCH, T, L, Y))
    # Streaming has no start: it sums over a previous label of the first segment, which is this.
    start = np.logaddexp.reduce(transition, axis=0)
    return Scores(emission, spans, durations, transition, start, np.zeros(Y))


# -- Caesura -----------------------------------------------------------------------------------


def caesura_contenders(scores: Scores) -> Iterator[Contender]:
    caesura = importlib.import_module("caesura")
    _, T, L, Y = scores.spans.shape
    segment_scores = scores.spans if scores.durations is None else [scores.durations] * BATCH

    def build() -> list[Any]:
        batch = []
        for emission, spans in zip(scores.emission, segment_scores, strict=True):
            p = caesura.Potentials(T, Y, max_length=L)
            p.emission[...], p.spans[...] = emission, spans
            p.transition[...], p.start[...], p.end[...] = scores.transition, scores.start, scores.end
            batch.append(p)
        return batch

    def infer(batch: list[Any]) -> list[Any]:
        results = caesura.marginals(batch, n_threads=1, method="bounded")
        return [(m.log_partition, m.tokens, m.transitions, m.spans) for m in results]

    def answer(results: list[Any]) -> Answer:
        log_z, tokens, transitions, spans = (np.array(field) for field in zip(*results, strict=True))
        return Answer(log_z, tokens, transitions.sum(0), spans.sum((0, 1)), spans)

    prepared = build()
    yield Contender("caesura", "float64", lambda: infer(prepared), answer)
    yield Contender("caesura, potentials built too", "float64", lambda: infer(build()), answer)


# -- peers that take a tensor of edges -------------------------------------------------------------


def edge_tensor(scores: Scores, first: int) -> Floats:
    """Edges of shape (B, T, first + L, Y, Y): [s, first + k - 1, label, previous].

    torch-struct never reads index 0 of the length axis (first = 1), flash-semicrf's scan has no such
    index (first = 0).  Both sum over a previous label of the first segment too: it gets start - log Y
    from every one of them.  Segments that pass the end are read by neither and stay 0.
    """
    B, T, L, Y = scores.spans.shape
    upto = np.concatenate([np.zeros((B, 1, Y)), scores.emission.cumsum(1)], axis=1)  # (B, T+1, Y)
    edge = np.zeros((B, T, first + L, Y, Y))
    for k in range(1, min(L, T) + 1):
        segment = upto[:, k:] - upto[:, :-k] + scores.spans[:, : T - k + 1, k - 1]  # (B, T-k+1, Y)
        segment[:, -1] += scores.end
        edge[:, : T - k + 1, first + k - 1] = segment[..., None] + scores.transition.T
        edge[:, 0, first + k - 1] += (scores.start - math.log(Y))[:, None] - scores.transition.T
    return edge


def edge_answer(log_z: Any, gradient: Any, first: int) -> Answer:
    counts = gradient.numpy().astype(np.float64)[:, :, first:]  # (B, T, L, Y, Y)
    spans = counts.sum(-1)
    B, T, L, Y = spans.shape
    ends = np.zeros((B, T + 1, Y))  # segments ending at a boundary minus segments starting there
    ends[:, :-1] -= spans.sum(2)
    for k in range(1, min(L, T) + 1):
        ends[:, k:] += spans[:, : T - k + 1, k - 1]
    transitions = counts[:, 1:].sum((0, 1, 2)).T
    return Answer(log_z, tokens_inside(ends), transitions, spans.sum((0, 1)), spans)


def tokens_inside(boundary_gradient: Floats) -> Floats:
    """Gradient by cumulative scores (B, T+1, Y) -> gradient by token scores (B, T, Y)."""
    return np.flip(np.flip(boundary_gradient[:, 1:], 1).cumsum(1), 1)


def edge_contender(
    name: str, dtype: str, scores: Scores, first: int, log_partition: Callable[[Any], Any]
) -> Contender:
    torch = importlib.import_module("torch")
    edge = torch.tensor(edge_tensor(scores, first), dtype=getattr(torch, dtype), requires_grad=True)

    def call() -> tuple[Any, Any]:
        log_z = log_partition(edge)
        return log_z.detach().numpy().astype(np.float64), torch.autograd.grad(log_z.sum(), edge)[0]

    return Contender(name, dtype, call, lambda raw: edge_answer(*raw, first))


def torch_struct_contender(scores: Scores, dtype: str) -> Contender:
    torch_struct = importlib.import_module("torch_struct")
    model = torch_struct.SemiMarkov(torch_struct.LogSemiring)
    return edge_contender("torch-struct", dtype, scores, 1, model.sum)


def torch_struct_request(case: Case) -> float:
    """Bytes of the first product of torch-struct's tree: pairs of (L Y) x (L Y) matrices, unreduced."""
    pairs = 2 ** math.ceil(math.log2(case.T)) // 2
    return 4.0 * BATCH * pairs * (case.L * case.Y) ** 3


def flash_edges_contender(scores: Scores, dtype: str) -> Contender:
    flash = importlib.import_module("flash_semicrf")
    semirings = importlib.import_module("flash_semicrf.semirings")
    model = flash.SemiMarkov(semirings.LogSemiring)
    # Left to itself it takes a tree for L Y <= 200, with another length axis: see where_they_differ.
    scan: Callable[[Any], Any] = lambda edge: model.logpartition(edge, use_linear_scan=True)[0][0]  # noqa: E731
    return edge_contender("flash-semicrf, edges", dtype, scores, 0, scan)


# -- flash-semicrf, streaming ----------------------------------------------------------------------


def flash_streaming_contender(scores: Scores, dtype: str) -> Contender:
    """Cumulative token scores (B, T+1, Y), transition [previous, label], durations [k - 1, label]."""
    flash, torch = importlib.import_module("flash_semicrf"), importlib.import_module("torch")
    B, T, L, Y = scores.spans.shape
    upto = np.concatenate([np.zeros((B, 1, Y)), scores.emission.cumsum(1)], axis=1)
    inputs = [
        torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=True)
        for array in (upto, scores.transition, scores.durations)
    ]
    lengths = torch.full((B,), T)

    def call() -> tuple[Any, list[Floats]]:
        log_z = flash.semi_crf_streaming_forward(*inputs, lengths, L)
        gradients = torch.autograd.grad(log_z.sum(), inputs)
        return log_z.detach().numpy().astype(np.float64), [g.numpy() for g in gradients]

    def answer(raw: tuple[Floats, list[Floats]]) -> Answer:
        log_z, (by_boundary, transitions, durations) = raw
        tokens = tokens_inside(by_boundary.astype(np.float64))
        # Take the fictitious transitions into the first segments out again.
        fictitious = np.exp(scores.transition - scores.start) * tokens[:, 0].sum(0)
        return Answer(log_z, tokens, transitions - fictitious, durations.astype(np.float64), None)

    return Contender("flash-semicrf, streaming", dtype, call, answer)


# -- measuring -------------------------------------------------------------------------------------


def resident(field: str) -> float:
    lines = STATUS.read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def first_call(call: Callable[[], Any]) -> tuple[Any, float, float | None]:
    """Call once: what it returned, the seconds, and the peak of memory above the start (Linux)."""
    before = None
    if STATUS.exists():
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
        before = resident("VmRSS")
    begin = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - begin
    return result, seconds, None if before is None else max(0.0, resident("VmHWM") - before)


def measure(contender: Contender, seconds: float) -> tuple[Answer, Timing]:
    raw, first, peak = first_call(contender.call)
    answer, times = contender.answer(raw), [first]
    del raw
    while sum(times) < seconds and len(times) < 200:
        begin = time.perf_counter()
        contender.call()
        times.append(time.perf_counter() - begin)
    return answer, Timing(min(times), len(times), peak)


def error(answer: Answer, expected: Answer) -> tuple[float, float]:
    """The largest relative error of log Z, and of any expected count by the largest of its kind."""

    def relative(a: Floats, b: Floats) -> float:
        return float(np.abs(a - b).max() / np.abs(b).max())

    pairs = zip(answer[1:], expected[1:], strict=True)
    counts = [relative(a, b) for a, b in pairs if a is not None and b is not None]
    return float(np.abs(answer.log_z / expected.log_z - 1).max()), max(counts)


def contenders(case: Case, scores: Scores, dtypes: list[str]) -> Iterator[Contender | str]:
    """Caesura first, then the peers; a string says why one is not here."""
    try:
        yield from caesura_contenders(scores)
    except ImportError as problem:
        yield f"caesura: not installed ({problem})"
    makers = {"torch-struct": torch_struct_contender, "flash-semicrf, edges": flash_edges_contender}
    if case.by_length:
        makers["flash-semicrf, streaming"] = flash_streaming_contender
    for name, maker in makers.items():
        if name == "torch-struct" and torch_struct_request(case) > 8e9:
            yield f"{name}: not run, one of its tensors takes {torch_struct_request(case) / 1e9:.0f} GB"
            continue
        for dtype in dtypes:
            try:
                yield maker(scores, dtype)
            except ImportError as problem:
                yield f"{name}: not installed ({problem})"
                break


def run(case: Case, dtypes: list[str], seconds: float) -> bool:
    """Print the table of one case; whether all that ran agree."""
    print(f"\n{case.name}: T={case.T} L={case.L} Y={case.Y}, {BATCH} sequences")
    columns = "{:31}{:9}{:>11}{:>10}{:>12}{:>11}{:>11}{:>7}"
    heads = ("", "dtype", "ms", "times", "memory MB", "log Z err", "count err", "calls")
    print(columns.format(*heads), flush=True)
    expected, fastest, agree = None, math.nan, True
    for contender in contenders(case, draw(case), dtypes):
        if isinstance(contender, str):
            print(contender)
            continue
        answer, timing = measure(contender, seconds)
        if expected is None:
            expected, fastest = answer, timing.seconds
        log_z_error, count_error = error(answer, expected)
        good = max(log_z_error, count_error) < TOLERANCE[contender.dtype]
        agree = agree and good
        print(
            columns.format(
                contender.name,
                contender.dtype,
                f"{timing.seconds * 1e3:.3f}",
                f"{timing.seconds / fastest:.1f}",
                "?" if timing.peak is None else f"{timing.peak / 1e6:.1f}",
                f"{log_z_error:.1e}",
                f"{count_error:.1e}",
                timing.calls,
            )
            + ("" if good else f"  more than {TOLERANCE[contender.dtype]:g}"),
            flush=True,
        )
    return agree
