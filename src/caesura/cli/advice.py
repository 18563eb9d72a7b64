"""Quick comparison of the feature presets on the user's data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from caesura.documents import Document
from caesura.evaluation import Score, segment_counts
from caesura.features import PRESETS, default_name, preset
from caesura.features.presets import OF_TOKENS, Features

__all__ = ["Advice", "advice_for", "advise", "unused_columns"]

LEAST = 40  # minimum number of sequences; with fewer, differences are due to chance
MOST = 5000  # maximum number of tokens in the sample,
FEW = 300  # or up to three times as many if it has fewer segments than this
ITERATIONS = 30
GAIN = 0.005  # presets whose F1 differs by less count as equal
KINDS = 100  # maximum number of distinct values in a column of parts of speech
CHUNKING = "chunking"  # the preset that uses parts of speech

# A task is recognised if words of its line occur in the names of two or more labels.
TASKS = {
    "citations": "author editor title booktitle journal publisher date year volume pages",
    "addresses": "number street road place city town state zip postcode country occupancy",
    "ner": "person per location loc organization organisation org corporation group product misc",
}
NAMES = {"citations": "references", "addresses": "addresses", "ner": "named entities"}


class Advice(NamedTuple):
    """The default preset for some data, and the F1 scores of the alternatives."""

    chosen: str
    sequences: int  # in the sample; 0 if nothing was tried
    scores: dict[str, float]
    clear: frozenset[str] = frozenset()  # presets whose gain is unlikely to be due to chance
    column: str | None = None  # the column that was tried as parts of speech
    columns: tuple[str, ...] = ()  # the names of all columns
    likely: str | None = None  # the preset of the task that the labels suggest

    @property
    def better(self) -> str | None:
        """The best preset that is clearly better than the default one."""
        least = self.scores.get(self.chosen, 0.0) + GAIN
        better = [one for one in self.clear if self.scores[one] > least]
        return max(better, key=self.scores.__getitem__, default=None)

    def as_json(self) -> dict[str, Any]:
        """Return the advice as a dict for JSON."""
        return {
            "chosen": self.chosen,
            "better": self.better,
            "likely": self.likely,
            "f1": self.scores,
            "part_of_speech": self.column,
        }

    def __str__(self) -> str:
        start = f"features: the preset {self.chosen}, by default"
        if self.likely is not None and self.better in (None, self.likely):
            maker = f"made for {NAMES[self.likely]}, which the labels look like"
            start = f"{start}; try --preset {self.likely}, {maker}"
        if not self.sequences:
            others = ", ".join(name for name in PRESETS if name != self.chosen)
            return f"{start}; --preset takes others: {others}" if self.likely is None else start
        tried = f"in a quick test with {self.sequences} of the sequences"
        if self.better is None and self.likely is not None:
            was, now = self.scores[self.chosen], self.scores[self.likely]
            found = f"F1 {now:.3f} ({self.likely}) and {was:.3f} ({self.chosen})"
            return f"{start}; {tried}, they did not clearly differ: {found}"
        if self.better is None:
            return f"{start}; {tried}, no other preset was better"
        was, now = self.scores[self.chosen], self.scores[self.better]
        found = f"was better (F1 {now:.3f} against {was:.3f})"
        if self.better == CHUNKING and self.column is not None:
            return f"{start}; {tried}, the preset chunking {found} with {self._naming()}"
        return f"{start}; {tried}, --preset {self.better} {found}"

    def _naming(self) -> str:
        """Return the option that declares a column as parts of speech."""
        if not all(re.fullmatch(r"column\d+", name) for name in self.columns):
            return f"the column {self.column} as the part of speech: call it pos"
        names = ["pos" if name == self.column else "_" for name in self.columns]
        return f"--columns {','.join(['token', *names, 'tag'])}"


def advise(documents: Sequence[Document], outside: str = "O") -> Advice | None:
    """Compare the default preset with the other presets on a sample of the data.

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
    features: the preset generic, by default; try --preset addresses, made for addresses, which the
    labels look like
    """
    name = default_name(documents)
    if name is None:
        return None
    if name in OF_TOKENS or _of_characters(documents):
        return Advice(name, 0, {})
    likely = _task_of({one.label for document in documents for one in document.segments or ()})
    if len(documents) < LEAST:
        return Advice(name, 0, {}, likely=likely)
    sample = _sample(documents)
    tried = {one: preset(one) for one in PRESETS if one not in OF_TOKENS}
    column = _column_of_kinds(sample)
    if column is not None:
        tried[CHUNKING] = preset(CHUNKING, pos=column)
    found = {one: _trial(sample, features, outside) for one, features in tried.items()}
    scores = {one: trial.f1 for one, trial in found.items()}
    clear = frozenset(one for one, trial in found.items() if _clear(trial, found[name]))
    if likely is not None and _clear(found[name], found[likely]):
        likely = None
    return Advice(name, len(sample), scores, clear, column, tuple(sample[0].columns), likely)


def advice_for(choices: Mapping[str, Any], documents: Iterable[Document]) -> Advice | None:
    """Return the advice for a training run, or None if it does not apply.

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


def unused_columns(
    choices: Mapping[str, Any], documents: Sequence[Document], path: str
) -> list[str]:
    """Return a warning if documents have columns that the chosen features do not look at.

    Examples
    --------
    >>> unused_columns({}, [Document(("Ann",), columns={"column1": ("NNP",)})], "train.txt")[0][:39]
    'column 2 of train.txt is not used; call'
    """
    name = choices.get("features")
    if name is None and choices.get("model") != "neural":
        name = "generic" if "gazetteer" in choices else default_name(documents)
    used = {"pos"} if name == CHUNKING else set()
    unused = list(dict.fromkeys(n for one in documents for n in one.columns if n not in used))
    if not unused:
        return []
    first, more = unused[0], f" and {len(unused) - 1} more are" if len(unused) > 1 else " is"
    number = re.fullmatch(r"column(\d+)", first)
    what = f"column {int(number[1]) + 1}" if number else f"the column {first!r}"
    remedy = "call it pos if it has parts of speech, as in --columns token,pos,tag, or _"
    return [f"{what} of {path}{more} not used; {remedy} to leave it out"]


def _task_of(labels: Iterable[str]) -> str | None:
    """Return the preset of the task to which most labels belong, if two or more do.

    Examples
    --------
    >>> _task_of(["StreetName", "PlaceName", "Recipient"]), _task_of(["title"]), _task_of(["NP"])
    ('addresses', None, None)
    """
    parts = [{*re.findall(r"[a-z]+", re.sub("([A-Z])", r" \1", one).lower())} for one in labels]
    parts += [{one.lower()} for one in labels if one.isupper()]
    found = {
        task: sum(not one.isdisjoint(words.split()) for one in parts)
        for task, words in TASKS.items()
    }
    task = max(found, key=found.__getitem__)
    return task if found[task] > 1 else None


def _of_characters(documents: Sequence[Document]) -> bool:
    tokens = [token for document in documents for token in document.tokens]
    return sum(len(token) == 1 for token in tokens) > 0.8 * len(tokens)


def _column_of_kinds(sample: Sequence[Document]) -> str | None:
    """Return the first column shared by all documents that may hold parts of speech."""
    for name in sample[0].columns:
        if all(name in document.columns for document in sample):
            values = [value for document in sample for value in document.columns[name]]
            if all(isinstance(one, str) for one in values) and 1 < len(set(values)) <= KINDS:
                return name
    return None


def _sample(documents: Sequence[Document]) -> list[Document]:
    """Return a sample spread over the data that is small enough to try quickly."""
    tokens = sum(len(document) for document in documents)
    segments = sum(len(document.segments or ()) for document in documents)
    most = MOST * min(3.0, max(1.0, FEW * tokens / (MOST * max(segments, 1))))
    step = max(1, min(math.ceil(tokens / most), len(documents) // LEAST))
    return list(documents[::step])


def _halves(sample: list[Document]) -> Iterator[tuple[list[Document], list[Document]]]:
    yield sample[::2], sample[1::2]
    yield sample[1::2], sample[::2]


class _Trial(NamedTuple):
    """The F1 of chains with certain features, and the segments that they predict."""

    f1: float
    right: set[tuple[int, Any]]  # number of a sequence, and a segment


def _clear(one: _Trial, other: _Trial) -> bool:
    """Return whether one trial beats the other by more than two standard errors.

    Where both find a segment, or neither does, it says nothing; each of the others is as likely to
    be found by the one or by the other if they are equal.
    """
    gained, lost = len(one.right - other.right), len(other.right - one.right)
    return gained - lost > 2 * math.sqrt(gained + lost)


def _trial(sample: list[Document], features: Features, outside: str) -> _Trial:
    """Train and evaluate chains with the given features."""
    from caesura.models import ChainCRF

    counts = []
    right: set[tuple[int, Any]] = set()
    for train, test in _halves(sample):
        if not any(document.segments for document in train):
            continue
        model = ChainCRF(features, max_iterations=ITERATIONS, outside=outside, n_threads=None)
        gold = [document.segments or () for document in test]
        found = model.fit(train).predict(test)
        counts.append(segment_counts(gold, found, outside))
        for i, (true, said) in enumerate(zip(gold, found, strict=True)):
            right.update((id(test[i]), segment) for segment in {*true} & {*said})
    f1 = Score(*map(sum, zip(*counts, strict=True))).f1 if counts else 0.0
    return _Trial(f1, right)
