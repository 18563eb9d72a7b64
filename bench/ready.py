"""Train the bundled models, and score them on held-out data.

    python bench/ready.py citations|addresses [--data ../shared/data] [--output FOLDER] [--alone]
    python bench/ready.py citations|addresses --tune       penalties, by cross-validation

Citations learn from AnyStyle's core set and the references of the demo, addresses from usaddress'
training file.  Features are those of the preset but for pairs of words and texts of segments, so
that a model holds single words and short affixes of its data only.  A semi-CRF reads citations, a
chain reads addresses, whose parts are mostly one token long.

Scores of citations are from five-fold cross-validation of AnyStyle's references, and from the
demo's test records, which the model does not learn from, once in the styles that it has learnt and
once in others; those of addresses are from usaddress' own test file.  Probabilities are calibrated
by what the models of the folds say of the references that they have not seen.  python-crfsuite has
BIO tags, all attributes of the preset for chains, and penalties chosen in the same way.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy import Documents, addresses, f1, folds
from crfsuite_peer import Peer
from timing import table

import caesura
from caesura.corpora import read_xml
from caesura.demo import trial
from caesura.evaluation import evaluate
from caesura.features import Template, lower, preset, word, zeroed
from caesura.features.dictionary import Text
from caesura.models.calibration import calibrate

FOLDS = 5
OPEN = (lower, word, zeroed(lower), zeroed(word))  # columns that reveal words
# The regular expression with which usaddress splits addresses.
TOKENS = {"regex": r"\(*\b[^\s,;#&()]+[.,;)\n]*|[#&]"}
GRID = ((0.02, 0.01), (0.02, 0.03), (0.05, 0.01), (0.1, 0.03), (0.2, 0.05), (0.3, 0.1))
PEER_GRID = ((0.0, 0.3), (0.05, 0.01), (0.2, 0.05))
OPTIONS: dict[str, Any] = {"n_threads": 1, "delta": 1e-3}


class Made(NamedTuple):
    """The definition of a bundled model."""

    data: Documents  # for cross-validation
    more: Documents  # always part of the training data
    tests: dict[str, Documents]
    options: dict[str, Any]
    peer: tuple[float, float]  # c1 and c2 of python-crfsuite
    about: dict[str, str]


def single_words(name: str, segments: bool = True) -> list[Any]:
    """Return the features of a preset that tell no more than one word of a text each."""
    return [
        one
        for one in preset(name, segments=segments)
        if not isinstance(one, Text)
        and not (isinstance(one, Template) and sum(c in OPEN for c, _ in one.parts) > 1)
    ]


# -- data ------------------------------------------------------------------------------------------


def as_anystyle(document: caesura.Document) -> caesura.Document:
    """Return a reference of the demo with AnyStyle's labels."""
    named = {"booktitle": "container-title", "institution": "publisher"}
    segments = []
    for start, end, label in document.segments or ():
        words = {token.casefold() for token in document.tokens[start:end]}
        if label == "note":
            if start == 0:
                label = "citation-number"
            elif words & {"edition", "ed", "edn"}:
                label = "edition"
            elif words & {"report", "thesis", "memo", "memorandum", "rep"}:
                label = "genre"
        segments.append(caesura.Segment(start, end, named.get(label, label)))
    return replace(document, segments=tuple(segments))


def citations(data: Path) -> Made:
    made = trial.data()
    return Made(
        list(read_xml(data / "anystyle" / "core.xml")),
        [as_anystyle(one) for one in [*made.train, *made.dev]],
        {
            "the demo's test records, known styles": [as_anystyle(one) for one in made.test],
            "the demo's test records, other styles": [as_anystyle(one) for one in made.unseen],
        },
        {"c1": 0.02, "c2": 0.03},
        (0.05, 0.01),
        {
            "about": "Fields of bibliographic references in many styles, with AnyStyle's labels",
            "origin": "AnyStyle's core set (res/parser/core.xml, github.com/inukshuk/anystyle "
            "at c6f5fb2) and references that Caesura writes itself (caesura.demo)",
            "copyright": "AnyStyle: Copyright 2011-2023 Sylvester Keil (BSD-2-Clause)",
            "licence": (data / "anystyle" / "LICENSE").read_text("utf-8"),
        },
    )


def us_addresses(data: Path) -> Made:
    from importlib.metadata import files

    import usaddress

    licence = next(one for one in files("usaddress") or () if one.name == "LICENSE")
    del usaddress
    return Made(
        list(addresses(data / "usaddress" / "train.xml")),
        [],
        {"usaddress' own test set": list(addresses(data / "usaddress" / "test.xml"))},
        {"c1": 0.1, "c2": 0.03, "scheme": "BIO", "tokeniser": TOKENS},
        (0.05, 0.01),
        {
            "about": "Parts of US addresses, with usaddress' labels and tokens",
            "origin": "usaddress' training file (training/labeled.xml, "
            "github.com/datamade/usaddress at aa7699b)",
            "copyright": "usaddress: Copyright (c) 2014 Atlanta Journal Constitution (MIT)",
            "licence": licence.read_text(),
        },
    )


MADE = {"citations": citations, "addresses": us_addresses}


# -- training and evaluation -----------------------------------------------------------------------


def fresh(name: str, made: Made, **changed: Any) -> Any:
    options = OPTIONS | made.options | changed
    if name == "addresses":
        return caesura.ChainCRF(single_words(name, segments=False), **options)
    return caesura.SemiCRF(single_words(name), same_label_adjacent=False, **options)


def tune(name: str, made: Made) -> None:
    """Print the F1 of penalties, ours and python-crfsuite's, over two folds."""
    pairs = folds(made.data, FOLDS)[:2]
    gold = [one for _, held in pairs for one in held]
    for model, grid in (("ours", GRID), ("python-crfsuite", PEER_GRID)):
        for c1, c2 in grid:
            began, found, size = time.process_time(), [], 0
            for train, held in pairs:
                one: Any = fresh(name, made, c1=c1, c2=c2)
                if model != "ours":
                    one = Peer(preset(name), delta=1e-3).set_params(c1=c1, c2=c2)
                found += one.fit([*train, *made.more]).predict(held)
                size = getattr(one, "n_features_", 0)
            seconds = time.process_time() - began
            print(f"{model} {c1} {c2}: {f1(gold, found):.2f}, {seconds:.0f} s, {size}", flush=True)


class Held(NamedTuple):
    """Cross-validated predictions for references."""

    gold: Documents
    found: list[list[Any]]  # segments with uncalibrated probabilities
    peer: list[Any]

    def pairs(self) -> tuple[Any, Any]:
        """Return the probability of each predicted segment, and whether it is right."""
        each = [
            (one.probability, one.segment in set(document.segments or ()))
            for document, some in zip(self.gold, self.found, strict=True)
            for one in some
        ]
        chances, right = zip(*each, strict=True)
        return np.array(chances), np.array(right)


def held_out(name: str, made: Made, peer: bool) -> Held:
    """Cross-validate."""
    gold: Documents = []
    found: list[Any] = []
    others: list[Any] = []
    for k, (train, held) in enumerate(folds(made.data, FOLDS)):
        learnt = [*train, *made.more]
        gold += held
        found += fresh(name, made).fit(learnt).predict_confident(held)
        if peer:
            others += rival(name, made).fit(learnt).predict(held)
        print(f"fold {k + 1} of {FOLDS}", flush=True)
    return Held(gold, found, others)


def rival(name: str, made: Made) -> Peer:
    c1, c2 = made.peer
    return Peer(preset(name), delta=1e-3).set_params(c1=c1, c2=c2)


def calibration_error(held: Held, bins: int = 10) -> tuple[float, float]:
    """Return the calibration error without and with a calibration fitted on the other half of the
    segments.
    """
    chances, right = held.pairs()
    halves = np.arange(len(chances)) % 2 == 0
    after = np.empty_like(chances)
    for half in (halves, ~halves):
        after[half] = calibrate(chances[~half], right[~half], "isotonic")(chances[half])
    out = []
    for said in (chances, after):
        which = np.minimum((said * bins).astype(int), bins - 1)
        gaps = [abs((said - right)[which == b].sum()) for b in range(bins)]
        out.append(100 * sum(gaps) / len(said))
    return out[0], out[1]


def usaddress_says(documents: Documents) -> list[Any]:
    """Return the predictions of usaddress with its bundled model."""
    import usaddress

    found = []
    for document in documents:
        parsed = usaddress.parse(" ".join(document.tokens))
        assert tuple(token for token, _ in parsed) == document.tokens
        labels = [label for _, label in parsed]
        starts = [t for t in range(len(labels)) if t == 0 or labels[t] != labels[t - 1]]
        ends = [*starts[1:], len(labels)]
        found.append([caesura.Segment(s, e, labels[s]) for s, e in zip(starts, ends, strict=True)])
    return found


def scored(name: str, made: Made, model: Any, held: Held, alone: bool) -> list[list[str]]:
    """Return the rows of the table: F1 and whole sequences right."""
    peer = None if alone else rival(name, made).fit([*made.data, *made.more])
    sets: list[tuple[str, str, Documents, Sequence[Any]]] = []
    place = f"{FOLDS}-fold cross-validation"
    ours = [[one.segment for one in some] for some in held.found]
    sets += [(place, f"caesura {name}", held.gold, ours)]
    if held.peer:
        sets += [(place, "python-crfsuite", held.gold, held.peer)]
    for place, documents in made.tests.items():
        sets.append((place, f"caesura {name}", documents, model.predict(documents)))
        if peer is not None:
            sets.append((place, "python-crfsuite", documents, peer.predict(documents)))
        if name == "addresses":
            sets.append((place, "usaddress 0.5.16", documents, usaddress_says(documents)))
    rows = []
    for place, who, documents, found in sets:
        gold = [list(one.segments or ()) for one in documents]
        report = evaluate(gold, [list(one) for one in found])
        exact = sum(a == list(b) for a, b in zip(gold, found, strict=True)) / len(gold)
        row = [place, who, str(len(gold)), f"{100 * report.micro.f1:.2f}", f"{100 * exact:.1f}"]
        rows.append(row)
    return rows


def make(name: str, made: Made, folder: Path, alone: bool) -> None:
    """Write the model, and print its scores."""
    held = held_out(name, made, peer=not alone)
    model = fresh(name, made).fit([*made.data, *made.more])
    model.calibration_ = calibrate(*held.pairs(), "isotonic")
    rows = scored(name, made, model, held, alone)
    before, after = calibration_error(held)
    error = f"{after:.1f} % ({before:.1f} % without calibration)"
    lines = [
        f"{place}: F1 {score}, {exact} % whole"
        for place, who, _, score, exact in rows
        if who.startswith("caesura")
    ]
    said = "; ".join(lines) + f"; calibration error, held out, {error}"
    model.set_params(n_threads=None, features=model.features_)
    model.set_about(made.about | {"scores": said, "made": f"python bench/ready.py {name}"})
    path = folder / f"{name}.model"
    model.save(path)
    print(table(["test", "model", "sequences", "F1", "whole, %"], rows))
    print(
        f"{path}: {path.stat().st_size / 1e6:.2f} MB, {len(model.weights_):,} weights; "
        f"calibration error {error}"
    )
    print(json.dumps(model.about_ | {"licence": "..."}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", choices=MADE)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("src/caesura/ready"))
    parser.add_argument("--tune", action="store_true", help="print the F1 of penalties")
    parser.add_argument("--alone", action="store_true", help="without python-crfsuite, quicker")
    given = parser.parse_args()
    made = MADE[given.name](given.data)
    if given.tune:
        tune(given.name, made)
    else:
        make(given.name, made, given.output, given.alone)


if __name__ == "__main__":
    main()
