"""Split sequences into labelled segments.

::

    text, tokens -> features -> potentials -> inference -> learning -> models -> records, pages

Each part is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError, Impossible, InvalidInput, TooLarge

if TYPE_CHECKING:
    from caesura.documents import Document, Partial, text_of
    from caesura.evaluation import Comparison, Report, compare, evaluate
    from caesura.inference import (
        Marginals,
        Path,
        entropy,
        kl_divergence,
        log_partition,
        log_probability,
        marginals,
        minimum_risk,
        n_best,
        sample,
        score,
        viterbi,
    )
    from caesura.models import ChainCRF, SemiCRF, load
    from caesura.potentials import Potentials
    from caesura.segments import (
        Segment,
        drop_outside,
        fill_gaps,
        from_tags,
        segmentation,
        to_tags,
    )

__all__ = [
    "CaesuraError",
    "ChainCRF",
    "Comparison",
    "Document",
    "Impossible",
    "InvalidInput",
    "Marginals",
    "Partial",
    "Path",
    "Potentials",
    "Report",
    "Segment",
    "SemiCRF",
    "TooLarge",
    "compare",
    "drop_outside",
    "entropy",
    "evaluate",
    "fill_gaps",
    "from_tags",
    "kl_divergence",
    "load",
    "log_partition",
    "log_probability",
    "marginals",
    "minimum_risk",
    "n_best",
    "sample",
    "score",
    "segmentation",
    "text_of",
    "to_tags",
    "viterbi",
]

_PARTS = (
    *("compat", "corpora", "demo", "documents", "evaluation", "extraction", "features"),
    *("inference", "models", "neural", "normalisers", "notebooks", "potentials", "ready"),
    *("records", "render", "scale", "segments", "server", "spacy"),
)
_INFERENCE = (
    *("Marginals", "Path", "entropy", "kl_divergence", "log_partition", "log_probability"),
    *("marginals", "minimum_risk", "n_best", "sample", "score", "viterbi"),
)
_SEGMENTS = ("Segment", "drop_outside", "fill_gaps", "from_tags", "segmentation", "to_tags")
_LATER = {
    **dict.fromkeys(_INFERENCE, "inference"),
    "Potentials": "potentials",
    **dict.fromkeys(_SEGMENTS, "segments"),
    **dict.fromkeys(("Document", "Partial", "text_of"), "documents"),
    **dict.fromkeys(("Comparison", "Report", "compare", "evaluate"), "evaluation"),
    **dict.fromkeys(("ChainCRF", "SemiCRF", "load"), "models"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in _PARTS:
        return import_module(f"caesura.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'caesura' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"caesura.{_LATER[name]}"), name)
    return value


def _version() -> str:
    """Return the version of the installed package, which pyproject.toml gives it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("caesura")
    except PackageNotFoundError:  # imported from the sources, not installed
        return "unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS, "__version__"})
