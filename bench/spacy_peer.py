"""Segment F1, training time, speed and size beside spaCy's named entity recogniser.

    python bench/spacy_peer.py --task cora|usaddress [--epochs 30] [--seed 0] [--data FOLDER]

Both see the same tokens.  spaCy's pipeline is the one that ``spacy.blank("en")`` and
``add_pipe("ner")`` make: a convolutional network without vectors, trained from nothing in batches
of eight with a dropout of 0.1.  Its number of epochs is the best on a third of the training data
that is held out; then it learns from all of it.  Ours are the semi-CRFs of
bench/accuracy.py, chosen on training data too.  Times are CPU time; set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import accuracy
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import fix_random_seed
from timing import table

import caesura

BATCH = 8
TASKS = {"cora": accuracy.cora, "usaddress": accuracy.usaddress}


def examples(nlp: Any, documents: accuracy.Documents) -> list[Example]:
    found = []
    for document in documents:
        doc = Doc(nlp.vocab, words=list(document.tokens))
        doc.ents = [Span(doc, s.start, s.end, s.label) for s in document.segments or ()]
        found.append(Example(Doc(nlp.vocab, words=list(document.tokens)), doc))
    return found


def predicted(nlp: Any, documents: accuracy.Documents) -> list[list[caesura.Segment]]:
    docs = (Doc(nlp.vocab, words=list(document.tokens)) for document in documents)
    return [
        [caesura.Segment(ent.start, ent.end, ent.label_) for ent in doc.ents]
        for doc in nlp.pipe(docs, batch_size=256)
    ]


def trained(
    train: accuracy.Documents, epochs: int, seed: int, held_out: accuracy.Documents | None = None
) -> tuple[Any, list[float]]:
    """Return a pipeline, and its F1 on held-out data after each epoch."""
    fix_random_seed(seed)
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    data = examples(nlp, train)
    optimiser = nlp.initialize(lambda: data)
    draw, scores = random.Random(seed), []
    for _ in range(epochs):
        draw.shuffle(data)
        for k in range(0, len(data), BATCH):
            nlp.update(data[k : k + BATCH], sgd=optimiser, drop=0.1)
        if held_out is not None:
            scores.append(accuracy.f1(held_out, predicted(nlp, held_out)))
    return nlp, scores


def size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def answering(predict: Any, documents: accuracy.Documents) -> float:
    """Return sequences answered in a second of CPU time, the best of five."""
    times = []
    for _ in range(5):
        start = time.process_time()
        predict(documents)
        times.append(time.process_time() - start)
    return len(documents) / min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--epochs", type=int, default=30, help="most epochs of spaCy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = parser.parse_args()
    task = TASKS[given.task](given.data)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        first, held_out = accuracy.folds(task.train)[0]
        _, scores = trained(first, given.epochs, given.seed, held_out)
        epochs = 1 + scores.index(max(scores))
        start = time.process_time()
        nlp, _ = trained(task.train, epochs, given.seed)
        seconds = time.process_time() - start
        speed = answering(lambda some: predicted(nlp, some), task.test)
        nlp.to_disk(Path(folder, "spacy"))
        found = accuracy.f1(task.test, predicted(nlp, task.test))
        name = f"spaCy {version('spacy')}, {epochs} epochs"
        rows.append([name, found, seconds, speed, size(Path(folder, "spacy"))])
        model: Any = task.models["semi"].set_params(n_threads=1)
        start = time.process_time()
        model.fit(task.train)
        seconds = time.process_time() - start
        bare = [caesura.Document(document.tokens) for document in task.test]
        speed = answering(model.predict, bare)
        Path(folder, "ours").mkdir()
        model.save(Path(folder, "ours", "model"))
        found = accuracy.f1(task.test, model.predict(bare))
        rows.append(["Caesura, semi-CRF", found, seconds, speed, size(Path(folder, "ours"))])
    print(f"held out: {max(scores):.2f} after {epochs} epochs, last {scores[-1]:.2f}")
    heads = [given.task, "F1", "training, s", "sequences a second", "MB"]
    shown = [[r[0], f"{r[1]:.2f}", f"{r[2]:.1f}", f"{r[3]:,.0f}", f"{r[4]:.1f}"] for r in rows]
    print(table(heads, shown))


if __name__ == "__main__":
    main()
