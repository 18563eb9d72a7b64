"""Attribute formats: `Trainer.append` and `Tagger.tag` beside python-crfsuite.

    python bench/attributes.py [--data ../shared/data] [--sentences 400]

The forms are made of the attributes of CRFsuite's chunking example (CoNLL-2000), and usaddress
gives its own features of addresses. Times are microseconds of this thread for one sequence, the
best of several rounds in which the two libraries take turns. Before anything is timed, the
attributes of each form are compared with python-crfsuite's, and so are the tags with the weights
that it learnt.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pycrfsuite
import usaddress
from chunking import alone, corpus, weights_of
from timing import table

from caesura.compat import ItemSequence, Tagger, Trainer
from caesura.models.fitted import scorer_of

Labelled = tuple[list[Any], list[list[str]]]


def _split(name: str) -> tuple[str, str]:
    key, _, value = name.partition("=")
    return key, value


def _halves(bag: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    return bag[: len(bag) // 2], bag[len(bag) // 2 :]


# The forms of one token, made from its list of strings.
FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list of strings": lambda bag: bag,
    "tuple of strings": tuple,
    "set of strings": set,
    "list of bytes": lambda bag: [one.encode() for one in bag],
    "list, not ASCII": lambda bag: [f"\u00e9{one}" for one in bag],
    "dict, strings": lambda bag: dict(map(_split, bag)),
    "dict, floats": lambda bag: dict.fromkeys(bag, 0.5),
    "dict, booleans": lambda bag: dict.fromkeys(bag, True),
    "dict, whole numbers": lambda bag: dict.fromkeys(bag, 2),
    "dict, NumPy's floats": lambda bag: dict.fromkeys(bag, np.float32(0.5)),
    "OrderedDict, strings": lambda bag: OrderedDict(map(_split, bag)),
    "list in dict": lambda bag: dict(zip("ab", map(list, _halves(bag)), strict=True)),
    "set in dict": lambda bag: dict(zip("ab", map(set, _halves(bag)), strict=True)),
    "dict in dict, strings": lambda bag: {
        key: dict(map(_split, half)) for key, half in zip("ab", _halves(bag), strict=True)
    },
    "dict in dict, floats": lambda bag: {
        key: dict.fromkeys(half, 0.5) for key, half in zip("ab", _halves(bag), strict=True)
    },
    "list in dict in dict": lambda bag: {"a": {"b": bag}},
}


def addresses(data: Path) -> Labelled:
    """Return usaddress's features of its test set, and the labels."""
    X, y = [], []
    for address in ElementTree.parse(data / "usaddress" / "test.xml").getroot():
        X.append(usaddress.tokens2features([(one.text or "").strip() for one in address]))
        y.append([one.tag for one in address])
    return X, y


def appended(kind: Any, X: list[Any], y: list[list[str]]) -> Any:
    trainer = kind(verbose=False)
    for x, tags in zip(X, y, strict=True):
        trainer.append(x, tags)
    return trainer


def tagged(tagger: Any, X: list[Any]) -> list[list[str]]:
    return [tagger.tag(x) for x in X]


def taggers(X: list[Any], y: list[list[str]], folder: Path) -> tuple[Any, Tagger]:
    """Return python-crfsuite's tagger after a few iterations, and ours with the same weights."""
    path = str(folder / "model")
    peer = appended(pycrfsuite.Trainer, X, y)
    peer.set("max_iterations", 10)
    peer.train(path)
    theirs = pycrfsuite.Tagger()
    theirs.open(path)
    trainer = appended(Trainer, X, y)
    trainer.set("max_iterations", 1)
    trainer.train()
    model = trainer.model_
    assert model is not None
    known: Any = model._known
    w = weights_of(path, known)
    model._set_fitted(known._replace(w=w, scorer=scorer_of(known.parameters, w, known.structure)))
    ours = Tagger()
    ours.use(model, 0)
    return theirs, ours


def compare(X: list[Any], theirs: Any, ours: Tagger) -> None:
    """Raise if attributes differ, or more than a few tags: their weights are read as text."""
    for x in X:
        assert ItemSequence(x).items() == pycrfsuite.ItemSequence(x).items(), x
    pairs = [(a, b) for x in X for a, b in zip(theirs.tag(x), ours.tag(x), strict=True)]
    assert sum(a != b for a, b in pairs) <= 1e-3 * len(pairs)


def best_of(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the best time of each call; calls alternate."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            began = time.thread_time()
            call()
            best[k] = min(best[k], time.thread_time() - began)
    return best


def row(name: str, X: list[Any], y: list[list[str]], folder: Path, rounds: int) -> list[str]:
    theirs, ours = taggers(X, y, folder)
    compare(X, theirs, ours)
    append = best_of(
        [partial(appended, kind, X, y) for kind in (pycrfsuite.Trainer, Trainer)], rounds
    )
    tag = best_of([partial(tagged, one, X) for one in (theirs, ours)], rounds)
    cells = [name]
    for a, b in (append, tag):
        cells += [f"{1e6 * a / len(X):.1f}", f"{1e6 * b / len(X):.1f}", f"{a / b:.2f}"]
    return cells


def main() -> None:
    alone()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if not (arguments.data / "conll2000").is_dir():
        print(f"no CoNLL-2000 in {arguments.data}: skipped; name its folder with --data")
        return
    X, y = corpus(arguments.data / "conll2000" / "train.txt", arguments.sentences)
    sets: dict[str, Labelled] = {
        name: ([[form(bag) for bag in x] for x in X], y) for name, form in FORMS.items()
    }
    sets["usaddress"] = addresses(arguments.data)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (some, tags) in sets.items():
            rows.append(row(name, some, tags, Path(folder), arguments.rounds))
    head = ["append: theirs", "ours", "ratio", "tag: theirs", "ours", "ratio"]
    print(table(["form", *head], rows))
    slower = [one[0] for one in rows if min(float(one[3]), float(one[6])) < 1.0]
    print(f"slower than python-crfsuite: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
