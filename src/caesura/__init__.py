"""Cut sequences into labelled segments.

::

    text, tokens -> features -> potentials -> inference -> learning -> models -> records, pages
                                ^^^^^^^^^^    ^^^^^^^^^
                                here so far
"""

from caesura.errors import CaesuraError, Impossible, InvalidInput, TooLarge
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
    "Impossible",
    "InvalidInput",
    "Marginals",
    "Path",
    "Potentials",
    "Segment",
    "TooLarge",
    "drop_outside",
    "entropy",
    "fill_gaps",
    "from_tags",
    "kl_divergence",
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
