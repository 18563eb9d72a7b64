"""Clients of python-crfsuite, run with it and with `caesura.compat` in its place.

    python bench/clients.py [--python PATH] [--sources FOLDER] [--data ../shared/data] [CLIENT ...]

The clients are usaddress, probablepeople (both trained by parserator), NLTK's CRFTagger and hazm's
SequenceTagger. Each runs unchanged, with its own features and parameters; only the module
`pycrfsuite` is another. Clients that are not installed are left out. hazm wants old versions of
much, so it may need an environment of its own; so may the others:

    python -m venv /tmp/clients
    /tmp/clients/bin/pip install . usaddress probablepeople parserator nltk
    pip download --no-binary :all: --no-deps -d /tmp/sources usaddress probablepeople  # and unpack
    python bench/clients.py --python /tmp/clients/bin/python --sources /tmp/sources

usaddress and probablepeople have their training data in their source archives; `--sources` is the
folder where these are unpacked. NLTK and hazm learn tags of CoNLL-2000 from `--data`: parts of
speech, and chunks. Times are CPU seconds, of all threads. "equal" counts the test sequences that
get the same tags from both, and the accuracies are shares of their tokens.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Sentences = list[list[tuple[str, ...]]]


class Run(NamedTuple):
    """The result of a client."""

    training: float  # in CPU seconds
    tagging: float
    tags: list[list[str]]  # of the test sequences
    gold: list[list[str]]


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and its result."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


# -- clients of parserator -----------------------------------------------------------------------


def labelled(module: Any, files: Sequence[Path]) -> list[Any]:
    """Return labelled strings as parserator reads them, without repetitions."""
    from parserator.training import readTrainingData

    read = readTrainingData([str(file) for file in files], module.GROUP_LABEL)
    return list({raw: (raw, components) for raw, components in read}.values())


def with_parserator(library: Any, module: Any, train: list[Any], test: list[Any]) -> Run:
    """Train as `parserator train` does, and tag tokens with the features of the module."""
    from parserator import training

    training.pycrfsuite = library
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))
        seconds, _ = timed(lambda: training.trainModel(train, module, path))
        tagger = library.Tagger()
        tagger.open(path)
        items = [[token for token, _ in components] for _, components in test]
        tagging, tags = timed(lambda: [tagger.tag(module.tokens2features(one)) for one in items])
    return Run(seconds, tagging, tags, [[label for _, label in parts] for _, parts in test])


def usaddress(library: Any, sources: Path, data: Path) -> Run:
    """US addresses: those that people have labelled; 2,000 synthetic ones are tested."""
    import usaddress as module

    folder = next(sources.glob("usaddress-*/")) / "training"
    names = ("labeled.xml", "multi_word_state_addresses.xml", "us50_train_tagged.xml")
    train = labelled(module, [folder / name for name in names])
    synthetic = labelled(module, [folder / "synthetic_osm_data_xml.xml"])
    # usaddress has no features for tokens without a letter or a digit.
    test = [one for one in synthetic if all(map(re.compile(r"[^\W_]").search, dict(one[1])))]
    return with_parserator(library, module, train, test[:2000])


def probablepeople(library: Any, sources: Path, data: Path) -> Run:
    """Names of people and companies; every fifth is tested."""
    import probablepeople as module

    folder = next(sources.glob("probablepeople-*/")) / "name_data" / "labeled"
    read = labelled(module, sorted(folder.glob("*.xml")))
    train = [one for i, one in enumerate(read) if i % 5]
    return with_parserator(library, module, train, read[::5])


# -- taggers -------------------------------------------------------------------------------------


def sentences(data: Path, name: str) -> Sentences:
    """Return the words of CoNLL-2000 with their parts of speech and chunk tags."""
    text = (data / "conll2000" / name).read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.strip().split("\n\n")]
    return [[tuple(line.split()) for line in block] for block in blocks]


def nltk(library: Any, sources: Path, data: Path) -> Run:
    """NLTK's CRFTagger: parts of speech."""
    import nltk.data as resources
    from nltk.tag import crf

    crf.pycrfsuite = library
    train, test = ([[t[:2] for t in s] for s in sentences(data, f"{k}.txt")] for k in KINDS)
    tagger = crf.CRFTagger()
    with tempfile.TemporaryDirectory() as folder:
        resources.path.append(folder)  # NLTK only writes into folders listed there
        seconds, _ = timed(lambda: tagger.train(train[:3000], str(Path(folder, "model"))))
        words = [[token[0] for token in sentence] for sentence in test]
        tagging, found = timed(lambda: tagger.tag_sents(words))
    tags = [[tag for _, tag in sentence] for sentence in found]
    return Run(seconds, tagging, tags, [[tag for _, tag in sentence] for sentence in test])


def hazm(library: Any, sources: Path, data: Path) -> Run:
    """hazm's SequenceTagger: chunk tags."""
    from hazm import sequence_tagger

    sequence_tagger.Trainer, sequence_tagger.Tagger = library.Trainer, library.Tagger
    train, test = ([[(t[0], t[2]) for t in s] for s in sentences(data, f"{k}.txt")] for k in KINDS)
    tagger = sequence_tagger.SequenceTagger()
    with tempfile.TemporaryDirectory() as folder:
        options = {"verbose": False, "report_duration": False}
        path = str(Path(folder, "model"))
        seconds, _ = timed(lambda: tagger.train(train[:3000], file_name=path, **options))
        words = [[word for word, _ in sentence] for sentence in test]
        tagging, found = timed(lambda: tagger.tag_sents(words))
    tags = [[tag for _, tag in sentence] for sentence in found]
    return Run(seconds, tagging, tags, [[tag for _, tag in sentence] for sentence in test])


KINDS = ("train", "test")
CLIENTS: dict[str, tuple[Callable[[Any, Path, Path], Run], tuple[str, ...]]] = {
    "usaddress": (usaddress, ("usaddress", "parserator")),
    "probablepeople": (probablepeople, ("probablepeople", "parserator")),
    "nltk": (nltk, ("nltk",)),
    "hazm": (hazm, ("hazm",)),
}


def child(client: str, library: str, sources: Path, data: Path) -> None:
    """Run one client with one library, and print the result."""
    call, needed = CLIENTS[client]
    if any(importlib.util.find_spec(name) is None for name in needed):
        print(json.dumps(None))
        return
    module = importlib.import_module(library)
    print(json.dumps(call(module, sources, data)._asdict()))


def accuracy(run: Run) -> float:
    pairs = [
        a == b
        for tags, gold in zip(run.tags, run.gold, strict=True)
        for a, b in zip(tags, gold, strict=True)
    ]
    return sum(pairs) / len(pairs)


def row(client: str, theirs: Run, ours: Run) -> list[str]:
    """Return a line of the table."""
    equal = sum(a == b for a, b in zip(theirs.tags, ours.tags, strict=True))
    return [
        client,
        f"{theirs.training:.1f}",
        f"{ours.training:.1f}",
        f"{theirs.training / ours.training:.1f}",
        f"{theirs.tagging:.2f}",
        f"{ours.tagging:.2f}",
        f"{equal:,} of {len(theirs.tags):,}",
        f"{100 * accuracy(theirs):.2f}",
        f"{100 * accuracy(ours):.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has them")
    parser.add_argument("--sources", type=Path, default=Path("/tmp/sources"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--library", help="run one client with this module, and print JSON")
    options = parser.parse_args()
    if options.library:
        child(options.clients[0], options.library, options.sources, options.data)
        return
    rows = []
    for client in options.clients or CLIENTS:
        runs = []
        for library in ("pycrfsuite", "caesura.compat"):
            command = [options.python, __file__, client, "--library", library]
            command += ["--sources", str(options.sources), "--data", str(options.data)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        if None in runs:
            print(f"{client}: not installed")
        else:
            rows.append(row(client, *(Run(**one) for one in runs)))
    head = ["client", "training: theirs", "ours", "ratio", "tagging: theirs", "ours"]
    head += ["equal", "accuracy: theirs", "ours"]
    from timing import table

    print(table(head, rows))


if __name__ == "__main__":
    main()
