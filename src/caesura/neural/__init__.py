"""Segmental layers for torch, filtered semi-CRFs and a segmenter built from them.

::

    tokens -> encoder -> scores of tokens, spans -> layer (log Z, marginals, best paths) -> segments

This part needs torch, which ``pip install 'caesura[neural]'`` brings; nothing else does.  Names are
imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caesura.errors import MissingPackage

if TYPE_CHECKING:
    from caesura.neural.filtered import FilteredSemiCRF
    from caesura.neural.layers import ChainCRFLayer, OverlappingSemiCRFLayer, SemiCRFLayer
    from caesura.neural.segmenter import NeuralSegmenter

__all__ = [
    "ChainCRFLayer",
    "FilteredSemiCRF",
    "NeuralSegmenter",
    "OverlappingSemiCRFLayer",
    "SemiCRFLayer",
]

_LATER = {
    **dict.fromkeys(("ChainCRFLayer", "OverlappingSemiCRFLayer", "SemiCRFLayer"), "layers"),
    "FilteredSemiCRF": "filtered",
    "NeuralSegmenter": "segmenter",
    "built": "files",  # for caesura.load
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'caesura.neural' has no attribute {name!r}")
    try:
        module = import_module(f"caesura.neural.{_LATER[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        user = "a neural model" if name == "built" else f"caesura.neural.{name}"
        raise MissingPackage("torch", "neural", user) from None
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
