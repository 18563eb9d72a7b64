"""A case of the campaign with damaged model files, which are refused or predict."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import caesura
from caesura import persistence
from caesura.demo import addresses
from caesura.features import Length, Text, shape, word


def whole_files() -> list[bytes]:
    """Return model files of several kinds."""
    train = addresses(12, 3)
    made: list[Any] = [
        caesura.SemiCRF([word[0], shape[0], Length(exact=2), Text()], c2=0.1, max_iterations=5),
        caesura.SemiCRF("generic", c1=0.1, order=2, patterns="grow", max_iterations=5),
        caesura.ChainCRF("addresses", c1=0.1, max_iterations=5, tokeniser={"regex": r"\S+"}),
    ]
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for model in made:
            model.fit(train).calibrate(train)
            model.save(Path(folder, "model"))
            files.append(Path(folder, "model").read_bytes())
    return files


FILES: list[bytes] = []
ODD = (b"", b"\0", b"\xff", b"-1", b"9" * 30, b"null", b"[]", b'"', b"{", b"1e999", b"NaN", b"true")


def damaged(i: int, rng: random.Random) -> None:
    if not FILES:
        FILES.extend(whole_files())
    content = bytearray(rng.choice(FILES))
    header = 8 + int.from_bytes(content[:8], "little")
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(min(header, len(content)) if rng.random() < 0.5 else len(content))
        kind = rng.randrange(5)
        if kind == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[at : at + rng.randint(1, 40)] = b""
        elif kind == 2:
            piece = rng.choice(ODD)
            content[at : at + len(piece)] = piece
        elif kind == 3:
            other = rng.randrange(len(content))
            content[at : at + 16] = content[other : other + 16]
        else:
            del content[at:]
        if len(content) < 200:
            break
    place = persistence._CHECKSUM  # a valid checksum lets the damage get further
    if rng.random() < 0.7 and len(content) > place.stop:
        content[place] = persistence._checksum(bytes(content))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(bytes(content))
        try:
            model = caesura.load(path)
            model.predict(["12 High Street, Leeds 4", ""])
            model.predict_confident(["12 High Street"])
        except caesura.CaesuraError:
            pass
