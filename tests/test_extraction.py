"""Records of texts: fields with text, place, probability and value; tables of them; files."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import addresses, bags_of

import caesura
from caesura import ChainCRF, Document, InvalidInput, Segment, SemiCRF, persistence, text_of
from caesura.extraction import BETWEEN, Record, Records, Value
from caesura.features import earlier, edge, previous, this, word
from caesura.normalisers import NORMALISERS

TEXTS = ["12 High Street, Leeds", "7 Park Lane, York (North).", "3 Mill Road Leeds"]
SEGMENTS = [
    [(0, 1, "number"), (1, 3, "street"), (4, 5, "town")],
    [(0, 1, "number"), (1, 3, "street"), (4, 9, "town")],
    [(0, 1, "number"), (1, 3, "street"), (3, 4, "town")],
]
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def model() -> SemiCRF:
    return SemiCRF(c2=0.1).fit(TEXTS, SEGMENTS)


def shouted(text: str) -> str:
    return text.upper()


def fails(text: str) -> str:
    raise RuntimeError("no")


# -- the text of a segment -------------------------------------------------------------------------


def test_text_of_a_segment() -> None:
    assert text_of("12 High Street, Leeds", Segment(4, 5, "town")) == "Leeds"
    assert text_of("12 High Street, Leeds", (1, 4)) == "High Street,"
    assert text_of(["New", "York"], (0, 2)) == "New York"
    assert text_of("ab c", (1, 3), "characters") == "b c"
    assert Document.from_text("a  b").text_of((0, 2)) == "a  b"


@pytest.mark.parametrize("wrong", [(0, 6), (1, 1), (-1, 1), "ab", None, (0,), 3])
def test_what_is_no_segment_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^segment: got "):
        text_of("12 High Street, Leeds", wrong)


# -- records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_extract_agrees_with_what_models_predict(kind: Any) -> None:
    X, y = addresses(30, seed=1)
    texts = [" ".join(x) for x in X]
    model = kind(c2=0.1).fit(texts, y)
    model.calibrate(texts, y)
    found = model.extract(texts)
    assert isinstance(found, Records)
    assert found.labels == model.columns_
    confident, best = model.predict_confident(texts), model.predict_n_best(texts, 1)
    for text, record, segments, ((top, whole),) in zip(texts, found, confident, best, strict=True):
        assert record.text == text
        assert record.probability == whole
        assert top == [one.segment for one in segments]
        assert len(record.fields) == len(segments)
        for (label, value), one in zip(record.fields, segments, strict=True):
            assert label == one.segment.label
            assert value.probability == one.probability
            assert value.text == text[value.start : value.end] == text_of(text, one.segment)


def test_constraints_hold(model: SemiCRF) -> None:
    rules = {"required": [(3, 4, "town")]}
    record = model.extract(["9 Elm Road York"], constraints=rules)[0]
    assert record.first("town") is not None
    assert [v.text for v in record["town"]] == ["York"]
    each = model.extract(["9 Elm Road York", "9 Elm Road"], constraints=[rules, {}])
    assert each[0] == record
    assert each[1]["town"] == ()


def test_a_record_is_a_mapping(model: SemiCRF) -> None:
    record = model.extract(["12 High Street, Leeds"])[0]
    assert list(record) == ["number", "street", "town"]
    assert [value.value for value in record["street"]] == ["High Street"]
    empty = model.extract([""])[0]
    assert dict(empty) == {"number": (), "street": (), "town": ()}
    assert empty.first("town") is None
    with pytest.raises(KeyError):
        record["city"]
    assert "street='High Street'" in repr(record)


def test_values_are_normalised_by_label(model: SemiCRF) -> None:
    record = model.extract([TEXTS[1]])[0]
    town = record.first("town")
    assert town is not None
    assert (town.text, town.value) == ("York (North).", "York (North)")


def test_tokens_and_documents_have_records_too(model: SemiCRF) -> None:
    tokens = ["12", "High", "Street", ",", "Leeds"]
    plain, document = model.extract([tokens, Document.from_text(TEXTS[0])])
    assert plain.text == "12 High Street , Leeds"
    assert [value.text for value in plain["town"]] == ["Leeds"]
    assert document.text == TEXTS[0]
    X, y = addresses(5, seed=1)
    bags = ChainCRF().fit([bags_of(x) for x in X], y)
    with pytest.raises(InvalidInput, match=r"^texts\[0\]: got attributes .* without words"):
        bags.extract([bags_of(X[0])])


def test_one_text_is_refused(model: SemiCRF) -> None:
    with pytest.raises(InvalidInput, match="put a single sequence into a list"):
        model.extract("12 High Street")
    with pytest.raises(InvalidInput, match="not fitted"):
        SemiCRF().extract(["a"])


def test_models_that_only_search_have_no_probabilities() -> None:
    X, y = addresses(20, seed=1)
    features = [this.text, previous.label & this.first, earlier.label & this.first]
    deep = SemiCRF(features, max_length=6, learner="perceptron")
    shallow = SemiCRF(features[:2], max_length=6)
    never = ChainCRF([word[0], edge(word[0])], forbid_invalid="never").fit(X, y)
    assert [r.probability for r in never.extract(X[:3])] == [None] * 3
    assert all(v.probability is not None for r in never.extract(X[:3]) for _, v in r.fields)
    deep.fit(X, y)
    for record, segments in zip(deep.extract(X[:3]), deep.predict(X[:3]), strict=True):
        assert [label for label, _ in record.fields] == [segment.label for segment in segments]
        assert record.probability is None
        assert all(value.probability is None for _, value in record.fields)
    found = shallow.fit(X, y).extract(X[:3])
    assert all(0 < (record.probability or 0) <= 1 for record in found)


def test_the_neural_segmenter_has_records() -> None:
    from caesura.neural import NeuralSegmenter

    X = [["see", "Ann", "Lee"], ["Ann", "Lee", "ran"]] * 4
    y = [[(1, 3, "name")], [(0, 2, "name")]] * 4
    model = NeuralSegmenter(epochs=15, rate=0.02, hidden=8).fit(X, y)
    record = model.extract(["see Ann Lee"])[0]
    [confident] = model.predict_confident(["see Ann Lee"])[0]
    assert [tuple(one) for one in record["name"]] == [
        ("Ann Lee", 4, 11, confident.probability, "Ann Lee")
    ]
    assert record.probability is not None
    assert 0 < record.probability <= 1


# -- normalisers -----------------------------------------------------------------------------------


def test_normalisers_are_chosen_by_label(model: SemiCRF) -> None:
    mine = pickle.loads(pickle.dumps(model))
    assert mine.set_normalisers({"town": "lower", "street": shouted}) is mine
    assert mine.normalisers_ == {"number": "punctuation", "street": shouted, "town": "lower"}
    record = mine.extract([TEXTS[0]])[0]
    assert [value.value for _, value in record.fields] == ["12", "HIGH STREET", "leeds"]
    again = pickle.loads(pickle.dumps(mine))
    assert again.normalisers_ == mine.normalisers_
    assert model.normalisers_["town"] == "punctuation"


def test_wrong_normalisers_are_refused(model: SemiCRF) -> None:
    with pytest.raises(InvalidInput, match=r"normalisers\['town'\]: got 'upper', expected one of"):
        model.set_normalisers({"town": "upper"})
    with pytest.raises(InvalidInput, match="got 'city', expected labels of the model"):
        model.set_normalisers({"city": "lower"})
    with pytest.raises(InvalidInput, match="a dict from label to name"):
        model.set_normalisers("lower")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not fitted"):
        SemiCRF().set_normalisers({"town": "lower"})
    bad = pickle.loads(pickle.dumps(model)).set_normalisers({"town": fails})
    with pytest.raises(InvalidInput, match=r"normalisers\['town'\]: raised RuntimeError .*: no"):
        bad.extract([TEXTS[0]])


def test_files_keep_normalisers_by_name(model: SemiCRF, tmp_path: Path) -> None:
    mine = pickle.loads(pickle.dumps(model)).set_normalisers({"town": "lower"})
    mine.save(tmp_path / "m")
    assert caesura.load(tmp_path / "m").normalisers_ == mine.normalisers_


def test_functions_of_the_library_are_not_called_without_trust(
    model: SemiCRF, tmp_path: Path
) -> None:
    """A file could name one that deletes files or imports modules."""
    model.save(tmp_path / "m")
    header, arrays = persistence.read(tmp_path / "m", "model")
    for name in ("caesura.scale.places:remove", "caesura.features.specs:_resolved"):
        header["normalisers"] = {"town": name}
        persistence.write(tmp_path / "m", "model", header, arrays)
        with pytest.raises(InvalidInput, match=r"function: got 'caesura\..*trust=True"):
            caesura.load(tmp_path / "m")


def test_functions_of_normalisers_are_stored_by_name(model: SemiCRF, tmp_path: Path) -> None:
    mine = pickle.loads(pickle.dumps(model)).set_normalisers({"town": NORMALISERS["lower"]})
    mine.save(tmp_path / "m")
    assert caesura.load(tmp_path / "m").normalisers_["town"] == "lower"


def test_a_function_of_a_user_is_loaded_only_with_trust(model: SemiCRF, tmp_path: Path) -> None:
    (tmp_path / "own_normalisers.py").write_text("def loud(text):\n    return text.upper()\n")
    model.save(tmp_path / "plain")
    code = """if True:
        import sys
        sys.path.insert(0, ".")
        import caesura
        if sys.argv[1] == "save":
            from own_normalisers import loud
            caesura.load("plain").set_normalisers({"town": loud}).save("own")
            raise SystemExit
        try:
            caesura.load("own")
        except caesura.InvalidInput as error:
            print(error)
        assert "own_normalisers" not in sys.modules
        model = caesura.load("own", trust=True)
        print(model.extract(["12 High Street, Leeds"])[0].first("town").value)
    """
    for step in ("save", "load"):
        done = subprocess.run(
            [sys.executable, "-c", code, step],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    assert "got 'own_normalisers:loud'" in done.stdout
    assert "trust=True" in done.stdout
    assert done.stdout.endswith("LEEDS\n")


def test_a_lambda_cannot_be_saved(model: SemiCRF, tmp_path: Path) -> None:
    mine = pickle.loads(pickle.dumps(model)).set_normalisers({"town": lambda text: text})
    with pytest.raises(InvalidInput, match="unlike a lambda"):
        mine.save(tmp_path / "m")


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.model")), ids=lambda file: file.name)
def test_older_files_have_the_defaults(file: Path) -> None:
    model = caesura.load(file)
    assert set(model.normalisers_) == set(model.labels_)
    assert all(isinstance(one, str) for one in model.normalisers_.values())


# -- tables ----------------------------------------------------------------------------------------


def two() -> Records:
    town = Value("York.", 9, 14, 0.75, "York")
    again = Value("Leeds", 15, 20, 0.5, "Leeds")
    labels = ["street", "town", "text"]
    return Records(
        [
            Record("9 Elm Rd York. Leeds", [("town", town), ("town", again)], labels, 0.25),
            Record("x", [], labels, None),
        ],
        labels,
    )


def test_columns() -> None:
    columns = two().columns()
    assert columns == {
        "text": ["9 Elm Rd York. Leeds", "x"],
        "street": [None, None],
        "town": [f"York{BETWEEN}Leeds", None],
        "text_2": [None, None],
        "probability": [0.25, None],
    }
    detailed = two().columns(details=True, verbatim=True)
    assert detailed["town"] == ["York. | Leeds", None]
    assert detailed["town_start"] == [9, None]
    assert detailed["town_end"] == [20, None]
    assert detailed["town_probability"] == [0.5, None]


def test_pandas_and_arrow() -> None:
    frame = two().to_pandas(details=True)
    assert list(frame.columns[:3]) == ["text", "street", "street_start"]
    assert frame["town_start"].dtype == "Int64"
    assert frame["town_start"].isna().tolist() == [False, True]
    assert frame["probability"].dtype == np.float64
    table = two().to_arrow()
    assert str(table.schema.field("street").type) == "string"
    assert table.to_pylist()[0]["town"] == "York | Leeds"
    assert len(Records((), ["a"]).to_pandas()) == 0
    assert Records((), ["a"]).to_arrow().num_rows == 0


def test_values_of_a_users_function_keep_their_type(model: SemiCRF) -> None:
    mine = pickle.loads(pickle.dumps(model)).set_normalisers({"number": int})
    assert mine.extract(TEXTS).columns()["number"] == [12, 7, 3]
    assert str(mine.extract(TEXTS).to_arrow().schema.field("number").type) == "int64"


def test_dicts_are_plain(model: SemiCRF) -> None:
    records = model.extract(TEXTS)
    again = json.loads(json.dumps(records.to_dicts()))
    assert again == records.to_dicts()
    assert again[0]["fields"]["town"][0]["text"] == "Leeds"
    assert again[0]["probability"] == records[0].probability


def test_packages_for_tables_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in (("pandas", "to_pandas"), ("pyarrow", "to_arrow")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=rf"needs {name}, .* 'caesura\[tables\]'"):
            getattr(two(), method)()
