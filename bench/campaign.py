"""Randomised campaigns: engine, learned models, damaged model files, killed commands.

    python bench/campaign.py engine  STATE --n 200000 [--seconds 240]
    python bench/campaign.py learned STATE --n 10000
    python bench/campaign.py damaged STATE --n 20000
    python bench/campaign.py kills   STATE --n 500

STATE is a file that keeps how many cases ran and which failed; a later run goes on from there. The
case with number i is always the same.

engine: potentials of every kind with constraints; ln Z, the best, the n best, marginals, entropy
and probabilities are compared with a list of all segmentations that is made and scored here.
learned: models of random data; the objective, predictions, n best and marginals are compared with a
list of all segmentations, before and after saving and pickling.
damaged: model files with bits, bytes and blocks changed, and with the checksum put right again, so
that the damage reaches what reads the contents; they are refused or predict, and never crash.
kills: `train` and `segment` are killed (SIGKILL) at random moments; files are complete or absent, a
model that is trained on from its checkpoint equals one that was not disturbed byte by byte, and
nothing is left behind by the next run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from campaign_damaged import damaged
from campaign_engine import engine
from campaign_kills import kills
from campaign_learned import learned

CASES: dict[str, Callable[[int, random.Random], None]] = {
    "engine": engine,
    "learned": learned,
    "damaged": damaged,
    "kills": kills,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=CASES)
    parser.add_argument("state", type=Path, help="JSON: what ran and what failed")
    parser.add_argument("--n", type=int, required=True, help="cases in all, with earlier runs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing later")
    given = parser.parse_args()
    state = {"kind": given.kind, "done": 0, "failed": []}
    if given.state.exists():
        state = json.loads(given.state.read_text("utf-8"))
    end = time.monotonic() + given.seconds
    while state["done"] < given.n and time.monotonic() < end:
        i = state["done"]
        try:
            CASES[given.kind](i, random.Random(f"{given.kind} {i}"))
        except Exception as error:
            state["failed"].append([i, f"{type(error).__name__}: {error}"])
            print(f"case {i}", file=sys.stderr)
            traceback.print_exc()
        state["done"] += 1
        if state["done"] % 100 == 0 or given.kind == "kills":
            save(given.state, state)
    save(given.state, state)
    print(f"{given.kind}: {state['done']:,} cases, {len(state['failed'])} failed")


def save(path: Path, state: dict[str, Any]) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(state), "utf-8")
    os.replace(temporary, path)


if __name__ == "__main__":
    main()
