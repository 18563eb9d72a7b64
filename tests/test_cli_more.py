"""The commands that look, compare and search: evaluate to learning-curve."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_data import LABELS, addresses, bad, good, records_of, run, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

import caesura
from caesura import Segment, corpora
from caesura.cli import compare
from caesura.cli.corpus_summary import summarise
from caesura.cli.model_settings import chosen
from caesura.cli.plot import characters
from caesura.cli.search_space import candidates, parse, toml
from caesura.cli.settings import Settings
from caesura.documents import Document
from caesura.evaluation import Comparison, Score


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data, a good model, a bad one, and predictions of both."""
    place = tmp_path_factory.mktemp("more")
    for name, count, seed in (("train", 30, 1), ("dev", 20, 2)):
        corpora.write(place / f"{name}.jsonl", addresses(count, seed))
    train = place / "train.jsonl"
    good("train", train, "-o", place / "good", "--c2", 0.1)
    good("train", train, "-o", place / "bad", "-m", "chain", "--max-iterations", 1)
    for model in ("good", "bad"):
        good("segment", place / model, place / "dev.jsonl", "-o", place / f"{model}.jsonl")
    return place


# -- evaluate and compare ------------------------------------------------------------------------


def test_evaluate_counts_as_the_library_does(folder: Path) -> None:
    dev = folder / "dev.jsonl"
    gold = [document.segments or () for document in corpora.read(dev)]
    found = [document.segments or () for document in corpora.read(folder / "bad.jsonl")]
    report = caesura.evaluate(gold, found)
    assert 0 < report.micro.f1 < 1
    by_file = good("evaluate", dev, folder / "bad.jsonl", "--json").json
    assert by_file["micro"]["f1"] == report.micro.f1
    assert by_file["labels"]["street"]["correct"] == report.labels["street"].correct
    for arguments in ((folder / "bad", dev), (dev, folder / "bad")):
        assert good("evaluate", *arguments, "--json").json == by_file
    assert (
        str(caesura.evaluate(gold, found)).splitlines()[0]
        in good("evaluate", dev, folder / "bad.jsonl").out
    )


def test_evaluate_shows_the_worst(folder: Path) -> None:
    out = good("evaluate", folder / "bad", folder / "dev.jsonl", "--worst", 2).out
    assert out.count("\nsequence ") == 2
    assert out.count("\n  gold ") == out.count("\n  predicted ") == 2
    out = good("evaluate", folder / "dev.jsonl", folder / "dev.jsonl", "--worst", 2).out
    assert "differ" not in out


def test_evaluate_names_sequences_that_are_not_the_same(folder: Path, tmp_path: Path) -> None:
    dev = folder / "dev.jsonl"
    records = records_of(dev)
    fewer = write_lines(tmp_path / "fewer.jsonl", records[:-1])
    assert "got 19 sequences, expected 20" in bad("evaluate", dev, fewer)
    records[3]["tokens"][0] = "other"
    del records[3]["text"], records[3]["offsets"]
    other = write_lines(tmp_path / "other.jsonl", records)
    assert "the token 'other' in sequence 4" in bad("evaluate", dev, other)
    assert "--confidence" in bad("evaluate", dev, dev, "--confidence", 7, code=2)


def test_compare_counts_as_the_library_does(folder: Path) -> None:
    dev = folder / "dev.jsonl"
    names = (dev, folder / "good.jsonl", folder / "bad.jsonl")
    gold, a, b = ([d.segments or () for d in corpora.read(name)] for name in names)
    expected = caesura.compare(gold, a, b, rounds=199, seed=3)
    options = ["--rounds", 199, "--seed", 3]
    found = good("compare", dev, folder / "good", folder / "bad.jsonl", *options, "--json").json
    assert found["p_value"] == expected.p_value < 0.05
    assert found["difference"] == expected.difference
    out = good("compare", dev, folder / "good", folder / "bad", *options).out
    good_, bad_ = folder / "good", folder / "bad"
    shares = f"F1 {expected.a.f1:.3f} and {expected.b.f1:.3f}, p = {expected.p_value:.3g}"
    assert f"{good_} is better than {bad_}: {shares} (below 0.05)" in out
    assert (
        f"{good_} is better than {bad_}: {shares}"
        in good("compare", dev, bad_, good_, *options).out
    )
    assert "may well be chance" in good("compare", dev, folder / "bad", folder / "bad").out


def test_compare_prints_enough_digits_of_p() -> None:
    few, many = (Score(10, 10, correct) for correct in (7, 9))
    for p, said in ((0.0496, "0.0496 (below"), (0.0504, "0.0504 (not below"), (0.001, "0.001 (b")):
        assert f"p = {said}" in compare._verdict(Comparison(many, few, p, 9999), "a", "b")


def test_compare_refuses_text_that_two_models_cut_differently(folder: Path, tmp_path: Path) -> None:
    dev, text = folder / "dev.jsonl", tmp_path / "dev.csv"
    good("convert", dev, text)
    good("convert", folder / "train.jsonl", tmp_path / "train.csv")
    options = ["--tokeniser", "whitespace", "--align", "expand"]
    good("train", tmp_path / "train.csv", "-o", tmp_path / "other", *options)
    models = folder / "good", tmp_path / "other"
    line = bad("compare", text, *models, "--align", "expand")
    assert "cuts text by 'whitespace', expected 'words'" in line
    assert "cut into tokens" in bad("compare", "-", *models, "-f", "csv", stdin=text.read_text())
    assert good("compare", dev, *models, "--json").json["rounds"] == 9999  # tokens are given


def test_a_warm_start_cuts_as_its_model_does(folder: Path, tmp_path: Path) -> None:
    text, model, more = tmp_path / "train.csv", tmp_path / "model", tmp_path / "more"
    good("convert", folder / "train.jsonl", text)
    good("train", text, "-o", model, "--tokeniser", "characters", "--outside", "none")
    options = ["--warm-start", model, "--max-iterations", 1]
    found = good("train", text, "-o", more, *options, "--calibrate", text, "--json").json
    characters = sum(len(document) for document in corpora.read(text, tokeniser="characters"))
    assert found["data"]["train"]["tokens"] == characters
    loaded = caesura.load(more)
    assert (loaded.tokeniser, loaded.outside) == ("characters", "none")
    line = bad("train", text, "-o", more, *options, "--tokeniser", "words")
    assert "--tokeniser: got 'words', expected 'characters'" in line


# -- inspect and explain -------------------------------------------------------------------------


def test_inspect_counts_all_weights(folder: Path) -> None:
    model = caesura.load(folder / "good")
    found = good("inspect", folder / "good", "--json", "--top", 3).json
    assert found["labels"] == LABELS
    assert found["weights"] == model.n_features_
    assert found["bytes"] == (folder / "good").stat().st_size
    assert sum(one["weights"] for one in found["features"]) < model.n_features_
    assert [one["weight"] for one in found["top"]] == [
        one.weight for one in model.top_features(n=3)
    ]
    assert found["settings"] == {"c2": 0.1}
    assert found["lengths"]["O"]["at most"] == 1
    assert len(found["transitions"]) == 3


def test_weights_that_are_zero_are_told_from_those_that_are_not(
    folder: Path, tmp_path: Path
) -> None:
    arguments = ["train", folder / "train.jsonl", "-o", tmp_path / "few", "--c1", 1]
    learnt = good(*arguments, "--json").json
    kept = good("inspect", tmp_path / "few", "--json").json
    assert 0 < learnt["nonzero"] < learnt["weights"]
    assert kept["nonzero"] == learnt["nonzero"] <= kept["weights"]
    assert f"{learnt['nonzero']:,} of them not zero" in good(*arguments).out
    assert f"{learnt['nonzero']:,} of them not zero" in good("inspect", tmp_path / "few").out


@pytest.mark.parametrize("name", ["good", "bad"])
def test_inspect_for_people(folder: Path, name: str) -> None:
    out = good("inspect", folder / name, "--features").out
    assert "3: number, street, town" in out
    assert "largest weights" in out
    assert "more features" not in out
    only = good("inspect", folder / name, "--label", "town", "--top", 2).out
    assert "largest weights of town" in only
    assert "one of number, street, town" in bad("inspect", folder / name, "-l", "nothing")


def test_explain_says_why(folder: Path) -> None:
    text = "7 Park Lane, York"
    found = good("explain", folder / "good", text, "--json", "-r", 2).json
    why = caesura.load(folder / "good").explain(text)
    assert [one["segment"] for one in found["segments"]] == [list(one.segment) for one in why]
    assert found["segments"][0]["reasons"][0]["feature"] == why[0].reasons[0].feature
    assert len(found["segments"][0]["reasons"]) == 2
    out = good("explain", folder / "good", "-", "--label", "town", stdin=text).out
    assert "town [4, 5) 'York', probability 0." in out
    assert "street [1, 3) 'Park Lane', probability" not in out
    assert "no words" in bad("explain", folder / "good", " ")
    assert "--label" in bad("explain", folder / "good", text, "-l", "nothing")


def test_explain_reads_columns(tmp_path: Path) -> None:
    lines = "Ann\tNNP\tB-PER\nruns\tVB\tO\n\n"
    (tmp_path / "a.conll").write_text(lines * 9)
    names = ("--columns", "token,pos,tag")
    good("train", tmp_path / "a.conll", "-o", tmp_path / "m", "--preset", "chunking", *names)
    assert "--columns token,pos,tag" in bad("explain", tmp_path / "m", "Ann runs")
    for text, named in (("Ann\tNNP\nruns\tVB", "token,pos"), (lines, "token,pos,tag")):
        found = good("explain", tmp_path / "m", "-", "--columns", named, "--json", stdin=text).json
        assert found["segments"][0]["segment"] == [0, 1, "PER"]
    wrong = bad("explain", tmp_path / "m", "Ann\tNNP\nruns", "--columns", "token,pos")
    assert "TEXT, line 2: got 1 fields" in wrong
    assert "TEXT: got 9 sequences, expected one" in bad(
        "explain", tmp_path / "m", "-", *names, stdin=lines * 9
    )


def test_explain_says_why_not(folder: Path) -> None:
    model, text = caesura.load(folder / "good"), "12 High Street"
    absent = [y for y in model.labels_ if all(s.label != y for s in model.predict([text])[0])]
    ran = good("explain", folder / "good", text, "--label", absent[0])
    assert f"no segment with the label '{absent[0]}' is predicted; to see why not" in ran.err
    asked = ["explain", folder / "good", text, "--segment", f"1,2,{absent[0]}"]
    [found] = good(*asked, "--json").json["segments"]
    [why] = model.explain(text, segment=(1, 2, absent[0]))
    assert found["segment"] == list(why.segment)
    assert found["margin"] == why.margin
    assert found["probability"] == why.probability
    out = good(*asked).out
    assert "0:12 1:High 2:Street" in out
    assert absent[0] in out
    for wrong in ("1", "a,b,c", "1,2", "0,99,number", "1,2,nothing"):
        assert "--segment: got" in bad("explain", folder / "good", text, "--segment", wrong)
    assert "leave one out" in bad(*asked, "--label", absent[0])


def test_explain_is_as_sure_as_segment(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "calibrated"
    files = folder / "train.jsonl", folder / "dev.jsonl"
    good("train", files[0], "-o", model, "--c2", 0.1, "--calibrate", files[1])
    text = "7 Park Lane, Nowhere on Sea"
    said = good("explain", model, text, "--json").json["segments"]
    out = good("segment", model, "-", "--probabilities", "--to", "jsonl", stdin=text + "\n").out
    sure = json.loads(out)["confidence"]
    assert sure["calibrated"]
    assert [round(one["probability"], 6) for one in said] == sure["probabilities"]


def test_text_is_shown_as_it_was_written(folder: Path) -> None:
    shown = good("segment", folder / "good", "--to", "text", stdin="7 Park Lane,  York\n").out
    assert shown == "[7](number) [Park Lane](street) , [York](town)\n"


def test_errors_name_what_was_asked_for(folder: Path, tmp_path: Path) -> None:
    place, latin = tmp_path / "nowhere" / "x.csv", tmp_path / "latin.txt"
    said = bad("segment", folder / "good", folder / "dev.jsonl", "-o", place)
    assert f"{place}: is in a folder that does not exist" in said
    latin.write_bytes("7 Rue Molière\n".encode("latin-1"))
    assert "--encoding latin-1" in bad("segment", folder / "good", latin)
    good("segment", folder / "good", latin, "--encoding", "latin-1")


# -- convert -------------------------------------------------------------------------------------


def test_convert_there_and_back(folder: Path, tmp_path: Path) -> None:
    dev, columns, lines = folder / "dev.jsonl", tmp_path / "x.conll", tmp_path / "y.jsonl"
    good("convert", dev, columns, "--scheme", "BIOES")
    assert good("convert", columns, lines, "--json").json["sequences"] == 20
    assert records_of(lines) == records_of(dev)
    assert "E-street" in columns.read_text()
    assert (
        good("convert", dev, "-", "--to", "conll", "--scheme", "BIOES").out == columns.read_text()
    )
    assert "give a file" in bad("convert", dev, "-", "--to", "conll", "--json", code=2)


def test_convert_reads_columns_in_any_order(tmp_path: Path) -> None:
    columns = tmp_path / "x.conll"
    columns.write_text("B-PER x Ann\nI-PER y Lee\n")
    out = good("convert", columns, "-", "--to", "jsonl", "--columns", "tag,_,token").out
    assert json.loads(out) == {"tokens": ["Ann", "Lee"], "segments": [[0, 2, "PER"]]}


def test_spans_that_cut_a_token(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "x.jsonl", [{"text": "Annie sings", "spans": [[0, 3, "PER"]]}])
    assert "x.jsonl, line 1" in bad("convert", file, "-", "--to", "jsonl")
    out = good("convert", file, "-", "--to", "jsonl", "--align", "expand").out
    assert json.loads(out)["segments"] == [[0, 1, "PER"]]


# -- tune and learning-curve ---------------------------------------------------------------------


def test_tune_writes_what_train_takes(folder: Path, tmp_path: Path) -> None:
    train, best = folder / "train.jsonl", tmp_path / "best.toml"
    tried = ["--try", "c2=0.1,30", "--try", "model=chain,semi", "--max-iterations", 8]
    found = good("tune", train, *tried, "--folds", 2, "-o", best, "--json").json
    assert len(found["candidates"]) == 4
    shares = [one["f1"] for one in found["candidates"]]
    assert shares == sorted(shares, reverse=True)
    assert found["best"]["f1"] == shares[0]
    good("train", train, "-o", tmp_path / "m", "--config", best)
    model = caesura.load(tmp_path / "m")
    settings = found["best"]["settings"]
    assert (model.c2, model.kind) == (settings["c2"], settings["model"])
    assert model.max_iterations is None  # that of the search was for its speed
    tried = ["--try", "max-iterations=7", "--folds", 2, "-o", best]
    good("tune", train, *tried)
    assert "max_iterations = 7" in best.read_text()


def test_tune_random_for_people(folder: Path) -> None:
    options = ["--random", 2, "--try", "c2=0.01..1", "--folds", 2, "--max-iterations", 3]
    out = good("tune", folder / "train.jsonl", *options).out
    assert out.splitlines()[0].split() == ["c2", "F1", "±", "precision", "recall"]
    assert "best settings\n  c2 = " in out


def test_tune_keeps_what_it_found_when_interrupted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from caesura.cli import tune

    scored, count = tune._score, 0

    def stopped(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return scored(*arguments)

    monkeypatch.setattr(tune, "_score", stopped)
    options = ["--folds", 2, "--max-iterations", 2, "-o", tmp_path / "best.toml"]
    ran = run("tune", folder / "train.jsonl", *options)
    assert ran.code == 130
    assert "interrupted after 1 of 4" in ran.err
    assert "c2 = 0.001" in (tmp_path / "best.toml").read_text()


def test_tune_names_what_is_wrong(folder: Path) -> None:
    train = folder / "train.jsonl"
    assert "NAME=VALUE" in bad("tune", train, "--try", "c2")
    assert "c9" in bad("tune", train, "--try", "c9=1")
    assert "LOW..HIGH" in bad("tune", train, "--try", "c2=3..1")
    assert "at most 30" in bad("tune", train, "--folds", 31)
    assert "semi model" in bad("tune", train, "--try", "scheme=BIO,BIOES")


def test_learning_curve_rises(folder: Path) -> None:
    options = ["--test", folder / "dev.jsonl", "--sizes", "1,20", "--c2", 20, "--repeats", 2]
    found = good("learning-curve", folder / "train.jsonl", *options, "--json").json
    assert found["tested_on"] == 20
    by = {(one["model"], one["sequences"]): one["f1"] for one in found["points"]}
    assert set(by) == {(kind, size) for kind in ("semi", "chain") for size in (1, 20)}
    assert by["semi", 20] > by["semi", 1]
    assert by["chain", 20] > by["chain", 1]


def test_learning_curve_for_people_and_as_a_picture(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    options = ["--models", "semi", "--max-iterations", 3, "--png", tmp_path / "c.png"]
    out = good("learning-curve", folder / "train.jsonl", *options).out
    rows = [line.split()[:2] for line in out.splitlines()[:4]]
    assert rows == [["sequences", "segments"], ["5", "15"], ["6", "18"], ["12", "36"]]
    assert "● semi" in out
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert "1 to 24, which is all of the training data; write 6,12,24" in bad(
        "learning-curve", folder / "train.jsonl", "--sizes", "99"
    )
    wrong = bad("learning-curve", folder / "train.jsonl", "--models", "x")
    assert "semi, chain or neural, separated by commas" in wrong


# -- parts ---------------------------------------------------------------------------------------

NUMBERS = st.floats(0.001, 1e6, allow_nan=False)


@settings(max_examples=40)
@given(
    c2=NUMBERS,
    lengths=st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.integers(1, 99)),
    flag=st.booleans(),
    outside=st.text(st.characters(codec="utf-8"), max_size=5),
)
def test_settings_survive_a_file(
    folder: Path, c2: float, lengths: Any, flag: bool, outside: str
) -> None:
    choices = {"c2": c2, "max_length": lengths, "boundary_weights": flag, "outside": outside}
    choices |= {"scheme": None, "features": "ner", "penalties": {"transitions": (0.0, c2)}}
    file = folder / "x.toml"
    file.write_text(toml(choices), encoding="utf-8")
    assert chosen(Settings(config=file)) == choices


def test_random_candidates_repeat_with_their_seed() -> None:
    space = parse(["c2=0.01..10", "c1=0,0.5", "max_length=1..40", "preset=ner,words"])
    drawn = list(candidates(space, 20, 5))
    assert drawn == list(candidates(space, 20, 5))
    assert all(0.01 <= one["c2"] <= 10 and one["c1"] in (0, 0.5) for one in drawn)
    assert all(isinstance(one["max_length"], int) for one in drawn)
    assert len({repr(one) for one in drawn}) == 20


def test_summary_counts() -> None:
    documents = [
        Document(("a", "b", "c"), segments=(Segment(0, 2, "X"), Segment(2, 3, "O"))),
        Document(("a", "b", "c"), segments=(Segment(0, 2, "X"),)),
        Document(("d",), segments=()),
        Document((), segments=()),
    ]
    found = summarise(documents)
    assert (found.sequences, found.tokens, found.segments, found.outside) == (4, 7, 2, 3)
    assert (found.empty, found.repeated, found.contradictory) == (1, 1, [])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1)), min_size=1, max_size=9))
def test_plots_have_a_place_for_all_points(points: list[tuple[int, float]]) -> None:
    lines = characters({"a": points, "b": points[:1]})
    assert len(lines) == 12 + 3
    assert any(mark in "".join(lines[:12]) for mark in "●◉")


# -- split ---------------------------------------------------------------------------------------


def test_split_divides_at_random_and_loses_nothing(folder: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("train.jsonl", "dev.jsonl", "test.jsonl")]
    ran = good("split", folder / "train.jsonl", *files)
    whole = list(corpora.read(folder / "train.jsonl"))
    parts = [list(corpora.read(path)) for path in files]
    assert sorted(map(repr, whole)) == sorted(repr(one) for part in parts for one in part)
    assert f"{len(parts[0])} sequences: {files[0]}" in ran.err
    assert 0.7 * len(whole) < len(parts[0]) < 0.9 * len(whole)
    order = list(map(repr, whole))
    assert [one for one in order if one in set(map(repr, parts[0]))] == list(map(repr, parts[0]))
    texts = [{one.text for one in part} for part in parts]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]
    again = [tmp_path / f"again{i}.jsonl" for i in range(3)]
    good("split", folder / "train.jsonl", *again)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files]
    good("split", folder / "train.jsonl", *again, "--seed", 1)
    assert [path.read_bytes() for path in again] != [path.read_bytes() for path in files]


def test_split_by_shares_and_formats(folder: Path, tmp_path: Path) -> None:
    a, b = tmp_path / "a.csv", tmp_path / "b.conll"
    ran = good("split", folder / "train.jsonl", a, b, "--shares", "1,3", "--json")
    assert "--shares: 1,3 is 4 in total; the files get 25.0%, 75.0%" in ran.err
    said = ran.json
    assert said["files"][str(b)] > 2 * said["files"][str(a)] > 0
    assert sum(said["files"].values()) == said["sequences"]
    cut = write_lines(tmp_path / "cut.jsonl", [{"text": "I'm", "spans": [[0, 1, "who"]]}] * 2)
    good("split", cut, tmp_path / "c.jsonl", tmp_path / "d.jsonl")
    assert records_of(tmp_path / "c.jsonl")[0]["spans"] == [[0, 1, "who"]]


def test_split_says_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    data, a, b = folder / "train.jsonl", tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert "expected two or more" in bad("split", data, a, code=2)
    for shares in ("80", "80,x", "80,0", "1,2,3"):
        assert "expected 2 positive numbers" in bad("split", data, a, b, "--shares", shares, code=2)
    assert "which is read" in bad("split", data, data, b, code=2)
    assert "written too" in bad("split", data, a, a, code=2)
    assert "b.doc" in bad("split", data, a, tmp_path / "b.doc")
    assert not a.exists()  # none of them is written
