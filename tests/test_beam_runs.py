"""Models that look back or have a beam: interrupted runs, probabilities, and changed settings."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_data import bad, good

import caesura
from caesura import _kernels, demo
from caesura.corpora import write
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput
from caesura.features import Incremental, earlier, previous, this, word, word_templates
from caesura.models.fitted import Labelling

DOCUMENTS, HELD_OUT = demo.addresses(40, seed=0), demo.addresses(30, seed=1)
OPTIONS: dict[str, Any] = {"max_length": "observed", "learner": "perceptron", "max_iterations": 6}


class Count:
    """Say how many segments there are before."""

    def attributes(self, tokens: Any, before: Any, segment: Any) -> str:
        return f"{len(before)} before"


KINDS: dict[str, Any] = {
    "words": lambda: caesura.SemiCRF(word_templates(), beam=4, **OPTIONS),
    "early": lambda: caesura.SemiCRF(word_templates(), beam=1, update="early", **OPTIONS),
    "exact": lambda: caesura.SemiCRF([this.text, previous.text & this.text], **OPTIONS),
    "trigrams": lambda: caesura.SemiCRF([this.text, earlier.text & this.text], **OPTIONS),
    "own": lambda: caesura.SemiCRF([this.text, Incremental(Count)], beam=2, **OPTIONS),
    "tags": lambda: caesura.ChainCRF(beam=4, learner="perceptron", max_iterations=6),
    "lbfgs": lambda: caesura.SemiCRF(
        [this.text, previous.text & this.text], **(OPTIONS | {"learner": "lbfgs"})
    ),
}


# ---- checkpoints ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dev", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_interrupted_ends_in_the_same_model(
    kind: str, dev: bool, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"X_dev": HELD_OUT} if dev else {}
    path, files = tmp_path / "run", [tmp_path / "whole", tmp_path / "resumed"]
    whole = KINDS[kind]().fit(DOCUMENTS, **more)
    stop = [lambda progress: progress.iteration == 3]
    part = KINDS[kind]().fit(DOCUMENTS, checkpoint=path, callbacks=stop, **more)
    assert part.status_ == "callback"
    resumed = KINDS[kind]().fit(DOCUMENTS, checkpoint=path, **more)
    whole.save(files[0])
    resumed.save(files[1])
    assert files[0].read_bytes() == files[1].read_bytes()
    kept: list[Any] = [[p._replace(seconds=0.0) for p in one.history_] for one in (whole, resumed)]
    np.testing.assert_equal(kept[0], kept[1])  # NaN is NaN
    assert whole.status_ == resumed.status_
    longer = KINDS[kind]().set_params(max_iterations=8).fit(DOCUMENTS, checkpoint=path, **more)
    assert len(longer.history_) == 8


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"beam": 3}, "beam 4"),
        ({"update": "early"}, "update max-violation"),
        ({"random_state": 5}, "seed 0"),
    ],
)
def test_other_settings_do_not_go_on(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    KINDS["words"]().fit(DOCUMENTS, checkpoint=path)
    with pytest.raises(InvalidInput, match=f"checkpoint: got .a run.*({said})"):
        KINDS["words"]().set_params(**changed).fit(DOCUMENTS, checkpoint=path)


def test_other_data_does_not_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run"
    KINDS["words"]().fit(DOCUMENTS, checkpoint=path, X_dev=HELD_OUT)
    for data, dev in (
        (HELD_OUT, HELD_OUT),
        (DOCUMENTS, None),
        (DOCUMENTS, DOCUMENTS[:9]),
        ([*DOCUMENTS[1:], DOCUMENTS[0]], HELD_OUT),
    ):
        with pytest.raises(InvalidInput, match="checkpoint: got 'a run with"):
            KINDS["words"]().fit(data, checkpoint=path, X_dev=dev)
    weight = np.full(len(DOCUMENTS), 2.0)
    with pytest.raises(InvalidInput, match="checkpoint: got 'a run with labels"):
        KINDS["words"]().fit(DOCUMENTS, sample_weight=weight, checkpoint=path, X_dev=HELD_OUT)


def test_checkpoints_on_the_command_line(tmp_path: Path) -> None:
    data, model, run = (tmp_path / name for name in ("data.jsonl", "parts.model", "run"))
    write(data, DOCUMENTS)
    told = ("--learner", "perceptron", "--beam", 4, "--update", "early", "--max-length", "observed")
    arguments = ("train", data, "-o", model, *told, "--checkpoint", run, "--quiet")
    good(*arguments, "--max-iterations", 2)
    fitted = caesura.load(model)
    assert (fitted.beam, fitted.update, fitted.learner) == (4, "early", "perceptron")
    assert "--resume to continue" in bad(*arguments, "--max-iterations", 4)
    good(*arguments, "--max-iterations", 4, "--resume")
    resumed = model.read_bytes()
    run.unlink()
    good(*arguments, "--max-iterations", 4)
    assert model.read_bytes() == resumed


def test_no_text_is_forgotten_as_more_come() -> None:
    """Texts share bits, of which there are more as more texts come."""
    model = SpanEncoder([this.text]).new_model(1, True)
    hashes = np.random.default_rng(0).integers(0, 2**63, 5000, dtype=np.uint64)
    for hash in hashes:
        model.know(0, np.array([hash, hash]))
    np.testing.assert_array_equal(model.known(0), hashes)
    bits = model.texts(0)
    assert len(bits) * 64 >= 16 * len(hashes)
    words = (hashes // np.uint64(64)) & np.uint64(len(bits) - 1)
    assert ((bits[words.astype(np.int64)] >> (hashes % np.uint64(64))) & np.uint64(1)).all()


# ---- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["words", "exact", "tags"])
def test_scores_become_probabilities(kind: str, tmp_path: Path) -> None:
    model = KINDS[kind]().fit(DOCUMENTS)
    before = model.predict(HELD_OUT)
    with pytest.warns(UserWarning, match="uncalibrated margin model"):
        model.predict_confident(HELD_OUT[:1])
    model.calibrate(HELD_OUT)
    assert model.temperature_ not in (None, 1.0)
    for was, now, (first, second) in zip(
        before, model.predict(HELD_OUT), model.predict_n_best(HELD_OUT, 2), strict=True
    ):
        assert was == now or first[1] - second[1] < 1e-9  # one of equals may be another now
    found = model.predict_confident(HELD_OUT, precision=0.9)
    assert all(one.calibrated for some in found for one in some)
    assert any(one.review for some in found for one in some)
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.predict_confident(HELD_OUT, precision=0.9) == found
    assert again.predict_n_best(HELD_OUT[:3], 4) == model.predict_n_best(HELD_OUT[:3], 4)


@pytest.mark.parametrize("kind", ["words", "exact", "tags"])
def test_no_other_temperature_makes_the_labels_more_likely(kind: str) -> None:
    model = KINDS[kind]().fit(DOCUMENTS).calibrate(HELD_OUT)
    fitted = model._known
    longest = dict(zip(fitted.structure.states, fitted.structure.bounds.tolist(), strict=True))
    held = [  # what the model can say
        document
        for document in HELD_OUT
        if model.kind == "chain" or all(e - s <= longest[y] for s, e, y in document.segments or ())
    ]
    assert len(held) > 20

    def likelihood(share: float) -> float:
        scaled: Any = fitted.parameters
        scaled = scaled.scaled(share)
        _, bounds, barred, first, last = fitted.structure
        scorer = _kernels.SpanScorer(
            scaled, np.ascontiguousarray(bounds), barred, first, last, None, None
        )
        labelling = Labelling(fitted.structure, fitted.labels, fitted.scheme, fitted.scheme)
        corpus: Any = fitted.encoder.encode(held, False)
        total = -sum(scorer.log_partition(corpus, 1))
        for i, document in enumerate(held):
            row = model.coding.rows(document.segments, len(document), labelling, "y")
            total += scorer.score(corpus, i, np.ascontiguousarray(row))
        return float(total)

    assert likelihood(1.0) >= max(likelihood(0.99), likelihood(1.01)) - 1e-6


@pytest.mark.parametrize("learner", ["perceptron", "lbfgs"])
@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_probabilities_of_runs_of_tags_are_sums_over_taggings(learner: str, scheme: str) -> None:
    features = [word[0], word[-1] & word[0], previous.label & this.text]
    model = caesura.ChainCRF(features, scheme=scheme, learner=learner, max_iterations=3)
    model.fit(DOCUMENTS)
    short = [document for document in HELD_OUT if len(document) <= 5][:4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        confident = model.predict_confident(short)
    for some, answers in zip(confident, model.predict_n_best(short, 20_000), strict=True):
        left = 1.0 - sum(chance for _, chance in answers)
        for one in some:
            total = sum(chance for path, chance in answers if one.segment in path)
            assert total - 1e-9 <= one.probability <= total + left + 1e-9
        assert left < 0.05


@pytest.mark.parametrize("kind", ["trigrams", "own"])
def test_what_is_only_searched_has_no_temperature(kind: str) -> None:
    model = KINDS[kind]().fit(DOCUMENTS)
    with pytest.raises(InvalidInput, match="calibrate: not available for features that look back"):
        model.calibrate(HELD_OUT)
    assert model.temperature_ is None


# ---- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [caesura.SemiCRF, caesura.ChainCRF])
def test_a_beam_is_refused_by_a_model_without_one(kind: Any) -> None:
    model = kind(c2=0.1, max_iterations=3).fit(DOCUMENTS)
    before = model.predict(HELD_OUT)
    model.set_params(beam=4)
    for ask in (model.predict, model.predict_confident, lambda X: model.predict_n_best(X, 2)):
        with pytest.raises(InvalidInput, match="beam: got 4, expected None for a model that was"):
            ask(HELD_OUT)
    assert model.set_params(beam=None).predict(HELD_OUT) == before
