"""The layers give the answers of the reference, on both paths, with right derivatives."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from oracle import Draw, close
from torch import Tensor

import caesura
from caesura import Potentials
from caesura.errors import Impossible, InvalidInput, MissingPackage, TooLarge
from caesura.neural import ChainCRFLayer, OverlappingSemiCRFLayer, SemiCRFLayer

RULES = ["required", "forbidden", "boundaries", "no_boundaries", "allowed"]
RULES += ["at_most_once", "exactly_once", "ordered"]


class Case:
    """A layer, a batch of scores for it, and the same scores as `Potentials`."""

    def __init__(self, draw: Draw, differentiable: bool = False) -> None:
        kind = draw(st.sampled_from(["chain", "semi", "overlapping"]))
        B, T, Y = (draw(st.integers(low, high)) for low, high in ((1, 3), (1, 4), (1, 3)))
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.order = draw(st.integers(1, 3 if Y < 3 else 2))
        self.dtype = torch.float64
        if not differentiable:
            self.dtype = draw(st.sampled_from([torch.float32, torch.float64]))
        self.forbid = 0.0 if differentiable else draw(st.sampled_from([0.0, 0.05]))
        self.lengths = [draw(st.integers(0, T)) for _ in range(B)]
        self.kind, self.B, self.T, self.Y = kind, B, T, Y
        same = draw(st.booleans()) or Y == 1
        options = {"order": self.order, "same_label_adjacent": same}
        L = draw(st.integers(1, 4))
        self.bound: Any = 1
        if kind == "chain":
            self.layer: Any = ChainCRFLayer(Y, **options)
        elif kind == "semi":
            self.bound = draw(
                st.sampled_from([L, [L] * (Y - 1) + [1]]),
            )
            self.layer = SemiCRFLayer(Y, self.bound, **options)
        else:
            self.bound = draw(st.sampled_from([None, L, [None] * (Y - 1) + [1]]))
            self.layer = OverlappingSemiCRFLayer(Y, max_length=self.bound, **options)
        self.parts: dict[str, Any] = {}
        if kind == "semi":
            self.scores = self.numbers(B, T, self.layer.longest, Y)
        else:
            self.scores = self.numbers(B, T, Y)
        if kind == "overlapping":
            self._more(draw)
        self.layer.to(self.dtype)
        with torch.no_grad():
            for parameter in self.layer.parameters():
                parameter.copy_(self.numbers(*parameter.shape))
        self.spoil()

    def numbers(self, *shape: int) -> Tensor:
        values = self.rng.normal(size=shape) * 1.5
        values[self.rng.random(shape) < self.forbid] = -np.inf
        return torch.tensor(values, dtype=self.dtype)

    def _more(self, draw: Draw) -> None:
        for name in ("starts", "ends"):
            if draw(st.booleans()):
                self.parts[name] = self.numbers(self.B, self.T, self.Y)
        if draw(st.booleans()):
            places = [
                (
                    b,
                    *sorted(self.rng.choice(n + 1, 2, replace=False)),
                    int(self.rng.integers(self.Y)),
                )
                for b, n in enumerate(self.lengths)
                for _ in range(int(self.rng.integers(4)) if n else 0)
            ]
            index = torch.tensor(np.array(places, np.int64).reshape(-1, 4))
            self.parts["spans"] = index, self.numbers(len(places))

    def spoil(self) -> None:
        """Put NaN into all padding."""
        for b, n in enumerate(self.lengths):
            for x in (self.scores, *(self.parts[k] for k in self.parts if k != "spans")):
                x[b, n:] = torch.nan
            for t in range(n if self.kind == "semi" else 0):
                self.scores[b, t, n - t :] = torch.nan

    def constraints(self, draw: Draw) -> list[dict[str, Any]] | None:
        chosen = draw(st.lists(st.sampled_from(RULES), max_size=2, unique=True))
        if not chosen:
            return None
        y = st.integers(0, self.Y - 1)
        common: dict[str, Any] = {k: [draw(y)] for k in ("at_most_once", "exactly_once")}
        common["ordered"] = draw(st.permutations(range(self.Y)))
        made = []
        for n in self.lengths:
            own = dict(common)
            if n > 0:
                s = draw(st.integers(0, n - 1))
                e = s + 1 if self.kind == "chain" else draw(st.integers(s + 1, n))
                own["required"] = own["forbidden"] = [(s, e, draw(y))]
                own["allowed"] = {draw(st.integers(0, n - 1)): [draw(y)]}
            if n > 1:
                own["boundaries"] = own["no_boundaries"] = [draw(st.integers(1, n - 1))]
            made.append({k: v for k, v in own.items() if k in chosen})
        return made

    def potentials(self, constraints: Any = None) -> list[Potentials]:
        layer, Y = self.layer, self.Y
        found = []
        for b, n in enumerate(self.lengths):
            p = Potentials(n, Y, max_length=self.bound)
            p.same_label_adjacent = layer.same_label_adjacent
            p.transition, p.start, p.end = (
                x.detach().double().numpy() for x in (layer.transition, layer.start, layer.end)
            )
            for parameter in layer.patterns:
                for labels in np.ndindex(*parameter.shape):
                    p.add_pattern(labels, parameter[labels].item())
            scores = self.scores[b, :n].double()
            if self.kind == "semi":
                for t, k, y in np.ndindex(*scores.shape):
                    if t + k < n:
                        p.add(t, t + k + 1, y, float(scores[t, k, y]))
            elif n:
                p.emission = scores.numpy()
            for name, opens in (("starts", (False, True)), ("ends", (True, False))):
                for t, y in np.ndindex(n, Y) if name in self.parts else ():
                    p.add(t, t + 1, y, float(self.parts[name][b, t, y]), *opens)
            for (c, s, e, y), w in zip(*self.parts.get("spans", ((), ())), strict=True):
                if c == b:
                    p.add(int(s), int(e), int(y), float(w))
            if constraints is not None:
                p.constrain(**constraints[b])
            found.append(p)
        return found

    @property
    def near(self) -> float:
        return 2e-5 if self.dtype == torch.float32 else 1e-9


@st.composite
def cases(draw: Draw, differentiable: bool = False) -> Case:
    return Case(draw, differentiable)


def both_paths(case: Case) -> list[Any]:
    """Return the layer with the kernels, and then without them."""
    plain = object.__new__(type(case.layer))
    plain.__dict__.update(case.layer.__dict__)
    plain.use_kernels = False
    return [case.layer, plain]


def possible(listed: list[Potentials]) -> bool:
    return all(value > -np.inf for value in caesura.log_partition(listed, method="reference"))


def chosen_cuts(listed: list[Potentials], rng: Any) -> list[list[tuple[int, int, int]]]:
    cuts = []
    for p in listed:
        paths = caesura.n_best(p, 4, method="reference")
        path = paths[int(rng.integers(len(paths)))]
        cuts.append([(s.start, s.end, int(s.label)) for s in path.segments])
    return cuts


@settings(max_examples=40)
@given(cases(), st.data())
def test_log_partition_equals_the_reference(case: Case, data: Any) -> None:
    constraints = case.constraints(data.draw)
    expected = caesura.log_partition(case.potentials(constraints), method="reference")
    for layer in both_paths(case):
        with torch.no_grad():
            found = layer.log_partition(case.scores, case.lengths, constraints, **case.parts)
        assert found.dtype == case.dtype
        assert close(found.numpy(), expected, case.near)


@settings(max_examples=40)
@given(cases(), st.sampled_from(["mean", "sum", "none"]))
def test_loss_and_log_probability_equal_the_reference(case: Case, reduction: str) -> None:
    listed = case.potentials()
    if not possible(listed):
        return
    cuts = chosen_cuts(listed, case.rng)
    expected = np.array(
        [
            caesura.log_probability(p, c, method="reference")
            for p, c in zip(listed, cuts, strict=True)
        ]
    )
    reduce: Any = {"mean": np.mean, "sum": np.sum, "none": np.array}[reduction]
    reduced = reduce(-expected)
    rows = [(b, *segment) for b, cut in enumerate(cuts) for segment in cut]
    forms: list[Any] = [cuts]
    if case.kind != "chain":
        forms.append(torch.tensor(rows, dtype=torch.int64).reshape(-1, 4))
    for layer in both_paths(case):
        for form in forms:
            found = layer.log_probability(case.scores, case.lengths, form, **case.parts)
            assert close(found.detach().numpy(), expected, case.near)
            loss = layer(case.scores, case.lengths, form, reduction, **case.parts)
            assert close(loss.detach().numpy(), reduced, case.near)
            with torch.no_grad():
                again = layer(case.scores, case.lengths, form, reduction, **case.parts)
            assert close(again.numpy(), loss.detach().numpy(), case.near)


def tensors_of(case: Case, layer: Any) -> dict[str, Tensor]:
    """Return everything that has a gradient, detached from any graph."""
    found = {"scores": case.scores, **{k: v for k, v in case.parts.items() if k != "spans"}}
    if "spans" in case.parts:
        found["spans"] = case.parts["spans"][1]
    found = {name: x.detach().clone().requires_grad_() for name, x in found.items()}
    return found | dict(layer.named_parameters())


def asked(case: Case, layer: Any, question: str, tensors: dict[str, Tensor], *more: Any) -> Any:
    parts: dict[str, Any] = {k: tensors[k] for k in ("starts", "ends") if k in tensors}
    if "spans" in tensors:
        parts["spans"] = case.parts["spans"][0], tensors["spans"]
    ask = layer if question == "loss" else getattr(layer, question)
    return ask(tensors["scores"], case.lengths, *more, **parts)


@settings(max_examples=40)
@given(cases(), st.booleans())
def test_gradients_are_expected_counts(case: Case, equal: bool) -> None:
    listed = case.potentials()
    if not possible(listed):
        return
    weights = np.ones(case.B) if equal else np.arange(1.0, case.B + 1)
    reference = caesura.marginals(listed, method="reference")
    for layer in both_paths(case):
        tensors = tensors_of(case, layer)
        log_z = asked(case, layer, "log_partition", tensors)
        grads = torch.autograd.grad(
            (log_z * torch.tensor(weights)).sum(), list(tensors.values()), allow_unused=True
        )
        counts = dict(zip(tensors, grads, strict=True))
        assert all(torch.isfinite(c).all() for c in counts.values() if c is not None)
        names = [("transition", "transitions"), ("start", "starts"), ("end", "ends")]
        for name, plural in names:
            own = [w * getattr(m, plural) for w, m in zip(weights, reference, strict=True)]
            assert close(counts[name].numpy(), np.sum(own, axis=0), case.near)
        if case.order > 1:
            flat = np.concatenate([counts[f"patterns.{i}"].ravel() for i in range(case.order - 1)])
            own = [w * m.patterns for w, m in zip(weights, reference, strict=True)]
            assert close(flat, np.sum(own, axis=0), case.near)
        for b, (n, m) in enumerate(zip(case.lengths, reference, strict=True)):
            assert not counts["scores"][b, n:].any()
            if case.kind == "semi":
                expected = np.zeros((n, layer.longest, case.Y))
                for t, k, y in np.ndindex(*expected.shape):
                    expected[t, k, y] = m.segment(t, t + k + 1, y) if t + k < n else 0.0
            else:
                expected = m.tokens
            assert close(counts["scores"][b, :n].numpy(), weights[b] * expected, case.near)


@settings(max_examples=40)
@given(cases(), st.data())
def test_marginals_entropy_and_paths_equal_the_reference(case: Case, data: Any) -> None:
    constraints = case.constraints(data.draw)
    listed = case.potentials(constraints)
    given_ = (case.scores, case.lengths)
    if not possible(listed):
        for question in ("marginals", "entropy", "decode", "n_best", "sample"):
            with pytest.raises(Impossible, match="of sequence"):
                getattr(case.layer, question)(*given_, constraints=constraints, **case.parts)
        return
    reference = caesura.marginals(listed, method="reference")
    for layer in both_paths(case):
        entropy = layer.entropy(*given_, constraints, **case.parts)
        expected = caesura.entropy(listed, method="reference")
        assert close(entropy.detach().numpy(), expected, 10 * case.near)
        found = layer.marginals(*given_, constraints, **case.parts)
        if case.kind == "chain":
            assert found.shape == case.scores.shape
            for b, (n, m) in enumerate(zip(case.lengths, reference, strict=True)):
                assert close(found[b, :n].detach().numpy(), m.tokens, case.near)
        if case.kind == "semi":
            for b, (n, m) in enumerate(zip(case.lengths, reference, strict=True)):
                for t, k, y in np.ndindex(*found.shape[1:]):
                    own = m.segment(t, t + k + 1, y) if t + k < n else 0.0
                    assert close(found[b, t, k, y].item(), own, case.near)
        if case.kind == "overlapping":
            for b, (n, m) in enumerate(zip(case.lengths, reference, strict=True)):
                assert close(found.tokens[b, :n].detach().numpy(), m.tokens, case.near)
        if case.kind == "overlapping" and "spans" in case.parts:
            places = case.parts["spans"][0].tolist()
            expected = [reference[b].segment(s, e, y) for b, s, e, y in places]
            assert close(found.spans.detach().numpy(), expected, case.near)
    best = case.layer.decode(*given_, constraints, **case.parts)
    n_best = case.layer.n_best(*given_, 3, constraints, **case.parts)
    drawn = case.layer.sample(*given_, 4, 7, constraints, **case.parts)
    for b, p in enumerate(listed):
        wanted = caesura.n_best(p, 3, method="reference")
        assert close([path.score for path in n_best[b]], [w.score for w in wanted], case.near)
        assert close(caesura.score(p, best[b]), wanted[0].score, case.near)
        assert len({tuple(path.segments) for path in n_best[b]}) == len(wanted)
        assert [caesura.score(p, cut) > -np.inf for cut in drawn[b]] == [True] * 4


@settings(max_examples=5)
@given(cases(differentiable=True))
def test_first_and_second_derivatives(case: Case) -> None:
    """Finite differences of the loss, ln Z, the marginals and the entropy, on both paths."""
    case.scores, case.parts = (
        torch.nan_to_num(case.scores),
        {k: v if k == "spans" else torch.nan_to_num(v) for k, v in case.parts.items()},
    )
    listed = case.potentials()
    if not possible(listed):
        return
    cuts = chosen_cuts(listed, case.rng)
    for layer in both_paths(case):
        tensors = tensors_of(case, layer)

        def ask(
            *values: Tensor, layer: Any = layer, question: str, names: Any = tuple(tensors)
        ) -> Any:
            swapped = dict(zip(names, values, strict=True))
            own = {k: v for k, v in swapped.items() if k in dict(layer.named_parameters())}
            module = _Asked(case, layer, question, cuts if question == "loss" else None)
            return torch.func.functional_call(
                module, {f"layer.{k}": v for k, v in own.items()}, (swapped,)
            )

        inputs = tuple(tensors.values())
        for question in ("loss", "log_partition", "marginals", "entropy"):
            assert torch.autograd.gradcheck(
                lambda *v, q=question: ask(*v, question=q), inputs, fast_mode=True
            )
        for question in ("loss", "log_partition"):
            assert torch.autograd.gradgradcheck(
                lambda *v, q=question: ask(*v, question=q), inputs, fast_mode=True
            )


class _Asked(torch.nn.Module):
    """One question as a module, so that parameters can be exchanged."""

    def __init__(self, case: Case, layer: Any, question: str, cuts: Any) -> None:
        super().__init__()
        self.layer, self.case, self.question, self.cuts = layer, case, question, cuts

    def forward(self, tensors: dict[str, Tensor]) -> Any:
        more = () if self.cuts is None else (self.cuts,)
        found = asked(self.case, self.layer, self.question, tensors, *more)
        if isinstance(found, tuple):
            return tuple(x for x in found if x is not None)
        return found


def test_a_batch_gives_what_its_sequences_give_alone() -> None:
    torch.manual_seed(0)
    layer = SemiCRFLayer(3, 4)
    torch.nn.init.normal_(layer.transition)
    scores, lengths = torch.randn(5, 9, 4, 3), [9, 4, 1, 0, 7]
    together = layer.log_partition(scores, lengths)
    for b, n in enumerate(lengths):
        alone = layer.log_partition(scores[b : b + 1, :n], [n])
        assert alone.item() == pytest.approx(together[b].item(), abs=1e-5)


def test_shapes_on_the_meta_device() -> None:
    for layer, shape in (
        (ChainCRFLayer(3, order=2), (2, 5, 3)),
        (SemiCRFLayer(3, 4), (2, 5, 4, 3)),
        (OverlappingSemiCRFLayer(3), (2, 5, 3)),
    ):
        layer.to("meta")
        scores = torch.zeros(shape, device="meta", requires_grad=True)
        found = layer.log_partition(scores, [5, 2])
        assert found.shape == (2,)
        assert found.device.type == "meta"
        (grad,) = torch.autograd.grad(found.sum(), scores)
        assert grad.shape == scores.shape
        gold = [[(t, t + 1, 0) for t in range(n)] for n in (5, 2)]
        assert layer(scores, [5, 2], gold).shape == ()
        likely = layer.marginals(scores, [5, 2])
        assert getattr(likely, "tokens", likely).shape == scores.shape
        assert layer.entropy(scores, [5, 2], {"boundaries": [1]}).shape == (2,)
        for question in (layer.decode, layer.n_best, layer.sample):
            with pytest.raises(InvalidInput, match="scores: got 'the device meta'"):
                question(scores, [5, 2])


def test_half_precision_is_widened() -> None:
    layer = ChainCRFLayer(2)
    scores = torch.randn(1, 3, 2).to(torch.bfloat16).requires_grad_()
    loss = layer(scores, [3], torch.tensor([[0, 1, 0]]))
    loss.backward()
    assert loss.dtype == torch.float32
    assert scores.grad is not None
    assert scores.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_an_empty_batch(kernels: bool, reduction: Any) -> None:
    layer = ChainCRFLayer(2)
    layer.use_kernels = kernels
    scores = torch.zeros(0, 3, 2, requires_grad=True)
    assert layer.log_partition(scores).shape == (0,)
    loss = layer(scores, [], [], reduction)
    loss.backward()
    assert loss.item() == 0.0
    assert layer.decode(scores) == []


def test_without_transitions_nothing_but_scores_is_learned() -> None:
    assert not any(p.requires_grad for p in ChainCRFLayer(2, transitions=False).parameters())


def test_rules_on_labels_must_be_the_same_for_a_batch() -> None:
    layer = ChainCRFLayer(2)
    with pytest.raises(InvalidInput, match="batch of their own"):
        layer.decode(torch.zeros(2, 3, 2), None, [{"at_most_once": [0]}, {"at_most_once": [1]}])


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: ChainCRFLayer(0), "n_labels: got 0"),
        (lambda: ChainCRFLayer(2, order=0), "order: got 0"),
        (lambda: SemiCRFLayer(2, 0), "max_length: got 0"),
        (lambda: SemiCRFLayer(2, [1]), "max_length: got '1 bounds', expected one per label, 2"),
        (lambda: SemiCRFLayer(2, [1, None]), "use OverlappingSemiCRFLayer"),  # type: ignore[list-item]
        (lambda: chain(torch.zeros(2, 3)), r"scores: got \(2, 3\), expected the shape \(B, T, 2\)"),
        (lambda: chain(np.zeros((1, 3, 2))), "scores: got 'ndarray', expected a tensor"),
        (lambda: chain(torch.zeros(1, 3, 2, dtype=torch.int64)), "scores: got 'torch.int64'"),
        (lambda: chain(torch.zeros(1, 3, 2).to_sparse()), "scores: got .*, expected a dense"),
        (lambda: chain(torch.zeros(1, 3, 2, device="meta")), "scores: got 'meta', expected cpu"),
        (lambda: SemiCRFLayer(2, 2.5), "max_length: got 2.5"),  # type: ignore[arg-type]
        (lambda: loss(None), "segments: got None, expected a list"),
        (lambda: loss([3]), r"segments\[0\]: got 3, expected a list"),
        (lambda: chain(torch.zeros(1, 3, 2), [4]), r"lengths\[0\]: got 4, expected 0 to 3"),
        (lambda: chain(torch.zeros(1, 3, 2), [1.0]), "lengths: got 'dtype float64'"),
        (lambda: chain(torch.zeros(1, 3, 2), starts=1), "starts: this layer takes no"),
        (lambda: chain(torch.full((1, 3, 2), torch.nan)), "scores of sequence 0: got NaN"),
        (lambda: loss([[(0, 1, 0)]]), r"segments\[0\]: got 'an end at 1', expected one at 3"),
        (lambda: loss([[(0, 3, 2)]]), r"segments\[0\]: got \(0, 3, 2\), expected a label below 2"),
        (lambda: loss([[(0, 1, 0), (2, 3, 0)]]), r"segments\[0\]: got \(2, 3, 0\), expected segm"),
        (lambda: loss([[(0, 4, 0)]]), r"segments\[0\]: got \(0, 4, 0\), expected an end within"),
        (lambda: loss([]), "segments: got '0 lists', expected 1, one per sequence"),
        (lambda: loss([[(0, 3)]]), r"segments\[0\]: got \(0, 3\)"),
        (lambda: loss([[(0, 3, 0)]], "max"), "reduction: got 'max'"),
        (lambda: loss([[(0, 3, 0)]], spans=3), "spans: got 'int'"),
        (
            lambda: loss([[(0, 3, 0)]], spans=([(0, 0, 4, 0)], torch.zeros(1))),
            r"spans\[0\]\[0\]: got \(0, 0, 4, 0\)",
        ),
    ],
)
def test_errors_name_the_argument(ask: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        ask()


def chain(scores: Any, lengths: Any = None, **parts: Any) -> Tensor:
    return ChainCRFLayer(2).log_partition(scores, lengths, **parts)


def loss(segments: Any, reduction: str = "mean", **parts: Any) -> Tensor:
    layer = OverlappingSemiCRFLayer(2)
    return layer(torch.zeros(1, 3, 2), None, segments, reduction, **parts)  # type: ignore[no-any-return]


@pytest.mark.parametrize("use_kernels", [True, False])
@pytest.mark.parametrize("layer", [ChainCRFLayer, partial(SemiCRFLayer, max_length=2)])
def test_both_paths_refuse_the_same(layer: Any, use_kernels: bool) -> None:
    made = layer(2, use_kernels=use_kernels)
    shape = (2, 3, 2) if isinstance(made, ChainCRFLayer) else (2, 3, 2, 2)
    for value in (math.nan, math.inf, 1e30):
        scores = torch.zeros(shape)
        scores[1, 0] = value
        with pytest.raises(InvalidInput, match="scores of sequence 1: got NaN, "):
            made.log_partition(scores)
        made.log_partition(scores.flip(1), [3, 2])  # padding may hold anything
    never = [{}, {"allowed": {0: [0]}, "required": [(0, 1, 1)]}]
    for ask in (made.log_partition, made.marginals, made.entropy):
        with pytest.raises(Impossible, match="no segmentation of sequence 1 is possible"):
            ask(torch.zeros(shape), None, never)
    with torch.no_grad():
        assert made.log_partition(torch.zeros(shape), None, never)[1] == -math.inf
        made.transition[0, 0] = math.nan
    with pytest.raises(InvalidInput, match="transition"):
        made.log_partition(torch.zeros(shape))


def test_a_chain_has_no_long_segments() -> None:
    with pytest.raises(InvalidInput, match="not longer than max_length"):
        ChainCRFLayer(2)(torch.zeros(1, 3, 2), None, [[(0, 3, 0)]])


def test_too_many_histories_are_refused() -> None:
    layer = ChainCRFLayer(40, order=3).to("meta")
    with pytest.raises(TooLarge, match="lower the order"):
        layer.log_partition(torch.zeros(1, 3, 40, device="meta"))
    with pytest.raises(
        TooLarge, match="order: patterns of 8 of 9 labels have more than 20,000,000"
    ):
        ChainCRFLayer(9, order=8)


def test_without_torch_an_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import caesura.neural\n"
        "try: caesura.neural.ChainCRFLayer\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
        "try: caesura.neural.built\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingPackage caesura.neural.ChainCRFLayer needs torch")
    assert "a neural model needs torch, which is not installed; run pip install" in done.stdout
    assert issubclass(MissingPackage, ImportError)


@pytest.mark.parametrize("question", ["loss", "log_partition"])
def test_backward_twice_gives_the_same_gradient(question: str) -> None:
    torch.manual_seed(0)
    layer, scores = ChainCRFLayer(3), torch.randn(2, 4, 3, requires_grad=True)
    value = (
        layer(scores, [4, 2], torch.zeros(2, 4, dtype=torch.int64))
        if question == "loss"
        else layer.log_partition(scores, [4, 2]).mean()
    )
    inputs = [scores, layer.transition]
    first = torch.autograd.grad(3 * value, inputs, retain_graph=True)
    again = torch.autograd.grad(3 * value, inputs)
    for a, b in zip(first, again, strict=True):
        assert torch.allclose(a, b, atol=1e-7)
        assert a.abs().max() > 0
