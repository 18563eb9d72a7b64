"""Damaged corpora and models through the command line; `fuzz.py --commands` runs it.

A command must end with 0, or with 1 and one line on stderr that says what is wrong; a file that it
should have written is then as it was before. An "unexpected" error, which says that there is a
mistake in the program, is a crash here.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from caesura import ChainCRF, SemiCRF, corpora, persistence
from caesura.cli import app
from caesura.features import Dictionary, Length, Lexicon, Text, edge, in_lexicon, shape, word

SLOW = 60  # maximum CPU seconds of a command
OLD = b"what was there before\n"
NUMBERS: list[Any] = [0, 1, -1, 2, 7, 255, 2**31 - 1, -(2**31), 2**31, 2**63, 10**30, 1e308]
ODD: list[Any] = [*NUMBERS, 0.5, -0.0, None, True, False, "", "O", "x", "\x00", "words", [], {}]
ODD += [[[]], [1], ["x"], {"x": 1}, {"regex": "("}, {"regex": "(a+)+$"}, "é" * 300, [None] * 9]


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Ending(NamedTuple):
    """The outcome of a command with a damaged file."""

    command: str
    refused: bool = False
    crash: BaseException | None = None  # an unexpected exception


# ---- commands -----------------------------------------------------------------------------------


def run(arguments: list[str]) -> Ran:
    """Run the program in this process, as if it were alone in it."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code: Any = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            COMMAND.main(arguments, "caesura")
        except SystemExit as end:
            code = end.code
    texts = [stream.detach().getvalue().decode() for stream in (out, err)]
    return Ran(int(code or 0), *texts)


COMMAND: Any = typer.main.get_command(app)


def check(ran: Ran, output: Path, before: bytes | None) -> None:
    """Raise if a command did not end as it should."""
    assert ran.code in (0, 1), ran
    assert "Traceback" not in ran.err, ran.err
    assert "error: unexpected" not in ran.err, ran.err
    lines = [line for line in ran.err.splitlines() if not line.startswith("warning: ")]
    lines = [line for line in lines if ": text: " not in line]  # reports on the roles of columns
    if ran.code:
        assert len(lines) == 1, ran.err
        assert lines[0].startswith("caesura: error: "), ran.err
        after = output.read_bytes() if output.is_file() else None
        assert after == before, f"{output.name} is half-written: {after!r}"
    else:
        assert not any("error: " in line for line in lines), ran.err
    left = [path.name for path in output.parent.iterdir() if path.name.startswith(".")]
    assert not left, left


def ending(arguments: list[str], output: Path, rng: random.Random) -> Ending:
    """Run one command and check how it ended."""
    before = OLD if rng.random() < 0.5 else None
    if before is not None:
        output.write_bytes(before)

    def late(*_: object) -> None:
        raise AssertionError(f"longer than {SLOW} s")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SLOW)
    try:
        ran = run(arguments)
        check(ran, output, before)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        error.add_note("caesura " + " ".join(map(repr, arguments)))
        return Ending(arguments[0], crash=error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        shutil.rmtree(output) if output.is_dir() else output.unlink(missing_ok=True)
    return Ending(arguments[0], ran.code == 1)


# ---- models -------------------------------------------------------------------------------------


def models(documents: list[Any], folder: Path) -> list[Path]:
    """Write small models of both kinds, with all that files hold."""
    lexicon = Lexicon("towns", [("Beijing",), ("Main", "St", ".")])
    plain = [word[0], word[-1] & shape[0], shape[1]]
    whole = [Length(at_least=2), Text(), Dictionary(lexicon)]
    made = [
        SemiCRF([*plain, *whole, edge(word[0])], c2=0.1, max_length=9, tokeniser="whitespace"),
        SemiCRF("citations", c2=0.1),
        ChainCRF([*plain, in_lexicon(lexicon)[0]], c2=0.1, scheme="BIOES"),
        ChainCRF("ner", c2=0.1, tokeniser={"regex": r"\w+|\S"}),
    ]
    documents = [replace(document, columns={}) for document in documents]  # presets read none
    gold = [document.segments for document in documents]
    for k, model in enumerate(made):
        model.fit(documents, gold)
        if k % 2:
            model.calibrate(documents, gold)
        model.save(folder / f"model{k}")
    return [folder / f"model{k}" for k in range(len(made))]


def damaged_model(content: bytes, path: Path, rng: random.Random, bytewise: Any) -> bytes:
    """Return a damaged model file, with or without a matching checksum."""
    kind = rng.randrange(8)
    if kind == 0:
        return bytes(bytewise(content, rng))
    if kind <= 2:
        return checked(bytewise(content, rng))
    if kind == 3:  # overwrite or swap bytes, so that all lengths remain valid
        data = bytearray(content)
        size = 8 + int.from_bytes(content[:8], "little")
        for _ in range(rng.choice([1, 1, 2, 5])):
            low, high = (8, size) if rng.random() < 0.5 else (size, len(data))
            a, b = rng.randrange(low, high), rng.randrange(low, high)
            data[a], data[b] = (data[b], data[a]) if rng.random() < 0.5 else (rng.randrange(256), 0)
        return checked(bytes(data))
    path.write_bytes(content)
    header, arrays = persistence.read(path, "model")
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if kind == 4:
            header = changed(header, rng)
        elif kind == 5:
            packed = [name for name in arrays if name == "features" or name.startswith("lexicon.")]
            name = rng.choice(packed)
            arrays[name] = persistence.pack(changed(persistence.unpack(arrays[name]), rng))
        else:
            damage_array(arrays, rng)
    header = header if isinstance(header, dict) else {}
    persistence.write(path, "model", header, arrays)
    return path.read_bytes()


def checked(content: bytes) -> bytes:
    """Return a file with the correct checksum."""
    place = persistence._CHECKSUM
    if len(content) < place.stop:
        return content
    return content[: place.start] + persistence._checksum(content) + content[place.stop :]


def changed(value: Any, rng: random.Random) -> Any:
    """Return plain data with one change, somewhere in it."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        copy: Any = value.copy()
        key = rng.choice(sorted(copy)) if isinstance(copy, dict) else rng.randrange(len(copy))
        kind = rng.random()
        if kind < 0.1:
            del copy[key]
        elif kind < 0.2 and isinstance(copy, list):
            copy.append(copy[key])
        elif kind < 0.25 and isinstance(copy, list):
            rng.shuffle(copy)
        else:
            copy[key] = changed(copy[key], rng)
        return copy
    if isinstance(value, int | float) and rng.random() < 0.5:
        return rng.choice(NUMBERS)
    if isinstance(value, str) and value and rng.random() < 0.4:
        k = rng.randrange(len(value))
        return value[:k] + rng.choice(["", "x", "\x00", "[", "=", "é", value]) + value[k + 1 :]
    return rng.choice(ODD)


def damage_array(arrays: dict[str, Any], rng: random.Random) -> None:
    """Change one array in its values, its length or its type."""
    name = rng.choice(sorted(arrays))
    array = arrays[name].copy()
    kind, flat = rng.randrange(9), array.reshape(-1)
    if kind <= 3 and len(flat):
        odd = [0, 1, -1, 2, 100, 2**31 - 1, -(2**31), np.nan, np.inf, -np.inf, 1e300, 0.5]
        with np.errstate(all="ignore"):
            flat[rng.randrange(len(flat))] = np.array(rng.choice(odd)).astype(array.dtype)
    elif kind == 4 and len(flat):
        a, b = rng.randrange(len(flat)), rng.randrange(len(flat))
        flat[[a, b]] = flat[[b, a]]
    elif kind == 5:
        array = array[: rng.randrange(len(array) + 1)]
    elif kind == 6:
        array = np.concatenate([array, array[: rng.randrange(len(array) + 1)]])
    elif kind == 7:
        types = ["int8", "uint8", "int32", "int64", "float32", "float64", "bool"]
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(types))
    else:
        array = array.reshape(rng.choice([(-1, 1), (1, -1), (-1,)]))
        if rng.random() < 0.4:
            del arrays[name]
            return
    arrays[name] = array


def of_models(n: int, seed: int, documents: list[Any], bytewise: Any) -> Iterator[Ending]:
    """Damage models n times, and give each to a command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = [path.read_bytes() for path in models(documents, folder)]
        corpora.write(folder / "gold.jsonl", documents)
        lines = [str(document.text).replace("\t", " ") for document in documents]
        (folder / "new.txt").write_text("\n".join(lines), "utf-8")
        output = folder / "out" / "out.jsonl"
        output.parent.mkdir()
        path, text, gold = (str(folder / one) for one in ("damaged", "new.txt", "gold.jsonl"))
        to = ["-o", str(output), "--threads", "1"]
        choices = [
            ["segment", path, text, *to],
            ["segment", path, text, *to, "--probabilities", "--n-best", "3"],
            ["segment", path, gold, *to, "--to", "csv"],
            ["segment", path, gold, *to, "--to", "conll", "--skip-errors"],
            ["segment", path, text, *to, "--to", "html", "--threshold", "0.5"],
            ["inspect", path],
            ["inspect", path, "--json", "--top", "3"],
            ["evaluate", path, gold],
            ["evaluate", gold, path, "--details", "--json"],
            ["explain", path, "12 Main St., Beijing"],
        ]
        for i in range(n):
            rng = random.Random(f"{seed} model {i}")
            Path(path).write_bytes(damaged_model(rng.choice(whole), Path(path), rng, bytewise))
            yield _noted(ending(rng.choice(choices), output, rng), f"model, {seed}, number {i}")
            (output.parent / "out.review.jsonl").unlink(missing_ok=True)


# ---- corpora ------------------------------------------------------------------------------------


def of_corpora(format: str, n: int, seed: int, documents: list[Any], damaged: Any) -> Iterator[Any]:
    """Give n damaged corpora of a format to commands; `damaged` writes one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = str(models(documents, folder)[0])
        corpora.write(folder / "gold.jsonl", documents)
        for place in ("out", "corpus"):
            (folder / place).mkdir()
        for i in range(n):
            rng = random.Random(f"{seed} commands {format} {i}")
            path = str(damaged(folder / "corpus", rng))
            gold = str(folder / "gold.jsonl")
            to = rng.choice(sorted(corpora.FORMATS))
            output = folder / "out" / "out"
            form = rng.choice(["jsonl", "csv", "conll", "text", "html"])
            arguments = rng.choice(
                [
                    ["convert", path, str(output), "--to", to],
                    ["convert", path, str(output), "--to", to],
                    ["segment", model, path, "-o", str(output), "--to", form, "--threads", "1"],
                    ["evaluate", model, path],
                    ["evaluate", gold, path],
                    ["evaluate", path, gold, "--json"],
                    ["compare", gold, path, model, "--json"],
                ]
            )
            guessed = rng.random() < 0.2
            arguments += [] if guessed else ["--format", format] if gold not in arguments else []
            arguments += ["--skip-errors"] if rng.random() < 0.4 else []
            arguments += rng.choice([[], [], ["--align", "expand"], ["--align", "contract"]])
            yield _noted(ending(arguments, output, rng), f"{format}, {seed}, number {i}")
            shutil.rmtree(folder / "corpus")
            (folder / "corpus").mkdir()


def _noted(ending: Ending, text: str) -> Ending:
    if ending.crash is not None:
        ending.crash.add_note(text)
    return ending
