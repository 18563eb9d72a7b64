"""``evaluate`` and ``compare``: conlleval files, ill-formed tags, labels, skipped sequences."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_data import addresses, bad, good, run, write_lines

from caesura import corpora, evaluate
from caesura.cli.plot import picture
from caesura.documents import Document

SIDE_BY_SIDE = """\
-DOCSTART- -X- O O

Ann NNP B-PER B-PER
Lee NNP I-PER I-LOC
-X- O O O
Oslo NNP B-LOC I-LOC
sleeps VBZ O O
"""
GOLD = "Ann B-PER\nLee I-PER\n\nOslo B-LOC\nsleeps O\n\nBob B-PER\n"
PREDICTED = "Ann B-PER\nLee I-LOC\n\nOslo B-LOC\nsleeps O\n\nBob B-LOC\n"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return a file as conlleval takes it, with ill-formed predictions."""
    path = tmp_path / "output.txt"
    path.write_text(SIDE_BY_SIDE)
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


# -- one file ------------------------------------------------------------------------------------


def test_one_file_has_gold_and_predicted_tags(output: Path) -> None:
    error = bad("evaluate", output)
    assert f"{output}, line 4: predicted tag: got 'I-LOC', expected 'B-LOC'" in error
    assert "pass --repair repair to read them as conlleval does, or --repair drop to leave" in error
    repaired = good("evaluate", output, "--repair", "repair", "--json").json
    assert repaired["labels"]["LOC"]["correct"] == 1
    assert (repaired["micro"]["gold"], repaired["micro"]["predicted"]) == (2, 3)
    assert repaired["tags"] == {"total": 5, "correct": 3, "value": 0.6}
    assert repaired["tokens"] == {"total": 4, "correct": 3, "value": 0.75}
    dropped = good("evaluate", output, "--side-by-side", "--repair", "drop", "--json").json
    assert (dropped["micro"]["predicted"], dropped["micro"]["correct"]) == (1, 0)
    assert dropped["tags"] == repaired["tags"]
    assert "3 of 5 tags equal as written: 0.600" in good("evaluate", output, "--repair", "drop").out


def test_one_file_from_the_standard_input_with_other_columns() -> None:
    text = "I-X;B-X;Ann\nI-X;I-X;Lee\n"
    options = ["--columns", "predicted,gold,token", "--delimiter", ";", "--tag-scheme", "BIO"]
    found = good("evaluate", "-", *options, "--repair", "repair", "--json", stdin=text).json
    assert found["micro"]["correct"] == 1
    assert found["tags"]["correct"] == 1


def test_skipped_sequences_of_one_file(output: Path) -> None:
    with output.open("a") as file:
        file.write("\nBob NNP B-PER B-PER\n")
    ran = good("evaluate", output, "--skip-errors", "--json")
    assert (ran.json["sequences"], ran.json["micro"]["gold"]) == (1, 1)
    assert "line 4: predicted tag" in ran.err
    assert "--repair drop" in ran.err


@pytest.mark.parametrize(
    ("text", "options", "wrong"),
    [
        ("a O\n", [], "line 1: got 2 fields, expected at least 3: the token, the gold tag"),
        ("a B-X B-X\nb O\n", [], "line 2: got 2 fields, expected 3, as on line 1"),
        ("a O O\n", ["--tag-scheme", "IOB"], "scheme: got 'IOB', expected plain, BIO"),
        ("a O O\n", ["-f", "jsonl"], "got one file, which is jsonl, expected two, or columns"),
        ('{"tokens": ["a"], "segments": []}\n', [], "got one file, which is jsonl, expected two"),
        ("a B-X B-X\n", ["--only", "Y"], "--only: got 'Y', expected a label of the gold or the"),
        ("a B-PER B-LOC\n", ["--only", "PRE"], "LOC, PER; did you mean 'PER'?"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, options: list[str], wrong: str) -> None:
    assert wrong in bad("evaluate", written(tmp_path / "output.txt", text), *options)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--beta", "0"], "--beta: got 0, expected a number above 0"),
        (["--beta", "-1"], "--beta: got -1, expected a number above 0"),
        (["--average", "mean"], "--average: got mean, expected micro, macro, weighted, untyped"),
        (["--repair", "fix"], "--repair"),
    ],
)
def test_wrong_options(output: Path, options: list[str], wrong: str) -> None:
    assert wrong in bad("evaluate", output, *options, code=2)


def test_side_by_side_is_one_file(output: Path) -> None:
    assert "--side-by-side" in bad("evaluate", output, output, "--side-by-side", code=2)


# -- what is shown -------------------------------------------------------------------------------


def test_beta_labels_and_averages(output: Path) -> None:
    repaired = ["evaluate", output, "--repair", "repair"]
    out = good(*repaired, "--beta", 2).out
    assert re.search(r"^ +precision +recall +F1 +F2 +gold", out)
    assert re.search(r"^micro +0.333 +0.500 +0.400 +0.455 +2 +3 +1$", out, re.MULTILINE)
    found = good(*repaired, "--beta", 2, "--json").json
    assert found["beta"] == 2
    assert found["micro"]["f_beta"] == pytest.approx(5 / 11)
    assert found["weighted"]["f_beta"] == pytest.approx(5 / 12)
    loc = good(*repaired, "--only", "LOC", "--json").json
    assert list(loc["labels"]) == ["LOC"]
    assert loc["micro"] == found["labels"]["LOC"] | {"f_beta": loc["micro"]["f1"]}
    both = good(*repaired, "--only", "LOC", "--only", "PER", "--json").json
    assert both == good(*repaired, "--json").json
    out = good(*repaired, "--average", "weighted", "--average", "micro").out
    assert re.findall(r"^[a-z]+(?= +\d\.)", out, re.MULTILINE) == ["micro", "weighted"]


def test_only_some_labels_in_all_that_is_shown(tmp_path: Path) -> None:
    corpora.write(tmp_path / "train.jsonl", addresses(20, 1))
    corpora.write(tmp_path / "dev.jsonl", addresses(8, 2))
    model = tmp_path / "bad.model"
    good("train", tmp_path / "train.jsonl", "-o", model, "-m", "chain", "--max-iterations", 1)
    page = tmp_path / "page.html"
    options = ["--only", "town", "--details", "--worst", 3, "--html", page]
    out = good("evaluate", model, tmp_path / "dev.jsonl", *options).out
    assert "street" not in out
    assert "street" not in page.read_text()
    assert "town" in out


def test_confusions_of_many_labels_are_a_list(tmp_path: Path) -> None:
    """A matrix of many labels fits no terminal: the most frequent confusions stand in its place."""
    labels = [f"label{k}" for k in range(12)]
    gold = [{"tokens": ["x"], "segments": [[0, 1, label]]} for label in labels]
    found = [one | {"segments": [[0, 1, "label0"]]} for one in gold]
    paths = [tmp_path / "gold.jsonl", tmp_path / "found.jsonl"]
    for path, some in zip(paths, (gold, found), strict=True):
        path.write_text("".join(json.dumps(one) + "\n" for one in some))
    out = good("evaluate", *paths, "--details").out
    assert "confusion, the 11 most frequent of 11" in out
    assert re.search(r"^label11 +label0 +1$", out, re.MULTILINE)
    paths[0].write_text("".join(json.dumps(one) + "\n" for one in gold[:2]))
    paths[1].write_text("".join(json.dumps(one) + "\n" for one in found[:2]))
    out = good("evaluate", *paths, "--details").out
    assert re.search(r"^label1 +1 +0 +0$", out, re.MULTILINE)


def test_worst_sequences_have_their_ids(tmp_path: Path) -> None:
    corpora.write(tmp_path / "train.jsonl", addresses(10, 1))
    good("train", tmp_path / "train.jsonl", "-o", tmp_path / "m", "--max-iterations", 1)
    rows = "id,text,town\nA7,Leeds 1,Leeds\nA8,York 2,York\n"
    (tmp_path / "gold.csv").write_text(rows)
    options = ["--text-column", "text", "--labels", "town", "--worst", 2]
    out = good("evaluate", tmp_path / "m", tmp_path / "gold.csv", *options).out
    ids = re.findall(r"^sequence (\d):.*\n  id: (A\d)$", out, re.MULTILINE)
    assert {("1", "A7"), ("2", "A8")} >= set(ids)
    assert ids


def test_worst_sequences_are_those_of_the_page(tmp_path: Path) -> None:
    """The same ones, in the same order, with the same words, and the text as it was written."""
    gold = addresses(12, 3)
    found = [
        Document(one.tokens, one.text, one.offsets, segments=(one.segments or ())[i % 4 :])
        for i, one in enumerate(gold)
    ]
    corpora.write(tmp_path / "gold.jsonl", gold)
    corpora.write(tmp_path / "found.jsonl", found)
    files = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    out = good("evaluate", *files, "--worst", 20, "--html", tmp_path / "page.html").out
    shown = re.findall(r"^sequence (.*)", out, re.MULTILINE)
    page = (tmp_path / "page.html").read_text()
    assert len(shown) == 9
    assert shown == re.findall("<h3>Sequence (.*?)</h3>", page)
    assert shown[0] == "4: 3 missed"
    streets = {" ".join(one.text.split(",")[0].split()[1:]) for one in gold if one.text}
    assert all(f">{street} <b" in page for street in streets)


# -- two files -----------------------------------------------------------------------------------


def test_ill_formed_predictions_of_two_files(tmp_path: Path) -> None:
    files = written(tmp_path / "g.conll", GOLD), written(tmp_path / "p.conll", PREDICTED)
    assert "--repair repair" in bad("evaluate", *files)
    assert good("evaluate", *files, "--repair", "repair", "--json").json["micro"] == (
        evaluate(
            [[(0, 2, "PER")], [(0, 1, "LOC")], [(0, 1, "PER")]],
            [[(0, 1, "PER"), (1, 2, "LOC")], [(0, 1, "LOC")], [(0, 1, "LOC")]],
        ).micro._asdict()
        | {"precision": 0.25, "recall": 1 / 3, "f1": 2 / 7, "f_beta": 2 / 7}
    )
    dropped = good("evaluate", *files, "--repair", "drop", "--json").json
    assert dropped["micro"]["predicted"] == 3


def test_skipped_sequences_are_left_out_on_both_sides(tmp_path: Path) -> None:
    files = written(tmp_path / "g.conll", GOLD), written(tmp_path / "p.conll", PREDICTED)
    ran = good("evaluate", *files, "--skip-errors", "--json")
    assert ran.json["sequences"] == 2
    assert ran.json["micro"]["correct"] == 1
    assert "skipped 1 sequence that cannot be read in one of the files" in ran.err
    damaged = written(tmp_path / "damaged.conll", GOLD.replace("Oslo B-LOC", "Oslo I-LOC"))
    ran = good("evaluate", damaged, files[1], "--skip-errors", "--json")
    assert (ran.json["sequences"], ran.json["micro"]["correct"]) == (1, 0)
    rest = GOLD.partition("\n\n")[2]  # predictions of what could be read
    ran = good("compare", files[0], files[1], files[0], "--skip-errors", "--json")
    assert ran.json["b"]["gold"] == 2
    less = written(tmp_path / "less.conll", GOLD.replace("Ann B-PER", "Ann I-PER"))
    ran = good("evaluate", less, written(tmp_path / "rest.conll", rest), "--skip-errors", "--json")
    assert ran.json["micro"]["f1"] == 1
    shorter = written(tmp_path / "short.conll", "Bob B-PER\n")
    assert "got 1 sequence, expected 3, as in" in bad("evaluate", files[0], shorter)


def test_nothing_is_left_on_both_sides(tmp_path: Path) -> None:
    lines: list[Any] = [{"tokens": ["a"], "segments": []}, {"tokens": ["b"], "segments": []}]
    one = write_lines(tmp_path / "one.jsonl", [lines[0], 3])
    two = write_lines(tmp_path / "two.jsonl", [3, lines[1]])
    ran = run("evaluate", one, two, "--skip-errors")
    assert ran.code == 1
    assert "got no sequence that can be read in all files" in ran.err


# -- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes", [[10, 20, 40, 80, 160, 200, 216], [60, 64], [5], [1000, 1010, 1020, 90_000]]
)
def test_names_of_ticks_do_not_touch(
    sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    save = Figure.savefig

    def kept(self: Figure, *arguments: Any, **options: Any) -> None:
        save(self, *arguments, **options)
        drawn.append(self)

    monkeypatch.setattr(Figure, "savefig", kept)
    picture(tmp_path / "c.png", {"semi": [(x, 0.5) for x in sizes]}, "", ("sequences", "F1"))
    axis = drawn[0].axes[0].xaxis
    ticks = axis.get_ticklabels() + axis.get_ticklabels(minor=True)
    boxes = [tick.get_window_extent() for tick in ticks if tick.get_text()]
    assert boxes
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    shown = {tick.get_text() for tick in ticks}
    assert {f"{sizes[0]:,}", f"{sizes[-1]:,}"} <= shown
