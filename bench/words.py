"""Word segmentation with word bigrams and beam search on PKU.

    python bench/words.py train --model templates|best [--dev] [--passes N] [--beam K] --out FILE
    python bench/words.py chain [--kinds] [--dev] [--every N] [--passes N] [--c2 X] --out FILE
    python bench/words.py table FILE [--picture PNG]   F1 and speed for several beams
    python bench/words.py peers                        jieba, and spacy-pkuseg on the same file
    python bench/words.py growth                       cost of search without a bound on lengths

With ``--dev`` a model learns from the first nine tenths of the training lines and is scored on the
last (of `train`: after each pass), which is how passes and features are chosen; without it, it
learns from all and is scored on the test set.  `chain` is a chain with a word list, as in
accuracy.py; with ``--kinds`` its labels are kinds of words, which the training file has as parts of
speech, in place of one label for all.  They are thrown away before scoring.  Times are CPU seconds
on one core.  `table`, `peers` and `chain` write what they print into ``--results`` too, and `table`
draws all of it.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import wordlist
from accuracy import listed, words
from plots import BLUE, ORANGE, figure, save

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


class Row(NamedTuple):
    """What a model or a program reaches."""

    name: str
    f1: float
    speed: float  # in sentences per second


KINDS = {  # kinds of words and their parts of speech in the People's Daily
    "person": "nr",
    "place": "ns",
    "other name": "nt nx nz",
    "time": "t",
    "number": "m",
    "measure": "q",
    "mark": "w",
    "verb": "v vn vd",
    "noun": "n an",
    "adjective, adverb": "a ad d b z",
    "function word": "u p c r y f k h e o s",
    "morpheme": "Ng Vg Ag Tg Dg Rg Mg Bg Yg",
    "idiom, short form": "i l j",
}
KIND_OF = {part: kind for kind, parts in KINDS.items() for part in parts.split()}


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


def chain(options: argparse.Namespace) -> None:
    """Train a chain with a word list, and print its score on held-out lines or on the test set."""
    label = (lambda part: KIND_OF.get(part, "other")) if options.kinds else (lambda part: "word")
    train = list(words(options.data / "pku" / "199801.txt", label))
    _, held = ([], train) if options.dev else load(options.data)
    if options.dev:
        cut = len(train) * 9 // 10
        train, held = train[: cut : options.every], train[cut:]
    known = wordlist.word_list(train)
    model = caesura.ChainCRF(
        listed(), scheme="BMES", c2=options.c2, min_freq=2, learner="adagrad", batch_size=50,
        max_iterations=options.passes, n_threads=1,
    )  # fmt: skip
    began = time.process_time()
    model.fit(wordlist.cross_told(train))
    print(f"{time.process_time() - began:.0f} s, {model.n_features_:,} weights", flush=True)
    if options.out is not None:
        model.save(options.out)
    began = time.process_time()
    found = model.predict(wordlist.told(held, known))
    speed = len(held) / (time.process_time() - began)
    title = "chain, word list" + (", kinds of words" if options.kinds else "")
    line(options, Row(title + (", held out" if options.dev else ""), score(held, found), speed))


def table(options: argparse.Namespace) -> None:
    """Print F1 and sentences a second on the test set for several sizes of the agenda."""
    others = read_rows(options.results)
    if options.file is not None:
        model = caesura.load(options.file).set_params(n_threads=1)
        _, test = load(options.data)
        texts = [list(document.tokens) for document in test]
        print("| | F1 | sentences/s |\n|---|---|---|")
        for beam in BEAMS:
            model.set_params(beam=beam)
            seconds, found = np.inf, []
            for _ in range(options.repeats):
                began = time.process_time()
                found = model.predict(texts)
                seconds = min(seconds, time.process_time() - began)
            name = "exact" if beam is None else f"beam {beam}"
            line(options, Row(name, score(test, found), len(texts) / seconds))
        others = read_rows(options.results)
    if options.picture is not None:
        draw(others, options.picture)


def score(documents: list[Document], found: Any) -> float:
    """Return the F1 of words, whatever their labels."""
    gold, guessed = (
        [[caesura.Segment(s, e, "word") for s, e, _ in one or ()] for one in some]
        for some in ([document.segments for document in documents], found)
    )
    return 100 * caesura.evaluation.segment_counts(gold, guessed).f1


def line(options: argparse.Namespace, row: Row) -> None:
    """Print a row of the table, and keep it."""
    print(f"| {row.name} | {row.f1:.2f} | {row.speed:.0f} |", flush=True)
    if options.results is not None:
        rows = {one.name: one for one in [*read_rows(options.results), row]}
        options.results.write_text(json.dumps(list(rows.values())), "utf-8")


def read_rows(path: Path | None) -> list[Row]:
    if path is None or not path.is_file():
        return []
    return [Row(*one) for one in json.loads(path.read_text("utf-8"))]


def draw(rows: list[Row], path: Path) -> None:
    """Draw F1 against speed: a line through the sizes of the agenda, points for other programs."""
    beams = [row for row in rows if row.name == "exact" or row.name.startswith("beam ")]
    made, (axes, near) = figure(height=3.4)
    for k, row in enumerate(one for one in rows if one not in beams):
        axes.plot([row.speed], [row.f1], "s^Dvp"[k % 5], color=ORANGE, ms=5)
        name = row.name.replace(", ", ",\n", 1)
        place: dict[str, Any] = {"textcoords": "offset points", "xytext": (0, -20), "ha": "center"}
        axes.annotate(name, (row.speed, row.f1), fontsize=7, **place)
    for one in (axes, near):
        one.plot([row.speed for row in beams], [row.f1 for row in beams], "o-", color=BLUE, ms=4)
        one.set_xlabel("sentences a second, one core")
        one.margins(0.15, 0.2)
    for k, (name, f1, speed) in enumerate(beams):
        beside = (-4, 7 if k % 2 else -13)  # alternately above and below
        place = {"textcoords": "offset points", "xytext": beside}
        near.annotate(name.removeprefix("beam "), (speed, f1), fontsize=8, **place)
    axes.set_ylabel("F1 on the PKU test set")
    axes.set_title("Word bigrams by beam search (circles) and others", fontsize=11)
    near.set_title("Word bigrams: size of the agenda", fontsize=11)
    save(made, path)


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
        report(options, title, test, lambda text, cutter=cutter: list(cutter.cut(text)))
    if options.pkuseg:
        import spacy_pkuseg

        shown = train[-200:]  # it is scored after each pass, without any effect
        for name, lines in (("train", train), ("shown", shown)):
            content = "\n".join("  ".join(cut_words(document)) for document in lines)
            (folder / f"{name}.utf8").write_text(content + "\n", "utf-8")
        if not (folder / "pkuseg" / "weights.npz").is_file():
            began = time.process_time()
            spacy_pkuseg.train(
                str(folder / "train.utf8"), str(folder / "shown.utf8"), str(folder / "pkuseg"),
                train_iter=options.pkuseg,
            )  # fmt: skip
            print(f"spacy-pkuseg trained in {time.process_time() - began:.0f} s")
        cutter = spacy_pkuseg.pkuseg(model_name=str(folder / "pkuseg"))
        report(options, f"spacy-pkuseg, {options.pkuseg} passes", test, cutter.cut)


def cut_words(document: Document) -> list[str]:
    return ["".join(document.tokens[s:e]) for s, e, _ in document.segments or ()]


def report(options: argparse.Namespace, title: str, test: list[Document], cut: Any) -> None:
    """Print the score and the speed of a function from texts to words."""
    texts = ["".join(document.tokens) for document in test]
    began = time.process_time()
    found = [cut(text) for text in texts]
    seconds = time.process_time() - began
    segments = []
    for some in found:
        ends = np.cumsum([0, *map(len, some)]).tolist()
        segments.append([caesura.Segment(s, e, "word") for s, e in pairwise(ends)])
    line(options, Row(title, score(test, segments), len(texts) / seconds))


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
    one = commands.add_parser("chain")
    one.add_argument("--kinds", action="store_true")
    one.add_argument("--dev", action="store_true")
    one.add_argument("--every", type=int, default=1, help="With --dev: learn from every Nth line.")
    one.add_argument("--passes", type=int, default=10)
    one.add_argument("--c2", type=float, default=0.1)
    one.add_argument("--out", type=Path)
    one.add_argument("--results", type=Path)
    one.set_defaults(run=chain)
    one = commands.add_parser("table")
    one.add_argument("file", type=Path, nargs="?", help="A model of `train`; none: only draw.")
    one.add_argument("--results", type=Path)
    one.add_argument("--picture", type=Path)
    one.add_argument("--repeats", type=int, default=2)
    one.set_defaults(run=table)
    one = commands.add_parser("peers")
    one.add_argument("--folder", type=Path, default=Path("/tmp/words-peers"))
    one.add_argument("--pkuseg", type=int, default=0, help="Passes of spacy-pkuseg; 0: leave out.")
    one.add_argument("--results", type=Path)
    one.set_defaults(run=peers)
    commands.add_parser("growth").set_defaults(run=growth)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
