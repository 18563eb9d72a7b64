"""SemiCRF: segments are the unit, and may be of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from caesura.errors import InvalidInput, message
from caesura.models.questions import Answers
from caesura.models.segment_coding import SegmentCoding

__all__ = ["SemiCRF"]


class SemiCRF(Answers):
    """A semi-Markov CRF: it scores whole segments.

    Parameters
    ----------
    features : list, str, or None
        Features (`caesura.features`), the name of a preset, or None: one that suits the data.
    order : int
        How many labels before a segment's own its score may depend on: label patterns of the
        training data up to ``order + 1`` labels have weights.
    max_length : None, int, "observed", or dict of label to these
        Longest segment; None is no bound, and costs nothing.  "observed": of each label, the
        longest in the training data.
    outside : str
        The label of text outside segments, which is never returned.
    outside_length : {1, None}
        Whether text outside is one segment for each token, or for each run of tokens.
    outside_bias : float
        Added in prediction to the score of each outside segment: raise it for precision, lower it
        for recall.  It takes effect without fitting again.
    same_label_adjacent : bool
        Whether two adjacent segments may carry one label.
    learner : str
        How weights are found.  "lbfgs", "sgd" and "adagrad" maximise the likelihood; "perceptron",
        "pa" and "arow" learn from mistakes; "svm", "cutting-plane" and "eg" minimise
        ``c2 |w|^2 + sum of hinge losses``.  See the guide on learners.
    c1, c2 : float
        The penalty ``c1 |w|_1 + c2 |w|_2^2``.  Learners with a loss take no c1; perceptron, pa and
        arow have no penalty at all.
    penalties : dict, optional
        Penalties of single features: their name or themselves, to c2 or (c1, c2).  "transitions"
        are pairs of labels, "patterns" longer ones, "order2" those of three labels and so on.
    min_freq : float
        Pairs of an attribute and a label that are rarer have no weight.
    all_possible_states, all_possible_transitions : bool
        Whether pairs have weights that the training data does not have.
    boundary_weights : bool
        Whether the first and the last label have weights.
    class_weight : dict of label to float, optional
        Labels whose tokens are worth more (above 1) or less; of `Partial` those that are known.
    precision : {"auto", "double", "mixed"}
        "mixed" begins in single precision, which is faster, and ends in double precision. "auto" is
        "mixed" for L-BFGS without c1, with c2 of at least 0.01, first-order weights and 100 or more
        sequences, and else "double". `history_` has the precision of each iteration.
    memory, epsilon, period, delta, max_iterations
        As in `caesura.learning.LBFGS`.  The others end by period, delta and max_iterations too,
        which count passes; perceptron, pa and arow also where the share of sequences with a mistake
        in a pass is below epsilon.  Where not given, delta is 1e-5, and 1e-4 for the others.
        svm, cutting-plane and eg end when their duality gap is below delta (1e-3) of the objective.
        A perceptron with a beam or with features that look back makes all of its max_iterations
        passes, 10 by default.
    batch_size : int
        Sequences in a step of sgd and adagrad.
    patience : int, optional
        Iterations without a better score on development data before fitting ends.
    warm_start : {False, True, "near"}
        Whether fit goes on from the weights of the fit before.  True only starts there: what the
        new data does not have is forgotten, so give the old data too.  "near" is for new data
        alone: penalties count from the weights before, so that these stay where nothing says
        otherwise.
    tokeniser : str or dict
        How a text becomes tokens: "words", "parts", "characters", "whitespace" or
        ``{"regex": pattern}``.  "auto" is the coarsest of the first three that no labelled span of
        characters cuts; `tokeniser_` has what was chosen.
    n_threads : int, optional
        All cores where not given; the result does not depend on it.
    random_state : int
        Seeds what is drawn.
    verbose : bool or None
        Show progress; None: where a person is looking.
    patterns : None, list of label tuples, or "grow"
        The patterns of three labels or more that have weights: all that the training data has up
        to `order`, those declared, or those selected, see the guide on high order.
    pattern_min_freq : float
        Patterns that the training data has less often have no weight.
    constraints : dict, optional
        Constraints that every segmentation keeps, in training and in every prediction:
        ``at_most_once``, ``exactly_once`` (labels) and ``ordered`` (labels that may occur only in
        this order), as in `Potentials.constrain`.  Labels of the training data must keep them.
    loss : {None, "hamming", "segments", "zero-one", "log"}
        What a wrong segmentation costs, for learners with a margin: its wrong tokens, the segments
        missed plus those invented, or 1 for any difference.  The gold one must score higher than
        each other by its cost.  None is "hamming" for svm, cutting-plane and eg; perceptron, pa and
        arow then search without costs, as CRFsuite's do.  "log" makes eg maximise the likelihood.
    pa_type : {0, 1, 2}
        Of pa: steps of any length, of at most `pa_c`, or damped by ``1 / (2 pa_c)``.
    pa_c : float
        Of pa: how far one sequence may move the weights.
    pa_error_sensitive : bool
        Of pa without a loss: whether the margin is the square root of the number of wrong tokens,
        or else 1.
    arow_variance, arow_r : float
        Of arow: the variance of each weight to begin with, and how much it distrusts one sequence.
    beam : int, optional
        Size of the agenda in beam search, with ``learner="perceptron"``; without it search is
        exact.  It may be set between two predictions.
    update : {"max-violation", "early", "standard"}
        Which prefix of a sequence a perceptron with a beam learns from: the one where the gold
        segmentation is worst off against the best of the agenda, the one where it leaves the
        agenda, or the whole sequence.  Exact search learns from whole sequences.
    average : bool
        Whether sgd, perceptron and pa end with the average of their weights over all steps, which
        is mostly better, or with the last ones.
    stream : bool
        Whether `fit` reads X anew for each pass and keeps only one block of it in memory, for data
        that is larger than memory.  For sgd, adagrad, perceptron, pa and arow; see the guide on
        learners.
    max_attributes : int, optional
        How many attributes are kept: the first that the data brings.  Later ones are left out, in
        training and in prediction.
    standardise : bool
        Whether each column of dense numbers is given mean 0 and standard deviation 1: those of the
        training data (of its first block, with ``stream=True``), which the model keeps.

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
        memory: int = 6,
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
        """How segments become states: each label is one."""
        return SegmentCoding(
            self.outside, self.outside_length, self.same_label_adjacent, self.max_length
        )
