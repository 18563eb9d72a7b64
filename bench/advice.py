"""Default features beside every preset, and the advice of `train`.

    python bench/advice.py FILE [--task NAME] [--data ../shared/data]
    python bench/advice.py FILE --table         the table of the lines of the file

What is measured is added to FILE, and what the file has already is not measured again.  F1 is that
of a semi-CRF with default penalties: on the development set of a corpus, or by two-fold
cross-validation of training data.  A task is fine if the default features are within 0.5 F1 of the
best preset, or if `train` names a preset that is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accuracy import Documents, f1, folds
from defaults import TASKS, conll, known
from timing import table

import caesura
from caesura.cli.advice import advise
from caesura.features import PRESETS, preset

Splits = list[tuple[Documents, Documents]]
NEAR = 0.5  # in F1


def held_out(folder: str, train: str, dev: str, every: int) -> Callable[[Path], Splits]:
    """Return a reader of training data that holds out every n-th sequence for development."""

    def read(data: Path) -> Splits:
        learnt, asked = (conll(folder, name, comment=None)(data) for name in (train, dev))
        return [(learnt[::every], asked)]

    return read


def in_two(name: str, every: int = 1) -> Callable[[Path], Splits]:
    """Return a reader of a task of defaults.py, split in halves."""
    task = TASKS[name]
    return lambda data: folds(task.read(data)[:: task.every * every], 2)


def without_names(data: Path) -> Splits:
    """Read CoNLL-2000 without naming the part-of-speech column, as a new user would."""
    return folds(conll("conll2000", "train.txt")(data)[:: TASKS["CoNLL-2000"].every], 2)


READERS: dict[str, Callable[[Path], Splits]] = {
    "Cora": in_two("Cora"),
    "demo citations": in_two("demo citations"),
    "AnyStyle, a quarter": in_two("AnyStyle"),
    "US addresses": in_two("US addresses"),
    "demo addresses": in_two("demo addresses"),
    "NCBI disease, a third": held_out("ncbi_disease", "train.tsv", "devel.tsv", 3),
    "WNUT-17": held_out("wnut17", "wnut17train.conll", "emerging.dev.conll", 1),
    "CoNLL-2000, a tenth": in_two("CoNLL-2000"),
    "the same, columns not named": without_names,
    "PKU, a fortieth": in_two("PKU"),
}


def score(splits: Splits, features: Any) -> float:
    """Return the F1 of semi-CRFs over all splits."""
    found: list[Any] = []
    for train, held in splits:
        found += caesura.SemiCRF(features, n_threads=1).fit(train).predict(held)
    return f1([one for _, held in splits for one in held], found)


def candidates(splits: Splits) -> dict[str, Any]:
    """Return the features of the presets that fit the data, and None for the default."""
    documents = splits[0][0]
    pos = next((name for name in ("pos", "column1") if name in documents[0].columns), None)
    single = sum(len(token) == 1 for one in documents for token in one.tokens)
    characters = single > 0.8 * sum(map(len, documents))
    fits = {"words": characters, "chunking": pos is not None}
    names = [one for one in PRESETS if fits.get(one, not characters or one == "generic")]
    found = {"default": None} | {name: preset(name, segments=True) for name in names}
    return found | ({} if pos is None else {"chunking": preset("chunking", segments=True, pos=pos)})


def measure(name: str, splits: Splits, path: Path) -> None:
    """Append missing results for each feature list, and one for the advice, to the file."""
    done = {one["features"] for one in known(path) if one["task"] == name}
    for listed, features in candidates(splits).items():
        if listed not in done:
            add(path, {"task": name, "features": listed, "f1": score(splits, features)})
    if "advice" not in done:
        began = time.perf_counter()
        given = advise(splits[0][0])
        seconds = time.perf_counter() - began
        said = given.as_json() if given is not None else {}
        add(path, {"task": name, "features": "advice", "seconds": seconds, "said": said})


def add(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def tabulate(path: Path) -> None:
    rows = []
    for task in READERS:
        lines = {one["features"]: one for one in known(path) if one["task"] == task}
        if "advice" not in lines:
            continue
        scores = {name: one["f1"] for name, one in lines.items() if "f1" in one}
        default = scores.pop("default")
        best = max(scores, key=scores.__getitem__)
        said = lines["advice"]["said"]
        named = said["better"] or said["likely"]
        reached = max(default, scores.get(named, default))
        rows.append(
            [
                task,
                said["chosen"],
                f"{default:.2f}",
                best,
                f"{scores[best]:.2f}",
                named or "",
                f"{scores[named]:.2f}" if named in scores else "",
                "yes" if scores[best] - reached <= NEAR else "no",
                f"{lines['advice']['seconds']:.1f}",
            ]
        )
    head = ["task", "default", "F1", "best preset", "F1", "train advises", "F1", "within 0.5", "s"]
    print(table(head, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--task", choices=READERS, action="append")
    parser.add_argument("--table", action="store_true", help="show what the file has")
    parser.add_argument("file", type=Path, help="one line of JSON for each measurement")
    given = parser.parse_args()
    if given.table:
        tabulate(given.file)
        return
    for name in given.task or READERS:
        measure(name, READERS[name](given.data), given.file)


if __name__ == "__main__":
    main()
