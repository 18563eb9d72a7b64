"""Named entities with a pre-trained encoder: chains, semi-CRFs and filtered semi-CRFs.

    python bench/vectors.py --cache FOLDER
    python bench/ner.py --cache FOLDER --out RESULTS [--plan frozen] [--data ../shared/data]
    python bench/ner.py --out RESULTS --show

Each run appends a line of JSON to RESULTS; runs that are there already are skipped.  "frozen" takes
the vectors of the encoder as they are, "tuned" trains its two upper layers, "joint" adds declared
features, and "features" has them alone.  The weights of the epoch, or for "features" the c2, with
the best F1 on the development set are kept, and the test set is met once a run.  --plot draws the
sizes of the graphs of filtered semi-CRFs, in training and against the length of a sentence.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from abbreviations import told
from plots import BLUE, GREY, RED, figure, save
from timing import table
from vectors import Documents, Store, Stored, corpus, distinct, minilm

import caesura
from caesura.features import attributes, first, last, preset
from caesura.neural import NeuralSegmenter, segmenter

WIDTH = {"wnut17": 8, "ncbi_disease": 10}  # longest segment, except for the chain
SIZE = 384  # size of the vectors
SUM, ENDS = {"representation": "sum"}, {"representation": "sum_ends"}  # of segments
MODELS: dict[str, dict[str, Any]] = {
    "chain": {"model": "chain"},
    "semi-CRF": {"model": "semi", "outside_length": None} | SUM,
    "semi-CRF, unit null": {"model": "semi"} | SUM,
    "filtered": {"model": "filtered"} | SUM,
    "filtered, no global loss": {"model": "filtered", "global_loss": False} | SUM,
    "filtered, no transitions": {"model": "filtered", "transitions": False} | SUM,
    "semi-CRF, ends": {"model": "semi", "outside_length": None} | ENDS,
    "semi-CRF, unit null, ends": {"model": "semi"} | ENDS,
    "filtered, ends": {"model": "filtered"} | ENDS,
    "filtered, no global loss, ends": {"model": "filtered", "global_loss": False} | ENDS,
    "filtered, no transitions, ends": {"model": "filtered", "transitions": False} | ENDS,
}
TABLE = list(MODELS)
COMMON: dict[str, Any] = {
    "word_size": 0,
    "character_size": 0,
    "shape_size": 16,
    "context": "cnn",
    "hidden": 128,
    "dropout": 0.2,
    "batch_size": 16,
    "n_threads": 1,
}
FROZEN: dict[str, Any] = {"frozen": True, "epochs": 15, "patience": 3, "rate": 2e-3}
TUNED: dict[str, Any] = {"frozen": False, "epochs": 3, "rate": 2e-3, "encoder_rate": 1e-4}
PENALTIES = (0.1, 0.3, 1.0)  # candidates of c2 for "features"
WORDS: dict[str, Any] = {"word_size": 30, "character_size": 30}


class Segmenter(NeuralSegmenter):
    """A segmenter that keeps the sizes of graphs."""

    sizes: list[float]  # mean size of the graphs in a batch, in spans and arcs

    def network_of(self, *given: Any) -> Any:
        network = super().network_of(*given)
        if self.model == "filtered":
            layer: Any = network.head.layer
            inner, self.sizes = layer.losses, []

            def losses(*some: Any) -> Any:
                found = inner(*some)
                self.sizes.append(float(np.mean(np.add(found.nodes, found.arcs))))
                return found

            layer.losses = losses
        return network


def fitting(documents: Documents, longest: int) -> Documents:
    """Return documents without the segments that are too long to be learnt."""
    return [
        caesura.Document(
            one.tokens,
            segments=tuple(s for s in one.segments or () if s.end - s.start <= longest),
            attributes=one.attributes,
        )
        for one in documents
    ]


# -- runs ------------------------------------------------------------------------------------------


def plan(name: str) -> list[dict[str, Any]]:
    """Return the runs of a part: task, regime, model and seed of each."""
    both = ("chain", "semi-CRF, unit null, ends")
    every = {
        "frozen": [*product((0, 1, 2), ("wnut17", "ncbi_disease"), MODELS)],
        "tuned": [
            *product((0,), ("wnut17", "ncbi_disease"), TABLE),
            *product((1, 2), ("wnut17",), TABLE),
        ],
        "features": [*product((0,), ("wnut17", "ncbi_disease"), ("chain", "semi-CRF, unit null"))],
        "joint": [*product((0,), ("ncbi_disease", "wnut17"), both)],
        "joint tuned": [*product((0,), ("ncbi_disease", "wnut17"), both)],
    }
    return [
        {"task": task, "regime": name, "model": model, "seed": seed}
        for seed, task, model in every[name]
    ]


def settings(run: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the segmenter of a run."""
    regime = run["regime"]
    chosen = COMMON | (TUNED if "tuned" in regime else FROZEN) | MODELS[run["model"]]
    if regime.startswith("joint"):
        chosen |= WORDS | {"features": [*preset("ner"), *near(run)]}
    if run["model"] != "chain":
        chosen["max_length"] = WIDTH[run["task"]]
    return chosen | {"random_state": run["seed"]}


def near(run: dict[str, Any]) -> list[Any]:
    """Return the features of abbreviations, which only texts of NCBI disease have."""
    return [attributes[t] for t in (-1, 0, 1)] if run["task"] == "ncbi_disease" else []


def features_alone(run: dict[str, Any], parts: list[Documents]) -> dict[str, Any]:
    """Return a run of a model without a network, with the best of some penalties."""
    train, devel, test = parts
    options: dict[str, Any] = {"precision": "mixed", "delta": 1e-4, "n_threads": 1}
    more = near(run)
    began, best, dev = time.process_time(), -1.0, []
    for c2 in PENALTIES:
        if run["model"] == "chain":
            model: Any = caesura.ChainCRF([*preset("ner"), *more], scheme="BIOES", c2=c2, **options)
        else:
            ends = [first(more[0]), first(more[1]), last(more[1]), last(more[2])] if more else []
            listed = [*preset("ner", segments=True), *more, *ends]
            model = caesura.SemiCRF(listed, c2=c2, **options)
        dev.append(100 * model.fit(train).score(devel))
        if dev[-1] > best:
            best, chosen = dev[-1], model
    seconds = (time.process_time() - began) / len(PENALTIES)
    return run | {"dev": dev} | tested(chosen, test) | {"seconds": seconds}


def tested(model: Any, test: Documents) -> dict[str, Any]:
    """Return the test scores, and CPU seconds per sentence."""
    began = time.process_time()
    predicted = model.predict(test)
    each = (time.process_time() - began) / len(test)
    micro = caesura.evaluate([list(one.segments or ()) for one in test], predicted).micro
    found = {"precision": 100 * micro.precision, "recall": 100 * micro.recall}
    return found | {"test": 100 * micro.f1, "each": each}


def fitted(run: dict[str, Any], parts: list[Documents], known: Store) -> dict[str, Any]:
    """Return a run with its results."""
    if run["task"] == "ncbi_disease" and run["regime"] in ("joint", "joint tuned", "features"):
        parts = [told(part) for part in parts]
    if run["regime"] == "features":
        return features_alone(run, parts)
    train, devel, test = parts
    folder, chosen = minilm(), settings(run)
    vars(segmenter)["Transformer"] = lambda name, frozen: Stored(known, name, frozen)
    model = Segmenter(transformer=folder, **chosen)
    if run["model"] != "chain":
        train = fitting(train, WIDTH[run["task"]])
    began = time.process_time()
    model.fit(train, X_dev=devel)
    seconds = time.process_time() - began
    found = run | {"dev": [100 * (one.dev_score or 0.0) for one in model.history_]}
    found |= tested(model, test) | {"seconds": seconds}
    if run["model"] == "filtered" and run["regime"] == "frozen":
        found["training_sizes"] = [round(x, 1) for x in model.sizes]
        found["test_sizes"] = graph_sizes(model, test)
    return found


def graph_sizes(model: Segmenter, documents: Documents) -> list[tuple[int, int, int]]:
    """Return tokens, spans and arcs of the graph of each sentence."""
    from caesura.neural import graph

    network, sizes = model.fitted_network(), []
    layer: Any = network.head.layer
    for document in documents:
        with torch.no_grad():
            states, lengths, _ = network.states([document])
            local, _ = layer.span_scores(states, lengths)
        rows = layer.candidates(local, np.array(lengths))
        sizes.append((len(document), *graph.size_of(rows[:, 1:3])))
    return sizes


def key(run: dict[str, Any]) -> tuple[Any, ...]:
    return run["task"], run["regime"], run["model"], run["seed"]


def results(path: Path) -> list[dict[str, Any]]:
    """Return the stored runs."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(rows: list[dict[str, Any]]) -> None:
    """Print mean and standard deviation of F1 on the test set, and seconds of CPU."""
    lines = []
    groups = dict.fromkeys((one["task"], one["regime"], one["model"]) for one in rows)
    for group in sorted(groups, key=lambda g: (g[1], g[0], [*MODELS].index(g[2]))):
        some = [one for one in rows if key(one)[:3] == group]
        mean = {n: np.mean([r[n] for r in some]) for n in ("precision", "recall", "test")}
        best = [max(one["dev"]) for one in some]
        spread = np.std([one["test"] for one in some], ddof=1) if len(some) > 1 else np.nan
        cells = [f"{x:.1f}" for x in (np.mean(best), *mean.values(), spread)]
        taken = np.mean([one["seconds"] for one in some])
        lines.append([*group, len(some), *cells, f"{taken:.0f}"])
    head = ["task", "regime", "model", "runs", "dev", "P", "R", "F1", "+-", "s"]
    print(table(head, lines))


def plot(path: str, rows: list[dict[str, Any]]) -> None:
    """Draw sizes of graphs against the length of a sentence, and in training, both log-log."""
    from scipy.signal import savgol_filter

    made, axes = figure(9.5, 3.6)
    for task, colour in (("wnut17", BLUE), ("ncbi_disease", RED)):
        some = [one for one in rows if one["task"] == task and "test_sizes" in one][:1]
        for one in some:
            tokens, spans, arcs = np.array(one["test_sizes"]).T
            shown = np.maximum(spans + arcs, 0.5)  # empty graphs are drawn at 0.5
            axes[0].loglog(tokens, shown, ".", color=colour, ms=3, alpha=0.4, label=task)
            smooth = np.exp(savgol_filter(np.log(np.array(one["training_sizes"]) + 0.5), 21, 2))
            axes[1].loglog(np.arange(1, len(smooth) + 1), smooth, color=colour, label=task)
    line = np.array([1, 120])
    axes[0].loglog(line, line, "--", color=GREY, label="as many as tokens")
    axes[0].set(xlabel="tokens of a sentence", title="spans and arcs, test set")
    axes[1].set(xlabel="step of training", title="spans and arcs of a sentence, smoothed")
    for axis in axes:
        axis.legend(fontsize=8)
    save(made, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, help="vectors that bench/vectors.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="lines of results")
    parser.add_argument("--plan", default="frozen")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--task", choices=WIDTH, help="one task only")
    parser.add_argument("--model", choices=MODELS, action="append", help="some models only")
    parser.add_argument("--plot", metavar="FILE", help="draw the sizes of graphs")
    parser.add_argument("--show", action="store_true", help="print a table of the results")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpora: dict[str, tuple[list[Documents], Store]] = {}
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    for run in [] if arguments.show else plan(arguments.plan):
        if run["seed"] not in seeds or key(run) in map(key, results(arguments.out)):
            continue
        task = run["task"]
        if arguments.task not in (None, task) or run["model"] not in (arguments.model or MODELS):
            continue
        if task not in corpora:
            parts = corpus(arguments.data, task)
            path = arguments.cache / f"{task}.f16"
            corpora[task] = parts, Store(distinct(parts), path, SIZE)
        found = fitted(run, *corpora[task])
        with arguments.out.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(*key(run), f"{max(found['dev']):.2f} {found['test']:.2f}", flush=True)
    show(results(arguments.out))
    if arguments.plot:
        plot(arguments.plot, results(arguments.out))


if __name__ == "__main__":
    main()
