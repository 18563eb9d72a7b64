"""What commands say where a person went wrong: warnings, and errors that name what to do."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from cli_data import LABELS, addresses, bad, good, run

import caesura
from caesura import corpora


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("remedies")
    documents = addresses(40, 1)
    corpora.write(place / "train.jsonl", documents)
    corpora.write(place / "dev.jsonl", addresses(12, 2))
    (place / "new.txt").write_text("".join(f"{one.text}\n" for one in addresses(9, 3)))
    model = caesura.SemiCRF(c2=0.1).fit(documents)
    model.save(place / "plain.model")
    model.calibrate(addresses(30, 4), [one.segments for one in addresses(30, 4)])
    model.save(place / "model")
    return place


# -- options and names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threshold", "0,9"], "got '0,9', expected a number with a decimal point"),
        (["--threshold", "high"], "got 'high', expected a number with a decimal point"),
        (["--threshold", "90", "-o", "o.csv"], "got 90, expected a probability, 0 to 1"),
        (["--batch", "x"], "got 'x', expected a whole number"),
    ],
)
def test_a_wrong_number_is_repeated(folder: Path, options: list[str], words: str) -> None:
    assert words in bad("segment", folder / "model", folder / "new.txt", *options, code=2)


def test_a_level_in_per_cent_is_translated(folder: Path) -> None:
    command = ["evaluate", folder / "model", folder / "dev.jsonl", "--confidence"]
    assert "for 95 %, pass 0.95" in bad(*command, 95, code=2)
    assert "got 0, expected a share between 0 and 1;" in bad(*command, 0, code=2)


def test_a_missing_file_has_a_neighbour(folder: Path) -> None:
    assert f"did you mean {folder / 'train.jsonl'}?" in bad(
        "train", folder / "tran.jsonl", "-o", folder / "m"
    )
    assert f"did you mean {folder / 'plain.model'}?" in bad("inspect", folder / "plan.model")
    assert "did you mean" not in bad("train", folder / "qqq", "-o", folder / "m")


def test_a_column_with_a_similar_name_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sku,Title\n1,12 High Street\n")
    said = bad("segment", folder / "model", tmp_path / "a.csv", "--text-column", "Titlex")
    assert "did you mean 'Title'?" in said


def test_a_text_is_no_file_and_a_file_no_text(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = bad("segment", folder / "model", "12 High Street")
    assert f"pipe it: echo 'TEXT' | caesura segment {folder / 'model'} -" in said
    (tmp_path / "mine.txt").write_text("12 High Street\n")
    monkeypatch.chdir(tmp_path)
    warned = good("explain", folder / "model", "mine.txt").err
    assert f"caesura explain {folder / 'model'} - < mine.txt" in warned
    assert good("explain", folder / "model", "12 High Street").err == ""


def test_gold_comes_first(folder: Path) -> None:
    a, b, dev = folder / "model", folder / "plain.model", folder / "dev.jsonl"
    assert f"try caesura compare {dev} {a} {b}" in bad("compare", a, b, dev)


def test_training_without_iterations_is_refused(folder: Path, tmp_path: Path) -> None:
    command = ["train", folder / "train.jsonl", "-o", tmp_path / "m", "-q", "--max-iterations", 0]
    assert "--max-iterations: got 0, expected 1 or more" in bad(*command)
    good(*command, "--warm-start", folder / "plain.model")


def test_columns_of_tags_are_named_in_options(tmp_path: Path) -> None:
    path, out = tmp_path / "a.conll", tmp_path / "m"
    path.write_text("Ann B-PER\nB-ig O\n\n")
    assert "correct the line or --columns, or pass --delimiter" in bad(
        "train", path, "-o", out, "--columns", "token,pos,tag"
    )
    said = bad("train", path, "-o", out, "--columns", "tag,token")
    assert "name the column of the tags with --columns, as token,_,tag" in said


def test_a_misspelt_tag_is_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("Ann B-persn\nLee I-person\n\n")
    said = bad("train", path, "-o", tmp_path / "m")
    assert "or the label of the tag before it, 'B-persn'" in said
    path.write_text("Ann B-place\nLee I-person\n\n")
    assert "the tag before it" not in bad("train", path, "-o", tmp_path / "m")


def test_a_table_without_labels_is_called_one(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sku,title\nA1,12 High Street\nA2,3 Low Street\n")
    command = ["evaluate", folder / "model", tmp_path / "a.csv"]
    assert "no column has labels, whose cells occur in the text" in bad(*command)
    said = run(*command, "--text-column", "title").err
    assert "or a table with columns of labels" in said


def test_contradictory_sequences_can_be_searched_for(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("Ann B-PER\nsings O\n\nBo B-PER\n\nAnn O\nsings O\n\n")
    said = good("train", path, "-o", tmp_path / "m", "-q", "--max-iterations", 1).err
    assert "1 pair of sequences with the same tokens and other segments" in said
    assert "such as sequences 1 and 3, 'Ann sings'" in said


# -- evaluation ------------------------------------------------------------------------------------


def test_a_gold_label_that_the_model_does_not_know(folder: Path, tmp_path: Path) -> None:
    text = (folder / "dev.jsonl").read_text().replace('"street"', '"streat"')
    (tmp_path / "dev.jsonl").write_text(text)
    said = good("evaluate", folder / "model", tmp_path / "dev.jsonl").err
    assert "12 segments with the label 'streat'" in said
    assert "never finds; did you mean 'street'?" in said
    assert "never finds" not in good("evaluate", folder / "model", folder / "dev.jsonl").err


def test_all_right_is_not_certain(folder: Path) -> None:
    train = folder / "train.jsonl"
    out = good("evaluate", folder / "model", train, "--confidence", 0.95).out
    assert "40 of 40 sequences right" in out
    assert "up to 7.2 % of further ones may be wrong (95 % bound)" in out  # 1 - 0.05 ** (1 / 40)
    assert "may be wrong" not in good("evaluate", folder / "model", train).out


def test_a_vocabulary_without_test_segments(folder: Path, tmp_path: Path) -> None:
    other = json.dumps({"tokens": ["Oslo"], "segments": [[0, 1, "town"]]})
    (tmp_path / "other.jsonl").write_text(f"{other}\n")
    command = ["evaluate", folder / "model", folder / "dev.jsonl", "--train"]
    out = good(*command, tmp_path / "other.jsonl").out
    assert "0 of 0 segments in the vocabulary found: -\n" in out
    assert "no segment is in the vocabulary" in out
    assert "no segment is" not in good(*command, folder / "train.jsonl").out


def test_brackets_of_the_text_are_not_those_of_segments(folder: Path, tmp_path: Path) -> None:
    gold = json.dumps({"tokens": ["[", "12", "]"], "segments": [[0, 3, "town"]]})
    (tmp_path / "a.jsonl").write_text(f"{gold}\n")
    (tmp_path / "b.jsonl").write_text(gold.replace("[0, 3", "[0, 1"))
    out = good("evaluate", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--worst", 1).out
    assert r"gold      [\[ 12 \]](town)" in out
    assert r"predicted [\[](town) 12 \]" in out


def test_the_outside_bias_is_an_option_of_evaluate(folder: Path) -> None:
    model, dev = folder / "model", folder / "dev.jsonl"
    own = good("evaluate", model, dev, "--json").json["micro"]["predicted"]
    less = good("evaluate", model, dev, "--json", "--outside-bias", 20).json["micro"]["predicted"]
    assert less < own
    said = bad("evaluate", dev, dev, "--outside-bias", 1, code=2)
    assert "needs a model; give one" in said


# -- load and segment ------------------------------------------------------------------------------


def test_constraints_of_a_load_are_checked_at_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text('{"at_most_once": ["townn"]}')
    command = [
        "load",
        folder / "plain.model",
        folder / "new.txt",
        "--into",
        tmp_path / "a.db",
        "-q",
    ]
    good(*command)
    for more in ([], ["--executor", 1]):
        said = bad(*command, "--constraints", tmp_path / "wrong.json", *more)
        assert "--constraints['at_most_once']: got 'townn', expected one of the labels" in said


def test_constraints_switch_calibration_off_aloud(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"at_most_once": ["town"]}')
    rules = ["--constraints", tmp_path / "rules.json"]
    new = folder / "new.txt"
    for model, warned in (("model", True), ("plain.model", False)):
        into = ["--into", tmp_path / f"{model}.db", "-q", *rules]
        for command in (
            ["load", folder / model, new, *into],
            ["segment", folder / model, new, "-p"],
        ):
            said = good(*command, *rules).err
            assert ("the model's own, not calibrated" in said) == warned
    assert "calibrated" not in good("segment", folder / "model", new, *rules).err


def test_a_threshold_that_no_row_is_below_has_a_next_step(folder: Path, tmp_path: Path) -> None:
    command = ["segment", folder / "model", folder / "new.txt", "-o", tmp_path / "o.csv"]
    for more in (["--flag"], ["--review", tmp_path / "r.csv"]):
        said = good(*command, "--threshold", 0.01, *more).err
        assert re.search(r"the lowest probability is 0\.\d\d; a higher --threshold selects", said)
        assert "a higher --threshold" not in good(*command, "--threshold", 1, *more).err


@pytest.mark.parametrize("more", [[], ["--executor", 1]])
def test_lines_of_text_have_no_columns(folder: Path, tmp_path: Path, more: list[object]) -> None:
    command = ["load", folder / "model", folder / "new.txt", "--into", tmp_path / "a.db", "-q"]
    said = bad(*command, "--text-column", "reference", *more)
    assert "--text-column: got 'reference' for" in said
    assert "pass --format csv" in said


def test_a_normaliser_can_be_chosen(folder: Path, tmp_path: Path) -> None:
    new, out, into = folder / "new.txt", tmp_path / "o.csv", tmp_path / "a.db"
    good("segment", folder / "model", new, "-o", out, "--normaliser", "town=lower")
    towns = [line.rsplit(",", 1)[1] for line in out.read_text().splitlines()[1:]]
    assert towns == [town.lower() for town in towns] != []
    good("load", folder / "model", new, "--into", into, "--normaliser", "town=lower", "-q")
    with sqlite3.connect(into) as connection:
        assert sorted(towns) == sorted(t for (t,) in connection.execute("SELECT town FROM records"))
    near = {
        "townn=lower": "did you mean 'town'?",
        "town=years": "did you mean 'year'?",
        "town=q": "choose",
        "town": "choose",
    }
    for wrong, remedy in near.items():
        said = bad("segment", folder / "model", new, "-o", out, "--normaliser", wrong)
        label = "LABEL" if wrong.startswith("townn") else "town"
        assert f"--normaliser: got '{wrong}', expected {label}=NAME" in said
        assert remedy in said
        assert bad("segment", folder / "model", new, "--normaliser", wrong) == said
    for to in ("jsonl", "conll"):
        options = ["--to", to, "--normaliser", "town=lower"]
        for more in ([], ["--normalise"]):
            said = bad("segment", folder / "model", new, *options, *more, code=2)
            assert "Invalid value for --normaliser: needs a table" in said
        said = bad("segment", folder / "model", new, "--to", to, "--normalise", code=2)
        assert "Invalid value for --normalise: needs a table" in said
    ran = good("inspect", folder / "model")
    assert f"normalisers {', '.join(f'{label} = ' for label in LABELS[:1])}" in ran.out
    assert set(good("inspect", folder / "model", "--json").json["normalisers"]) == set(LABELS)


def test_a_label_whose_name_is_taken_is_told(folder: Path, tmp_path: Path) -> None:
    y = [[(0, 1, "source"), (1, 2, "town")]]
    caesura.SemiCRF(c2=0.1).fit([["12", "Leeds"]], y).save(tmp_path / "model")
    (tmp_path / "a.txt").write_text("12 Leeds\n")
    said = good("load", tmp_path / "model", tmp_path / "a.txt", "--into", tmp_path / "a.db", "-q")
    assert "the label 'source' is stored in the column 'source_2', because" in said.err


# -- names of output -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        (["train", "train.jsonl", "-o"], "m.csv", "ends in .csv for a model, expected one"),
        (["train", "train.jsonl", "-o"], "m.jsonl.gz", "expected one that ends in .model"),
        (
            ["evaluate", "plain.model", "dev.jsonl", "--html"],
            "e.csv",
            "expected one that ends in .htm",
        ),
        (["tune", "train.jsonl", "-o"], "best.json", "expected one that ends in .toml"),
        (["learning-curve", "train.jsonl", "--png"], "c.html", "expected one that ends in .png"),
        (["segment", "plain.model", "new.txt", "-o"], "o.json", "a name that ends in .jsonl"),
        (["convert", "train.jsonl"], "o.json", "a name that ends in .jsonl"),
        (["split", "train.jsonl", "a.jsonl"], "x.pdf", "OUT: got"),
    ],
)
def test_nothing_is_written_under_the_name_of_another_format(
    folder: Path, tmp_path: Path, command: list[str], name: str, words: str
) -> None:
    files = {one.name for one in folder.iterdir()}
    given = [str(folder / word) if word in files else word for word in command]
    given = [str(tmp_path / word) if word == "a.jsonl" else word for word in given]
    line = bad(*given, tmp_path / name)
    assert words in line
    assert "--to" not in line
    assert not list(tmp_path.iterdir())


# -- names and remedies of the library -------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    (place / "tr.csv").write_text("text,author\nCodd 1970,Codd\nGray 1981,Gray\nLee 1990,Lee\n")
    (place / "also.csv").write_text("text,author\nCodd 1970,Zzz\nGray 1981,Yyy\n")
    (place / "one.csv").write_text("a:b:c\n1:Codd 1970:x\n2:Lee 1990:y\n")
    (place / "tr.conll").write_text("EU B-NP\nrejects B-VP\n\nGerman B-NP\ncall O\n\n")
    (place / "p.conll").write_text("EU NN B-NP\nrejects V B-VP\n\ncall NN O\n\n")
    good("train", place / "tr.csv", "-o", place / "m", "-q")
    columns = ["--columns", "token,pos,tag", "--model", "chain"]
    good("train", place / "p.conll", "-o", place / "p", "-q", *columns)
    (place / "c[007].model").write_text("x")
    return place


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("inspect c[007].model", "c[007].model: not a model"),
        ("train tr.csv --also also.csv -o x", "without this column, with --labels; also.csv, line"),
        ("train one.csv tr.csv --executor 1 --model chain -o x", "pass --delimiter ':', or --del"),
        ("segment m one.csv -o d --executor 1", "pass --delimiter ':', or --delimiter ','"),
        ("load m one.csv --into a.db --executor 1", "pass --delimiter ':', or --delimiter ','"),
        ("tune tr.conll --preset chunking --folds 2", "pass --columns, as in --columns token,pos"),
        ("train tr.csv --known author=tr.csv:zz -o x", "zz: tr.csv: got 'zz', expected one of the"),
        ("explain p a\udcff\\NN --columns token,pos", "TEXT: got a byte that is not UTF-8 after"),
        ("explain p a --columns pos", "error: --columns: got ['pos'], expected different names"),
        ("explain p a\\NN --segment 0,9,X", "error: TEXT, sequence 1: columns['pos']: got no such"),
        ("segment m tr.conll --columns pos", "error: --columns: got ['pos']"),
        ("segment m tr.conll --tag-scheme XX --to conll", "error: --tag-scheme: got 'XX'"),
        ("convert tr.csv x.conll --scheme XX", "error: --scheme: got 'XX'"),
        ("train tr.csv --c2 -1 -o x", "error: --c2: got -1"),
        ("convert tr.csv x.foo", "error: OUT: got 'x.foo'"),
    ],
)
def test_the_command_line_names_options(
    tables: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: str
) -> None:
    monkeypatch.chdir(tables)
    ran = run(*(word.replace("\\", " ") for word in command.split()))
    assert ran.code == 1
    said = ran.err
    assert words in said
    assert not re.search(r"\b(separator|labels|columns|text)=", said)


def test_bad_records_have_a_remedy(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ['{"tokens": ["a"]}', '{"tokens": ["a"], "columns": {"pos": ["NN"]}}']
    Path("j.jsonl").write_text("\n".join(rows) + "\n")
    said = good("segment", tables / "p", "j.jsonl", "-o", "d", "--executor", 1).err
    assert "for example j.jsonl: columns['pos']: got no such column" in said
    assert "pass --columns, as in --columns token,pos" in said
    [line] = Path("d/j.jsonl.jsonl.bad.jsonl").read_text().splitlines()
    assert json.loads(line).keys() == {"error", "line", "remedy", "record"}


@pytest.mark.filterwarnings("default")
def test_ids_of_several_texts_are_told_by_executors(tables: Path, tmp_path: Path) -> None:
    path, into = tmp_path / "ids.csv", ["--into", tmp_path / "a.db", "--id-column", "id", "-q"]
    path.write_text("id,text\n1,Codd 1970\n1,Lee 1990\n2,Lee 1990\n2,Gray 1981\n")
    said = good("load", tables / "m", path, *into, "--executor", 1).err
    assert "2 records with the value of an earlier record in 'id', but another text" in said
