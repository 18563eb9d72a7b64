"""The network of a segmenter: from tokens and optional features to losses and segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from caesura.documents import Document
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.features import SegmentFeature, declared, preset
from caesura.models.estimator import Features
from caesura.neural.embeddings import TokenEncoder, mask_of
from caesura.neural.heads import ChainHead, Head, Target

__all__ = ["Given", "Network", "answers", "check_device", "threads", "token_features"]

BATCH = 32  # sequences predicted at a time
T = TypeVar("T")
Given = tuple[Tensor, list[int], Tensor | None]  # token vectors, lengths, scores of features


@contextmanager
def threads(n_threads: int | None) -> Iterator[None]:
    """Temporarily set the number of threads of torch and the kernels; None keeps it."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_device(device: Any) -> None:
    """Raise if torch does not support a device."""
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        said = str(error).partition("\n")[0][:80]
        expected = "a device that torch can use, such as 'cpu'"
        raise InvalidInput(message("device", device, expected, f"pass 'cpu' ({said})")) from None


def token_features(features: Any) -> Features:
    """Return the token features declared or in a preset; raise for segment features."""
    try:
        listed = declared(preset(features) if isinstance(features, str) else features)
    except InvalidInput as error:
        raise error.changed(argument="features") from None
    for feature in listed:
        if isinstance(feature, SegmentFeature) or feature.place != "token":
            remedy = "leave it out, or use SemiCRF"
            raise InvalidInput(message("features", feature, "features of tokens", remedy))
    return listed


class Network(nn.Module):
    """A token encoder, a head, and optionally feature weights and a second head.

    Parameters
    ----------
    encoder : TokenEncoder
        Vectors of tokens.
    head : Head
        What makes segments of them.
    features : Encoder, optional
        Declared features; each has a weight for each label, which is trained with the network.
    chain : ChainHead, optional
        A second head whose loss is added, for hybrid training.
    chain_weight : float
        Weight of its loss.
    """

    def __init__(
        self,
        encoder: TokenEncoder,
        head: Head,
        features: Encoder | None = None,
        chain: ChainHead | None = None,
        chain_weight: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder, self.head, self.chain = encoder, head, chain
        self.features, self.chain_weight = features, chain_weight
        if features is not None:
            self.weights = nn.EmbeddingBag(max(1, len(features)), head.n_scores, mode="sum")
            nn.init.zeros_(self.weights.weight)

    def states(self, documents: Sequence[Document]) -> Given:
        """Return token vectors, lengths, and feature scores."""
        states, lengths = self.encoder([document.tokens for document in documents])
        extra = None
        if self.features is not None:
            extra = self._feature_scores(documents, lengths, states)
        return states, lengths, extra

    def _feature_scores(
        self, documents: Sequence[Document], lengths: Sequence[int], states: Tensor
    ) -> Tensor:
        """Return the summed weights of the features that fire at each token, (B, T, Y).

        All tokens of a batch are looked up at once: the gradient of each look-up is as large as the
        table of weights.
        """
        assert self.features is not None
        corpus = self.features.encode(list(documents), False)
        counts, found, factors = [], [], []
        for b, n in enumerate(lengths):
            if not n:
                continue
            ptr, attributes, values, *_ = corpus.row_attributes(b)
            edges = corpus.edge_attributes(b)
            if len(ptr) != n + 1 or len(edges[0]):
                raise InvalidInput(
                    place="features",
                    got="features of segments, places or edges",
                    expected="features of tokens, such as word or suffix(3)",
                    remedy="leave out the others",
                )
            counts.append(np.diff(ptr))
            found.append(attributes)
            factors.append(values)
        out = states.new_zeros(*states.shape[:2], self.head.n_scores)
        if not counts:
            return out
        index = torch.from_numpy(np.concatenate(found).astype(np.int64)).to(out.device)
        ends = np.cumsum(np.concatenate(counts), dtype=np.int64)
        offsets = torch.from_numpy(np.concatenate([[0], ends[:-1]])).to(out.device)
        each = torch.from_numpy(np.concatenate(factors)).to(out)
        inside = mask_of(lengths, states.shape[1]).to(out.device)
        out[inside] = self.weights(index, offsets, per_sample_weights=each)
        return out

    def loss(
        self,
        documents: Sequence[Document],
        gold: Sequence[Target],
        weights: Sequence[float] | None = None,
    ) -> Tensor:
        """Return the weighted mean loss of some sequences."""
        states, lengths, extra = self.states(documents)
        total: Tensor = self.head.loss(states, lengths, gold, extra)  # type: ignore[operator]
        if self.chain is not None:
            total = total + self.chain_weight * self.chain.loss(states, lengths, gold, None)
        if weights is not None:
            total = total * total.new_tensor(weights)
        return total.mean()


def answers(
    network: Network,
    documents: Sequence[Document],
    ask: Callable[[Given, list[int]], Sequence[T]],
    by_length: bool = True,
) -> list[T]:
    """Return the answers for all documents, computed in batches.

    Parameters
    ----------
    network : Network
        What reads them.
    documents : sequence of Document
        The sequences.
    ask : callable
        Given what the network makes of some documents, and which they are, returns their answers.
    by_length : bool
        Whether to ask about documents of similar lengths together; else in their order.

    Returns
    -------
    list
    """
    order = list(range(len(documents)))
    if by_length:
        order.sort(key=lambda i: len(documents[i]))
    found: dict[int, T] = {}
    with torch.no_grad():
        for k in range(0, len(order), BATCH):
            some = order[k : k + BATCH]
            given = network.states([documents[i] for i in some])
            found.update(zip(some, ask(given, some), strict=True))
    return [found[i] for i in range(len(documents))]
