"""Segment F1 on the test sets of public tasks, ours and python-crfsuite's.

    python bench/accuracy.py --task conll|cora|ncbi|pku|usaddress [--peer] [--tune] [--data FOLDER]

Features were chosen on training data alone: by ten-fold cross-validation of Cora, on the last
1,000 sentences of CoNLL-2000, by cross-validation of training and development set of NCBI disease,
on the last tenth of the lines of PKU.  --peer adds python-crfsuite with BIO tags and the same
attributes of tokens, its c1 and c2 chosen over a grid on held-out training data in the same run;
--tune chooses those of our models in the same way, in place of what was chosen before.
"""

from __future__ import annotations

import argparse
import time
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import wordlist
from abbreviations import told
from crfsuite_peer import Peer
from timing import table

import caesura
from caesura.corpora import read_conll
from caesura.features import (
    Lexicon,
    attributes,
    column,
    first,
    folded,
    last,
    preset,
    window,
    word,
)

Documents = list[caesura.Document]
Model = caesura.ChainCRF | caesura.SemiCRF | Peer
PEER = "python-crfsuite, BIO"
GRID = ((0.0, 0.3), (0.05, 0.01), (0.2, 0.05))  # candidates of (c1, c2)


class Task(NamedTuple):
    train: Documents
    test: Documents
    models: dict[str, Model]  # with their chosen settings
    peer: Peer
    splits: list[tuple[Documents, Documents]]  # to choose c1 and c2 on; empty if they are fixed


def options(**more: Any) -> dict[str, Any]:
    return {"precision": "mixed", "delta": 1e-4} | more


def folds(documents: Documents, k: int = 3) -> list[tuple[Documents, Documents]]:
    """Return k splits, each with every k-th document held out."""
    return [
        ([one for i, one in enumerate(documents) if i % k != j], documents[j::k]) for j in range(k)
    ]


# -- tasks -----------------------------------------------------------------------------------------


def conll(data: Path) -> Task:
    columns = ["token", "pos", "tag"]
    train, test = (
        list(read_conll(data / "conll2000" / f"{name}.txt", columns)) for name in ("train", "test")
    )
    features = preset("chunking")
    chain = caesura.ChainCRF(features, scheme="BIOES", **options(c2=0.3))
    split = (train[:-1000], train[-1000:])
    return Task(train, test, {"chain, BIOES": chain}, Peer(features, delta=1e-4), [split])


def cora(data: Path) -> Task:
    """Return citations, without and with a gazetteer of places."""
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
    lines = (data / "gazetteers" / "places_gazetteer.txt").read_text("utf-8").splitlines()
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    places = [Lexicon("places", names)]
    more: dict[str, Any] = {"same_label_adjacent": False, "c1": 0.05, "c2": 0.01, "delta": 1e-3}
    models: dict[str, Model] = {
        "semi": caesura.SemiCRF(preset("citations", segments=True), **more),
        "semi, places": caesura.SemiCRF(
            preset("citations", segments=True, gazetteers=places), **more
        ),
    }
    return Task(train, test, models, Peer(preset("citations"), delta=1e-3), folds(train))


def ncbi(data: Path) -> Task:
    """Return names of diseases, with abbreviations from nearby sentences."""
    train, devel, test = (
        told(list(read_conll(data / "ncbi_disease" / f"{name}.tsv", comment=None)))
        for name in ("train", "devel", "test")
    )
    near = [attributes[t] for t in (-1, 0, 1)]
    ends = [first(near[0]), first(near[1]), last(near[1]), last(near[2])]
    chain = [*preset("ner"), *near]
    semi = [*preset("ner", segments=True), *near, *ends]
    models: dict[str, Model] = {
        "semi": caesura.SemiCRF(semi, **options(c2=0.3)),
        "chain, BIOES": caesura.ChainCRF(chain, scheme="BIOES", **options(c2=0.3)),
    }
    return Task([*train, *devel], test, models, Peer(chain, delta=1e-4), [(train, devel)])


def words(
    path: Path, label: Callable[[str], str] = lambda part: "word"
) -> Iterator[caesura.Document]:
    """Read one sequence per line: words, optionally with /part-of-speech.

    `label` makes labels of parts of speech.
    """
    for line in path.read_text("utf-8").splitlines():
        tokens: list[str] = []
        segments = []
        for one in line.split():
            wide, _, part = one.rpartition("/") if "/" in one else (one, "", "")
            text = unicodedata.normalize("NFKC", wide)
            segments.append(caesura.Segment(len(tokens), len(tokens) + len(text), label(part)))
            tokens += text
        if tokens:
            yield caesura.Document(tuple(tokens), segments=tuple(segments))


def listed() -> list[Any]:
    """Return the preset words, and features of where words of a list stand."""
    begins, inside, ends = map(column, wordlist.COLUMNS)
    character = folded(word)
    return [
        *preset("words"),
        *window([begins, inside, ends], -1, 1),
        *(one[0] & character[0] for one in (begins, inside, ends)),
        begins[0] & inside[0] & ends[0],
        ends[-1] & begins[0],
        ends[0] & begins[1],
        ends[-1] & begins[0] & inside[0],
    ]


def pku(data: Path) -> Task:
    """Return words of Chinese; the penalties are chosen on the last tenth of the lines, learning
    from every eighth of the others, for a fit of the peer on all takes long.
    """
    train, test = (
        list(words(data / "pku" / name)) for name in ("199801.txt", "pku_test_gold.utf8")
    )
    test = wordlist.told(test, wordlist.word_list(train))
    train = wordlist.cross_told(train)
    features = listed()
    steps: dict[str, Any] = {"learner": "adagrad", "batch_size": 50, "max_iterations": 10}
    chain = caesura.ChainCRF(features, scheme="BMES", c2=0.1, min_freq=2, **steps)
    peer = Peer(features, min_freq=2, delta=1e-3)
    cut = len(train) * 9 // 10
    split = (train[:cut:8], train[cut:])
    return Task(train, test, {"chain, BMES": chain}, peer, [split])


def addresses(path: Path) -> Iterator[caesura.Document]:
    """Read an element for each token; neighbours with one tag are a segment."""
    for address in ET.parse(path).getroot():
        tokens = tuple((one.text or "").strip() for one in address)
        labels = [one.tag for one in address]
        changes = [t for t in range(1, len(labels)) if labels[t] != labels[t - 1]]
        bounds = [0, *changes, len(labels)]
        segments = tuple(caesura.Segment(s, e, labels[s]) for s, e in pairwise(bounds))
        yield caesura.Document(tokens, segments=segments)


def usaddress(data: Path) -> Task:
    train, test = (
        list(addresses(data / "usaddress" / f"{name}.xml")) for name in ("train", "test")
    )
    features = preset("addresses")
    semi = preset("addresses", segments=True)
    models: dict[str, Model] = {
        "semi": caesura.SemiCRF(semi, same_label_adjacent=False, c2=0.3, delta=1e-3),
        "chain, BIO": caesura.ChainCRF(features, scheme="BIO", c1=0.05, c2=0.01, delta=1e-3),
    }
    return Task(train, test, models, Peer(features, delta=1e-3), folds(train))


TASKS = {"conll": conll, "cora": cora, "ncbi": ncbi, "pku": pku, "usaddress": usaddress}


# -- choice of penalties and measurement -----------------------------------------------------------


def f1(documents: Sequence[caesura.Document], predicted: Sequence[Any]) -> float:
    gold = [list(document.segments or ()) for document in documents]
    return 100 * caesura.evaluate(gold, predicted).micro.f1


def choose(name: str, model: Model, task: Task) -> None:
    """Set the penalties with the best F1 over the held-out parts of all splits."""
    scores = {}
    for c1, c2 in GRID:
        model.set_params(c1=c1, c2=c2)
        found: list[Any] = []
        for train, held in task.splits:
            found += model.fit(train).predict(held)
        scores[c1, c2] = f1([one for _, held in task.splits for one in held], found)
        print(f"{name}: c1 {c1}, c2 {c2}: {scores[c1, c2]:.2f} held out", flush=True)
    c1, c2 = max(scores, key=scores.__getitem__)
    model.set_params(c1=c1, c2=c2)


def measure(task: Task, tuned: set[str], verbose: bool) -> list[tuple[str, ...]]:
    """Fit each model on all the training data; return the rows of a table."""
    rows: list[tuple[str, ...]] = []
    for name, model in task.models.items():
        if name in tuned and task.splits:
            choose(name, model, task)
        begun = time.process_time()
        predicted = model.fit(task.train).predict(task.test)
        seconds = time.process_time() - begun
        if verbose:
            gold = [list(document.segments or ()) for document in task.test]
            print(caesura.evaluate(gold, predicted), end="\n\n")
        score = f1(task.test, predicted)
        params = model.get_params()
        rows.append(
            (name, f"{params['c1']:g}", f"{params['c2']:g}", f"{seconds:.0f} s", f"{score:.2f}")
        )
        print(*rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--peer", action="store_true", help="beside python-crfsuite")
    parser.add_argument("--peer-only", action="store_true", help="python-crfsuite alone")
    parser.add_argument("--tune", action="store_true", help="choose penalties of our models too")
    parser.add_argument("--verbose", action="store_true", help="print reports by label")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"no data in {arguments.data}: skipped; name its folder with --data")
        return
    task = TASKS[arguments.task](arguments.data)
    tuned = set(task.models) if arguments.tune else set()
    if arguments.peer_only:
        task.models.clear()
    if arguments.peer or arguments.peer_only:
        task.models[PEER] = task.peer
        tuned.add(PEER)
    rows = measure(task, tuned, arguments.verbose)
    print(table((arguments.task, "c1", "c2", "to fit and predict", "test F1"), rows))


if __name__ == "__main__":
    main()
