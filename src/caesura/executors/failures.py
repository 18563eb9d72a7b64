"""Items whose processing killed a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError

if TYPE_CHECKING:
    from caesura.executors import Executor

__all__ = ["DEATHS", "WorkerDiedError", "outcomes"]

DEATHS = 5  # consecutive worker deaths after which a task fails


class WorkerDiedError(CaesuraError):
    """Raised if workers died several times while they worked on the same item."""


def outcomes(
    engine: Executor, function: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[Any]:
    """Yield ``function(item)`` for each item in order, or the `WorkerDiedError` of that item.

    After such an error the items behind it are asked for again, so the function should find what it
    has done before.
    """
    done = 0
    while done < len(items):
        try:
            for found in engine.map(function, items[done:]):
                done += 1
                yield found
        except WorkerDiedError as error:
            done += 1
            yield error
