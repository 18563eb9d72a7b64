"""The batch door gives the answers of `caesura.Potentials`, one sequence after the other."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from oracle import Draw, close

import caesura
from caesura import Potentials
from caesura.errors import Impossible, InvalidInput
from caesura.inference.batch import (
    Batch,
    batch_best,
    batch_entropy,
    batch_log_partition,
    batch_n_best,
    batch_posterior,
    batch_sample,
)

OPTIONAL = ["tokens", "segments", "starts", "ends", "spans", "transition", "start", "end"]
OPTIONAL += ["allowed", "boundaries", "max_length", "own", "patterns", "rules"]


@st.composite
def batches(draw: Draw) -> tuple[dict[str, Any], list[Potentials]]:
    """Arguments of a `Batch`, and the same scores as `Potentials`."""
    B, T, Y, L = (draw(st.integers(low, high)) for low, high in ((0, 4), (1, 5), (1, 3), (1, 4)))
    lengths = np.array(draw(st.lists(st.integers(0, T), min_size=B, max_size=B)), int)
    chosen = set(draw(st.lists(st.sampled_from(OPTIONAL), unique=True)))
    if not chosen & {"tokens", "segments"}:
        chosen.add("tokens")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))

    def scores(*shape: int) -> npt.NDArray[Any]:
        values = rng.normal(size=shape) * 2
        values[rng.random(shape) < draw(st.sampled_from([0.0, 0.05]))] = -np.inf
        return values.astype(dtype)

    own = (B,) if "own" in chosen else ()
    shapes = {
        "tokens": (B, T, Y),
        "segments": (B, T, L, Y),
        "starts": (B, T, Y),
        "ends": (B, T, Y),
        "transition": (*own, Y, Y),
        "start": (*own, Y),
        "end": (*own, Y),
    }
    arguments: dict[str, Any] = {
        name: scores(*shape) for name, shape in shapes.items() if name in chosen
    }
    arguments["lengths"] = lengths
    arguments["same_label_adjacent"] = draw(st.booleans()) or Y == 1
    if "max_length" in chosen:
        most = L if "segments" in chosen else T
        arguments["max_length"] = draw(
            st.one_of(
                st.integers(1, most),
                st.lists(st.one_of(st.none(), st.integers(1, most)), min_size=Y, max_size=Y),
            )
        )
    if "allowed" in chosen:
        arguments["allowed"] = rng.random((B, T, Y)) < 0.9
    if "boundaries" in chosen:
        arguments["boundaries"] = rng.choice([-1, 0, 0, 0, 2], size=(B, T))
    if "patterns" in chosen:
        sizes = draw(st.lists(st.integers(2, 4), max_size=4))
        drawn = {tuple(rng.integers(Y, size=size).tolist()) for size in sizes}
        arguments["patterns"] = sorted(drawn)
        arguments["pattern_scores"] = scores(len(drawn))
    if "rules" in chosen:
        rules = [("at most once", (0,)), ("exactly once", (Y - 1,)), ("ordered", (0, Y - 1))]
        usable = rules if Y > 1 else rules[:2]
        arguments["rules"] = draw(st.lists(st.sampled_from(usable), max_size=2, unique=True))
    if "spans" in chosen:
        places = [
            (b, *sorted(rng.choice(length + 1, size=2, replace=False)), int(rng.integers(Y)))
            for b, length in enumerate(lengths.tolist())
            for _ in range(int(rng.integers(4)) if length else 0)
        ]
        order = rng.permutation(len(places))
        arguments["spans"] = np.array(places, int).reshape(-1, 4)[order]
        arguments["span_scores"] = scores(len(places))
    return arguments, potentials_of(arguments, Y)


def potentials_of(arguments: dict[str, Any], Y: int) -> list[Potentials]:
    """Return the `Potentials` of each sequence of a padded batch."""
    made = []
    for b, T in enumerate(arguments["lengths"].tolist()):
        bounds = arguments.get("max_length")
        if "segments" in arguments:
            L = arguments["segments"].shape[2]
            bounds = [v or L for v in (bounds if isinstance(bounds, list) else [bounds] * Y)]
        p = Potentials(T, Y, max_length=bounds)
        p.same_label_adjacent = arguments["same_label_adjacent"]
        if "tokens" in arguments:
            p.emission = arguments["tokens"][b, :T]
        for name, ndim in (("transition", 2), ("start", 1), ("end", 1)):
            if name in arguments:
                values = arguments[name]
                setattr(p, name, values[b] if values.ndim > ndim else values)
        if "segments" in arguments and T > 0:
            p.spans[...] = arguments["segments"][b, :T, : p.spans.shape[1]]
        for name, opens in (("starts", (False, True)), ("ends", (True, False))):
            for t, y in np.ndindex(T, Y) if name in arguments else ():
                p.add(t, t + 1, y, float(arguments[name][b, t, y]), *opens)
        for (c, s, e, y), w in zip(
            arguments.get("spans", ()), arguments.get("span_scores", ()), strict=True
        ):
            if c == b:
                p.add(int(s), int(e), int(y), float(w))
        for labels, w in zip(
            arguments.get("patterns", ()), arguments.get("pattern_scores", ()), strict=True
        ):
            p.add_pattern(labels, float(w))
        for name, labels in arguments.get("rules", ()):
            p.constrain(**{name.replace(" ", "_"): labels})
        if "allowed" in arguments and T > 0:
            p._constraints.allowed = arguments["allowed"][b, :T].astype(np.uint8)
        if "boundaries" in arguments:
            marks = arguments["boundaries"][b]
            p.constrain(
                boundaries=[t for t in range(1, T) if marks[t] > 0],
                no_boundaries=[t for t in range(1, T) if marks[t] < 0],
            )
        made.append(p)
    return made


def spoiled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with NaN in all padding."""
    out = dict(arguments)
    for name in ("tokens", "starts", "ends", "segments"):
        if name in arguments:
            values = arguments[name].copy()
            for b, T in enumerate(arguments["lengths"].tolist()):
                values[b, T:] = np.nan
                for t in range(T if name == "segments" else 0):
                    values[b, t, T - t :] = np.nan
            out[name] = values
    return out


def ragged(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the same batch without padding."""
    out = dict(arguments)
    for name in ("tokens", "segments", "starts", "ends", "allowed", "boundaries"):
        if name in arguments:
            rows = [arguments[name][b, :T] for b, T in enumerate(arguments["lengths"].tolist())]
            out[name] = np.concatenate([arguments[name].reshape(-1, *rows[0].shape[1:])[:0], *rows])
    return out


def possible(listed: list[Potentials]) -> bool:
    return all(value > -np.inf for value in caesura.log_partition(listed))


def tolerance(batch: Batch) -> float:
    return 1e-5 if batch.dtype == np.float32 else 1e-9


@given(batches())
def test_log_partition_equals_that_of_potentials(case: tuple[dict[str, Any], Any]) -> None:
    arguments, listed = case
    expected = caesura.log_partition(listed)
    forms = [spoiled(arguments)] + ([ragged(arguments)] if listed else [])
    for form in forms:
        batch = Batch(**form)
        found = batch_log_partition(batch, n_threads=2)
        assert found.dtype == batch.dtype
        assert close(found, expected, tolerance(batch))


@given(batches(), st.booleans())
def test_posterior_equals_that_of_potentials(
    case: tuple[dict[str, Any], list[Potentials]], weighted: bool
) -> None:
    arguments, listed = case
    batch = Batch(**spoiled(arguments))
    if not possible(listed):
        with pytest.raises(Impossible, match="of sequence"):
            batch_posterior(batch)
        return
    B, Y = len(listed), batch.n_labels
    weights = np.arange(1.0, B + 1) if weighted else np.ones(B)
    found = batch_posterior(batch, weights=weights if weighted else None, n_threads=2)
    marginals = caesura.marginals(listed)
    near = tolerance(batch)
    for name in ("transition", "start", "end"):
        own = [w * getattr(m, name + "s") for w, m in zip(weights, marginals, strict=True)]
        scores = getattr(batch, name)
        expected = np.array(own).reshape(B, *(Y,) * (2 if name == "transition" else 1))
        per_sequence = scores is not None and scores.ndim == expected.ndim
        assert close(getattr(found, name), expected if per_sequence else expected.sum(0), near)
    if found.patterns is not None:
        own = [w * m.patterns for w, m in zip(weights, marginals, strict=True)]
        assert close(found.patterns, np.sum(own, axis=0) if own else 0 * found.patterns, near)
    for b, (p, m) in enumerate(zip(listed, marginals, strict=True)):
        T = p.length
        if found.tokens is not None:
            assert close(found.tokens[b, :T], weights[b] * m.tokens, near)
            assert not found.tokens[b, T:].any()
        if found.segments is not None:
            assert not found.segments[b, T:].any()
            if T:
                k = p.spans.shape[1]
                assert close(found.segments[b, :T, :k], weights[b] * m.spans, near)
                assert not found.segments[b, :T, k:].any()
        counts = m.potentials * weights[b]
        for name in ("starts", "ends"):
            array = getattr(found, name)
            if array is not None:
                assert close(array[b, :T].ravel(), counts[: T * Y], near)
                assert not array[b, T:].any()
                counts = counts[T * Y :]
        if found.span_scores is not None:
            mine = arguments["spans"][:, 0] == b
            assert close(found.span_scores[mine], counts[: mine.sum()], near)


@given(batches(), st.integers(0, 100))
def test_paths_equal_those_of_potentials(
    case: tuple[dict[str, Any], list[Potentials]], seed: int
) -> None:
    arguments, listed = case
    batch = Batch(**spoiled(arguments))
    if not possible(listed):
        for ask in (batch_best, lambda x: batch_n_best(x, 2), lambda x: batch_sample(x, 2)):
            with pytest.raises(Impossible, match="of sequence"):
                ask(batch)
        return
    best, n_best = batch_best(batch, n_threads=2), batch_n_best(batch, 3, n_threads=2)
    drawn = batch_sample(batch, 4, seed, n_threads=2)
    assert best.sequences.tolist() == list(range(len(listed) + 1))
    for b, path in enumerate(caesura.viterbi(listed)):
        assert best.segments(b) == [tuple(s) for s in path.segments]
        assert close(best.scores[b], path.score)
    for b, paths in enumerate(caesura.n_best(listed, 3)):
        mine = range(n_best.sequences[b], n_best.sequences[b + 1])
        assert [n_best.segments(i) for i in mine] == [
            [tuple(s) for s in path.segments] for path in paths
        ]
        assert close(n_best.scores[mine.start : mine.stop], [path.score for path in paths])
    for b, cuts in enumerate(caesura.sample(listed, 4, seed)):
        mine = range(drawn.sequences[b], drawn.sequences[b + 1])
        assert [drawn.segments(i) for i in mine] == [[tuple(s) for s in cut] for cut in cuts]
        assert close(
            drawn.scores[mine.start : mine.stop], [caesura.score(listed[b], cut) for cut in cuts]
        )


@given(batches())
def test_entropy_equals_that_of_potentials(case: tuple[dict[str, Any], list[Potentials]]) -> None:
    arguments, listed = case
    batch = Batch(**arguments)
    if possible(listed):
        assert close(batch_entropy(batch), caesura.entropy(listed), tolerance(batch))
    else:
        with pytest.raises(Impossible, match="of sequence"):
            batch_entropy(batch)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    batch = Batch(rng.normal(size=(600, 5, 3)), lengths=rng.integers(0, 6, 600), max_length=1)
    one, many = (batch_posterior(batch, n_threads=n) for n in (1, 7))
    for a, b in zip(one, many, strict=True):
        assert a is b is None or (a is not None and b is not None and np.array_equal(a, b))


def test_scores_are_read_where_they_are() -> None:
    scores = np.zeros((1, 2, 2), np.float32)
    batch = Batch(scores, max_length=1)
    assert batch.tokens is not None
    assert np.shares_memory(batch.tokens, scores)
    before = batch_log_partition(batch)[0]
    scores += 1.0
    assert batch_log_partition(batch)[0] == pytest.approx(before + 2.0)


def test_one_bad_score_is_named_with_its_sequence() -> None:
    scores = np.zeros((3, 4, 2))
    scores[2, 1, 0] = np.nan
    scores[1, 3, 0] = np.nan  # padding
    for ask in (batch_log_partition, batch_posterior, batch_best):
        with pytest.raises(InvalidInput, match="tokens of sequence 2"):
            ask(Batch(scores, lengths=[4, 3, 4]))
    for name in ("starts", "ends", "segments"):
        given_scores = scores[:, :, None] if name == "segments" else scores
        with pytest.raises(InvalidInput, match=f"{name} of sequence 2"):
            batch_log_partition(
                Batch(np.zeros((3, 4, 2)), **{"lengths": [4, 3, 4], name: given_scores})  # type: ignore[arg-type]
            )
    for name in ("transition", "start", "end"):
        bad = np.full((2, 2) if name == "transition" else (2,), np.inf)
        with pytest.raises(InvalidInput, match=f"{name} of sequence 0"):
            batch_log_partition(Batch(np.zeros((3, 4, 2)), **{name: bad}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"tokens": None}, "tokens, segments: got neither"),
        ({"tokens": np.zeros(3)}, r"tokens: got \(3,\), expected the shape \(B, T, Y\)"),
        ({"tokens": np.zeros((2, 3, 0))}, "tokens: .* at least one label"),
        ({"tokens": np.zeros((2, 3, 4), np.float16)}, "tokens: got 'dtype float16', expected fl"),
        ({"tokens": [[1.0], [1.0, 2.0]]}, "tokens: cannot be read as an array"),
        ({"tokens": np.zeros((6, 4))}, "lengths: got None, expected one per sequence"),
        ({"tokens": np.zeros((6, 4)), "lengths": [2, 3]}, "lengths: got 'a sum of 5', expected 6"),
        ({"lengths": [3]}, r"lengths: got \(1,\), expected the shape \(2,\)"),
        ({"lengths": [3, 4]}, r"lengths\[1\]: got 4, expected 0 to 3"),
        ({"lengths": [3, -1]}, r"lengths\[1\]: got -1, expected 0 to 3"),
        ({"lengths": [3.0, 1.0]}, "lengths: got 'dtype float64', expected whole numbers"),
        ({"segments": np.zeros((2, 3, 4))}, r"segments: got \(2, 3, 4\), expected the shape"),
        ({"starts": np.zeros((2, 3, 3))}, r"starts: got \(2, 3, 3\), expected the shape"),
        ({"ends": np.zeros((2, 4))}, r"ends: got \(2, 4\), expected the shape"),
        ({"transition": np.zeros((4, 3))}, r"transition: got \(4, 3\), expected the shape \(4, 4"),
        ({"start": np.zeros(3)}, r"start: got \(3,\), expected the shape \(4,\) or \(2, 4\)"),
        ({"end": np.zeros((3, 4))}, r"end: got \(3, 4\), expected the shape"),
        ({"spans": np.zeros((0, 4), int)}, "spans, span_scores: got one without the other"),
        ({"spans": [(0, 1, 2)], "span_scores": [0.0]}, r"spans: got \(1, 3\), expected the shape"),
        ({"spans": [(0, 0, 1, 0), (2, 0, 1, 0)], "span_scores": [0.0, 0.0]}, r"spans\[1\]: got"),
        ({"spans": [(0, 2, 2, 0)], "span_scores": [0.0]}, r"spans\[0\]: got \(0, 2, 2, 0\)"),
        ({"spans": [(0, 0, 1, 0)], "span_scores": [0.0, 1.0]}, r"span_scores: got \(2,\)"),
        ({"max_length": 0}, "max_length: got 0"),
        ({"max_length": 1.5}, "max_length: got 1.5"),
        ({"max_length": [1, 2]}, "max_length: got '2 bounds', expected one per label, 4"),
        ({"segments": np.zeros((2, 3, 2, 4)), "max_length": 3}, "max_length: got 3"),
        ({"allowed": np.zeros((2, 3, 4))}, "allowed: got 'dtype float64', expected booleans"),
        ({"allowed": np.zeros((2, 3), bool)}, r"allowed: got \(2, 3\), expected the shape"),
        ({"boundaries": np.zeros((2, 3))}, "boundaries: got 'dtype float64', expected whole"),
        ({"patterns": [(0, 1)]}, "patterns, pattern_scores: got one without the other"),
        ({"patterns": [(0,)], "pattern_scores": [1.0]}, r"patterns\[0\]: got \(0,\), expected two"),
        ({"patterns": [(0, 4)], "pattern_scores": [1.0]}, r"patterns\[0\]: got \(0, 4\)"),
        ({"patterns": [(0, 1)], "pattern_scores": [np.nan]}, "pattern_scores: got NaN"),
        ({"patterns": [(0, 1)] * 2, "pattern_scores": [1.0, 2.0]}, "patterns: a pattern occurs tw"),
        ({"patterns": [(0, 1)], "pattern_scores": [1.0, 2.0]}, r"pattern_scores: got \(2,\)"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        Batch(**{"tokens": np.zeros((2, 3, 4)), **arguments})


@pytest.mark.parametrize("n", [0, 2**40, 1.5])
def test_numbers_of_paths_are_checked(n: Any) -> None:
    batch = Batch(np.zeros((1, 2, 2)))
    for ask in (batch_n_best, batch_sample):
        with pytest.raises(InvalidInput, match="n: got"):
            ask(batch, n)
    with pytest.raises(InvalidInput, match="seed: got -1"):
        batch_sample(batch, 1, -1)
    with pytest.raises(InvalidInput, match="batch: got"):
        batch_log_partition(np.zeros((1, 2, 2)))  # type: ignore[arg-type]


# -- dense scores of segments ----------------------------------------------------------------------


def dense_case(seed: int) -> dict[str, Any]:
    """Return scores of segments alone, some of them extreme."""
    rng = np.random.default_rng(seed)
    B, T, L, Y = (int(rng.integers(1, most)) for most in (4, 20, 7, 7))
    real = (np.float32, np.float64)[int(rng.integers(2))]
    scale = float(rng.choice([0.5, 5.0, 60.0, 400.0]))
    segments = (rng.normal(size=(B, T, L, Y)) * scale).astype(real)
    if rng.random() < 0.3:
        segments[rng.random(segments.shape) < 0.2] = -np.inf
    lengths = rng.integers(0, T + 1, B)
    for b, length in enumerate(lengths.tolist()):
        segments[b, length:] = np.nan  # padding
    case: dict[str, Any] = {
        "segments": segments,
        "lengths": lengths,
        "transition": (rng.normal(size=(Y, Y)) * 2).astype(real),
        "start": rng.normal(size=Y).astype(real),
        "end": rng.normal(size=Y).astype(real),
        "max_length": [int(rng.integers(1, L + 1)) for _ in range(Y)],
        "same_label_adjacent": Y == 1 or bool(rng.integers(2)),
    }
    if rng.random() < 0.5:
        case["max_length"] = L
    if rng.random() < 0.2:
        case["transition"] = (rng.normal(size=(B, Y, Y)) * 2).astype(real)
    return case


@given(st.integers(0, 2**32 - 1))
def test_dense_scores_of_segments_equal_the_general_sweeps(seed: int) -> None:
    """Scores of tokens, all 0, lead to the general sweeps."""
    case = dense_case(seed)
    B, T, _, Y = case["segments"].shape
    dense = Batch(**case)
    plain = Batch(**case, tokens=np.zeros((B, T, Y), case["segments"].dtype))
    near = 1e-6 if dense.dtype == np.float32 else 1e-12
    found, expected = batch_log_partition(dense), batch_log_partition(plain)
    possible = expected > -np.inf
    assert (possible == (found > -np.inf)).all()
    assert np.allclose(found[possible], expected[possible], rtol=near, atol=near)
    if not possible.all():
        return
    weights = np.random.default_rng(seed).normal(size=B)
    one, two = (batch_posterior(batch, weights=weights) for batch in (dense, plain))
    for name in ("log_partition", "segments", "transition", "start", "end"):
        a, b = getattr(one, name), getattr(two, name)
        assert np.allclose(a, b, rtol=near, atol=10 * near), name


def test_dense_scores_that_are_no_scores_are_refused() -> None:
    scores = np.zeros((2, 3, 2, 2))
    scores[1, 0, 1, 1] = np.nan
    with pytest.raises(InvalidInput, match=r"segments"):
        batch_posterior(Batch(segments=scores))
    scores[1, 0, 1, 1] = 1e12
    with pytest.raises(InvalidInput, match=r"segments"):
        batch_log_partition(Batch(segments=scores))
    scores[1] = -np.inf
    with pytest.raises(Impossible):
        batch_posterior(Batch(segments=scores))
    assert batch_log_partition(Batch(segments=scores))[1] == -np.inf
