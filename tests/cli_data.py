"""Small self-written addresses, and a runner, for the tests of the command line."""

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from caesura.cli import app
from caesura.documents import Document
from caesura.segments import Segment

STREETS = ("High Street", "Park Lane", "Mill Road", "Old Church Way", "Low Street", "Bridge Road")
TOWNS = ("Leeds", "York", "Stoke on Trent", "Bath", "New Mills")
LABELS = ["number", "street", "town"]


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


def run(*arguments: object, stdin: str | None = None) -> Ran:
    """Run the program in this process."""
    done = CliRunner().invoke(app, [str(one) for one in arguments], input=stdin)
    return Ran(done.exit_code, done.stdout, done.stderr)


def good(*arguments: object, stdin: str | None = None) -> Ran:
    """Run the program, which must succeed."""
    ran = run(*arguments, stdin=stdin)
    assert ran.code == 0, ran.err
    return ran


def bad(*arguments: object, code: int = 1, stdin: str | None = None) -> str:
    """Run the program, which must fail with one line on stderr; return the line."""
    ran = run(*arguments, stdin=stdin)
    assert ran.code == code, ran
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    assert ": error: " in ran.err
    return ran.err


def addresses(count: int, seed: int) -> list[Document]:
    """Return labelled addresses."""
    draw, found = random.Random(seed), []
    for _ in range(count):
        number, street = str(draw.randint(1, 99)), draw.choice(STREETS)
        town = draw.choice(TOWNS)
        text = f"{number} {street}, {town}"
        cut = 1 + len(street.split())
        end = cut + 1 + len(town.split())
        places = ((0, 1), (1, cut), (cut + 1, end))
        segments = tuple(Segment(*place, y) for place, y in zip(places, LABELS, strict=True))
        bare = Document.from_text(text)
        found.append(Document(bare.tokens, text, bare.offsets, segments=segments))
    return found


def write_lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def records_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]
