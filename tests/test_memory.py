"""Input in memory: texts with spans, DataFrames with numbers, and what is never misread."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cli_data import good, write_lines

import caesura
from caesura import ChainCRF, Document, SemiCRF, corpora, to_tags
from caesura.documents import as_document
from caesura.errors import InvalidInput
from caesura.features import (
    Length,
    SegmentFunction,
    bias,
    dense,
    first,
    from_spec,
    function,
    previous,
    this,
    to_spec,
    word,
)
from caesura.features.dense_columns import is_standardised, standardised
from caesura.features.document_columns import DenseColumn
from caesura.models import PrunedSemiCRF

TEXTS = [
    {"text": "12 High Street, Leeds", "spans": [[0, 2, "number"], [16, 21, "town"]], "id": 1},
    {"text": "7 Park Lane, York", "spans": [[0, 1, "number"], [13, 17, "town"]], "id": 2},
]
Y = [[(0, 1, "number"), (4, 5, "town")]] * 2


def refused(text: str) -> Any:
    return pytest.raises(InvalidInput, match=re.escape(text))


@pytest.fixture(scope="module")
def addresses() -> SemiCRF:
    return SemiCRF(c2=0.1).fit(TEXTS)


# ---- texts with spans ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_texts_with_spans_are_sequences_everywhere(kind: Any) -> None:
    model = kind(c2=0.1).fit(TEXTS, X_dev=TEXTS)
    texts = [one["text"] for one in TEXTS]
    plain = kind(c2=0.1).fit(texts, Y, X_dev=texts, y_dev=Y)
    assert np.array_equal(model.weights_, plain.weights_)
    assert model.predict(TEXTS) == plain.predict(texts)
    assert model.predict_tags(TEXTS) == plain.predict_tags(texts)
    assert model.predict_confident(TEXTS) == plain.predict_confident(texts)
    assert model.predict_n_best(TEXTS, 2) == plain.predict_n_best(texts, 2)
    assert model.score(TEXTS) == plain.score(texts, Y) == model.score(TEXTS, Y)
    assert str(model.explain(TEXTS[0])[0]) == str(plain.explain(texts[0])[0])
    records = zip(model.extract(TEXTS).to_dicts(), plain.extract(texts).to_dicts(), strict=True)
    for i, (record, other) in enumerate(records, 1):
        assert record == {**other, "carried": {"id": i}}
    assert np.array_equal(model.uncertainty(TEXTS), plain.uncertainty(texts))
    assert model.calibrate(TEXTS).calibration_ is not None
    gold = [list(as_document(one).segments or ()) for one in TEXTS]
    assert caesura.evaluate(gold, model.predict(TEXTS)).micro.f1 == 1.0


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        ({"text": "a b", "spans": [[0, 9, "x"]]}, "X[0].spans[0]: got [0, 9, 'x'], expected"),
        ({"text": "a b", "spans": [[0, 1]]}, "X[0].spans[0]: got [0, 1], expected [start, end"),
        ({"text": "a b", "spans": 3}, "X[0].spans[0]: got 3, expected [start, end, label]"),
        ({"text": "a b", "spans": [[0, 3, "x"], [2, 3, "y"]]}, "X[0].spans[1]: got [2, 3, 'y']"),
        ({"spans": [[0, 1, "x"]]}, "X[0]: got {'spans'"),
        ({"text": "a b"}, "y[0]: got None, expected labels"),
    ],
)
def test_wrong_spans(x: Any, problem: str) -> None:
    with refused(problem):
        SemiCRF().fit([x])


# ---- DataFrames of numbers ----------------------------------------------------------------------


def recordings(number: int, seed: int = 0) -> tuple[list[pd.DataFrame], list[list[Any]]]:
    """Return recordings of a fast and a slow state, in columns far from unit size."""
    draw, X, y = np.random.default_rng(seed), [], []
    for _ in range(number):
        state = np.repeat([0, 1, 0], draw.integers(2, 6, 3))
        speed = 1000 + 300 * state + draw.normal(0, 30, len(state))
        pulse = 0.001 + draw.normal(0, 0.0001, len(state))
        X.append(pd.DataFrame({"speed": speed, "pulse": pulse}))
        edges = [0, *np.flatnonzero(np.diff(state)) + 1, len(state)]
        y.append([(int(a), int(b), ["slow", "fast"][state[a]]) for a, b in pairwise(edges)])
    return X, y


@pytest.fixture(scope="module")
def activity() -> SemiCRF:
    return SemiCRF(standardise=True).fit(*recordings(20))


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_standardised_numbers_are_those_that_one_would_give(kind: Any, tmp_path: Path) -> None:
    X, y = recordings(20)
    arrays = [x.to_numpy() for x in X]
    whole = np.concatenate(arrays)
    given = [(x - whole.mean(axis=0)) / whole.std(axis=0) for x in arrays]
    model, plain = kind(standardise=True).fit(X, y), kind().fit(given, y)
    assert model.weights_ == pytest.approx(plain.weights_, abs=1e-7)
    assert model.predict(X) == plain.predict(given)
    model.save(tmp_path / "model")
    loaded = caesura.load(tmp_path / "model")
    assert loaded.features_ == model.features_  # to the last bit
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert other.predict_confident(X) == model.predict_confident(X)
    again = loaded.set_params(warm_start=True).fit(X, y)
    assert again.features_ == model.features_
    assert again.weights_ == pytest.approx(model.weights_, abs=1e-3)


def test_tables_of_all_libraries_in_any_order(activity: SemiCRF) -> None:
    X, y = recordings(5, 1)
    found = activity.predict(X)
    assert activity.score(X, y) == 1.0
    turned = [x[["pulse", "speed"]] for x in X]
    for forms in (
        turned,
        [pl.DataFrame(x) for x in turned],
        [pl.DataFrame(x).lazy() for x in turned],
        [pa.Table.from_pandas(x) for x in turned],
        [x.astype({"speed": "Float64"}) for x in turned],
        [{"dense": x.to_numpy(), "dense_names": list(x.columns)} for x in turned],
        [x.to_numpy() for x in X],
    ):
        assert activity.predict(forms) == found
        assert activity.predict_confident(forms) == activity.predict_confident(X)
        assert activity.score(forms, y) == 1.0
        assert str(activity.explain(forms[0])[0]) == str(activity.explain(X[0])[0])


def test_explanations_name_the_columns(activity: SemiCRF) -> None:
    assert "dense[0]=speed" in str(activity.explain(recordings(1, 2)[0][0])[0])
    assert "dense[0]=speed" in str(activity.top_features("fast", n=9))


def test_whole_numbers_and_truth_values_are_numbers() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False]})

    def numbers(x: Any) -> Any:
        found = as_document(x).dense
        return None if found is None else found.tolist()

    assert numbers(frame) == [[1.0, 1.0], [2.0, 0.0]]
    assert as_document(frame).dense_names == ("a", "b")
    assert numbers(pl.DataFrame(frame)) == [[1.0, 1.0], [2.0, 0.0]]
    assert numbers(frame[:0]) == []


@pytest.mark.parametrize("make", [lambda x: x, pl.DataFrame, pa.Table.from_pandas])
def test_wrong_tables(activity: SemiCRF, make: Any) -> None:
    [x], _ = recordings(1)
    with refused("X[0].dense: got columns without pulse and with beat, expected those of the tr"):
        activity.predict([make(x.rename(columns={"pulse": "beat"}))])
    with refused("X[0].dense: got columns without pulse, expected those of the training data"):
        activity.predict([make(x[["speed"]])])
    with refused(
        "of which 'name' hold no numbers ('a' in row 0), expected one sequence as numbers"
    ):
        activity.predict([make(x.assign(name="a"))])
    gone = x.copy()
    gone.loc[1, "pulse"] = np.nan
    with refused("X[0]['pulse']: got nan in row 1, expected a finite number"):
        activity.predict([make(gone)])


def test_columns_of_one_name_are_refused() -> None:
    with refused("expected each column once; rename or drop some"):
        as_document(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with refused("dense_names: got ('a',), expected 2 different names"):
        Document(("",), dense=np.zeros((1, 2)), dense_names=("a",))
    with refused("dense_names: got names without dense"):
        Document(("",), dense_names=("a",))


def test_names_go_with_json_lines(tmp_path: Path) -> None:
    document: Any = as_document(recordings(1)[0][0])
    corpora.write(tmp_path / "a.jsonl", [document])
    again: Any = next(iter(corpora.read(tmp_path / "a.jsonl")))
    assert again.dense_names == ("speed", "pulse")
    assert np.array_equal(again.dense, document.dense)


# ---- functions of users and named columns -------------------------------------------------------


def height(document: Document, start: int, end: int) -> dict[str, float]:
    """Return the mean of the first column, which is the speed in training."""
    assert document.dense is not None
    return {"height": float(document.dense[start:end, 0].mean()) / 1000 - 1}


def rising(document: Document, t: int) -> dict[str, float]:
    assert document.dense is not None
    return {"height": float(document.dense[t, 0]) / 1000 - 1}


OF_USERS = [
    SemiCRF([bias[0], first(bias[0]), SegmentFunction(height, 6)], c2=0.01),
    ChainCRF([bias[0], function(rising)[0]], c2=0.01),
    PrunedSemiCRF(height, SemiCRF([bias[0], first(bias[0]), SegmentFunction(height, 6)], c2=0.01)),
]


@pytest.mark.parametrize("model", OF_USERS)
def test_functions_of_users_see_columns_in_the_order_of_training(
    model: Any, tmp_path: Path
) -> None:
    X, y = recordings(20)
    turned = [x[["pulse", "speed"]] for x in X]
    mixed = [turned[i] if i % 2 else x for i, x in enumerate(X)]
    of_mixed = model.fit(mixed, y).predict(X)
    assert model.fit(X, y).predict(X) == of_mixed
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "model")
    for one in (model, caesura.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert one.predict(turned) == model.predict(X)
        with refused("X[0].dense: got columns without speed and with pace, expected those of"):
            one.predict([x.rename(columns={"speed": "pace"}) for x in X])
        assert one.predict([x.to_numpy() for x in X]) == model.predict(X)


def test_parts_have_columns_in_the_order_of_the_first() -> None:
    X, y = recordings(20)
    features = [bias[0], first(bias[0]), SegmentFunction(height, 6)]
    turned = [x[["pulse", "speed"]] for x in X[10:]]
    parts = [(X[:10], y[:10]), (turned, y[10:])]
    model = SemiCRF(features, c2=0.01).fit_parts(parts)
    assert model.weights_ == pytest.approx(SemiCRF(features, c2=0.01).fit(X, y).weights_)


def test_models_with_previous_segments_store_the_order_of_columns(tmp_path: Path) -> None:
    X, y = recordings(20)
    names = ("speed", "pulse")
    given = [Document(("x",) * len(x), dense=x.to_numpy(), dense_names=names) for x in X]
    flipped = [x.to_numpy()[:, ::-1] for x in X]
    turned = [
        replace(a, dense=b, dense_names=names[::-1]) for a, b in zip(given, flipped, strict=True)
    ]
    features = [function(rising)[0], this.length & previous.length]
    model = SemiCRF(features, max_length="observed").fit(given, y)
    model.save(tmp_path / "model")
    for one in (model, caesura.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert one.predict(turned) == model.predict(given)


# ---- standardise --------------------------------------------------------------------------------


def test_what_standardise_learns() -> None:
    draw = np.random.default_rng(3)
    whole = draw.normal(size=(30, 3)) * [1e6, 1e-6, 0] + [1e9, 0, 5]
    documents = [Document(("",) * 10, dense=part) for part in np.split(whole, 3)]
    feature: Any
    other: Any
    [feature, other] = standardised([dense[0], first(dense[1])], documents)
    column = feature.parts[0][0]
    assert other.parts[0][0] == column
    assert column.mean == pytest.approx(whole.mean(axis=0), rel=1e-12)
    assert column.scale == pytest.approx([*whole.std(axis=0)[:2], 1.0], rel=1e-9)
    scaled = column.scaled(whole)
    assert scaled.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-9)
    assert scaled.std(axis=0) == pytest.approx([1, 1, 0])
    assert from_spec(to_spec([feature])) == [feature]
    assert "mean" not in str(to_spec([dense[0]]))


def test_numbers_far_from_all_others_are_warned_of() -> None:
    draw = np.random.default_rng(5)
    X = [draw.normal(size=(T, 2)) * [1.0, 1e6] for T in (20, 0, 30, 40)]
    y = [["x"] * (len(x) // 2) + ["y"] * (len(x) - len(x) // 2) for x in X]
    fitted = SemiCRF(standardise=True).fit(X, y)  # a warning is an error here
    X[2][7, 0] = -5e4
    far = r"X\[2\]: -50000 in row 7, column 'x0', is [0-9]{2},[0-9]{3} times as far from the median"
    with pytest.warns(UserWarning, match=far) as caught:
        again = SemiCRF(standardise=True).fit(X, y)
    assert caught[0].filename == __file__
    assert again.features_ != fitted.features_
    spikes = np.zeros((40, 1))
    spikes[3] = 1.0  # mostly one value
    SemiCRF(standardise=True).fit([spikes], [["x"] * 20 + ["y"] * 20])


def test_events_of_an_idle_column_are_not_warned_of() -> None:
    draw = np.random.default_rng(6)

    def taps(count: int, rows: int) -> tuple[Any, Any]:
        x = draw.normal(size=(rows, 1)) * 1e-4
        x[10 : 10 + count] += 1.0
        return [x], [["idle"] * (rows // 2) + ["tap"] * (rows - rows // 2)]

    for count, rows in ((20, 500), (2, 500), (4, 5000)):
        SemiCRF(standardise=True).fit(*taps(count, rows))  # a warning is an error here
    for count, rows in ((1, 500), (3, 5000)):
        with pytest.warns(UserWarning, match="times as far from the median"):
            SemiCRF(standardise=True).fit(*taps(count, rows))


def test_a_label_of_one_row_beside_many_is_warned_of() -> None:
    X, y = recordings(20)
    rows: list[Any] = [to_tags(one, "plain", len(x)) for x, one in zip(X, y, strict=True)]
    SemiCRF(standardise=True).fit(X, rows)
    rows[4][2] += "x"
    wrong = (
        rf"y\[4\]: the label '{rows[4][2]}' has 1 row in all training data, and each other label"
    )
    for kind in (SemiCRF, ChainCRF):
        with pytest.warns(UserWarning, match=wrong):
            kind(standardise=True).fit(X, rows)


def test_lengths_that_do_not_occur_are_warned_of() -> None:
    X, y = [["a", "b", "c", "d"]] * 2, [[(0, 2, "x"), (2, 4, "y")]] * 2
    for none in (
        Length(exact=1),
        Length(exact=[1, 3]),
        Length(at_least=3),
        Length(ranges=[(3, 9)]),
    ):
        with pytest.warns(UserWarning, match=r"no training segment .* \(the lengths are 2 to 2\)"):
            model = SemiCRF([word[0], none]).fit(X, y)
        assert not any("length" in top.feature for top in model.top_features(n=99))
        model = SemiCRF([word[0], none], all_possible_states=True).fit(X, y)
        assert any("length" in top.feature for top in model.top_features(n=99))
    SemiCRF([word[0], Length(exact=[1]), Length(exact=[2])]).fit(X, y)


@pytest.mark.parametrize("wrong", [((1.0,), ()), ((1.0,), (0.0,)), ((np.nan,), (1.0,))])
def test_wrong_scales(wrong: Any) -> None:
    with refused("scale: got"):
        DenseColumn(*wrong)


def test_streams_and_batches_learn_it_from_the_first() -> None:
    X, y = recordings(20)
    streamed = SemiCRF(standardise=True, stream=True, learner="sgd").fit(X, y)
    assert streamed.features_ == SemiCRF(standardise=True).fit(X, y).features_
    assert streamed.score(X, y) > 0.9
    online = SemiCRF(standardise=True, learner="perceptron").partial_fit(X[:10], y[:10])
    kept = online.features_
    assert online.partial_fit(X[10:], y[10:]).features_ == kept
    generated = SemiCRF(standardise=True, features=[dense[0]]).fit(iter(X), iter(y))
    assert is_standardised(generated.features_)


def test_wrong_uses_of_standardise() -> None:
    X, y = recordings(3)
    with refused("standardise: got 'yes', expected True or False"):
        SemiCRF(standardise="yes").fit(X, y)  # type: ignore[arg-type]
    with refused("standardise: got True, expected features that look at dense numbers"):
        SemiCRF(standardise=True).fit(["a b"], [[(0, 1, "x")]])
    model = SemiCRF(standardise=True, warm_start=True).fit(X, y)
    with refused("standardise: got False, expected True, as in the previous fit"):
        model.set_params(standardise=False).fit(X, y)
    model.set_params(standardise=True, features=[dense[0]])
    with refused("features: got"):
        model.fit(X, y)


def test_columns_that_are_far_from_one_get_a_hint() -> None:
    with pytest.warns(UserWarning, match="pass standardise=True, which subtracts their means"):
        SemiCRF(max_iterations=2).fit(*recordings(3))


def test_standardise_on_the_command_line(tmp_path: Path) -> None:
    X, y = recordings(10)
    records = [
        {"dense": x.to_numpy().tolist(), "dense_names": list(x.columns), "segments": segments}
        for x, segments in zip(X, y, strict=True)
    ]
    data = write_lines(tmp_path / "a.jsonl", records)
    good("train", data, "-o", tmp_path / "model", "--standardise")
    assert good("evaluate", tmp_path / "model", data, "--json").json["micro"]["f1"] == 1.0


# ---- what is never misread ----------------------------------------------------------------------

ASKED = ["predict", "predict_confident", "predict_tags", "predict_marginals", "uncertainty"]


@pytest.mark.parametrize("name", ASKED)
def test_a_frame_is_not_a_list_of_sequences(name: str, addresses: SemiCRF) -> None:
    frame = pd.DataFrame({"title": ["12 High Street"]})
    for one in (frame, pl.DataFrame(frame), pa.Table.from_pandas(frame)):
        with refused("with the columns 'title', expected a list of sequences; pass a column of te"):
            getattr(addresses, name)(one)


def test_other_questions_about_a_frame(addresses: SemiCRF, activity: SemiCRF) -> None:
    frame = pd.DataFrame({"title": ["12 High Street"]})
    hint = "expected a list of sequences; pass a column of texts"
    for ask in (SemiCRF().fit, addresses.score, addresses.calibrate):
        with refused(hint):
            ask(frame, [[]])
    with refused(
        "of which 'title' hold no numbers ('12 High Street' in row 0), expected one sequence"
    ):
        addresses.explain(frame)
    [x], _ = recordings(1)
    with refused("; for numbers, pass a list with a frame for each recording, such as [X]"):
        activity.predict(x)
    with refused("X[0]: got numbers without words, expected tokens or a text"):
        addresses.predict([x])
    assert addresses.predict(frame["title"]) == addresses.predict(["12 High Street"])


@pytest.mark.parametrize(
    "many",
    [
        ["12 High Street", "7 Park Lane"],
        ["12 High Street", "Leeds"],
        TEXTS,
        [[["a"], ["b"]]],
        [Document(("a",))],
        pd.Series(["12 High Street", "Leeds"]),
    ],
)
def test_many_sequences_are_not_one(many: Any, addresses: SemiCRF) -> None:
    for ask in (addresses.explain, addresses.potentials):
        with refused("x: got "):
            ask(many)


def test_one_sequence_is_one(addresses: SemiCRF) -> None:
    tokens = ["12", "High", "Street", ",", "Leeds"]
    assert addresses.explain(tokens)[0].segment == addresses.explain(" ".join(tokens))[0].segment
    spaced = Document(("New York", "Leeds"))
    assert isinstance(addresses.explain(spaced), list)
    bags = SemiCRF().fit([[["w=a"], {"w=b": 1.0}]], [[(0, 1, "x")]])
    assert isinstance(bags.explain([["w=a"], {"w=b": 1.0}]), list)
    assert isinstance(bags.explain([{"text": 1.0}, {"text": 1.0}]), list)


def test_names_of_files_get_a_hint(addresses: SemiCRF, tmp_path: Path) -> None:
    path = str(write_lines(tmp_path / "train.jsonl", TEXTS))
    hint = f"not the name of a file with texts; pass caesura.corpora.read({path!r}"
    for name in ASKED:
        for X in (path, [path], [Path(path)], Path(path)):
            with refused(hint):
                getattr(addresses, name)(X)
    for ask in (SemiCRF().fit, addresses.score, addresses.calibrate):
        for X in (path, [path]):
            with refused(hint):
                ask(X, [[]])
    with refused(hint):
        addresses.explain(path)
    with refused(hint):
        addresses.extract([path])
    assert (
        addresses.predict(["no such file.jsonl"])[0] == addresses.predict(["no such file.jsonl"])[0]
    )
