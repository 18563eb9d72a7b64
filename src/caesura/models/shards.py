"""Encoded parts on the workers, and the functions run on them in each iteration.

::

    make_shard   part -> blocks of encoded sequences
    evaluate     shard, weights -> loss and gradient              }
    largest      shard, weights -> hinge loss and a subgradient   }  added up along a tree
    mix          shard, state -> state after a pass, times n      }
    proximal     shard, weights -> weights after a pass, times n  }
    sampled      shard, method -> what one of the shards finds    }

A lost shard is made again from its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.errors import CaesuraError, InvalidInput
from caesura.executors import added, total
from caesura.executors.software import check_software
from caesura.learning.objectives import OnlineState
from caesura.learning.path_learners import PathRule, PathState
from caesura.models.margin import set_loss
from caesura.models.objective import Corpora, StreamedCorpora
from caesura.models.parts import (
    BLOCK,
    Recipe,
    block_examples,
    chunks_of,
    name_of_part,
    prepared,
    problem_of,
)
from caesura.models.streaming import blocks
from caesura.models.training import Training, objective_of

__all__ = ["Shard", "evaluate", "largest", "make_shard", "mix", "proximal", "sampled"]

Floats = npt.NDArray[np.float64]


class Shard:
    """The encoded sequences of a part.

    It is sent as its description, and made again where it arrives.
    """

    def __init__(self, recipe: Recipe, numbered: tuple[int, Any]) -> None:
        self.recipe, self.numbered = recipe, numbered
        made = list(_blocks(recipe, numbered[1]))
        self.blocks = [block for block, _ in made]
        self._bytes = sum(size for _, size in made)

    def streamed(self) -> StreamedCorpora:
        """Return the sequences for online learners."""

        def passing() -> Iterator[Corpora]:
            for block in self.blocks:
                yield block
                block.release()

        return StreamedCorpora(passing, sum(map(len, self.blocks)), len(self.blocks[0]))

    def __reduce__(self) -> Any:
        return make_shard, (self.recipe, self.numbered)

    def __sizeof__(self) -> int:
        return self._bytes  # so that schedulers which weigh objects leave it where it is


def _blocks(recipe: Recipe, part: Any) -> Iterator[tuple[Corpora, int]]:
    """Yield the objectives of the blocks of a part, and their approximate sizes in bytes."""
    encoder, parameters = prepared(recipe)
    assert recipe.bars is not None
    assert recipe.labelling is not None
    for block in blocks(chunks_of(recipe, part), encoder, False, BLOCK):
        examples = block_examples(recipe, encoder, block)
        encoder.forget()
        made = objective_of(
            recipe.model, recipe.labelling, examples, parameters, recipe.bars, recipe.folder
        )
        known = recipe.labelling[:3]
        none: Any = None
        set_loss(recipe.model, Training(*known, encoder, parameters, made, none))
        objective = Corpora(made, recipe.threads, centre=recipe.centre, first=block.first)
        yield objective, 8 * block.corpus.n_attributes


def make_shard(recipe: Recipe, numbered: tuple[int, Any]) -> Shard:
    """Encode a part."""
    check_software(recipe.software)
    try:
        return Shard(recipe, numbered)
    except CaesuraError as error:
        raise error.within(name_of_part(*numbered)) from None
    except Exception as error:
        place, remedy = name_of_part(*numbered), "correct this part"
        raise InvalidInput(problem_of(error), place=place, remedy=remedy) from None


def evaluate(shard: Shard, at: tuple[Floats, bool]) -> tuple[float, Floats]:
    """Return the loss and the gradient of a shard, optionally in single precision."""
    w, single = at
    return _summed(shard, w, lambda block: (block.in_single() if single else block)(w))


def largest(shard: Shard, w: Floats) -> tuple[float, Floats]:
    """Return the hinge loss of a shard and a subgradient."""
    return _summed(shard, w, lambda block: block.maximum(w))


def _summed(shard: Shard, w: Floats, function: Callable[[Corpora], Any]) -> tuple[float, Floats]:
    """Return the sum of a function over the blocks of a shard."""

    def value(block: Corpora) -> tuple[float, Floats]:
        found: tuple[float, Floats] = function(block)
        if shard.recipe.frees:
            block.release()
        return found

    if not shard.blocks:
        return 0.0, np.zeros_like(w)
    with _naming(shard):
        loss, gradient = total(map(value, shard.blocks))
        return float(loss), gradient


@contextmanager
def _naming(shard: Shard) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise error.within(name_of_part(*shard.numbered)) from None


def mix(shard: Shard, at: tuple[Any, OnlineState | PathState, int]) -> tuple[Any, ...]:
    """Return the state after a pass over a shard times its sequences, and the loss.

    The order of sequences depends on a seed and the number of the shard only.
    """
    rule, state, seed = at
    if not shard.blocks:
        return (0, 0, 0, 0, 0), (0.0, 0)
    data, random = shard.streamed(), np.random.default_rng([seed, shard.numbered[0]])
    with _naming(shard):
        moved: tuple[Any, ...]
        if isinstance(state, OnlineState):
            epoch = data.epoch(rule, state, random)
            moved = epoch.w, epoch.average, epoch.squares, epoch.batches - state.batches
            lost = epoch.value, 0
        else:
            path = data.follow(rule, state, random)
            moved = path.w, path.weights, path.variance, path.steps - state.steps
            lost = path.objective, path.mistakes
    n = len(data)
    return (n, *(n * one for one in moved)), lost


def proximal(shard: Shard, at: tuple[PathRule, Floats, int]) -> tuple[Any, ...]:
    """Return the weights after a pass of the SVM over each block times its sequences.

    The penalty of the rule is that of one sequence.
    """
    rule, w, seed = at
    random = np.random.default_rng([seed, shard.numbered[0]])
    found: tuple[Any, ...] = (0, 0.0, 0)
    with _naming(shard):
        for block in shard.blocks:
            n = len(block)
            own = rule._replace(c2=n * rule.c2)
            moved, mistakes = block.proximal(own, w, random.permutation(n))
            block.release()
            found = added(found, (n, n * moved, mistakes))
    return found


def sampled(shard: Shard, at: tuple[int, str, tuple[Any, ...]]) -> Any:
    """Return the result of a method on the first block of one shard; zeros on the others."""
    number, method, arguments = at
    if shard.numbered[0] != number:
        return (0.0, 0.0) if method == "batch" else (0,) * len(OnlineState._fields)
    with _naming(shard):
        return tuple(getattr(shard.streamed(), method)(*arguments))
