"""Training on data larger than memory: sequences are read in blocks on each pass.

::

    first reading   labels, attributes, and which of them have weights together
    each pass       block -> Corpus, Gold -> Design -> Objective -> a part of the pass

The weights, and what learners keep of each of them, are in memory throughout. A block costs the
encoding of its sequences and some sweeps over all weights. Features that learn from segments do so
from the first block. If sequences after the first block bring labels that it does not have, the
data is read a second time before the first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import nothing
from caesura.documents import Document, Partial
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.inference.kernel_calls import threads_of
from caesura.learning import LEARNERS, ProgressLine
from caesura.learning.learners import learners_with
from caesura.models.compact import PAIRS
from caesura.models.examples import examples_of, warn_of_many, weights_of
from caesura.models.fitted import Fitted, Labelling, Structure, layout_bounds
from caesura.models.inputs import labelled, paired
from caesura.models.lookback import is_span_model
from caesura.models.margin import set_loss
from caesura.models.objective import Corpora, StreamedCorpora
from caesura.models.patterns import check_states
from caesura.models.rules import model_rules
from caesura.models.targets import Tags, Target, said_labels
from caesura.models.training import Examples, Training, objective_of, parameters_of
from caesura.models.warm_start import carried, merged
from caesura.segments import fill_gaps

if TYPE_CHECKING:
    from caesura.models.estimator import Estimator, Features
    from caesura.models.model import Model

__all__ = [
    "Block",
    "Streamed",
    "Witnesses",
    "blocks",
    "check_features",
    "check_online",
    "check_stream",
    "first_block",
    "streamed",
]

Longs = npt.NDArray[np.int64]
BLOCK = 100_000  # minimum number of tokens in a block, which ends with a whole chunk
Chunk = tuple[int, list[Document], list[Target]]


# ---- requirements -------------------------------------------------------------------------------


def check_online(model: Estimator, name: str) -> None:
    """Raise if the learner of a model does not support online updates."""
    if not LEARNERS[model.learner].online:
        expected = f"a learner with online updates for {name}: {', '.join(learners_with('online'))}"
        raise InvalidInput(message("learner", model.learner, expected, "take one of them"))
    if model.order > 1 or model.patterns:
        argument = "order" if model.order > 1 else "patterns"
        expected = f"pairs of labels only with {name}"
        came = getattr(model, argument)
        raise InvalidInput(message(argument, came, expected, "leave it out"))


def check_features(model: Model, features: Features, name: str) -> None:
    """Raise if features need all data at once."""
    if is_span_model(model, features):
        raise InvalidInput(
            place=name,
            got="features that look back or a beam",
            expected="neither",
            remedy="leave them out",
        )
    for feature in features:
        if feature.order:
            expected = f"features without label histories with {name}"
            raise InvalidInput(message("features", feature, expected, "leave it out"))


def check_stream(model: Model, X: Any, y: Any) -> None:
    """Raise if a model cannot train on streamed data, or the data can be read only once."""
    check_online(model, "stream=True")
    if model.min_freq:
        expected = "0 with stream=True"
        remedy = "leave it out; max_attributes bounds the number of weights"
        raise InvalidInput(message("min_freq", model.min_freq, expected, remedy))
    for name, given in (("X", X), ("y", y)):
        if isinstance(given, Iterator):
            expected = "what can be read again for each pass, with stream=True"
            remedy = "give a list, a corpus of caesura.corpora, or an object with __iter__"
            raise InvalidInput(message(name, given, expected, remedy))


# ---- blocks --------------------------------------------------------------------------------------


class Block(NamedTuple):
    """Some encoded sequences."""

    first: int
    corpus: _kernels.Corpus
    targets: list[Target]


def blocks(
    data: Iterable[Chunk], encoder: Encoder, grow: bool, size: int | None = None
) -> Iterator[Block]:
    """Yield the data in blocks of about `BLOCK` tokens, or of `size`, in whole chunks."""
    block = Block(0, _kernels.Corpus(), [])
    tokens = 0
    for first, documents, targets in data:
        encoder.encode(documents, grow, block.corpus, first)
        block.targets.extend(targets)
        tokens += sum(map(len, documents))
        if tokens >= (size or BLOCK):
            yield block
            block, tokens = Block(first + len(documents), _kernels.Corpus(), []), 0
    if block.targets:
        yield block


def first_block(data: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks of the first block."""
    tokens = 0
    for chunk in data:
        yield chunk
        tokens += sum(map(len, chunk[1]))
        if tokens >= BLOCK:
            return


class Witnesses:
    """Sequences that are needed to determine states, tag scheme and longest segments.

    These depend only on labels, the lengths of segments and pairs of neighbours, so all other
    sequences are redundant.
    """

    def __init__(self, outside: str) -> None:
        self.outside = outside
        self.targets: list[Target] = []
        self.lengths: list[int] = []
        self.numbers: list[int] = []
        self._known: set[Any] = set()

    def see(self, first: int, targets: Sequence[Target], lengths: Sequence[int]) -> bool:
        """Keep new information; return whether there is any."""
        before = len(self.targets)
        for i, (target, length) in enumerate(zip(targets, lengths, strict=True), first):
            facts = self._facts(target, length)
            if not facts <= self._known:
                self._known |= facts
                self.targets.append(target)
                self.lengths.append(length)
                self.numbers.append(i)
        return len(self.targets) > before

    def _facts(self, target: Target, length: int) -> set[Any]:
        if isinstance(target, Tags):
            return set(zip([None, *target], [*target, None], strict=True))
        if isinstance(target, Partial):
            said = {(label,) for label in said_labels(target)}
            return said | {(s.label, s.end - s.start) for s in target.segments}
        filled = fill_gaps(target, length, self.outside, None)
        labels = [label for _, _, label in filled]
        return {(label, end - start) for start, end, label in filled} | set(pairwise(labels))

    def labelling(self, model: Model, before: Fitted | None) -> Labelling:
        """Return the states of the model; errors name sequences by their position in the data."""
        try:
            return model.coding.labelling(self.targets, self.lengths, before)
        except InvalidInput as error:
            if error.index is None:
                raise
            raise error.changed(index=self.numbers[error.index]) from None


class _Pairs:
    """The attribute-label pairs with weights, collected from many blocks."""

    def __init__(self, Y: int) -> None:
        self.Y = Y
        self.known = [np.zeros(0, np.int64) for _ in range(5)]
        self._new: list[list[Longs]] = [[] for _ in self.known]

    def add(self, parameters: _kernels.Parameters) -> None:
        """Add the weights of a block."""
        Y = self.Y
        keys = (
            parameters.attribute.astype(np.int64) * Y + parameters.label,
            parameters.edge_attribute.astype(np.int64) * Y * Y + parameters.edge_pair,
            *(parameters.transition, parameters.start, parameters.end),
        )
        for k, some in enumerate(keys):
            fresh = some[~_among(some.astype(np.int64), self.known[k])].astype(np.int64)
            self._new[k].append(fresh)
            if sum(map(len, self._new[k])) > len(self.known[k]) // 4:
                self._settle(k)

    def _settle(self, k: int) -> None:
        self.known[k] = np.unique(np.concatenate([self.known[k], *self._new[k]]))
        self._new[k] = []

    def parameters(self, attributes: _kernels.Extractor, bars: Structure) -> _kernels.Parameters:
        """Return all weights."""
        for k in range(len(self.known)):
            self._settle(k)
        rows, edges, transition, start, end = self.known
        Y = self.Y
        parts = (rows // Y, rows % Y, edges // Y**2, edges % Y**2, transition, start, end)
        arrays: dict[str, Any] = {
            name: a.astype(np.int32) for name, a in zip(PAIRS, parts, strict=True)
        }
        return _kernels.Parameters.restore(
            Y, attributes, *bars[1:], **arrays, patterns=[], n_plain=0
        )


def _among(some: Longs, known: Longs) -> npt.NDArray[np.bool_]:
    """Return which numbers occur in a sorted array."""
    if not len(known):
        return np.zeros(len(some), bool)
    near = np.minimum(np.searchsorted(known, some), len(known) - 1)
    found: npt.NDArray[np.bool_] = known[near] == some
    return found


# ---- passes over the data -----------------------------------------------------------------------


class _Read(NamedTuple):
    """The result of the first pass."""

    labelling: Labelling
    bars: Structure  # the structure in training
    parameters: _kernels.Parameters
    total: int  # number of sequences
    n_first: int  # number of sequences in the first block


class Streamed(NamedTuple):
    """Data that is read again on each pass."""

    pairs: tuple[Any, Any]  # X and y
    features: Features
    chunks: Iterator[Chunk]  # the data, for the first pass
    size: int  # of a chunk, in sequences


class _Stream:
    """The data of a run, and its reading options."""

    def __init__(self, model: Model, data: Streamed, encoder: Encoder) -> None:
        self.model, self.data, self.encoder = model, data, encoder

    def chunks(self) -> Iterator[Chunk]:
        """Read the data from the beginning."""
        data = self.data
        return labelled(
            paired(*data.pairs, tokeniser=self.model.tokeniser_),
            self.model.tokeniser_,
            size=data.size,
        )

    def read(
        self, chunks: Iterable[Chunk], before: Fitted | None, told: Callable[[int], None]
    ) -> _Read:
        """Make the first pass over the data."""
        model, encoder = self.model, self.encoder
        witnesses, total, n_first, longest = Witnesses(model.outside), 0, 0, 0
        labelling: Labelling | None = None
        pairs: _Pairs | None = None  # None: the states have changed, so pairs are collected again
        for block in blocks(chunks, encoder, True):
            lengths = block.corpus.lengths
            n_first = n_first or len(lengths)
            total, longest = total + len(lengths), max(longest, int(lengths.max(initial=0)))
            if witnesses.see(block.first, block.targets, lengths.tolist()):
                now = _if_possible(lambda: witnesses.labelling(model, before))
                if now is None or labelling is None or not _same_states(labelling, now):
                    pairs = None if now is None or block.first else _Pairs(_n_states(now))
                labelling = now
            if pairs is not None and labelling is not None:
                pairs.add(self._parameters(block, labelling))
            told(total)
        if not total:
            raise nothing("X", "sequences", "give labelled ones")
        labelling = witnesses.labelling(model, before)
        if pairs is None:
            pairs = _Pairs(_n_states(labelling))
            for block in blocks(self.chunks(), encoder, False):
                pairs.add(self._parameters(block, labelling))
                told(total)
        bars = model.coding.in_training(labelling.structure)
        bars = bars._replace(bounds=layout_bounds(bars.bounds, longest))
        return _Read(labelling, bars, pairs.parameters(encoder.attributes, bars), total, n_first)

    def _parameters(self, block: Block, labelling: Labelling) -> _kernels.Parameters:
        examples = self._examples(block, labelling, np.ones(len(block.targets)))
        bars = self.model.coding.in_training(labelling.structure)
        return parameters_of(self.model, bars, examples, [])

    def _examples(self, block: Block, labelling: Labelling, weight: Any) -> Examples:
        return examples_of(
            self.model, self.encoder, block.corpus, block.targets, labelling, weight, block.first
        )

    def objective(self, read: _Read, training: Training, weight: Any) -> StreamedCorpora:
        """Return the objective of all of the data."""
        threads = threads_of(self.model.n_threads)

        def made_blocks() -> Iterator[Corpora]:
            n = 0
            for block in blocks(self.chunks(), self.encoder, False):
                n = block.first + len(block.targets)
                _check_total(n > read.total, n, read.total)
                yield made(block)
            _check_total(n != read.total, n, read.total)

        def made(block: Block) -> Corpora:
            mine = np.ascontiguousarray(weight[block.first : block.first + len(block.targets)])
            examples = self._examples(block, read.labelling, mine)
            parts = read.labelling, examples, training.parameters, read.bars
            objective = objective_of(self.model, *parts)
            set_loss(self.model, training._replace(objective=objective))
            return Corpora(objective, threads, centre=training.centre, first=block.first)

        return StreamedCorpora(made_blocks, read.total, read.n_first)


def _n_states(labelling: Labelling) -> int:
    return len(labelling.structure.states)


def _if_possible(find: Callable[[], Labelling]) -> Labelling | None:
    """Return a labelling; None if the sequences so far do not determine one."""
    try:
        return find()
    except InvalidInput:
        return None  # raised again at the end, unless later sequences resolve it


def _same_states(a: Labelling, b: Labelling) -> bool:
    return a[1:] == b[1:] and a.structure.states == b.structure.states


def _check_total(wrong: bool, came: int, expected: int) -> None:
    if wrong:
        raise InvalidInput(
            place="X",
            got=f"{came} sequences or more in a later pass",
            expected=f"{expected}, as in the first",
            remedy="give what yields the same sequences each time",
        )


def streamed(
    model: Model,
    data: Streamed,
    sample_weight: npt.ArrayLike | None,
    before: Fitted | None,
) -> tuple[Training, StreamedCorpora]:
    """Make the first pass over labelled sequences; return the compiled training data."""
    check_features(model, data.features, "stream=True")
    encoder = Encoder(data.features) if before is None else before.encoder.copy()
    encoder.keep_first(model.max_attributes)
    stream = _Stream(model, data, encoder)
    with ProgressLine(show=model.verbose) as line:
        read = stream.read(data.chunks, before, line.reading)
    weight = weights_of(sample_weight, read.total)
    labelling, parameters = read.labelling, read.parameters
    warn_of_many(_n_states(labelling), read.total)
    if before is not None:
        parameters = merged(parameters, before, read.bars, encoder.attributes)
    check_states(parameters)
    rules = model_rules(model.constraints)
    parameters = model.coding.with_rules(parameters, labelling, rules)
    structure = labelling.structure
    w0 = np.zeros(len(parameters)) if before is None else carried(parameters, before, structure)
    near = before is not None and model.warm_start == "near"
    none: Any = None  # each block has its own objective
    known = structure, labelling.labels, labelling.scheme
    training = Training(*known, encoder, parameters, none, w0, near, rules)
    return training, stream.objective(read, training, weight)
