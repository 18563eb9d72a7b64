"""Which preset of features suits some data best, by a quick test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from caesura.documents import Document
from caesura.evaluation import Score, segment_counts
from caesura.features import PRESETS, default_name, preset
from caesura.features.presets import OF_TOKENS

__all__ = ["Advice", "advice_for", "advise"]

LEAST = 40  # sequences, of which less is said than chance does
MOST = 5000  # tokens of the sample
ITERATIONS = 30
GAIN = 0.005  # of F1, below which presets count as equal


class Advice(NamedTuple):
    """The preset that is the default for some data, and the F1 of others beside it."""

    chosen: str
    sequences: int  # of the sample; 0: nothing was tried
    scores: dict[str, float]

    @property
    def better(self) -> str | None:
        """The best preset, if it is clearly better than the one that was chosen."""
        best = max(self.scores, key=self.scores.__getitem__, default=self.chosen)
        gain = self.scores.get(best, 0.0) - self.scores.get(self.chosen, 0.0)
        return best if gain > GAIN else None

    def as_json(self) -> dict[str, Any]:
        """Return the advice as plain data."""
        return {"chosen": self.chosen, "better": self.better, "f1": self.scores}

    def __str__(self) -> str:
        start = f"features: the preset {self.chosen}, by default"
        if not self.sequences:
            others = ", ".join(name for name in PRESETS if name != self.chosen)
            return f"{start}; --preset takes others: {others}"
        tried = f"in a quick test with {self.sequences} of the sequences"
        if self.better is None:
            return f"{start}; {tried}, no other preset was better"
        was, now = self.scores[self.chosen], self.scores[self.better]
        return (
            f"{start}; {tried}, --preset {self.better} was better (F1 {now:.3f} against {was:.3f})"
        )


def advise(documents: Sequence[Document], outside: str = "O") -> Advice | None:
    """Return which preset is taken by default, and whether another one would be better.

    Chains learn from one half of a sample and are tested on the other, and the reverse.

    Parameters
    ----------
    documents : sequence of Document
        All of the training data.
    outside : str
        The label of text outside segments.

    Returns
    -------
    Advice or None
        None if the data carries attributes or numbers of its own.

    Examples
    --------
    >>> from caesura.demo import addresses
    >>> advice = advise(addresses(60))
    >>> advice.chosen, sorted(advice.scores)
    ('generic', ['addresses', 'citations', 'generic', 'ner'])
    >>> print(advise(addresses(20)))
    features: the preset generic, by default; --preset takes others: citations, addresses, ner,
    chunking, words
    """
    name = default_name(documents)
    if name is None:
        return None
    if name in OF_TOKENS or len(documents) < LEAST or _of_characters(documents):
        return Advice(name, 0, {})
    sample = _sample(documents)
    scores = {one: _score(sample, one, outside) for one in PRESETS if one not in OF_TOKENS}
    return Advice(name, len(sample), scores)


def advice_for(choices: Mapping[str, Any], documents: Iterable[Document]) -> Advice | None:
    """Return the advice for training, or None if features were chosen or are not declared.

    Examples
    --------
    >>> print(advice_for({"features": "ner"}, []))
    None
    """
    named = any(name in choices for name in ("features", "gazetteer"))
    if named or choices.get("stream") or choices.get("model") == "neural":
        return None
    whole = [document for document in documents if document.known is None]
    return advise(whole, str(choices.get("outside", "O")))


def _of_characters(documents: Sequence[Document]) -> bool:
    tokens = [token for document in documents for token in document.tokens]
    return sum(len(token) == 1 for token in tokens) > 0.8 * len(tokens)


def _sample(documents: Sequence[Document]) -> list[Document]:
    """Return documents from all over the data, and no more tokens than can be tried quickly."""
    tokens = sum(len(document) for document in documents)
    step = max(1, min(-(-tokens // MOST), len(documents) // LEAST))
    return list(documents[::step])


def _halves(sample: list[Document]) -> Iterator[tuple[list[Document], list[Document]]]:
    yield sample[::2], sample[1::2]
    yield sample[1::2], sample[::2]


def _score(sample: list[Document], name: str, outside: str) -> float:
    """Return the F1 of chains with a preset."""
    from caesura.models import ChainCRF

    counts = []
    for train, test in _halves(sample):
        if not any(document.segments for document in train):
            continue
        model = ChainCRF(preset(name), max_iterations=ITERATIONS, outside=outside, n_threads=None)
        gold = [document.segments or () for document in test]
        counts.append(segment_counts(gold, model.fit(train).predict(test), outside))
    return Score(*map(sum, zip(*counts, strict=True))).f1 if counts else 0.0
