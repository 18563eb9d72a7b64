"""SemiCRF: semi-Markov conditional random fields with segments of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from caesura.errors import InvalidInput, message
from caesura.models.diagnostics import Answers
from caesura.models.segment_coding import SegmentCoding

__all__ = ["SemiCRF"]


class SemiCRF(Answers):
    """A semi-Markov CRF, which scores whole segments.

    Parameters
    ----------
    features : list, str, or None
        Features (`caesura.features`), the name of a preset, or None to choose one by the data.
    order : int
        Number of preceding labels that the score of a segment may depend on.  Label patterns of
        up to ``order + 1`` labels in the training data have weights.
    max_length : None, int, "observed", or dict of label to these
        Maximum segment length.  None means no bound and does not cost more time; "observed" takes
        the longest segment of each label in the training data.
    outside : str
        The label of text outside segments, which is never returned.
    outside_length : {1, None}
        Whether outside text is one segment for each token (1) or for each run of tokens (None).
    outside_bias : float
        Value added to the score of each outside segment in prediction: raise it for precision,
        lower it for recall.  Changes take effect without refitting.
    same_label_adjacent : bool
        Whether two adjacent segments may have the same label.
    learner : str
        The training algorithm.  "lbfgs", "sgd" and "adagrad" maximise the likelihood; "perceptron",
        "pa" and "arow" learn from mistakes; "svm", "cutting-plane" and "eg" minimise
        ``c2 |w|^2 + sum of hinge losses``.  See the guide on learners.
    c1, c2 : float
        The penalty ``c1 |w|_1 + c2 |w|_2^2``.  Learners with a loss take no c1; perceptron, pa and
        arow have no penalty at all.
    penalties : dict, optional
        Penalties of single features: a mapping from features or their names to c2 or (c1, c2).
        "transitions" stands for pairs of labels, "patterns" for longer patterns, "order2" for
        those of three labels, and so on.
    min_freq : float
        Minimum frequency of a pair of attribute and label; rarer pairs have no weight.
    all_possible_states, all_possible_transitions : bool
        Whether pairs that do not occur in the training data have weights.
    boundary_weights : bool
        Whether the first and the last label have weights.
    class_weight : dict of label to float, optional
        Weights of errors on tokens by label, 1 by default.  For `Partial`, known tokens count.
    precision : {"auto", "double", "mixed"}
        "mixed" starts in single precision, which is faster, and ends in double precision.  "auto"
        means "mixed" for L-BFGS without c1, with c2 of at least 0.01, first-order weights and at
        least 100 sequences; otherwise "double".  `history_` holds the precision of each iteration.
    memory : int, optional
        Number of correction pairs of lbfgs, as in `caesura.learning.LBFGS`.
    epsilon : float
        Threshold at which fitting stops: for lbfgs the relative norm of the gradient, for
        perceptron, pa and arow the share of sequences with an error in a pass.
    period : int
        Number of iterations in which the objective must fall by `delta`; passes over the data for
        learners other than lbfgs.
    delta : float, optional
        Relative decrease of the objective in `period` iterations below which fitting stops, by
        default 1e-5 for lbfgs and 1e-4 for the others; svm, cutting-plane and eg stop when their
        duality gap is below delta (1e-3) of the objective.
    max_iterations : int, optional
        Maximum number of iterations; passes over the data for learners other than lbfgs.  A
        perceptron with a beam or with features that look back makes all of its max_iterations
        passes, 10 by default.
    batch_size : int
        Number of sequences in a mini-batch of sgd and adagrad.
    patience : int, optional
        Number of iterations without a better development score after which fitting stops.
    warm_start : {False, True, "near"}
        Whether `fit` starts from the weights of the previous fit.  With True, knowledge that the
        new data does not support is lost, so pass the old data again.  "near" is for new data
        alone: penalties are centred on the previous weights, which change only where the new data
        requires it.
    tokeniser : str or dict
        The tokeniser of texts: "words", "parts", "characters", "whitespace" or
        ``{"regex": pattern}``.  "auto" chooses the coarsest of the first three whose tokens no
        labelled character span cuts; `tokeniser_` holds the choice.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.
    random_state : int
        Seed of the random number generator.
    verbose : bool or None
        Whether to show progress; None shows it on a terminal only.
    patterns : None, list of label tuples, or "grow"
        The patterns of three or more labels that have weights: all patterns in the training data
        up to `order` (None), the given ones, or automatically selected ones ("grow"); see the
        guide on high order.
    pattern_min_freq : float
        Minimum frequency of a label pattern; rarer patterns have no weight.
    constraints : dict, optional
        Constraints on every segmentation, in training and in prediction:
        ``at_most_once``, ``exactly_once`` (labels) and ``ordered`` (labels that may occur only in
        this order), as in `Potentials.constrain`.  The training labels must satisfy them.
    loss : {None, "hamming", "segments", "zero-one", "log"}
        The cost of a wrong segmentation for learners with a margin: the number of wrong tokens, of
        missed and spurious segments, or 1 for any difference.  The gold segmentation must outscore
        each other one by its cost.  None means "hamming" for svm, cutting-plane and eg, and no cost
        for perceptron, pa and arow, as in CRFsuite.  "log" makes eg maximise the likelihood.
    pa_type : {0, 1, 2}
        Variant of pa: unbounded steps, steps of at most `pa_c`, or damped by ``1 / (2 pa_c)``.
    pa_c : float
        Aggressiveness of pa: the bound on the update by one sequence.
    pa_error_sensitive : bool
        Whether the margin of pa without a loss is the square root of the number of wrong tokens;
        otherwise it is 1.
    arow_variance, arow_r : float
        Initial variance of the weights of arow, and its regularisation.
    beam : int, optional
        Beam size, with ``learner="perceptron"``; None means exact search.  It may change between
        predictions.
    update : {"max-violation", "early", "standard"}
        The prefix of a sequence that a perceptron with beam search is updated on: where the gold
        segmentation is furthest behind the best candidate, where it falls off the beam, or the
        whole sequence.  Exact search always uses whole sequences.
    average : bool
        Whether sgd, perceptron and pa return the average of their weights over all updates, which
        is usually better, or the last weights.
    stream : bool
        Whether `fit` reads X again on each pass and keeps only one block in memory, for data larger
        than memory.  For sgd, adagrad, perceptron, pa and arow; see the guide on
        learners.
    max_attributes : int, optional
        Maximum number of attributes; those first seen in the training data are kept, and all others
        are ignored in training and prediction.
    standardise : bool
        Whether dense columns are scaled to mean 0 and standard deviation 1 by the statistics of the
        training data (of its first block, with ``stream=True``).

    Examples
    --------
    >>> import caesura
    >>> X = ["12 High Street Leeds", "7 Park Lane York", "3 Mill Road Leeds"]
    >>> y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 3
    >>> model = caesura.SemiCRF(c2=0.1).fit(X, y)
    >>> model.predict(["9 Low Street York"])[0][1]
    Segment(start=1, end=3, label='street')
    """

    kind: ClassVar[str] = "semi"
    max_length: int | str | Mapping[str, int | str | None] | None
    outside_length: int | None
    same_label_adjacent: bool

    def __init__(
        self,
        features: Any = None,
        order: int = 1,
        max_length: int | str | Mapping[str, int | str | None] | None = None,
        outside: str = "O",
        outside_length: int | None = 1,
        outside_bias: float = 0.0,
        same_label_adjacent: bool = True,
        learner: str = "lbfgs",
        c1: float = 0.0,
        c2: float = 0.01,
        penalties: Mapping[Any, Any] | None = None,
        min_freq: float = 0.0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = True,
        boundary_weights: bool = True,
        class_weight: Mapping[str, float] | None = None,
        precision: str = "auto",
        memory: int | None = None,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float | None = None,
        max_iterations: int | None = None,
        batch_size: int = 8,
        patience: int | None = None,
        warm_start: bool | str = False,
        tokeniser: Any = "auto",
        n_threads: int | None = None,
        random_state: int = 0,
        verbose: bool | None = False,
        patterns: Sequence[Sequence[str] | str] | str | None = None,
        pattern_min_freq: float = 1,
        constraints: Mapping[str, Any] | None = None,
        loss: str | None = None,
        pa_type: int = 1,
        pa_c: float = 1.0,
        pa_error_sensitive: bool = True,
        arow_variance: float = 1.0,
        arow_r: float = 1.0,
        beam: int | None = None,
        update: str = "max-violation",
        average: bool = True,
        stream: bool = False,
        max_attributes: int | None = None,
        standardise: bool = False,
    ) -> None:
        """Store the parameters, which help(caesura.SemiCRF) describes."""
        self._keep(locals())

    def check_parameters(self) -> None:
        """Raise if a parameter is wrong."""
        super().check_parameters()
        if self.outside_length not in (1, None):
            expected = "1 (a segment for each token) or None (for each run of tokens)"
            remedy = "pass one of them"
            raise InvalidInput(message("outside_length", self.outside_length, expected, remedy))

    @property
    def coding(self) -> SegmentCoding:
        """The coding of segments as states of this model."""
        return SegmentCoding(
            self.outside, self.outside_length, self.same_label_adjacent, self.max_length
        )
