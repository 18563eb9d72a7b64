"""ChainCRF: linear-chain conditional random fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from caesura import _kernels
from caesura.errors import InvalidInput, message
from caesura.learning import LEARNERS
from caesura.models.diagnostics import Answers
from caesura.models.tag_coding import TagCoding
from caesura.segments.tags import SCHEMES_BY_NAME, TAG_SCHEMES

__all__ = ["ChainCRF"]


class ChainCRF(Answers):
    """A linear-chain CRF, which scores one tag for each token.

    Parameters
    ----------
    features : list, str, or None
        Token features (`caesura.features`), the name of a preset, or None to choose one by the
        data.
    order : int
        Number of preceding tags that the score of a tag may depend on.
    scheme : {"auto", None} or str
        The tag scheme, such as "BIO", "BIOES" or "BCEU".  "auto" keeps given tags and encodes
        segments as BIO.  None treats tags as plain labels.
    forbid_invalid : {"predict", "always", "never"}
        When transitions that the scheme does not allow are impossible: in prediction, also in
        training, or never.
    outside_bias : float
        Value added to the score of each outside tag in prediction: raise it for precision, lower
        it for recall.  Changes take effect without refitting.
    loss : {None, "hamming", "segments", "zero-one", "log"}
        The loss, as in `SemiCRF`; "hamming" counts wrong tags, and "segments" needs a scheme.
    patterns : None, list of tag tuples, or "grow"
        Label patterns, as in `SemiCRF`, but over tags.
    constraints : dict, optional
        Constraints, as in `SemiCRF`, on the segments that the tags encode.
    beam : int, optional
        Beam size, as in `SemiCRF`; segments are tokens with their tags.

    Notes
    -----
    All other parameters are as in `SemiCRF`.

    Examples
    --------
    >>> import caesura
    >>> X = [["Ann", "met", "Bob"], ["Bob", "saw", "Ann"]]
    >>> y = [["B-PER", "O", "B-PER"]] * 2
    >>> model = caesura.ChainCRF(c2=0.1).fit(X, y)
    >>> model.predict_tags([["Ann", "saw", "Bob"]])
    [['B-PER', 'O', 'B-PER']]
    """

    kind: ClassVar[str] = "chain"
    scheme: str | None
    forbid_invalid: str

    def __init__(
        self,
        features: Any = None,
        order: int = 1,
        scheme: str | None = "auto",
        forbid_invalid: str = "predict",
        outside: str = "O",
        outside_bias: float = 0.0,
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
        """Store the parameters, which help(caesura.ChainCRF) describes."""
        self._keep(locals())

    def check_parameters(self) -> None:
        """Raise if a parameter is wrong."""
        super().check_parameters()
        known = ("predict", "always", "never")
        if self.forbid_invalid not in known:
            expected = "'predict', 'always' or 'never'"
            remedy = "pass one of them"
            raise InvalidInput(message("forbid_invalid", self.forbid_invalid, expected, remedy))
        if self.scheme not in ("auto", None) and str(self.scheme).upper() not in SCHEMES_BY_NAME:
            expected = f"'auto', None, or one of {', '.join(TAG_SCHEMES)}"
            raise InvalidInput(message("scheme", self.scheme, expected, "pass one of them"))
        if self.scheme is None and self.loss == "segments":
            others = [repr(one) for one in LEARNERS[self.learner].losses if one != "segments"]
            why = "because tags without a scheme do not define segments"
            expected = f"{' or '.join(others)} with scheme=None, {why}"
            remedy = "pass one of them, or a scheme such as 'BIO'"
            raise InvalidInput(message("loss", self.loss, expected, remedy))

    @property
    def coding(self) -> TagCoding:
        """The coding of segments as states of this model."""
        return TagCoding(self.outside, self.scheme, self.forbid_invalid)

    @property
    def _reads_once(self) -> bool:
        fitted = self._known
        structure, bars = fitted.structure, self.coding.tag_set(fitted).bars
        return all(np.array_equal(a, b) for a, b in zip(structure[2:], bars, strict=True))

    def _ranking(self, scorer: _kernels.Scorer) -> tuple[Callable[..., Any], Any, Any]:
        if self._reads_once:
            return super()._ranking(scorer)
        tags = self.coding.tag_set(self._known)  # sums over equal segmentations
        return scorer.n_best_spelled, tags.reading, list(tags.labels)
