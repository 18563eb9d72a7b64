"""A round of training without work, and what follows from it for many machines.

    python bench/rounds.py measure
    python bench/rounds.py model --token 0.15 --task 1.0 --megabyte 1.0 [--driver 20]

`measure` times a round on a Dask cluster of two workers on this machine: weights go out to shards
that do nothing, and gradients of zeros are added up along the tree.  It prints what a task costs
(from rounds with many shards) and what a megabyte costs on its way through one worker (from rounds
with many weights).

`model` puts these numbers together for a number of machines M, tokens N and weights n::

    compute  =  token * N / M
    tasks    =  task * 2 M                                     the scheduler is one process
    vectors  =  megabyte * 8 n / 1e6 * (2 ceil(log2 M) + 1)    out and back along a tree
    driver   =  driver * n / 1e6                               L-BFGS between two rounds

Units: `token` in microseconds a token on one machine, `task` and `megabyte` in milliseconds,
`driver` in milliseconds a million weights.  Machines are as this one, and their network moves a
megabyte no slower than two local processes do: that is an assumption.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from typing import Any

import numpy as np

MACHINES = (1, 4, 16, 64, 256, 1000)
SHARDS, WEIGHTS = (2, 16, 64), (1_000, 500_000, 5_000_000)
ROUNDS = 7


def _shard(part: int) -> int:
    return part


def _nothing(shard: int, w: Any) -> tuple[float, Any]:
    return 0.0, np.zeros_like(w)


def _round(executor: Any, shards: int, weights: int) -> float:
    """Return the median of the milliseconds of a round."""
    handle, w = executor.load(_shard, range(shards)), np.ones(weights)
    taken = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        executor.map_reduce(handle, _nothing, w)
        taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken[1:])


def measure() -> None:
    """Print what a round costs."""
    import distributed

    from caesura.executors.dask import Dask

    local: Any = distributed.LocalCluster
    client: Any = distributed.Client
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    found: dict[tuple[int, int], float] = {}
    with local(**settings) as cluster, client(cluster) as connected:
        executor = Dask(connected)
        print("shards " + " ".join(f"{n:>11,} weights" for n in WEIGHTS))
        for shards in SHARDS:
            some = [n for n in WEIGHTS if shards * n <= 10_000_000]
            found |= {(shards, n): _round(executor, shards, n) for n in some}
            print(f"{shards:6} " + " ".join(f"{found[shards, n]:16.1f} ms" for n in some))
    least, most = SHARDS[0], SHARDS[-1]
    task = (found[most, WEIGHTS[0]] - found[least, WEIGHTS[0]]) / (2 * (most - least))
    megabytes = 8 * (WEIGHTS[-1] - WEIGHTS[0]) / 1e6
    hops = 2 * math.ceil(math.log2(least)) + 1
    megabyte = (found[least, WEIGHTS[-1]] - found[least, WEIGHTS[0]]) / megabytes / hops
    print(f"task {task:.2f} ms, megabyte {megabyte:.2f} ms a hop")


def model(given: argparse.Namespace) -> None:
    """Print the seconds of an iteration on many machines."""
    print(f"{given.tokens:,} tokens, {given.weights:,} weights; seconds an iteration")
    print("machines    compute      tasks    vectors     driver        all   efficiency")
    alone = 0.0
    for machines in MACHINES:
        hops = 2 * math.ceil(math.log2(machines)) + 1 if machines > 1 else 0
        pieces = [
            given.token * given.tokens / machines / 1e6,
            given.task * 2 * machines * (machines > 1) / 1e3,
            given.megabyte * 8 * given.weights / 1e6 * hops / 1e3,
            given.driver * given.weights / 1e6 / 1e3,
        ]
        seconds = sum(pieces)
        alone = alone or seconds
        row = " ".join(f"{one:10.3f}" for one in [*pieces, seconds])
        print(f"{machines:8} {row} {alone / machines / seconds:11.0%}")


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("measure")
    paper = commands.add_parser("model")
    for name in ("token", "task", "megabyte"):
        paper.add_argument(f"--{name}", type=float, required=True)
    paper.add_argument("--driver", type=float, default=20.0)
    paper.add_argument("--tokens", type=int, default=1_000_000_000)
    paper.add_argument("--weights", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.command == "measure":
        measure()
    else:
        model(given)


if __name__ == "__main__":
    main()
