"""Uncertain rows: the distribution over rows of a text as a small probabilistic table.

A segmentation gives a row: for each label a value, or nothing where the label is absent.  The
distribution over all segmentations is kept in one of four forms, all of them rows with weights
whose columns are independent given the row (Gupta and Sarawagi, 2006):

``"n-best"``
    The n best segmentations with their probabilities; each cell has one value.
``"independent"``
    One row; the cells have the marginal distributions of the model.
``"mixture"``
    k such rows: the segmentations are partitioned by the presence or absence of a segment, and each
    part is a row of its exact constrained marginals.
``"em"``
    k rows fitted by EM to the n best segmentations that hold 99.9 % of the probability, and to
    samples of all others where these are too many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from caesura import inference
from caesura.checks import whole
from caesura.documents import Document, as_document
from caesura.errors import InvalidInput, message
from caesura.normalisers import Normaliser, checked, normaliser
from caesura.potentials import Potentials
from caesura.records.uncertain_columns import Listed, Spans, choices, log_partition_of
from caesura.records.uncertain_forms import Values, em_record, mixture_record, n_best_record
from caesura.records.uncertain_mixture import by_partition
from caesura.records.uncertain_records import UncertainRecord, Value, check_query

__all__ = ["answer_probability", "constrained_potentials", "listings", "uncertain_rows"]

FORMS = ("n-best", "independent", "mixture", "em")
CHUNK = 64  # texts that are processed at a time
MOST_LISTED = 3200  # maximum number of segmentations to which EM is fitted, unless n_best is larger
MOST_DRAWN = 10_000  # number of samples; those that are not listed represent all others
ENOUGH = 0.9  # if the listed segmentations are less probable, samples guide the splits
MOST_ALTERNATIVES = 100_000  # maximum number of combinations of segments that a query sums over


def uncertain_rows(
    model: Any,
    X: Iterable[Any],
    *,
    form: str = "mixture",
    k: int = 4,
    n_best: int = 200,
    mass: float = 0.999,
    min_probability: float = 1e-4,
    normalisers: Mapping[str, str | Normaliser] | None = None,
    constraints: Mapping[str, Any] | None = None,
    n_threads: int | None = None,
) -> list[UncertainRecord]:
    """Return the model's distribution over rows for each text.

    Parameters
    ----------
    model : SemiCRF
        A fitted model.  The forms "n-best" and "em" need only `predict_n_best`, so they work with
        `ChainCRF` and the neural segmenter too.
    X : iterable of sequences
        In any form that `predict` takes.
    form : {"n-best", "independent", "mixture", "em"}
        How the distribution is kept.
    k : int
        Number of rows in "mixture" and "em", at most.
    n_best : int
        Number of segmentations that "n-best" keeps, and with which "em" begins.  In "mixture" and
        "independent" they guide the choice of parts and give the values of labels that occur
        several times.
    mass : float
        Probability that the segmentations of "em" should hold: their number is doubled until they
        do, or until there are 3,200.  If they still hold less, samples stand for the others, and
        `UncertainRecord.sampled` is the probability of these.  With ``mass=0`` the number is
        `n_best`, and what lies beyond is left out.
    min_probability : float
        Values with less probability are left out.
    normalisers : dict of label to name or function, optional
        Normalisers to use in place of the model's own, as in `SemiCRF.set_normalisers`.  Segments
        whose texts have the same value count as that value, and their probabilities add up.
    constraints : dict, optional
        Arguments of `Potentials.constrain` that every segmentation keeps; with
        ``{"at_most_once": labels}`` the columns of these labels have single values.
    n_threads : int, optional
        Number of threads, all cores by default.

    Returns
    -------
    list of UncertainRecord

    Notes
    -----
    `UncertainRecord.kl` is the divergence KL(model || rows) over segmentations:

    - "independent" and "mixture": exact, computed as the weighted sum over rows of (sum of the
      entropies of the columns - entropy of the part).  Values that are not listed count as one
      value of their column, so that the divergence may be larger by `slack` at most.  Over
      normalised values it is no larger than over segments.
    - "em": the divergence from the model's distribution over the listed rows; what lies beyond them
      has the probability ``1 - mass`` and is not counted.  Where samples stand for it, all rows
      that only samples have count as one, and `slack` is infinite, since more cannot be said.
    - "n-best": infinite, unless the listed segmentations are all there are.

    Examples
    --------
    >>> import caesura
    >>> from caesura.records import uncertain_rows
    >>> X = ["12 High Street Leeds", "7 Park Lane York", "3 Mill Road Leeds"]
    >>> y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 3
    >>> model = caesura.SemiCRF(c2=1.0).fit(X, y)
    >>> record = uncertain_rows(model, ["9 Low Street Park York"], k=3)[0]
    >>> print(len(record.rows), f"{record.probability({'town': 'York'}):.3f}")
    3 0.429
    """
    if form not in FORMS:
        raise InvalidInput(message("form", form, ", ".join(FORMS), "pass one of these"))
    whole("k", k, 1)
    whole("n_best", n_best, 1)
    _check_share("min_probability", min_probability, "try 1e-4")
    _check_share("mass", mass, "try 0.999")
    labels = _labels_of(model)
    functions = _functions(model, normalisers)
    if isinstance(X, str):
        raise InvalidInput(
            place="X", got="a string", expected="a list of texts", remedy="pass [text]"
        )
    if not isinstance(X, Iterable):
        raise InvalidInput(message("X", X, "a list of texts", "pass [text]"))
    records: list[UncertainRecord] = []
    for documents in _chunks(X, model.tokeniser_):
        if form in ("n-best", "em"):
            least = mass if form == "em" else 0.0
            ranked = _ranked(model, documents, n_best, least, constraints)
            others = _beyond(model, documents, ranked, least, constraints)
            for document, found, drawn in zip(documents, ranked, others, strict=True):
                value = Values(document, labels, functions)
                if form == "n-best":
                    records.append(n_best_record(found, value))
                else:
                    records.append(em_record(found, drawn, value, k, min_probability))
            continue
        ps = [constrained_potentials(model, document, constraints) for document in documents]
        listed = listings(ps, labels, n_best, n_threads)
        size = 1 if form == "independent" else k
        mixtures = by_partition(ps, listed, labels, size, min_probability, n_threads)
        for document, parts in zip(documents, mixtures, strict=True):
            value = Values(document, labels, functions)
            records.append(mixture_record(parts, value, min_probability))
    return records


def answer_probability(
    model: Any,
    x: Any,
    query: Mapping[str, Value],
    *,
    normalisers: Mapping[str, str | Normaliser] | None = None,
    constraints: Mapping[str, Any] | None = None,
) -> float:
    """Return the exact probability that columns of one text have the given values.

    Parameters
    ----------
    model : SemiCRF
        A fitted model.
    x : str, Document, ...
        A sequence in any form that `predict` takes.
    query : dict of label to value
        As in `UncertainRecord.probability`.
    normalisers, constraints
        As in `uncertain_rows`.

    Notes
    -----
    It is the sum of exp(ln Z under constraints - ln Z) over all choices of segments that normalise
    to the values.

    Examples
    --------
    >>> import caesura
    >>> from caesura.records import answer_probability
    >>> X = ["12 High Street Leeds", "7 Park Lane York", "3 Mill Road Leeds"]
    >>> y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 3
    >>> model = caesura.SemiCRF(c2=1.0).fit(X, y)
    >>> query = {"number": "9", "town": "York"}
    >>> print(f"{answer_probability(model, '9 Low Street Park York', query):.3f}")
    0.229
    """
    labels = _labels_of(model)
    check_query(query, dict.fromkeys(labels))
    document = as_document(x, model.tokeniser_)
    value = Values(document, labels, _functions(model, normalisers))
    p = constrained_potentials(model, document, constraints)
    m = inference.marginals(p)
    segments = [segment for segment, _ in m.segments(0.0)] if any(query.values()) else []
    alternatives = []
    for label, wanted in query.items():
        spans = sorted((s, e) for s, e, own in segments if own == label)
        parts = [] if wanted is None else [wanted] if isinstance(wanted, str) else list(wanted)
        alternatives.append(_spellings(spans, parts, label, value))
    if math.prod(map(len, alternatives)) > MOST_ALTERNATIVES:
        raise InvalidInput(
            place="query",
            got=f"values that {math.prod(map(len, alternatives))} combinations of segments give",
            expected=f"at most {MOST_ALTERNATIVES}",
            remedy="ask for fewer columns",
        )
    chances = [
        math.exp(log_partition_of(p, dict(zip(query, spans, strict=True))) - m.log_partition)
        for spans in product(*alternatives)
    ]
    return min(1.0, math.fsum(chances))


def _spellings(
    spans: Sequence[tuple[int, int]], parts: Sequence[str], label: str, value: Values
) -> list[Spans]:
    """Return every ordered tuple of segments with these values."""
    found: list[Spans] = [()]
    for part in parts:
        fitting = [span for span in spans if value.of(label, span) == part]
        found = [
            (*some, span)
            for some in found
            for span in fitting
            if not some or some[-1][1] <= span[0]
        ]
    return found


def _ranked(
    model: Any, documents: Sequence[Document], n: int, mass: float, constraints: Any
) -> list[Any]:
    """Return the n best segmentations of each document, or more to reach the mass."""
    ranked = list(model.predict_n_best(documents, n, constraints))
    short = list(range(len(documents)))
    while n < MOST_LISTED:
        full = [i for i in short if len(ranked[i]) == n]  # shorter lists are complete
        short = [i for i in full if math.fsum(chance for _, chance in ranked[i]) < mass]
        if not short:
            break
        n = min(2 * n, MOST_LISTED)
        more = model.predict_n_best([documents[i] for i in short], n, constraints)
        for i, found in zip(short, more, strict=True):
            ranked[i] = found
    return ranked


def _beyond(
    model: Any, documents: Sequence[Document], ranked: list[Any], mass: float, constraints: Any
) -> list[list[Any]]:
    """Return samples of the unlisted segmentations of documents below the mass.

    Of all samples, those that are not listed are samples of what lies beyond the list.
    """
    out: list[list[Any]] = [[] for _ in documents]
    short = [
        i
        for i, found in enumerate(ranked)
        if math.fsum(chance for _, chance in found) < mass and len(found) >= MOST_LISTED
    ]
    if not short or not hasattr(model, "sample"):
        return out
    for i in short:
        known = {tuple(segments) for segments, _ in ranked[i]}
        [drawn] = model.sample([documents[i]], MOST_DRAWN, seed=0, constraints=constraints)
        out[i] = [segments for segments in drawn if tuple(segments) not in known]
    return out


# ---- potentials and listed segmentations ---------------------------------------------------------


def constrained_potentials(
    model: Any, document: Document, constraints: Mapping[str, Any] | None
) -> Potentials:
    """Return the potentials of one document for queries on rows."""
    if getattr(model, "kind", None) != "semi":
        expected = "a SemiCRF"
        remedy = 'use form="em" or "n-best", which need only the n best segmentations'
        raise InvalidInput(message("model", model, expected, remedy))
    p: Potentials = model.potentials(document, constraints)
    outside = [label for label in p.labels if label not in model.labels_]
    for label in outside:
        y = p.label_index(label)
        if p.parts.bounds[y] != 1 and p.same_label_adjacent and p.transition[y, y] > -np.inf:
            raise InvalidInput(
                f"the outside label {label!r} can be cut in several ways",
                place="model",
                expected="outside_length=1 or None",
                remedy="train it with one of these",
            )
    return p


def listings(
    ps: Sequence[Potentials], labels: Sequence[str], n: int, n_threads: int | None
) -> list[Listed]:
    """Return the n best segmentations of each text, or samples where these cover little mass.

    The n best have their probabilities as weights; where these add up to less than `ENOUGH`, they
    would show only small differences between segmentations that are much alike, so that n samples
    have all the weight.
    """
    log_z = inference.log_partition(ps, n_threads=n_threads)
    ranked = inference.n_best(ps, n, n_threads=n_threads)
    listed = []
    for p, total, paths in zip(ps, log_z, ranked, strict=True):
        weights = [math.exp(path.score - total) for path in paths]
        cuts = [tuple(path.segments) for path in paths]
        if math.fsum(weights) < ENOUGH:
            known = dict.fromkeys(cuts, 0.0)
            for drawn in inference.sample(p, n, n_threads=1):
                known[tuple(drawn)] = known.get(tuple(drawn), 0.0) + 1.0 / n
            cuts, weights = list(known), list(known.values())
        listed.append(Listed([choices(cut, labels) for cut in cuts], np.array(weights)))
    return listed


# ---- argument checks -----------------------------------------------------------------------------


def _check_share(name: str, value: Any, remedy: str) -> None:
    if not isinstance(value, int | float) or not 0 <= value < 1:
        raise InvalidInput(message(name, value, "a number from 0 to below 1", remedy))


def _labels_of(model: Any) -> list[str]:
    labels = getattr(model, "labels_", None)
    if not labels or not hasattr(model, "predict_n_best"):
        remedy = "fit it, or load one with caesura.load"
        raise InvalidInput(message("model", model, "a fitted model", remedy))
    return list(labels)


def _functions(model: Any, chosen: Mapping[str, str | Normaliser] | None) -> dict[str, Normaliser]:
    """Return the normaliser of each label, the model's own by default."""
    own = getattr(model, "normalisers_", {})
    both = {**own, **checked(chosen or {}, list(model.labels_))}
    return {label: normaliser(one, f"normalisers[{label!r}]") for label, one in both.items()}


def _chunks(X: Iterable[Any], tokeniser: Any) -> Iterator[list[Document]]:
    """Yield the documents of some sequences at a time."""
    numbered = enumerate(X)
    while some := list(islice(numbered, CHUNK)):
        yield [as_document(x, tokeniser, f"X[{i}]") for i, x in some]
