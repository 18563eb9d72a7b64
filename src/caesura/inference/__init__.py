"""Exact inference over `Potentials`.

Each function takes one `Potentials` or many (a list gives a list), and

method : {"auto", "overlapping", "bounded", "reference"}
    How to compute; all agree.  "overlapping" shares work between segments and needs no bound on
    their length; "bounded" sums over each length (max_length, or T where there is none);
    "reference" is plain Python, for small inputs.  "auto" is "overlapping".
n_threads : int, optional
    Number of threads, all cores by default.  Results do not depend on it.
"""

from caesura.inference.distribution import (
    entropy,
    kl_divergence,
    log_partition,
    log_probability,
    marginals,
    score,
)
from caesura.inference.results import Marginals, Path
from caesura.inference.segmentations import minimum_risk, n_best, sample, viterbi

__all__ = [
    "Marginals",
    "Path",
    "entropy",
    "kl_divergence",
    "log_partition",
    "log_probability",
    "marginals",
    "minimum_risk",
    "n_best",
    "sample",
    "score",
    "viterbi",
]
