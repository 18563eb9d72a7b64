"""Parts of a corpus: the data sent to workers and the functions that they run.

::

    level_of     part -> the tokeniser that its spans need
    survey       part -> its attributes and labels       }  merged: all attributes, all states
    count        part -> attributes seen with labels     }  merged: all weights
    make_shard   part -> blocks of encoded sequences     }  see `caesura.models.shards`

A part is the name of a corpus file, documents with segments, a pair of X and y, or a function that
returns one of these.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels, corpora
from caesura.documents import Document
from caesura.documents.tokeniser_fitting import Fitting
from caesura.encoding import Encoder
from caesura.errors import CaesuraError
from caesura.executors.software import OtherSoftwareError, check_software
from caesura.features.batch import Batch, Words
from caesura.features.dictionary import Text
from caesura.models.compact import PAIRS
from caesura.models.examples import examples_of
from caesura.models.fitted import Labelling, Structure
from caesura.models.inputs import labelled, paired
from caesura.models.patterns import Pattern, counted_patterns
from caesura.models.rules import Rules
from caesura.models.streaming import Block, Witnesses, blocks
from caesura.models.targets import Target, known_segments
from caesura.models.tokeniser_choice import look_at
from caesura.models.training import Examples, parameters_of

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = [
    "Counts",
    "Failed",
    "Pairs",
    "Recipe",
    "Survey",
    "attempted",
    "block_examples",
    "chunks_of",
    "count",
    "count_texts",
    "data_of",
    "forget",
    "known_parameters",
    "level_of",
    "merged_counts",
    "name_of_part",
    "prepared",
    "problem_of",
    "remember",
    "survey",
]

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Pairs = list[tuple[Longs, Floats]]  # sorted keys of weights, and their frequencies
BLOCK = 250_000  # tokens that are encoded together
TOGETHER = 8  # counts that are merged at a time
RUNS = 2  # concurrent trainings whose encoders a process caches


class Recipe(NamedTuple):
    """The settings sent to workers."""

    run: str  # identifier of the training
    model: Model  # only its parameters; it is not fitted
    features: Any
    software: tuple[str, ...]  # package versions of the driver
    threads: int  # kernel threads per evaluation
    step: int = 0  # number of the recipe within its training
    folder: str | None = None  # for memory-mapped files
    frees: bool = False  # whether evaluations free their memory instead of keeping it for the next
    attributes: Mapping[str, npt.NDArray[Any]] | None = None  # all known attributes
    labelling: Labelling | None = None
    bars: Structure | None = None  # the structure in training
    pairs: Mapping[str, npt.NDArray[Any]] | None = None  # keys of all weights
    patterns: Sequence[Sequence[int]] = ()  # of labels; the first `n_plain` have no attributes
    n_plain: int = 0
    rules: Rules = Rules()
    centre: Floats | None = None  # point from which penalties are measured

    def renewed(self, **changes: Any) -> Recipe:
        """Return the recipe with more fields set."""
        return self._replace(step=self.step + 1, **changes)


class Failed(NamedTuple):
    """The failure of a part."""

    part: str
    problem: str
    error: CaesuraError | None = None


def attempted(work: Any, recipe: Recipe, numbered: tuple[int, Any]) -> Any:
    """Return the result for a part, or its failure, so that other parts continue."""
    number, part = numbered
    try:
        check_software(recipe.software)
        return work(recipe, part)
    except OtherSoftwareError:
        raise  # no other part can succeed, either
    except Exception as error:
        known = error if isinstance(error, CaesuraError) else None
        return Failed(name_of_part(number, part), problem_of(error), known)


def problem_of(error: Exception) -> str:
    """Return the message of an error, with its type unless it is a `CaesuraError`."""
    return str(error) if isinstance(error, CaesuraError) else f"{type(error).__name__}: {error}"


def name_of_part(number: int, part: Any) -> str:
    """Return the name of a part in errors."""
    name = part if isinstance(part, str | os.PathLike) else getattr(part, "name", None)
    return f"parts[{number}]" + (f" ({os.fspath(name)})" if name is not None else "")


def data_of(part: Any) -> tuple[Any, Any]:
    """Return X and y of a part."""
    if callable(part):
        part = part()
    if isinstance(part, str | os.PathLike):
        return corpora.read(part), None
    if isinstance(part, tuple) and len(part) == 2 and not isinstance(part[0], Document):
        return part
    return part, None


def chunks_of(recipe: Recipe, part: Any) -> Iterator[tuple[int, list[Document], list[Target]]]:
    """Read a part in chunks."""
    cutter = recipe.model.tokeniser_
    return labelled(paired(*data_of(part), tokeniser=cutter), cutter)


def level_of(recipe: Recipe, part: Any) -> tuple[int, str]:
    """Return the tokeniser that the spans of a part require, and the reason."""
    fitting = Fitting()
    look_at(data_of(part)[0], fitting)
    return fitting.level, fitting.reason


def count_texts(recipe: Recipe, part: Any) -> list[Counter[tuple[str, ...]]]:
    """Count the texts of segments in a part, for features that learn them."""
    data = list(chunks_of(recipe, part))
    targets = [target for _, _, some in data for target in some]
    segments = known_segments(targets, recipe.model.outside)
    batch = Batch([document for _, some, _ in data for document in some], Words())
    texts = [feature for feature in recipe.features if isinstance(feature, Text)]
    return [feature.counts(batch, segments) for feature in texts]


class Survey(NamedTuple):
    """The attributes and labels of a part."""

    sequences: int
    first_block: int  # number of sequences in the first block
    tokens: int
    longest: int
    attributes: dict[str, npt.NDArray[Any]]
    targets: list[Target]  # targets with new information about labels
    lengths: list[int]
    numbers: list[int]  # indices of their sequences


def survey(recipe: Recipe, part: Any) -> Survey:
    """Return the attributes and labels of a part."""
    encoder = Encoder(recipe.features)
    encoder.keep_first(recipe.model.max_attributes)
    seen = Witnesses(recipe.model.outside)
    sequences = first_block = tokens = longest = 0
    for first, documents, targets in chunks_of(recipe, part):
        encoder.encode(documents, True, None, first)
        lengths = [*map(len, documents)]
        seen.see(first, targets, lengths)
        first_block += len(lengths) if tokens < BLOCK else 0
        sequences, tokens = sequences + len(lengths), tokens + sum(lengths)
        longest = max(longest, *lengths)
    state = encoder.state(np.arange(len(encoder), dtype=np.int32))
    sizes = sequences, first_block, tokens, longest
    return Survey(*sizes, state, seen.targets, seen.lengths, seen.numbers)


# ---- cache of encoders in a process -------------------------------------------------------------

_remembered: dict[str, tuple[int, Encoder, _kernels.Parameters | None]] = {}
_remembering = Lock()  # a worker may have several threads


def remember(recipe: Recipe, encoder: Encoder, parameters: _kernels.Parameters | None) -> None:
    """Cache the objects made from a recipe in place of those of an earlier step."""
    with _remembering:
        _remember(recipe, encoder, parameters)


def _remember(recipe: Recipe, encoder: Encoder, parameters: _kernels.Parameters | None) -> None:
    _remembered.pop(recipe.run, None)
    _remembered[recipe.run] = recipe.step, encoder, parameters
    while len(_remembered) > RUNS:
        del _remembered[next(iter(_remembered))]


def forget(run: str) -> None:
    """Drop the cached objects of a training."""
    with _remembering:
        _remembered.pop(run, None)


def prepared(recipe: Recipe) -> tuple[Encoder, Any]:
    """Return the encoder, and the weights where they are known; all threads share them."""
    with _remembering:
        step, encoder, parameters = _remembered.get(recipe.run, (None, None, None))
        if encoder is None or step != recipe.step:
            assert recipe.attributes is not None
            encoder = Encoder(recipe.features)
            encoder.restore(recipe.attributes)
            parameters = None if recipe.pairs is None else known_parameters(recipe, encoder)
        _remember(recipe, encoder, parameters)
        return encoder, parameters


def known_parameters(recipe: Recipe, encoder: Encoder) -> _kernels.Parameters:
    """Return the weights that a recipe describes."""
    assert recipe.bars is not None
    assert recipe.labelling is not None
    assert recipe.pairs is not None
    parameters = _kernels.Parameters.restore(
        len(recipe.bars.states),
        encoder.attributes,
        *recipe.bars[1:],
        **{name: recipe.pairs[name] for name in PAIRS},
        patterns=[list(pattern) for pattern in recipe.patterns],
        n_plain=recipe.n_plain,
    )
    return recipe.model.coding.with_rules(parameters, recipe.labelling, recipe.rules)


# ---- counts of weights --------------------------------------------------------------------------


def block_examples(recipe: Recipe, encoder: Encoder, block: Block) -> Examples:
    """Return the sequences of a block with their labels, for training."""
    assert recipe.labelling is not None
    weight = np.ones(len(block.targets))
    some = (block.corpus, block.targets, recipe.labelling, weight, block.first)
    return examples_of(recipe.model, encoder, *some)


class Counts(NamedTuple):
    """The occurrence counts of potential weights."""

    pairs: Pairs
    patterns: Counter[Pattern]


def count(recipe: Recipe, part: Any) -> Counts:
    """Count the attribute-label pairs and the label patterns of a part."""
    encoder, _ = prepared(recipe)
    # What is rare in this part may be frequent in others.
    everything = type(recipe.model)(**recipe.model.get_params() | {"min_freq": 0.0})

    def counted(block: Block) -> Counts:
        assert recipe.bars is not None
        examples = block_examples(recipe, encoder, block)
        parameters = parameters_of(everything, recipe.bars, examples, [])
        patterns: Counter[Pattern] = Counter()
        if recipe.model.patterns is None:
            patterns.update(dict(counted_patterns(examples.rows, recipe.model.order)))
        encoder.forget()  # bounds the cache, as new words keep arriving
        return Counts(_pairs(parameters, len(recipe.bars.states)), patterns)

    return merged_counts(map(counted, blocks(chunks_of(recipe, part), encoder, False, BLOCK)))


def merged_counts(many: Iterable[Counts]) -> Counts:
    """Sum counts with few of them in memory at a time."""
    pairs: list[Pairs] = []
    patterns: Counter[Pattern] = Counter()
    for some in many:
        pairs.append(some.pairs)
        patterns.update(some.patterns)
        if len(pairs) == TOGETHER:
            pairs = [merged_pairs(pairs)]
    return Counts(merged_pairs(pairs), patterns)


def _pairs(p: _kernels.Parameters, Y: int) -> Pairs:
    """Return the keys of all weights."""
    rows = p.attribute.astype(np.int64) * Y + p.label
    edges = p.edge_attribute.astype(np.int64) * Y * Y + p.edge_pair
    found: Pairs = []
    for keys, often in ((rows, p.frequency), (edges, p.edge_frequency)):
        order = np.argsort(keys)
        found.append((keys[order], often[order]))
    for more in (p.transition, p.start, p.end):
        found.append((np.sort(more).astype(np.int64), np.full(len(more), np.inf)))
    return found


def merged_pairs(many: Sequence[Pairs]) -> Pairs:
    """Return all keys with their counts, summed in the order of the parts."""
    if not many:
        none = np.zeros(0, np.int64), np.zeros(0)
        return [none] * 5
    out: Pairs = []
    for some in zip(*many, strict=True):
        keys, places = np.unique(np.concatenate([k for k, _ in some]), return_inverse=True)
        often = np.bincount(places, np.concatenate([f for _, f in some]), len(keys))
        out.append((keys, often.astype(np.float64)))
    return out
