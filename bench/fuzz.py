"""Damaged corpora: every format, corrupted at random; only clear errors are accepted.

python bench/fuzz.py --n 10000
python bench/fuzz.py --n 10000 --commands

Each file is read strictly and again with errors left out, and its format is guessed. A crash is
what is not an `InvalidInput` of one line that names the file and the line in it, or a reading that
contradicts the other; the first is shown. With --commands, damaged corpora and models are given to
the command line, see fuzz_commands.py.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import random
import re
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from timing import table

from caesura.corpora import FORMATS, detect, read, write
from caesura.documents import Document
from caesura.errors import InvalidInput

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
SUFFIX = {"conll": ".conll", "jsonl": ".jsonl", "csv": ".csv", "xml": ".xml", "text": ".txt"}
SUFFIX |= {"parquet": ".parquet", "xlsx": ".xlsx"}
PIECES = [
    *(
        b'"',
        b"'",
        b"<",
        b">",
        b"&",
        b"&x;",
        b"</",
        b"<!--",
        b"]]>",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"\t",
    ),
    *(
        b"\n",
        b"\n\n",
        b"\r",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\\",
        b"|",
    ),
    *(
        b" | ",
        b" @0:1",
        b" @5:2",
        b"-1",
        b"9" * 30,
        b"9" * 5000,
        b"1e999",
        b"NaN",
        b"null",
        b"true",
    ),
    *(
        b"B-",
        b"I-X",
        b"E-X",
        b"# text = ",
        b"# offsets = 0:0",
        b"-DOCSTART-",
        b"# global.columns = ",
    ),
    *(
        b"T1\t",
        b"R1\tx Arg1:T1",
        b"0 3;5 8",
        b"#",
        b'"spans": 3',
        b'"segments": 3, ',
        b'"text": [], ',
        b"[" * 3000,
        b"<a>" * 300,
    ),
    *(
        b'<!DOCTYPE a [<!ENTITY x "y">]>',
        b'<?xml version="1.0" encoding="utf-7"?>',
        b"\xe2\x80\xa8",
    ),
]


class Outcome(NamedTuple):
    """The outcome of reading one damaged corpus."""

    raised: bool  # by the strict reader
    documents: int  # number read by the lenient reader
    skipped: int  # errors counted by the lenient reader
    crash: Exception | None = None  # an unexpected exception


# ---- undamaged corpora --------------------------------------------------------------------------


def documents() -> list[Document]:
    """Return documents with odd characters, quotes, and segments."""
    texts = [
        ('Lee, A. (1999). "On rain", J. of Weather | 3:1–9.', [(0, 4, "author"), (5, 8, "date")]),
        ("Zoë O’Neil <zoe@x.org> & sons; 12 Main St., Apt. 4", [(0, 2, "B-PER"), (5, 8, "mail")]),
        ("北京 大学\tin\u3000Beijing é", [(0, 1, "LOC"), (1, 2, "ORG"), (2, 4, "LOC")]),
        ("a a a a", [(1, 2, "x"), (2, 3, "x")]),
    ]
    made = []
    for text, segments in texts:
        bare = Document.from_text(text)
        columns = {"shape": ["x" * min(len(token), 3) for token in bare.tokens]}
        kept: Any = tuple(segments)
        made.append(Document(bare.tokens, text, bare.offsets, columns, segments=kept))
    return made * 2


ANYSTYLE = """<?xml version="1.0" encoding="UTF-8"?>
<dataset>
  <sequence>
    <author>Lee, A.</author>
    <date>(1999).</date>
  </sequence>
  <sequence><title>On rain &amp; wind</title> <date>2001</date></sequence>
</dataset>
"""
ADDRESSES = """<Addresses>
  <Address><No>12</No> <Street>Main</Street> <Street>St.</Street></Address>
  <Address><Street>Old</Street> <Street>Road</Street> <No>3</No></Address>
</Addresses>
"""


def whole(folder: Path) -> dict[str, list[dict[str, bytes]]]:
    """Write corpora in each format; return the files of each."""
    made, corpora = documents(), dict[str, list[dict[str, bytes]]]()
    writings: dict[str, list[dict[str, Any]]] = {
        "conll": [{"scheme": "BIO"}, {"scheme": "BIOES", "separator": "\t"}, {"comments": False}],
        "jsonl": [{}, {"form": "text"}],
        "csv": [{}, {"separator": "\t"}],
        "parquet": [{}],
        "xlsx": [{}],
        "xml": [{}],
        "brat": [{}],
        "text": [{}],
    }
    for format, choices in writings.items():
        corpora[format] = []
        for i, options in enumerate(choices):
            place = folder / f"{format}{i}"
            write(place, made[:3] if format == "brat" else made, format, **options)
            files = sorted(place.iterdir()) if place.is_dir() else [place]
            corpora[format].append({file.name: file.read_bytes() for file in files})
    corpora["xml"] += [{"a": ANYSTYLE.encode()}, {"a": ADDRESSES.encode()}]
    return corpora


# ---- damage -------------------------------------------------------------------------------------


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with a few random changes."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        a = rng.randrange(len(data) + 1)
        b = min(len(data), a + rng.choice([1, 2, 5, 20, 200]))
        kind = rng.randrange(7)
        if kind == 0:
            data[a:b] = rng.randbytes(b - a)
        elif kind == 1:
            del data[a:b]
        elif kind == 2:
            data[a:a] = rng.choice(PIECES)
        elif kind == 3:
            data[a:b] = rng.choice(PIECES)
        elif kind == 4:
            data[a:a] = data[a:b] * rng.choice([1, 2, 50])
        elif kind == 5:
            del data[a:]
        elif a < len(data):
            data[a] ^= 1 << rng.randrange(8)
    return bytes(data)


def files(whole: dict[str, bytes], format: str, rng: random.Random) -> dict[str, bytes]:
    """Damage one file of a corpus, sometimes after packing it; return the names and contents."""
    changed = dict(whole)
    name = rng.choice(sorted(changed))
    content = changed.pop(name)
    if format == "brat":
        return changed | {name: damaged(content, rng)}
    packing = rng.choice(["", "", "", "", ".gz", ".bz2", ".xz"])
    if packing and rng.random() < 0.5:
        return {f"a{SUFFIX[format]}{packing}": damaged(PACKERS[packing](content), rng)}
    content = damaged(content, rng)
    return {f"a{SUFFIX[format]}{packing}": PACKERS[packing](content) if packing else content}


# ---- reading ------------------------------------------------------------------------------------


def read_damaged(path: Path, format: str) -> Outcome:
    """Read a corpus in both ways; raise for unclear or contradictory results."""
    before, error = 0, None
    try:
        for _ in read(path, format):
            before += 1
    except InvalidInput as raised:
        error = raised
        text = str(raised)
        assert path.name in text, f"no file in: {text}"
        placed = re.search(r"(line|row) \d", text) or "tags: got" in text
        binary = format in ("parquet", "xlsx")  # damaged as a whole
        assert placed or binary, f"no line in: {text}"
        assert "\n" not in text, f"more than a line: {text}"
    corpus = read(path, format, on_error="skip", align="expand") if error is None else None
    try:
        corpus = corpus or read(path, format, on_error="skip", align="strict")
        kept = list(corpus)
    except InvalidInput:  # the file as a whole is unreadable
        assert error is not None
        return Outcome(True, 0, 1)
    notes = corpus.notes
    assert notes.documents == len(kept) >= before
    assert (notes.n_skipped > 0) == (error is not None), (notes, error)
    assert bool(notes.skipped) == bool(notes.n_skipped)
    return Outcome(error is not None, len(kept), notes.n_skipped)


def guess(path: Path) -> None:
    """Detect the format of a file with an uninformative name; a compressed one may be damaged."""
    if path.exists():
        packing = path.suffix if path.suffix in PACKERS else ""
        nameless = path.rename(path.with_name(f"nameless{packing}"))
        try:
            assert detect(nameless) in FORMATS
        except InvalidInput as error:
            if not packing or "line 1: the compressed file is damaged" not in str(error):
                raise AssertionError(error) from error


def put(place: Path, choices: list[dict[str, bytes]], format: str, rng: random.Random) -> Path:
    """Write a damaged corpus into an empty folder, and return its path."""
    changed = files(rng.choice(choices), format, rng)
    for name, content in changed.items():
        (place / name).write_bytes(content)
    return place if format == "brat" else place / next(iter(changed))


def outcomes(format: str, n: int, seed: int = 0) -> Iterator[Outcome]:
    """Damage a corpus of a format n times, and read it."""
    with tempfile.TemporaryDirectory() as folder:
        choices = whole(Path(folder))[format]
        for i in range(n):
            rng = random.Random(f"{seed} {format} {i}")
            place = Path(folder, "corpus")
            place.mkdir()
            path = put(place, choices, format, rng)
            try:
                outcome = read_damaged(path, format)
                guess(place / "000000.txt" if format == "brat" else path)
            except Exception as error:
                error.add_note(f"damaged {format}, seed {seed}, number {i}")
                outcome = Outcome(False, 0, 0, error)
            yield outcome
            shutil.rmtree(place)


def of_readers(format: str, n: int, seed: int) -> list[object]:
    """Return the row of a format in the table of readers."""
    counts: Counter[str] = Counter()
    for outcome in outcomes(format, n, seed):
        if outcome.crash is not None and not counts["crash"]:
            traceback.print_exception(outcome.crash)
        counts["crash" if outcome.crash else "refused" if outcome.raised else "read"] += 1
        counts["kept"] += bool(outcome.raised and outcome.documents)
    return [counts[name] for name in ("refused", "kept", "read", "crash")]


def of_commands(what: str, n: int, seed: int) -> list[object]:
    """Return the row of a format, or of models, in the table of commands."""
    import fuzz_commands

    if what == "model":
        endings = fuzz_commands.of_models(n, seed, documents(), damaged)
    else:
        with tempfile.TemporaryDirectory() as folder:
            choices = whole(Path(folder))[what]

        def made(place: Path, rng: random.Random) -> Path:
            return put(place, choices, what, rng)

        endings = fuzz_commands.of_corpora(what, n, seed, documents(), made)
    counts: Counter[str] = Counter()
    for ending in endings:
        if ending.crash is not None and counts["crash"] < 3:
            traceback.print_exception(ending.crash)
        counts["crash" if ending.crash else "refused" if ending.refused else "done"] += 1
    return [counts[name] for name in ("refused", "done", "crash")]


READERS = ["format", "refused", "rest read by skipping", "read whole", "crashes", "s"]
COMMANDS = ["damaged", "exit code 1", "exit code 0", "crashes", "s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000, help="corruptions of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", action="store_true", help="through the command line")
    parser.add_argument("--format", choices=[*FORMATS, "model"], action="append")
    arguments = parser.parse_args()
    if "model" in (arguments.format or ()) and not arguments.commands:
        parser.error("model: only with --commands")
    rows = []
    for format in arguments.format or [*FORMATS, *(["model"] if arguments.commands else [])]:
        start = time.perf_counter()
        row = (of_commands if arguments.commands else of_readers)(
            format, arguments.n, arguments.seed
        )
        rows.append([format, *map(str, row), f"{time.perf_counter() - start:.0f}"])
    print(f"{arguments.n} corruptions of each, seed {arguments.seed}")
    print(table(COMMANDS if arguments.commands else READERS, rows))


if __name__ == "__main__":
    main()
