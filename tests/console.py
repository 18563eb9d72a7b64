"""Console blocks of the documentation: run in a folder, and compared with what they print.

Servers run until the page ends, on a free port in place of 8000; requests by curl are sent to it.
"""

import doctest
import glob
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import httpx
from typer.testing import CliRunner

from caesura.cli import app

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TIMES = re.compile(r"\b\d+(\.\d+)? (s|ms)\b")
INSTALLS = ("pip ", "make ")
SERVERS = ("caesura serve ", "caesura label ")
PORT = 8000  # in the pages


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


class Servers:
    """The servers that a page starts; the last one answers its requests."""

    def __init__(self) -> None:
        self.port = PORT
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._running:
            one.terminate()
        for one in self._running:
            assert one.wait(60) in (0, 128 + signal.SIGTERM)

    def start(self, line: str) -> None:
        """Start a server, and wait until it answers; no browser opens."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        words = [sys.executable, "-m", *shlex.split(line), "--port", str(self.port)]
        self._running.append(subprocess.Popen(words, env=os.environ | {"BROWSER": "true"}))
        end = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/health").raise_for_status()
                return
            except httpx.TransportError:
                assert self._running[-1].poll() is None, f"$ {line}\nended"
                assert time.monotonic() < end, f"$ {line}\ndoes not answer"
                time.sleep(0.05)

    def ask(self, words: list[str]) -> str:
        """Send the request of a curl command, which has a URL, -s, -H, and -d or --data-binary."""
        url, headers, body = "", {}, b""
        rest = iter(words[1:])
        for word in rest:
            if word == "-H":
                name, _, value = next(rest).partition(": ")
                headers[name] = value
            elif word in ("-d", "--data-binary"):
                data = next(rest)
                body = Path(data[1:]).read_bytes() if data.startswith("@") else data.encode()
            elif word != "-s":
                assert not word.startswith("-"), word
                url = word.replace(f"localhost:{PORT}", f"http://127.0.0.1:{self.port}")
        answer = httpx.post(url, headers=headers, content=body)
        answer.raise_for_status()
        return answer.text


def check(command: Command, servers: Servers) -> None:
    """Run a command, which must succeed, and compare its output if some is shown.

    A file that ``cat`` shows and that does not exist yet is written: readers type it.
    """
    words = shlex.split(command.line)
    if command.line.startswith(INSTALLS):
        return
    if words[0] == "cat" and len(words) == 2 and not Path(words[1]).exists():
        Path(words[1]).write_text(command.shown, encoding="utf-8")
        return
    if command.line.startswith(SERVERS):
        servers.start(command.line)
        return
    printed = servers.ask(words) if words[0] == "curl" else _printed(command.line, words)
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
