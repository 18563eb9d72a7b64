"""The models that come with Caesura: what they say and hold, and who else has their name."""

import pickle
import re
from pathlib import Path

import pytest
from cli_data import bad, good

import caesura
from caesura.ready import READY, ready_path, resolve

REFERENCE = "Knuth, D. E. (1998). The art of computer programming. Reading: Addison-Wesley."
ADDRESS = "123 N. Main St., Apt. 4, Springfield, IL 62704"


@pytest.mark.parametrize("name", READY)
def test_a_model_is_small_calibrated_and_says_where_it_is_from(name: str) -> None:
    model = caesura.load(name)
    assert ready_path(name).stat().st_size < 2_500_000
    assert model.calibration_ is not None
    assert set(model.about_) == {"about", "origin", "copyright", "licence", "scores", "made"}
    assert "WITHOUT WARRANTY" in model.about_["licence"] or "AS IS" in model.about_["licence"]
    assert "Copyright" in model.about_["licence"]
    assert re.search(r"F1 \d\d\.\d\d", model.about_["scores"])


def test_references_are_read_at_once() -> None:
    record = caesura.load("citations").extract([REFERENCE])[0]
    assert record["author"][0].text.startswith("Knuth, D. E.")
    assert record["date"][0].value == "1998"
    assert record["title"][0].text == "The art of computer programming."


def test_addresses_are_cut_as_usaddress_cuts_them() -> None:
    model = caesura.load("addresses")
    found = model.extract([ADDRESS])[0]
    texts = {label: [one.text for one in found[label]] for label in found if found[label]}
    assert texts["AddressNumber"] == ["123"]
    assert texts["StreetNamePostType"] == ["St.,"]
    assert texts["PlaceName"] == ["Springfield,"]
    assert texts["ZipCode"] == ["62704"]


@pytest.mark.parametrize("name", READY)
def test_no_feature_tells_more_than_one_word(name: str) -> None:
    """A value is a word, an affix or a shape; marks and classes have names with spaces."""
    model = caesura.load(name)
    seen = 0
    for feature, _, _ in model.top_features(n=10**6):
        value = feature.rpartition("=")[2]
        words = re.findall(r"[^\W\d_]{4,}", value)
        if re.search(r"\b(lower|word|prefix|suffix|zeroed)\b", feature.rpartition("=")[0]):
            seen += 1
            assert len(value.split()) <= 1, feature
            assert "&" not in feature.rpartition("=")[0], feature
            assert len(words) <= 2, feature  # one token, as in St.Paul
    assert seen > 1000


def test_commands_know_the_names(tmp_path: Path) -> None:
    texts = tmp_path / "refs.txt"
    texts.write_text(f"{REFERENCE}\n", "utf-8")
    out = tmp_path / "out.csv"
    good("segment", "citations", texts, "-o", out)
    assert "Knuth, D. E." in out.read_text("utf-8")
    shown = good("inspect", "citations").out
    assert "AnyStyle" in shown
    assert "Sylvester Keil" in shown
    assert "comes with Caesura: addresses, citations" in bad("segment", "no.model", texts)


def test_a_file_of_the_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    caesura.SemiCRF().fit(["a b"], [[(0, 1, "mine")]]).save("citations")
    Path("refs.txt").write_text("a b\n", "utf-8")
    assert caesura.load("citations").labels_ == ["mine"]
    done = good("segment", "citations", "refs.txt", "-o", "out.csv")
    assert "taking the file here" in done.err
    Path("citations").write_text("this is no model at all" * 9, "utf-8")
    with pytest.raises(caesura.InvalidInput, match="citations: got another kind of file"):
        caesura.load("citations")


def test_a_folder_of_the_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("addresses").mkdir()
    with pytest.raises(
        caesura.InvalidInput, match=r"rename the folder, or pass .*addresses\.model"
    ):
        caesura.load("addresses")
    assert caesura.load(ready_path("addresses")).labels_
    assert resolve("./addresses") == Path("addresses")


def test_what_is_known_of_a_model_is_kept_until_it_is_fitted_again(tmp_path: Path) -> None:
    model = caesura.SemiCRF().fit(["a b"], [[(0, 1, "x")]])
    assert model.about_ == {}
    model.set_about({"origin": "a test"})
    model.save(tmp_path / "m")
    assert caesura.load(tmp_path / "m").about_ == {"origin": "a test"}
    assert pickle.loads(pickle.dumps(model)).about_ == {"origin": "a test"}
    assert model.fit(["a b"], [[(0, 1, "x")]]).about_ == {}
    for wrong in ({"origin": 3}, {1: "x"}, "text"):
        with pytest.raises(caesura.InvalidInput, match="about: got"):
            model.set_about(wrong)  # type: ignore[arg-type]


def test_unknown_names() -> None:
    with pytest.raises(caesura.InvalidInput, match="expected addresses, citations"):
        ready_path("recipes")


def test_a_name_that_is_not_known_gets_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="come with Caesura are addresses and citations"):
        caesura.load("citation")
    for path in ("my.model", tmp_path / "citation"):
        with pytest.raises(FileNotFoundError, match="No such file or directory"):
            caesura.load(path)


def test_the_text_of_a_model_is_short() -> None:
    assert len(repr(caesura.load("citations"))) < 600
