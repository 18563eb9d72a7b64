"""Console blocks of the documentation: run in a folder, and compared with what they print."""

import doctest
import glob
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from caesura.cli import app

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TIMES = re.compile(r"\b\d+(\.\d+)? (s|ms)\b")
INSTALLS = ("pip ", "make ")


class Command(NamedTuple):
    """A command of a page, and the output that is shown below it."""

    line: str
    shown: str


def commands(page: str) -> list[Command]:
    """Return the commands in console blocks, with continued lines joined."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        assert block.startswith("$ "), block
        for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            found.append(Command(line, shown))
    return found


def check(command: Command) -> None:
    """Run a command, which must succeed, and compare its output if some is shown.

    A file that ``cat`` shows and that does not exist yet is written: readers type it.
    """
    words = shlex.split(command.line)
    if command.line.startswith(INSTALLS):
        return
    if words[0] == "cat" and len(words) == 2 and not Path(words[1]).exists():
        Path(words[1]).write_text(command.shown, encoding="utf-8")
        return
    printed = _printed(command.line, words)
    if command.shown:
        want, got = (TIMES.sub("N s", text) for text in (command.shown, printed))
        same = doctest.OutputChecker().check_output(want, got, FLAGS)
        assert same, f"$ {command.line}\n{printed}"


def _printed(line: str, words: list[str]) -> str:
    """Return what a command prints on both streams; `caesura` runs in this process if it can."""
    if words[0] == "caesura" and not {"|", ">", "<"} & set(words):
        given = words[1:] if "'" in line else [one for word in words[1:] for one in _expanded(word)]
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, f"$ {line}\n{done.output}"
        return done.output
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.run(
        ["bash", "-c", line],
        env=os.environ | {"PATH": path, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert shell.returncode == 0, f"$ {line}\n{shell.stdout}"
    return shell.stdout


def _expanded(word: str) -> list[str]:
    """Return the files that a pattern matches, as the shell does."""
    return sorted(glob.glob(word)) or [word]
