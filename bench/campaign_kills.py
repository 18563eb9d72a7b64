"""A case of the campaign that kills `train` and `segment` at random moments."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from caesura.corpora import write as write_corpus
from caesura.demo import addresses


class Work:
    """A folder with data, and the output of undisturbed commands."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        write_corpus(self.folder / "train.jsonl", addresses(150, 1))
        texts = [str(one.text) for one in addresses(3000, 2)]
        (self.folder / "new.txt").write_text("\n".join(texts) + "\n", "utf-8")
        self.train = ["train", "train.jsonl", "-o", "m.model", "-q", "--preset", "addresses"]
        self.train += ["--c2", "0.001", "--epsilon", "1e-9", "--delta", "0", "--threads", "1"]
        self.train += ["--max-iterations", "300"]
        self.segment = ["segment", "whole.model", "new.txt", "-o", "out.csv", "-q"]
        self.segment += ["--threshold", "0.9", "--review", "check.csv", "--threads", "1"]
        began = time.monotonic()
        self.call(self.train).wait()
        self.seconds = {"train": time.monotonic() - began}
        (self.folder / "m.model").rename(self.folder / "whole.model")
        began = time.monotonic()
        self.call(self.segment).wait()
        self.seconds["segment"] = time.monotonic() - began
        self.expected = {
            name: digest(self.folder / name) for name in ("whole.model", "out.csv", "check.csv")
        }

    def call(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "caesura", *arguments]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self.folder, stdout=quiet, stderr=quiet)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


WORK: list[Work] = []


def killed(work: Work, arguments: list[str], rng: random.Random) -> bool:
    """Start a command and kill it after a while; return whether it had finished."""
    process = work.call(arguments)
    try:
        process.wait(rng.uniform(0.15, 1.0) * work.seconds[arguments[0]])
        return True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False


def kills(i: int, rng: random.Random) -> None:
    if not WORK:
        WORK.append(Work())
    work = WORK[0]
    if i % 2:
        for name in ("out.csv", "check.csv"):
            (work.folder / name).unlink(missing_ok=True)
        killed(work, work.segment, rng)
        there = [name for name in ("out.csv", "check.csv") if (work.folder / name).exists()]
        assert len(there) in (0, 2), f"only {there}"
        assert all(digest(work.folder / name) == work.expected[name] for name in there), "half"
        if i % 10 == 1:
            work.call(work.segment).wait()
            assert digest(work.folder / "out.csv") == work.expected["out.csv"]
            clean(work)
        return
    model, checkpoint = work.folder / "m.model", work.folder / "m.model.checkpoint"
    going_on = ["--resume"] if checkpoint.exists() else []
    ended = killed(work, work.train + going_on, rng)
    if model.exists():
        assert digest(model) == work.expected["whole.model"], "another model than undisturbed"
        model.unlink()
        checkpoint.unlink(missing_ok=True)  # remains if the process was killed between the two
    else:
        assert not ended, "ended without a model"
    if i % 10 == 0:
        going_on = ["--resume"] if checkpoint.exists() else []
        assert work.call(work.train + going_on).wait() == 0, "cannot go on"
        assert digest(model) == work.expected["whole.model"], "another model after going on"
        model.unlink()
        clean(work)


def clean(work: Work) -> None:
    """Raise if a finished run has left temporary files of killed ones behind."""
    left = [one.name for one in work.folder.iterdir() if one.name.startswith(".")]
    left = [name for name in left if "model" in name or "out" in name or "check" in name]
    own = [name for name in left if "m.model" in name or "out.csv" in name]
    assert len(own) <= 1, own  # of the command that was not run again
