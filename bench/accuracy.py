"""Segment F1 of the presets on the test sets of public tasks.

    python bench/accuracy.py --task conll|cora|ncbi|pku [--data ../shared/data]

Features and penalties were chosen on training data: by ten-fold cross-validation of Cora, on the
last 1,000 sentences of CoNLL-2000, on the development set of NCBI disease.  The words of PKU were
not tuned.
"""

from __future__ import annotations

import argparse
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import caesura
from caesura.corpora import read_conll
from caesura.features import Template, first, lower, preset, word, zeroed


class Task(NamedTuple):
    train: list[Any]
    test: list[Any]
    models: dict[str, caesura.ChainCRF | caesura.SemiCRF]


def options(**more: Any) -> dict[str, Any]:
    return {"precision": "mixed", "delta": 1e-4} | more


def conll(data: Path) -> Task:
    columns = ["token", "pos", "tag"]
    train, test = (
        list(read_conll(data / "conll2000" / f"{name}.txt", columns)) for name in ("train", "test")
    )
    chain = caesura.ChainCRF(preset("chunking"), scheme="BIOES", **options(c2=0.3))
    return Task(train, test, {"chain, BIOES": chain})


def cora(data: Path) -> Task:
    """Return citations: the preset without places in the text, digits alike, first tokens apart."""
    train, test = (
        list(
            read_conll(
                data / "cora_ie" / f"hosemicrf_ref.{name}",
                scheme="plain",
                encoding="latin-1",
                comment=None,
            )
        )
        for name in ("train", "test")
    )
    alike = zeroed(lower)
    both = preset("citations", segments=True)
    tokens = [lower[0]]
    for one in preset("citations"):
        assert isinstance(one, Template)
        placed = any("position" in column.name for column, _ in one.parts)
        if not placed and one not in (word[0], zeroed(word)[0]):
            parts = [(alike if column == lower else column, at) for column, at in one.parts]
            tokens.append(Template(tuple(parts), one.place))
    wholes = [one for one in both if not isinstance(one, Template)]
    features = list(dict.fromkeys([*tokens, *map(first, tokens), *wholes]))
    semi = caesura.SemiCRF(features, same_label_adjacent=False, c1=0.05, c2=0.01, delta=1e-3)
    return Task(train, test, {"semi": semi})


def ncbi(data: Path) -> Task:
    train, devel, test = (
        list(read_conll(data / "ncbi_disease" / f"{name}.tsv", comment=None))
        for name in ("train", "devel", "test")
    )
    chain = caesura.ChainCRF(preset("ner"), scheme="BIOES", **options(c2=0.1, min_freq=2))
    semi = caesura.SemiCRF(preset("ner", segments=True), **options(c2=0.1, min_freq=2))
    return Task([*train, *devel], test, {"chain, BIOES": chain, "semi": semi})


def words(path: Path) -> Iterator[caesura.Document]:
    """Read one sequence a line, words apart, a part of speech behind a stroke or none."""
    for line in path.read_text("utf-8").splitlines():
        tokens: list[str] = []
        segments = []
        for one in line.split():
            text = unicodedata.normalize("NFKC", one.rsplit("/", 1)[0] if "/" in one else one)
            segments.append(caesura.Segment(len(tokens), len(tokens) + len(text), "word"))
            tokens += text
        if tokens:
            yield caesura.Document(tuple(tokens), segments=tuple(segments))


def pku(data: Path) -> Task:
    train, test = (
        list(words(data / "pku" / name)) for name in ("199801.txt", "pku_test_gold.utf8")
    )
    chain = caesura.ChainCRF(preset("words"), scheme="BMES", **options(c2=0.15, delta=2e-4))
    return Task(train, test, {"chain, BMES": chain})


TASKS = {"conll": conll, "cora": cora, "ncbi": ncbi, "pku": pku}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"no data in {arguments.data}: skipped; name its folder with --data")
        return
    task = TASKS[arguments.task](arguments.data)
    gold = [list(document.segments) for document in task.test]
    for name, model in task.models.items():
        begun = time.perf_counter()
        model.fit(task.train)
        seconds = time.perf_counter() - begun
        report = caesura.evaluate(gold, model.predict(task.test))
        print(f"{arguments.task}: {name}: {model.n_features_:,} weights, {seconds:.0f} s to fit")
        print(report, end="\n\n")


if __name__ == "__main__":
    main()
