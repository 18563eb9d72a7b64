"""Long segments: neural semi-CRFs without a bound on lengths beside bounded ones.

    python bench/long_segments.py [--part growth|synthetic|cora] [--data FOLDER] [--plot FILE]

"overlapping" has scores of tokens, starts and ends, and no bound.  "bounded" has the same scores,
written out for each segment up to the longest one of the training data, or up to 20 tokens: longer
segments are then cut into pieces to learn from.  "semi" scores a vector of each segment.  In the
answers of all models neighbours with one label are joined, for no two of the data have the same.

"growth" times a training step.  Every case runs in a process of its own, whose peak of memory above
what it had before is taken.
"synthetic" makes sequences whose segments have up to 10, 50 or 200 tokens: words say little about
their label each, and marks, some of them false, stand where a segment begins.  "cora" is the
fields of references.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from orders_data import cora, runs
from plots import BLUE, GREY, ORANGE, RED, figure, save
from timing import table

import caesura
from caesura.neural import NeuralSegmenter, heads
from caesura.neural.lattice import summed
from caesura.neural.layers import SemiCRFLayer

LENGTHS = (8, 32, 128, 512)  # longest segments in "growth"; texts are twice as long
HIDDEN, LABELS, TEXTS = 32, ["a", "b", "c"], 4
MODELS = ("chain", "overlapping", "bounded", "semi")
SHORT = 20  # the bound in "bounded, 20"
SEEDS = (0, 1, 2)
LONGEST = (10, 50, 200)  # longest segments in "synthetic"


class Bounded(heads.OverlappingHead):
    """The scores of the overlapping model under a bound, with an entry for each segment."""

    def __init__(self, size: int, labels: Any, longest: int) -> None:
        super().__init__(size, labels, "O", 1, True)
        self.longest = longest
        bounds = [1] + [longest] * len(labels)
        self.layer: Any = SemiCRFLayer(len(self.labels), bounds)

    def network_scores(
        self, states: torch.Tensor, extra: Any
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        tokens, parts = super().network_scores(states, extra)
        T, L = tokens.shape[1], self.longest
        later = torch.nn.functional.pad(parts["ends"], (0, 0, 0, L - 1))
        ends = torch.stack([later[:, k : k + T] for k in range(L)], 2)  # ends of [t, t + k + 1)
        return summed(tokens, L) + parts["starts"][:, :, None] + ends, {}

    def _rows(self, gold: Any, lengths: Any) -> torch.Tensor:
        L = self.longest
        pieces = [
            [caesura.Segment(k, min(k + L, e), y) for s, e, y in cut for k in range(s, e, L)]
            for cut in gold
        ]
        return super()._rows(pieces, lengths)


def joined(cut: Any) -> list[caesura.Segment]:
    """Return segments in which neighbours with one label are one."""
    out: list[caesura.Segment] = []
    for one in cut:
        if out and out[-1].end == one.start and out[-1].label == one.label:
            one = caesura.Segment(out.pop().start, one.end, one.label)
        out.append(one)
    return out


class Segmenter(NeuralSegmenter):
    """A segmenter whose head may be `Bounded`."""

    bound: int | str | None = None

    def network_of(self, *given: Any) -> Any:
        network = super().network_of(*given)
        if self.bound is not None:
            longest = self.longest_ if self.bound == "observed" else int(self.bound)
            network.head = Bounded(network.encoder.size, network.head.labels[1:], longest)
        return network


# -- cost of a training step -----------------------------------------------------------------------


def step(model: str, longest: int) -> dict[str, float]:
    """Return seconds of CPU and megabytes of a loss with its gradient."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    common = (HIDDEN, LABELS, "O", 1, True)
    if model == "bounded":
        head: Any = Bounded(HIDDEN, LABELS, longest)
    elif model == "semi":
        more: dict[str, Any] = {"representation": "sum", "dropout": 0.0}
        head = heads.SemiHead(*common, max_length=longest, **more)
    else:
        head = {"chain": heads.ChainHead, "overlapping": heads.OverlappingHead}[model](*common)
    T = 2 * longest
    states = torch.randn(TEXTS, T, HIDDEN, requires_grad=True)
    gold = [[caesura.Segment(0, longest, "a"), caesura.Segment(longest, T, "b")]] * TEXTS

    def once(size: int) -> None:
        part = states[:, :size]
        cut = [[s for s in some if s.end <= size] for some in gold]
        head.loss(part, [size] * TEXTS, cut, None).mean().backward()

    once(8)  # loads libraries
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(3):
        began = time.process_time()
        once(T)
        times.append(time.process_time() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": min(times), "MB": (peak - before) / 1024}


def growth(plot: str | None) -> None:
    found: dict[tuple[str, int], dict[str, float]] = {}
    for model in MODELS:
        for longest in LENGTHS:
            command = [sys.executable, __file__, "--case", model, str(longest)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[model, longest] = json.loads(done.stdout)
            print(model, longest, found[model, longest], flush=True)
    rows = []
    for longest in LENGTHS:
        cells = [f"{1e3 * found[m, longest]['seconds']:.1f}" for m in MODELS]
        cells += [f"{found[m, longest]['MB']:.1f}" for m in MODELS]
        rows.append([2 * longest, longest, *cells])
    head = ["tokens", "longest", *(f"{m}, ms" for m in MODELS), *(f"{m}, MB" for m in MODELS)]
    print(table(head, rows))
    if plot:
        draw(plot, found)


def draw(path: str, found: dict[tuple[str, int], dict[str, float]]) -> None:
    made, axes = figure(9.0, 3.4)
    colours = (GREY, BLUE, ORANGE, RED)
    names = ("seconds", "MB"), ("a training step, seconds", "its memory, MB")
    for axis, field, title in zip(axes, *names, strict=True):
        for model, colour in zip(MODELS, colours, strict=True):
            values = [max(found[model, n][field], 0.1 if field == "MB" else 0.0) for n in LENGTHS]
            axis.loglog(LENGTHS, values, "o-", color=colour, ms=4, label=model)
        axis.set(xlabel="longest segment, tokens", title=title)
        axis.legend(fontsize=8)
    save(made, path)


# -- accuracy --------------------------------------------------------------------------------------


def text(longest: int, rng: np.random.Generator) -> caesura.Document:
    """Draw five segments with words that lean towards their label."""
    tokens: list[str] = []
    segments = []
    last = -1
    for _ in range(5):
        label = int(rng.choice([y for y in range(3) if y != last]))
        size, last = min(1 + int(rng.exponential(longest / 3)), longest), label
        own = rng.random(size) < 0.4
        words = np.where(own, 10 * label + rng.integers(0, 10, size), rng.integers(0, 30, size))
        drawn = [f"w{word}" for word in words]
        marked = rng.random(size) < 0.03
        marked[0] = rng.random() < 0.9
        drawn = [f"!{word}" if m else word for word, m in zip(drawn, marked, strict=True)]
        segments.append(caesura.Segment(len(tokens), len(tokens) + size, LABELS[label]))
        tokens += drawn
    return caesura.Document(tuple(tokens), segments=tuple(segments))


def fitted(model: str, train: Any, test: Any, **more: Any) -> dict[str, float]:
    """Return F1 on the test set, seconds of CPU to learn and to answer, and megabytes to learn."""
    kind = "overlapping" if model.startswith("bounded") else model
    segmenter = Segmenter(kind, n_threads=1, **more)
    if kind != model:
        segmenter.bound = SHORT if model.endswith(str(SHORT)) else "observed"
    few = sorted(train, key=len)[:8]
    NeuralSegmenter("chain", n_threads=1, **more | {"epochs": 1}).fit(few)  # loads libraries
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    fit = segmenter.fit(train)
    learnt = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = fit.predict(test)
    answered = time.process_time() - learnt
    gold = [list(one.segments or ()) for one in test]
    score = caesura.evaluate(gold, [joined(cut) for cut in found]).micro.f1
    times = {"learn": learnt - began, "answer": answered}
    return {"F1": 100 * score, **times, "MB": (peak - before) / 1024}


def row_of(runs: list[dict[str, float]]) -> list[str]:
    """Return mean and deviation of F1, mean seconds and the most memory."""
    mean = {name: np.mean([one[name] for one in runs]) for name in runs[0]}
    spread = np.std([one["F1"] for one in runs], ddof=1) if len(runs) > 1 else np.nan
    cells = [f"{mean['F1']:.1f} ± {spread:.1f}", f"{mean['learn']:.1f}", f"{mean['answer']:.2f}"]
    return [*cells, f"{max(one['MB'] for one in runs):.0f}"]


HEAD = ["model", "F1", "s to learn", "s to answer", "MB to learn"]


def asked(part: str, model: str, seed: int, more: list[str]) -> dict[str, float]:
    """Return what a run in a process of its own prints."""
    command = [sys.executable, __file__, "--part", part, "--run", model, str(seed), *more]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def synthetic_run(model: str, seed: int, longest: int) -> dict[str, float]:
    rng = np.random.default_rng(longest)
    n = 160 if longest < 100 else 120
    train, test = ([text(longest, rng) for _ in range(k)] for k in (n, 60))
    small: dict[str, Any] = {"context": "cnn", "hidden": 16, "word_size": 16}
    small |= {"character_size": 0, "shape_size": 4, "dropout": 0.1, "batch_size": 4}
    return fitted(model, train, test, epochs=12, rate=1e-2, random_state=seed, **small)


def synthetic() -> None:
    rows = []
    for longest in LONGEST:
        models = ("chain", "overlapping", "bounded", f"bounded, {SHORT}")
        for model in models[: 3 if longest <= SHORT else 4]:
            more = ["--longest", str(longest)]
            some = [asked("synthetic", model, seed, more) for seed in SEEDS]
            rows.append([longest, model, *row_of(some)])
            print(*rows[-1], flush=True)
    print(table(["longest", *HEAD], rows))


def references(data: Path) -> list[list[caesura.Document]]:
    """Return the references of Cora with their fields, to learn from and to test."""
    return [
        [
            caesura.Document(one.tokens, segments=tuple(runs(tags)))
            for one, tags in zip(part.documents, part.tags, strict=True)
        ]
        for part in cora(data)
    ]


def cora_run(model: str, seed: int, data: Path) -> dict[str, float]:
    return fitted(model, *references(data), epochs=15, rate=3e-3, random_state=seed)


def cora_table(data: Path) -> None:
    sizes = [s.end - s.start for one in references(data)[0] for s in one.segments or ()]
    print(f"the longest field of the training data has {max(sizes)} tokens")
    rows = []
    for model in (*MODELS[:3], f"bounded, {SHORT}", "semi"):
        some = [asked("cora", model, seed, ["--data", str(data)]) for seed in SEEDS]
        rows.append([model, *row_of(some)])
        print(*rows[-1], flush=True)
    print(table(HEAD, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=("growth", "synthetic", "cora"), default="growth")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)  # model and seed
    parser.add_argument("--longest", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--plot", metavar="FILE", help="draw a picture of the growth")
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(step(arguments.case[0], int(arguments.case[1]))))
    elif arguments.run:
        model, seed = arguments.run[0], int(arguments.run[1])
        if arguments.part == "synthetic":
            print(json.dumps(synthetic_run(model, seed, arguments.longest)))
        else:
            print(json.dumps(cora_run(model, seed, arguments.data)))
    elif arguments.part == "growth":
        growth(arguments.plot)
    elif arguments.part == "synthetic":
        synthetic()
    elif not arguments.data.is_dir():
        print(f"no data in {arguments.data}: skipped; name its folder with --data")
    else:
        cora_table(arguments.data)


if __name__ == "__main__":
    main()
