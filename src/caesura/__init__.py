"""Cut sequences into labelled segments.

::

    text, tokens -> features -> potentials -> inference -> learning -> models -> records, pages
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    here so far
"""

from caesura.documents import Document, Partial
from caesura.errors import CaesuraError, Impossible, InvalidInput, TooLarge
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
    "to_tags",
    "viterbi",
]
