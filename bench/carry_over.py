"""Transfer: models of references tested on other styles than they were trained on.

    python bench/carry_over.py FILE [--seconds 240] [--data ../shared/data]
    python bench/carry_over.py FILE --table

Corpora: Cora's references (300 of the training part to learn from, 200 of the test part to be
tested on), AnyStyle's core set, and the demo's references, in one half of its styles and in the
other, of other publications.  Labels are mapped to the twelve of the demo.  AnyStyle's set has
references of Cora, so these two are never paired.  Strict F1 of segments; models are ours, with
parts of the preset left out and several penalties, and python-crfsuite with the attributes of our
chain.

What is measured is added to FILE, and what the file has already is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import Documents, f1
from crfsuite_peer import Peer
from defaults import known
from ready import single_words
from timing import table

import caesura
from caesura.corpora import read_conll, read_xml
from caesura.demo import STYLES, citations
from caesura.demo.records import split
from caesura.features import Template, preset

NOTES = ("tech", "genre", "edition", "citation-number", "url", "doi", "isbn", "source", "medium")
NAMED = {
    **dict.fromkeys(NOTES, "note"),
    **dict.fromkeys(("translator", "director", "producer"), "editor"),
    **dict.fromkeys(("container-title", "collection-title"), "booktitle"),
}
PENALTIES = ((0.0, 1.0), (0.0, 0.1), (0.0, 0.01), (0.05, 0.01), (0.2, 0.05))


def mapped(documents: Documents) -> Documents:
    """Return references with the labels of the demo; neighbours that become one are joined."""
    out = []
    for document in documents:
        segments: list[caesura.Segment] = []
        for start, end, label in document.segments or ():
            name = NAMED.get(label, label)
            if segments and segments[-1].label == name:
                segments[-1] = segments[-1]._replace(end=end)
            else:
                segments.append(caesura.Segment(start, end, name))
        out.append(replace(document, segments=tuple(segments)))
    return out


def pairs(data: Path) -> dict[str, tuple[Documents, Documents]]:
    """Return the training and test sets by name."""
    options: dict[str, Any] = {"scheme": "plain", "encoding": "latin-1", "comment": None}
    cora = [
        mapped(list(read_conll(data / "cora_ie" / f"hosemicrf_ref.{part}", **options)))
        for part in ("train", "test")
    ]
    anystyle = mapped(list(read_xml(data / "anystyle" / "core.xml")))
    demo = mapped(citations(400, 100))
    parts = split(0)
    halves = STYLES[::2], STYLES[1::2]
    styles = [citations(300, 7, half, of=parts.train) for half in halves]
    others = [citations(150, 8, half, of=parts.test) for half in halves[::-1]]
    return {
        "demo to Cora": (demo, cora[1]),
        "Cora to demo": (cora[0], demo),
        "demo to AnyStyle": (demo, anystyle[::4]),
        "AnyStyle to demo": (anystyle[::3], demo),
        "styles to styles": (styles[0], others[0]),
        "and back": (styles[1], others[1]),
    }


def lists() -> dict[str, Callable[[bool], list[Any]]]:
    """Return lists of features: the presets, and parts of them."""

    def without_words_around(segments: bool) -> list[Any]:
        return [
            one
            for one in single_words("citations")
            if segments or (isinstance(one, Template) and "first" not in repr(one))
            if not (isinstance(one, Template) and "lower" in repr(one) and one.parts[0][1] != 0)
        ]

    def alone(segments: bool) -> list[Any]:
        mine = preset("citations", segments=segments)
        return [one for one in mine if one in single_words("citations")]

    return {
        "citations": lambda segments: preset("citations", segments=segments),
        "generic": lambda segments: preset("generic", segments=segments),
        "single words": alone,
        "no words around": without_words_around,
    }


def models(features: Callable[[bool], list[Any]]) -> dict[str, Callable[[float, float], Any]]:
    """Return the model constructors as functions of c1 and c2."""
    same: dict[str, Any] = {"n_threads": 1, "delta": 1e-3}
    return {
        "semi": lambda c1, c2: caesura.SemiCRF(
            features(True), c1=c1, c2=c2, same_label_adjacent=False, **same
        ),
        "chain": lambda c1, c2: caesura.ChainCRF(features(False), c1=c1, c2=c2, **same),
        "python-crfsuite": lambda c1, c2: Peer(features(False), delta=1e-3).set_params(
            c1=c1, c2=c2
        ),
    }


def measure(path: Path, data: Path, end: float) -> None:
    done = {(one["pair"], one["model"], one["features"], *one["penalties"]) for one in known(path)}
    both = pairs(data)
    for listed, features in lists().items():
        for kind, make in models(features).items():
            if kind != "semi" and listed != "citations":
                continue
            for name, (train, test) in both.items():
                for c1, c2 in PENALTIES:
                    if (name, kind, listed, c1, c2) in done:
                        continue
                    if time.monotonic() > end:
                        return
                    began = time.process_time()
                    score = f1(test, make(c1, c2).fit(train).predict(test))
                    line = {
                        "pair": name,
                        "model": kind,
                        "features": listed,
                        "penalties": [c1, c2],
                        "f1": score,
                        "seconds": time.process_time() - began,
                    }
                    with path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")


def tabulate(path: Path) -> None:
    """Print F1 by pair, the mean, and the F1 of penalties chosen on the other pairs."""
    lines = known(path)
    names = list(dict.fromkeys(one["pair"] for one in lines))
    rows = []
    for group in dict.fromkeys((one["model"], one["features"]) for one in lines):
        some = [one for one in lines if (one["model"], one["features"]) == group]
        scores = {}
        for c1, c2 in PENALTIES:
            found = {one["pair"]: one["f1"] for one in some if one["penalties"] == [c1, c2]}
            if len(found) == len(names):
                scores[f"{c1:g}, {c2:g}"] = np.array([found[name] for name in names])
        for penalties, each in scores.items():
            rows.append([*group, penalties, *(f"{x:.2f}" for x in each), f"{each.mean():.2f}"])
        if len(scores) == len(PENALTIES):
            grid = np.array(list(scores.values()))
            held = [grid[np.delete(grid, k, axis=1).mean(1).argmax(), k] for k in range(len(names))]
            chosen = [f"{x:.2f}" for x in held]
            rows.append([*group, "by the others", *chosen, f"{np.mean(held):.2f}"])
    print(table(["model", "features", "c1, c2", *names, "mean"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="one line of JSON for each measurement")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing later")
    parser.add_argument("--table", action="store_true", help="show what the file has")
    given = parser.parse_args()
    if given.table:
        tabulate(given.file)
    else:
        measure(given.file, given.data, time.monotonic() + given.seconds)


if __name__ == "__main__":
    main()
