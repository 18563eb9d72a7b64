"""Handwritten words: a small convolutional network over pixels under a chain of high order.

    python bench/handwriting.py [--data ../shared/data] [--folds 3] [--orders 1,2,3,5]

As in orders_letters.py, a model learns from one of ten folds and reads the nine others, and label
patterns are those of the training fold.  Beside the network, the same chain with pixels as
features is trained on the same folds.  The number of epochs was fixed beforehand.
"""

from __future__ import annotations

import itertools
import time
from typing import Any, NamedTuple

import numpy as np
import orders_letters
import torch
from orders_data import Labelled, letters, parsed, patterns
from timing import table
from torch import Tensor, nn

from caesura.inference.batch import Batch, batch_best, batch_posterior

EPOCHS, BATCH, RATE = 30, 16, 3e-3
PENALTY = 0.5  # on squared weights of transitions and patterns; sigma = 1
LABELS = "abcdefghijklmnopqrstuvwxyz"


class Words(NamedTuple):
    """Pictures of letters (n, 1, 16, 8), one word after the other."""

    pixels: Tensor
    lengths: list[int]
    tags: list[list[int]]


def words(fold: Labelled) -> Words:
    rows = np.zeros((sum(map(len, fold.tags)), 128), np.float32)
    on = [some for one in fold.documents for some in one.attributes or ()]
    for row, some in zip(rows, on, strict=True):
        row[[int(str(name)[1:]) for name in some]] = 1.0
    tags = [[LABELS.index(letter) for letter in word] for word in fold.tags]
    return Words(torch.from_numpy(rows).view(-1, 1, 16, 8), [*map(len, tags)], tags)


class _LogPartition(torch.autograd.Function):
    """Sum of ln Z; the gradient is the expected counts of the kernels."""

    @staticmethod
    def forward(ctx: Any, lengths: Any, some: Any, *scores: Tensor) -> Tensor:
        found = batch_posterior(_batch(lengths, some, *scores), n_threads=1)
        counts = (found.tokens, found.transition, found.patterns)
        ctx.counts = [None if c is None else torch.from_numpy(c) for c in counts]
        return torch.tensor(float(found.log_partition.sum()))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        own = [None if count is None else grads[0] * count for count in ctx.counts]
        return None, None, *own


def _batch(lengths: Any, some: Any, tokens: Tensor, pairs: Tensor, longer: Tensor) -> Batch:
    own: dict[str, Any] = {"transition": pairs.detach().numpy()}
    if some:
        own |= {"patterns": some, "pattern_scores": longer.detach().numpy()}
    return Batch(tokens.detach().numpy(), lengths=lengths, max_length=1, **own)


class Reader(nn.Module):
    """Scores of letters from pixels, of pairs, and of the longer patterns of the training data."""

    def __init__(self, some: list[tuple[int, ...]]) -> None:
        super().__init__()
        self.picture = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Dropout(0.3), nn.Linear(256, 26)),
        )
        self.some = some
        self.number = {pattern: i for i, pattern in enumerate(some)}
        self.pairs = nn.Parameter(torch.zeros(26, 26))
        self.longer = nn.Parameter(torch.zeros(len(some)))

    def loss(self, pixels: Tensor, tags: list[list[int]]) -> Tensor:
        """Return the negative log-likelihood of some words."""
        scores, lengths = self.picture(pixels), [len(word) for word in tags]
        flat = torch.tensor([y for word in tags for y in word])
        total = scores[torch.arange(len(flat)), flat].sum()
        steps = torch.tensor([pair for word in tags for pair in itertools.pairwise(word)])
        total = total + self.pairs[steps[:, 0], steps[:, 1]].sum()
        longest = max([2, *map(len, self.some)])
        fired = [
            self.number[tuple(word[t : t + n])]
            for word in tags
            for n in range(3, longest + 1)
            for t in range(len(word) - n + 1)
        ]
        if fired:
            total = total + self.longer[torch.tensor(fired)].sum()
        log_z: Tensor = _LogPartition.apply(  # type: ignore[no-untyped-call]
            lengths, self.some, scores, self.pairs, self.longer
        )
        found: Tensor = log_z - total
        return found

    def read(self, test: Words) -> list[list[int]]:
        """Return the best letters of each word."""
        with torch.no_grad():
            scores = self.picture(test.pixels)
        paths = batch_best(_batch(test.lengths, self.some, scores, self.pairs, self.longer))
        return [part.tolist() for part in np.split(paths.labels, np.cumsum(test.lengths)[:-1])]


def fitted(train: Words, order: int, seed: int) -> Reader:
    torch.manual_seed(seed)
    counted = patterns([[*map(str, word)] for word in train.tags], order + 1)
    kept = sorted(tuple(map(int, one)) for one in counted if len(one) > 2)
    model, n = Reader(kept), len(train.tags)
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    steps = EPOCHS * (n // BATCH + 1)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    begins = np.concatenate([[0], np.cumsum(train.lengths)])
    rng = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        order_now = rng.permutation(n)
        for k in range(0, n, BATCH):
            some = order_now[k : k + BATCH].tolist()
            pixels = torch.cat([train.pixels[begins[i] : begins[i + 1]] for i in some])
            loss = model.loss(pixels, [train.tags[i] for i in some]) / len(some)
            size = model.pairs.square().sum() + model.longer.square().sum()
            optimiser.zero_grad()
            (loss + PENALTY / n * size).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            slower.step()
    return model.eval()


def measured(folds: list[Words], fold: int, order: int) -> tuple[float, float, float]:
    """Return letters and words right in per cent, and seconds to learn."""
    began = time.process_time()
    model = fitted(folds[fold], order, fold)
    seconds = time.process_time() - began
    right: list[bool] = []
    whole: list[bool] = []
    for test in (one for k, one in enumerate(folds) if k != fold):
        for found, tags in zip(model.read(test), test.tags, strict=True):
            right += [a == b for a, b in zip(found, tags, strict=True)]
            whole.append(found == tags)
    return 100 * float(np.mean(right)), 100 * float(np.mean(whole)), seconds


def main() -> None:
    arguments = parsed(
        __doc__,
        plot=False,
        folds={"type": int, "default": 3, "help": "learn from so many of the folds"},
        orders={"default": "1,2,3,5"},
    )
    if arguments is None:
        return
    torch.set_num_threads(1)
    plain = letters(arguments.data)
    folds = [words(fold) for fold in plain]
    rows = []
    for order in map(int, arguments.orders.split(",")):
        network = [measured(folds, fold, order) for fold in range(arguments.folds)]
        pixels = [orders_letters.run(plain, fold, order) for fold in range(arguments.folds)]
        cells: list[Any] = [order]
        for some in (network, [(one.right, one.words, one.seconds) for one in pixels]):
            mean, spread = np.mean(some, 0), np.std([one[0] for one in some], ddof=1)
            cells += [f"{mean[0]:.2f} ± {spread:.2f}", f"{mean[1]:.1f}", f"{mean[2]:.1f}"]
        rows.append(cells)
        print(*cells, flush=True)
    head = ["order", "network: letters", "words", "s", "pixels: letters", "words", "s"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
