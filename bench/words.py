"""Word segmentation with word bigrams and beam search on PKU.

    python bench/words.py train --model templates|best [--dev] [--passes N] [--beam K] --out FILE
    python bench/words.py table FILE [--picture PNG]   F1 and speed for several beams
    python bench/words.py peers                        jieba, and spacy-pkuseg on the same file
    python bench/words.py growth                       cost of search without a bound on lengths

With ``--dev`` a model learns from the first nine tenths of the training lines and is scored on the
last after each pass, which is how passes and features are chosen; without it, it learns from all
and is scored on the test set.  Times are CPU seconds on one core.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import words

import caesura
from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.features import earlier, preset, previous, this, word_templates

BEAMS = (1, 2, 4, 8, 16, 64, None)
FEATURES = {
    "templates": word_templates,  # the fourteen of the textbook
    "best": lambda: preset("words", bigrams=True),  # and characters at their places in words
}


def load(data: Path) -> tuple[list[Document], list[Document]]:
    """Return training lines and test lines; full-width forms are made narrow."""
    names = ("199801.txt", "pku_test_gold.utf8")
    train, test = (list(words(data / "pku" / name)) for name in names)
    return train, test


def learn(options: argparse.Namespace) -> None:
    """Train a model, and print its score after each pass, or on the test set."""
    train, test = load(options.data)
    dev: dict[str, Any] = {}
    if options.dev:
        cut = len(train) * 9 // 10
        train, dev = train[: cut : options.every], {"X_dev": train[cut:]}
    model = caesura.SemiCRF(
        FEATURES[options.model](),
        max_length="observed",
        learner="perceptron",
        beam=options.beam,
        update=options.update,
        max_iterations=options.passes,
        n_threads=1,
    )
    began = time.process_time()

    def shown(progress: caesura.learning.Progress) -> None:
        f1 = "" if progress.dev_score is None else f"  F1 {100 * progress.dev_score:.2f}"
        seconds = time.process_time() - began
        wrong = int(progress.objective)
        print(f"pass {progress.iteration}  updates {wrong}  {seconds:.0f} s{f1}", flush=True)

    model.fit(train, callbacks=[shown], **dev)
    print(f"{options.model}: {model.n_features_:,} weights other than zero")
    if options.out is not None:
        model.save(options.out)
    if not options.dev:
        print(f"test F1 {100 * model.score(test):.2f}")


def table(options: argparse.Namespace) -> None:
    """Print F1 and sentences a second on the test set for several sizes of the agenda."""
    model = caesura.load(options.file).set_params(n_threads=1)
    _, test = load(options.data)
    texts = [list(document.tokens) for document in test]
    gold = [list(document.segments or ()) for document in test]
    rows: list[tuple[str, float, float]] = []
    print("| beam | F1 | sentences/s |\n|---|---|---|")
    for beam in BEAMS:
        model.set_params(beam=beam)
        seconds, found = np.inf, []
        for _ in range(options.repeats):
            began = time.process_time()
            found = model.predict(texts)
            seconds = min(seconds, time.process_time() - began)
        f1 = caesura.evaluation.segment_counts(gold, found).f1
        rows.append((str(beam or "exact"), 100 * f1, len(texts) / seconds))
        print("| {} | {:.2f} | {:.0f} |".format(*rows[-1]), flush=True)
    if options.picture is not None:
        draw(rows, options.picture)


def draw(rows: list[tuple[str, float, float]], path: Path) -> None:
    """Draw F1 against speed, a point for each size of the agenda."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6))
    axes.plot([row[2] for row in rows], [row[1] for row in rows], "o-", color="#0072b2")
    for k, (name, f1, speed) in enumerate(rows):
        beside = (-4, 7 if k % 2 else -13)  # neighbours above and below
        axes.annotate(name, (speed, f1), textcoords="offset points", xytext=beside, fontsize=8)
    axes.margins(0.08, 0.15)
    axes.set_xlabel("sentences a second, one core")
    axes.set_ylabel("F1 on the PKU test set")
    axes.set_title("Words by beam search: size of the agenda", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def peers(options: argparse.Namespace) -> None:
    """Score jieba with the words of the training lines, and spacy-pkuseg trained on them."""
    import jieba

    train, test = load(options.data)
    counts: dict[str, int] = {}
    for document in train:
        for start, end, _ in document.segments or ():
            text = "".join(document.tokens[start:end])
            counts[text] = counts.get(text, 0) + 1
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = folder / "words.txt"
    names.write_text("".join(f"{w} {n}\n" for w, n in counts.items() if " " not in w), "utf-8")
    jieba.setLogLevel(60)
    cutters = {"jieba": jieba.Tokenizer(), "jieba, PKU words": jieba.Tokenizer(str(names))}
    for title, cutter in cutters.items():
        cutter.initialize()
        report(title, test, lambda text, cutter=cutter: list(cutter.cut(text)))
    if options.pkuseg:
        import spacy_pkuseg

        for name, lines in (("train", train), ("test", test)):
            content = "\n".join("  ".join(cut_words(document)) for document in lines)
            (folder / f"{name}.utf8").write_text(content + "\n", "utf-8")
        began = time.process_time()
        spacy_pkuseg.train(
            str(folder / "train.utf8"), str(folder / "test.utf8"), str(folder / "pkuseg"),
            train_iter=options.pkuseg,
        )  # fmt: skip
        print(f"spacy-pkuseg trained in {time.process_time() - began:.0f} s")
        cutter = spacy_pkuseg.pkuseg(model_name=str(folder / "pkuseg"))
        report(f"spacy-pkuseg, {options.pkuseg} passes", test, cutter.cut)


def cut_words(document: Document) -> list[str]:
    return ["".join(document.tokens[s:e]) for s, e, _ in document.segments or ()]


def report(title: str, test: list[Document], cut: Any) -> None:
    """Print the score and the speed of a function from texts to words."""
    texts = ["".join(document.tokens) for document in test]
    began = time.process_time()
    found = [cut(text) for text in texts]
    seconds = time.process_time() - began
    segments = []
    for some in found:
        ends = np.cumsum([0, *map(len, some)]).tolist()
        segments.append([caesura.Segment(s, e, "word") for s, e in pairwise(ends)])
    gold = [list(document.segments or ()) for document in test]
    f1 = 100 * caesura.evaluation.segment_counts(gold, segments).f1
    print(f"| {title} | {f1:.2f} | {len(texts) / seconds:.0f} |", flush=True)


def growth(options: argparse.Namespace) -> None:
    """Print what search costs where segments may be as long as the sequence."""
    kinds: dict[str, tuple[list[Any], tuple[int, ...], int | None]] = {
        "bigrams, exact": ([previous.text & this.text], (10, 20, 40, 80), None),
        "trigrams, exact": ([earlier.text & previous.text & this.text], (5, 10, 20, 40), None),
        "trigrams, beam 16": ([earlier.text & previous.text & this.text], (10, 20, 40, 80), 16),
    }
    print("| features | T | candidates | ms | growth of candidates |\n|---|---|---|---|---|")
    for title, (features, lengths, beam) in kinds.items():
        before = 0
        for T in lengths:
            encoder = SpanEncoder(features)
            corpus: Any = encoder.encode([Document(tuple(map(str, range(T))))], True)
            none, bounds = np.zeros(1, np.uint8), np.full(1, T, np.int32)
            scorer = _kernels.SpanScorer(
                encoder.new_model(1, True),
                bounds,
                np.zeros((1, 1), np.uint8),
                none,
                none,
                None,
                beam,
            )
            began = time.process_time()
            candidates, _ = scorer.tally(corpus, 0)
            seconds = time.process_time() - began
            power = f"T^{np.log2(candidates / before):.2f}" if before else ""
            print(f"| {title} | {T} | {candidates:,} | {1000 * seconds:.2f} | {power} |")
            before = candidates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("train")
    one.add_argument("--model", choices=list(FEATURES), default="templates")
    one.add_argument("--dev", action="store_true")
    one.add_argument("--every", type=int, default=1, help="With --dev: learn from every Nth line.")
    one.add_argument("--passes", type=int, default=6)
    one.add_argument("--beam", type=int, default=16)
    one.add_argument("--update", default="max-violation")
    one.add_argument("--out", type=Path)
    one.set_defaults(run=learn)
    one = commands.add_parser("table")
    one.add_argument("file", type=Path)
    one.add_argument("--picture", type=Path)
    one.add_argument("--repeats", type=int, default=2)
    one.set_defaults(run=table)
    one = commands.add_parser("peers")
    one.add_argument("--folder", type=Path, default=Path("/tmp/words-peers"))
    one.add_argument("--pkuseg", type=int, default=0, help="Passes of spacy-pkuseg; 0: leave out.")
    one.set_defaults(run=peers)
    commands.add_parser("growth").set_defaults(run=growth)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
