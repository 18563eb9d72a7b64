"""Training of networks: epochs, batches by length, warm-up, early stopping, checkpoints.

Everything random in epoch e depends only on the seed and e, so a run resumed from a checkpoint
gives what an uninterrupted one gives.
"""

from __future__ import annotations

import math
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from caesura import persistence
from caesura.corpora.temporary import check_writable
from caesura.documents import Document, Partial
from caesura.errors import Impossible, InvalidInput, message
from caesura.learning import Progress
from caesura.learning.loop import warn_interrupted
from caesura.learning.progress import in_library
from caesura.neural.filtered_head import FilteredHead
from caesura.neural.heads import Target
from caesura.neural.network import Network

__all__ = ["Data", "Run", "Schedule", "arrays_of", "batches", "put_arrays", "train"]

Arrays = dict[str, npt.NDArray[Any]]
KIND = "neural checkpoint"


@dataclass(frozen=True)
class Schedule:
    """The training settings."""

    epochs: int = 20
    batch_size: int = 8
    rate: float = 1e-3  # learning rate, except for a transformer
    encoder_rate: float = 2e-5  # learning rate of a transformer
    warm_up: float = 0.1  # share of the steps in which the rates rise
    clip: float = 5.0  # maximum norm of gradients; 0 for no limit
    weight_decay: float = 0.0
    patience: int | None = None  # maximum epochs without a better score on development data
    seed: int = 0


class Data(NamedTuple):
    """The training data."""

    documents: Sequence[Document]
    gold: Sequence[Target]
    weights: Sequence[float] | None = None  # weight of each sequence

    def of(self, some: Sequence[int]) -> Data:
        """Return some of the sequences."""
        weights = None if self.weights is None else [self.weights[i] for i in some]
        return Data([self.documents[i] for i in some], [self.gold[i] for i in some], weights)


@dataclass
class Run:
    """The state of training, stored in checkpoints."""

    epoch: int = 0
    best_score: float = -1.0
    best_epoch: int = 0
    seconds: float = 0.0
    history: list[Progress] = field(default_factory=list)
    best: Arrays = field(default_factory=dict)
    sizes: list[tuple[float, float]] = field(default_factory=list)  # (spans, arcs) of the graphs


def batches(
    lengths: Sequence[int], size: int, generator: np.random.Generator
) -> Iterator[list[int]]:
    """Yield mini-batches of sequences with similar lengths, in random order."""
    order = generator.permutation(len(lengths))
    pool = 50 * size  # sequences of similar length, but in other batches in each epoch
    groups = []
    for i in range(0, len(order), pool):
        part = sorted(order[i : i + pool].tolist(), key=lambda k: lengths[k])
        groups += [part[k : k + size] for k in range(0, len(part), size)]
    for k in generator.permutation(len(groups)).tolist():
        yield groups[k]


def train(
    network: Network,
    data: Data,
    schedule: Schedule,
    score: Callable[[], float] | None,
    checkpoint: str | os.PathLike[str] | None,
    callbacks: Sequence[Callable[[Progress], bool | None]],
    settings: str,
) -> tuple[Run, str]:
    """Train a network and restore its best weights; return the run and the stopping reason."""
    optimiser = _optimiser(network, schedule)
    run, mark = Run(), _fingerprint(settings, data)
    if checkpoint is not None and Path(checkpoint).exists():
        run = _resumed(checkpoint, mark, network, optimiser)
    if checkpoint is not None:
        check_writable(checkpoint)

    def keep() -> None:
        if checkpoint is not None:
            _keep(checkpoint, mark, run, network, optimiser)

    try:
        status = _epochs(network, data, schedule, optimiser, run, score, (keep, callbacks))
    except KeyboardInterrupt:
        if not in_library() or checkpoint is not None or not run.history:
            raise
        status = "interrupted"
        warn_interrupted(run.history[-1].iteration, score is not None)
        network.eval()
    put_arrays(network, run.best)
    return run, status


def _epochs(
    network: Network,
    data: Data,
    schedule: Schedule,
    optimiser: torch.optim.Optimizer,
    run: Run,
    score: Callable[[], float] | None,
    after: tuple[Callable[[], None], Sequence[Callable[[Progress], bool | None]]],
) -> str:
    """Train until a stopping criterion and return it; calls `after` at each epoch."""
    keep, callbacks = after
    per_epoch = math.ceil(len(data.documents) / schedule.batch_size)
    while run.epoch < schedule.epochs:
        began, run.epoch = time.perf_counter(), run.epoch + 1
        objective = _epoch(network, data, schedule, optimiser, run.epoch, per_epoch)
        size = network.head.mean_size() if isinstance(network.head, FilteredHead) else None
        run.sizes += [] if size is None else [size]
        found = None if score is None else score()
        if found is None or found > run.best_score:
            run.best_score, run.best_epoch = (run.best_score if found is None else found), run.epoch
            run.best = {name: a.copy() for name, a in arrays_of(network).items()}
        run.seconds += time.perf_counter() - began
        rate = schedule.rate * _factor(run.epoch * per_epoch, per_epoch, schedule)
        n = sum(p.numel() for p in network.parameters())
        run.history.append(
            Progress(run.epoch, objective, math.nan, rate, run.epoch, n, run.seconds, found)
        )
        keep()
        asked = [callback(run.history[-1]) for callback in callbacks]  # all of them are called
        if any(asked):
            return "callback"
        patience = schedule.patience
        if score is not None and patience and run.epoch - run.best_epoch >= patience:
            return "early stopping"
    return "epochs"


def _epoch(
    network: Network,
    data: Data,
    schedule: Schedule,
    optimiser: torch.optim.Optimizer,
    epoch: int,
    per_epoch: int,
) -> float:
    """Train for one epoch and return the mean loss per sequence."""
    network.train()
    lengths, total = [len(document) for document in data.documents], 0.0
    order = np.random.default_rng([schedule.seed, epoch])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed((schedule.seed * 1_000_003 + epoch) % 2**63)
        for k, some in enumerate(batches(lengths, schedule.batch_size, order)):
            factor = _factor((epoch - 1) * per_epoch + k + 1, per_epoch, schedule)
            for group in optimiser.param_groups:
                group["lr"] = group["base"] * factor
            optimiser.zero_grad(set_to_none=True)
            loss = _loss(network, data, some, schedule)
            loss.backward()  # type: ignore[no-untyped-call]
            if schedule.clip > 0.0:
                torch.nn.utils.clip_grad_norm_(network.parameters(), schedule.clip)
            optimiser.step()
            total += float(loss.detach()) * len(some)
    network.eval()
    return total / len(lengths)


def _loss(network: Network, data: Data, some: Sequence[int], schedule: Schedule) -> torch.Tensor:
    """Return the loss of some sequences; errors name the sequence or a too high learning rate."""
    try:
        return network.loss(*data.of(some))
    except Impossible:
        for i in some if len(some) > 1 else ():
            _loss(network, data, [i], schedule)
        raise Impossible(
            "no segmentation agrees with its labels",
            place=f"y[{some[0]}]",
            remedy="correct them, or raise max_length",
        ) from None
    except InvalidInput:
        if all(bool((x.abs() < 1e9).all()) for x in network.parameters()):
            raise
        expected = "rates with which weights stay small"
        rate = (schedule.rate, schedule.encoder_rate)
        remedy = "lower rate, encoder_rate or clip"
        raise InvalidInput(message("rate, encoder_rate", rate, expected, remedy)) from None


def _factor(step: int, per_epoch: int, schedule: Schedule) -> float:
    """Return the learning rate factor: linear warm-up, then cosine decay."""
    steps = schedule.epochs * per_epoch
    rising = max(1.0, schedule.warm_up * steps)
    if step <= rising:
        return step / rising
    return 0.5 * (1.0 + math.cos(math.pi * (step - rising) / max(1.0, steps - rising + 1.0)))


def _optimiser(network: Network, schedule: Schedule) -> torch.optim.Optimizer:
    inner = network.encoder.transformer
    fine = set() if inner is None else set(inner.parameters())
    trained = [p for p in network.parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in trained if p not in fine], "base": schedule.rate},
        {"params": [p for p in trained if p in fine], "base": schedule.encoder_rate},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=schedule.rate,
        weight_decay=schedule.weight_decay,
        fused=trained[0].device.type == "cpu" or None,  # updates the weights in a single pass
    )


# -- states as arrays ------------------------------------------------------------------------------


def arrays_of(network: Network) -> Arrays:
    """Return the weights as arrays, without those of a frozen transformer."""
    inner = network.encoder.transformer
    frozen = "encoder.transformer." if inner is not None and inner.frozen else None
    return {
        name: x.detach().cpu().numpy()
        for name, x in network.state_dict().items()
        if frozen is None or not name.startswith(frozen)
    }


def put_arrays(network: Network, arrays: Arrays) -> None:
    """Set the weights, or raise if they do not fit the network."""
    state = {name: torch.from_numpy(np.array(a)) for name, a in arrays.items()}
    wanted = arrays_of(network)
    shapes = {name: tuple(x.shape) for name, x in state.items()}
    if shapes != {name: a.shape for name, a in wanted.items()}:
        raise InvalidInput(
            place="weights",
            got="other names or shapes than the network has",
            remedy="load them into a network with the same settings",
        )
    network.load_state_dict(state, strict=False)


def _fingerprint(settings: str, data: Data) -> str:
    """Return the settings that identify a run."""
    crc = zlib.crc32(settings.encode())
    for document, target in zip(data.documents, data.gold, strict=True):
        known = repr(target if isinstance(target, Partial) else [tuple(s) for s in target])
        crc = zlib.crc32(repr((list(document.tokens), known)).encode(), crc)
    if data.weights is not None:
        crc = zlib.crc32(repr(list(data.weights)).encode(), crc)
    return f"{len(data.documents)} crc32 {crc:08x}"


def _keep(path: Any, mark: str, run: Run, network: Network, optimiser: Any) -> None:
    header = {
        "run": mark,
        "epoch": run.epoch,
        "best_score": run.best_score,
        "best_epoch": run.best_epoch,
        "seconds": run.seconds,
        "sizes": run.sizes,
        "history": [[None if x != x else x for x in progress] for progress in run.history],
    }
    arrays = {f"weights.{name}": a for name, a in arrays_of(network).items()}
    arrays |= {f"best.{name}": a for name, a in run.best.items()}
    for i, state in optimiser.state_dict()["state"].items():
        arrays |= {f"optimiser.{i}.{name}": x.cpu().numpy() for name, x in state.items()}
    persistence.write(path, KIND, header, arrays)


def _resumed(path: Any, mark: str, network: Network, optimiser: Any) -> Run:
    header, arrays = persistence.read(path, KIND)
    if header["run"] != mark:
        raise InvalidInput(
            place="checkpoint",
            got=f"{path} of a run with other data or settings",
            expected="one of this run",
            remedy="give the same data and settings, or delete the file to start again",
        )

    def part(prefix: str) -> Arrays:
        return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

    put_arrays(network, part("weights."))
    states: dict[int, dict[str, torch.Tensor]] = {}
    for name, a in part("optimiser.").items():
        i, _, key = name.partition(".")
        states.setdefault(int(i), {})[key] = torch.from_numpy(np.array(a))
    optimiser.load_state_dict(optimiser.state_dict() | {"state": states})
    history = []
    for row in header["history"]:
        known: list[Any] = [math.nan if x is None and k < 7 else x for k, x in enumerate(row)]
        history.append(Progress(*known))
    return Run(
        epoch=header["epoch"],
        best_score=header["best_score"],
        best_epoch=header["best_epoch"],
        seconds=header["seconds"],
        history=history,
        best=part("best."),
        sizes=[(nodes, arcs) for nodes, arcs in header.get("sizes", [])],
    )
