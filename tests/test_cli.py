"""The commands, as a user calls them: train, segment, and what all have in common."""

import csv
import html
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_data import LABELS, addresses, bad, good, records_of, run, write_lines
from pyarrow import parquet
from typer.testing import CliRunner

import caesura
from caesura import corpora
from caesura.cli.app import COMMANDS, app

HERE = list(COMMANDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with training and development data, raw text, and a model."""
    place = tmp_path_factory.mktemp("cli")
    for name, count, seed in (("train", 40, 1), ("dev", 12, 2)):
        corpora.write(place / f"{name}.jsonl", addresses(count, seed))
    texts = [str(document.text) for document in addresses(15, 3)]
    (place / "new.txt").write_text("\n".join(texts) + "\n")
    good("train", place / "train.jsonl", "-o", place / "model", "--c2", 0.1, "-q")
    return place


# -- what all commands have in common ------------------------------------------------------------


@pytest.mark.parametrize("name", HERE)
def test_help_ends_with_an_example(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.exit_code == 0
    tail = done.stdout.rsplit("Example:", 1)[1].strip().splitlines()
    assert tail[0].strip().startswith((f"caesura {name}", "cat "))


@pytest.mark.parametrize("name", HERE)
def test_a_line_says_what_a_command_does(name: str) -> None:
    module = name.replace("-", "_")
    run = getattr(importlib.import_module(f"caesura.cli.{module}"), module)
    assert COMMANDS[name] == (run.__doc__ or "").splitlines()[0]


def test_all_commands_are_here() -> None:
    listed = good("--help").out
    assert all(name in listed for name in HERE)


@pytest.mark.parametrize(
    "line",
    [
        "train s.jsonl -o s.jsonl",
        "train s.jsonl -o new --dev dev.jsonl --checkpoint dev.jsonl --restart",
        "train s.jsonl -o new --config new",
        "train s.jsonl -o new --checkpoint new",
        "train s.jsonl -o new --gazetteer new",
        "train s.jsonl -o model --warm-start model",
        "evaluate model s.jsonl --html s.jsonl",
        "segment model e.txt -o model --to jsonl",
        "segment model e.txt -o e.txt",
        "segment model e.txt -o link.txt",
        "segment model e.csv -o new.csv --threshold 0.5 --review e.csv",
        "tune s.jsonl -o s.jsonl",
        "learning-curve s.jsonl --png s.jsonl",
    ],
)
def test_no_command_writes_over_what_it_reads(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"s.jsonl": "train.jsonl", "dev.jsonl": "dev.jsonl", "e.txt": "new.txt"}
    names["e.csv"] = "new.txt"
    for name, source in (names | {"model": "model"}).items():
        Path(name).write_bytes((folder / source).read_bytes())
    Path("new").write_text("")
    Path("link.txt").symlink_to("e.txt")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    assert "give the output another name" in bad(*line.split(), code=2)
    assert before == {one.name: one.read_bytes() for one in tmp_path.iterdir()}


@pytest.mark.parametrize("name", [name for name in HERE if name not in ("demo", "label", "serve")])
def test_results_can_be_json(name: str) -> None:
    assert "--json" in good(name, "--help").out


def test_wrong_usage_is_two(folder: Path) -> None:
    assert "No such command" in bad("nothing", code=2)
    assert "No such option: --foo" in bad("inspect", folder / "model", "--foo", code=2)
    assert "TRAIN" in bad("train", "-o", "x", code=2)
    assert "see caesura" in bad("segment", folder / "model", "--batch", 0, code=2)


def test_missing_files_are_named(folder: Path) -> None:
    for arguments in (
        ("train", "no.jsonl", "-o", folder / "x"),
        ("segment", folder / "model", "no.jsonl"),
        ("segment", "no.jsonl", folder / "new.txt"),
        ("evaluate", "no.jsonl", folder / "dev.jsonl"),
        ("compare", folder / "dev.jsonl", "no.jsonl", folder / "model"),
        ("inspect", "no.jsonl"),
        ("explain", "no.jsonl", "text"),
        ("convert", "no.jsonl", "-", "--to", "conll"),
        ("tune", "no.jsonl"),
        ("learning-curve", "no.jsonl"),
    ):
        assert "no.jsonl: no such file" in bad(*arguments)


def test_a_bug_is_one_line_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: object, trust: bool = False) -> None:
        raise TypeError("oh")

    monkeypatch.setattr("caesura.models.load", broken)
    assert "unexpected TypeError: oh" in bad("inspect", folder / "model")
    monkeypatch.setenv("CAESURA_DEBUG", "1")
    ran = run("inspect", folder / "model")
    assert ran.code == 1
    assert "Traceback" in ran.err


# -- train ---------------------------------------------------------------------------------------


def test_train_shows_the_data_the_scores_and_what_next(folder: Path) -> None:
    model = folder / "shown"
    out = good("train", folder / "train.jsonl", "-d", folder / "dev.jsonl", "-o", model).out
    assert re.search(r"train +40 +\d+ +120 ", out)
    assert re.search(r"street +40 +3 +2\.\d +12", out)
    assert "micro" in out
    assert f"caesura segment {model} new.txt" in out
    assert caesura.load(model).labels_ == LABELS
    assert not (folder / "shown.checkpoint").exists()


def test_train_json_is_all_of_stdout(folder: Path) -> None:
    train, dev = folder / "train.jsonl", folder / "dev.jsonl"
    found = good("train", train, "--dev", dev, "-o", folder / "j", "--json").json
    assert found["labels"] == LABELS
    assert found["dev"]["micro"]["gold"] == 36
    assert found["data"]["train"]["labels"][0]["segments"] == 40
    model = caesura.load(folder / "j")
    assert found["dev"]["micro"]["f1"] == model.score(corpora.read(dev))


def test_train_warns_of_rare_and_contradictory_labels(tmp_path: Path) -> None:
    one = {"tokens": ["12", "Bath"], "segments": [[0, 1, "number"]]}
    other = {"tokens": ["12", "Bath"], "segments": [[0, 1, "number"], [1, 2, "town"]]}
    file = write_lines(tmp_path / "x.jsonl", [one, one, other] * 4)
    dev = write_lines(tmp_path / "y.jsonl", [{"tokens": ["7"], "segments": [[0, 1, "odd"]]}, one])
    err = good("train", file, "-d", dev, "-o", tmp_path / "m", "--max-iterations", 2).err
    assert "rare labels, with fewer than 10 segments: town (4)" in err
    assert "contradictory labels: 4 pairs of sequences" in err
    assert "as sequences 1 and 3" in err
    assert "labels that train does not have: odd" in err
    assert "1 of its 2 sequences are also in train" in err


def test_train_takes_settings_from_a_file_and_options_win(folder: Path) -> None:
    config = folder / "config.toml"
    config.write_text('model = "chain"\nc2 = 3.0\nc1 = 0.5\nscheme = "BIOES"\nseed = 7\n')
    train, model = folder / "train.jsonl", folder / "configured"
    good("train", train, "-o", model, "--config", config, "--c2", 0.25, "--max-iterations", 3)
    found = caesura.load(model)
    assert (found.kind, found.c1, found.c2, found.scheme) == ("chain", 0.5, 0.25, "BIOES")
    assert found.random_state == 7


def test_train_takes_every_choice_of_the_estimators(folder: Path) -> None:
    options: list[object] = ["--max-length", "street=9", "--max-length", "town=5"]
    options += ["--outside-length", "none", "--same-label-adjacent", "no", "--min-freq", 1]
    options += [
        "--class-weight",
        "town=2",
        "--penalty",
        "transitions=0,0.5",
        "--precision",
        "mixed",
    ]
    options += ["--all-possible-states", "yes", "--boundary-weights", "no", "--max-iterations", 2]
    good("train", folder / "train.jsonl", "-o", folder / "all", *options)
    found = caesura.load(folder / "all")
    assert found.max_length == {"street": 9, "town": 5}
    assert found.outside_length is None
    assert found.same_label_adjacent is found.boundary_weights is False
    assert found.all_possible_states is True
    assert found.class_weight == {"town": 2.0}
    assert list(found.penalties["transitions"]) == [0.0, 0.5]


@pytest.mark.parametrize("preset", ["ner", "generic"])
@pytest.mark.parametrize("kind", ["semi", "chain"])
def test_train_takes_gazetteers(folder: Path, preset: str, kind: str) -> None:
    towns = folder / "towns.txt"
    towns.write_text("Leeds\nStoke on Trent\n")
    options = ["-p", preset, "-g", towns, "-m", kind, "--max-iterations", 2]
    good("train", folder / "train.jsonl", "-o", folder / "g", *options)
    assert good("inspect", folder / "g", "--json").json["lexicons"]["towns"] == 2


def test_train_names_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    train, model = folder / "train.jsonl", tmp_path / "m"
    plain = write_lines(tmp_path / "plain.jsonl", [{"text": "12 High Street"}])
    assert "sequence 1 without segments" in bad("train", plain, "-o", model)
    empty = write_lines(tmp_path / "empty.jsonl", [])
    assert "got no sequences" in bad("train", empty, "-o", model)
    config = tmp_path / "c.toml"
    config.write_text("max-lenght = 1\n")
    assert "a choice such as max_length" in bad("train", train, "-o", model, "--config", config)
    config.write_text("c2 = = 1\n")
    assert "not TOML" in bad("train", train, "-o", model, "--config", config)
    assert "semi model" in bad("train", train, "-o", model, "--scheme", "BIO")
    assert "c2: got -1" in bad("train", train, "-o", model, "--c2", -1)
    assert "preset" in bad("train", train, "-o", model, "-p", "nothing", "-g", train)
    assert "does not exist" in bad("train", train, "-o", tmp_path / "no" / "m")
    broken = tmp_path / "broken.jsonl"
    broken.write_text(train.read_text() + "{\n")
    assert "broken.jsonl, line 41" in bad("train", broken, "-o", model)
    long = ["--max-length", "street=1"]
    assert "train.jsonl, sequence " in bad("train", train, "-o", model, *long)
    assert not model.exists()


def test_train_goes_on_after_an_interruption(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit: Callable[..., Any] = caesura.SemiCRF.fit

    def stopped(self: Any, *arguments: Any, callbacks: Any = (), **more: Any) -> Any:
        def stop(progress: Any) -> None:
            if progress.iteration == 4:
                raise KeyboardInterrupt

        return fit(self, *arguments, callbacks=[*callbacks, stop], **more)

    model = tmp_path / "m"
    arguments = ["train", folder / "train.jsonl", "-o", model]
    with monkeypatch.context() as patched:
        patched.setattr(caesura.SemiCRF, "fit", stopped)
        ran = run(*arguments)
    assert ran.code == 130
    assert "interrupted after iteration 4" in ran.err
    assert "--resume" in ran.err
    assert (tmp_path / "m.checkpoint").exists()
    assert not model.exists()
    assert "pass --resume to continue" in bad(*arguments)
    good(*arguments, "--resume")
    assert not (tmp_path / "m.checkpoint").exists()
    good("train", folder / "train.jsonl", "-o", tmp_path / "whole")
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()
    assert "leave --resume out" in bad(*arguments, "--resume")


def test_train_warm_and_calibrated(folder: Path, tmp_path: Path) -> None:
    train, dev = folder / "train.jsonl", folder / "dev.jsonl"
    options = ["--warm-start", folder / "model", "--calibrate", dev]
    found = good("train", train, "-o", tmp_path / "m", *options, "--json").json
    model = caesura.load(tmp_path / "m")
    assert model.c2 == 0.1
    assert model.predict_confident(["12 High Street, York"])[0][0].calibrated
    assert found["iterations"] < 10
    assert "leave" in bad("train", train, "-o", tmp_path / "m", *options, "-m", "chain")


def test_train_near_keeps_what_new_data_does_not_have(folder: Path, tmp_path: Path) -> None:
    train, few, dev = folder / "train.jsonl", tmp_path / "few.jsonl", folder / "dev.jsonl"
    few.write_text("\n".join(train.read_text().splitlines()[:2]))
    options = ["--warm-start", folder / "model"]
    good("train", few, "-o", tmp_path / "far", *options)
    good("train", few, "-o", tmp_path / "near", *options, "--near")
    far, near = (good("evaluate", dev, tmp_path / name, "--json").json for name in ("far", "near"))
    assert far["micro"]["f1"] < near["micro"]["f1"]
    assert "--near: needs a model" in bad("train", few, "-o", tmp_path / "m", "--near")


# -- segment -------------------------------------------------------------------------------------


def predicted(folder: Path) -> list[list[caesura.Segment]]:
    model = caesura.load(folder / "model")
    found: list[list[caesura.Segment]] = model.predict(
        (folder / "new.txt").read_text().splitlines()
    )
    return found


@pytest.mark.parametrize("name", ["a.jsonl", "a.conll", "a.jsonl.gz"])
def test_segment_writes_what_train_reads(folder: Path, name: str) -> None:
    good("segment", folder / "model", folder / "new.txt", "-o", folder / name)
    documents = list(corpora.read(folder / name))
    assert [list(document.segments or ()) for document in documents] == predicted(folder)
    texts = (folder / "new.txt").read_text().splitlines()
    assert [document.text for document in documents] == texts
    good("train", folder / name, "-o", folder / "again", "--max-iterations", 2)


def test_segment_from_stdin_in_batches_of_any_size(folder: Path) -> None:
    model, text = folder / "model", (folder / "new.txt").read_text()
    whole = good("segment", model, "--to", "jsonl", stdin=text).out
    assert len(whole.splitlines()) == 15
    assert good("segment", model, "-", "--to", "jsonl", "--batch", 2, stdin=text).out == whole
    assert good("segment", model, folder / "new.txt", "--threads", 1).out == whole


def test_segment_csv_has_a_column_per_label(folder: Path) -> None:
    out = good("segment", folder / "model", "--to", "csv", stdin="7 Park Lane, New Mills\n").out
    assert out.splitlines() == [
        "text,number,street,town",
        '"7 Park Lane, New Mills",7,Park Lane,New Mills',
    ]
    sure = ["--to", "csv", "--probabilities"]
    out = good("segment", folder / "model", *sure, stdin="7 Park Lane, York\n").out
    assert out.splitlines()[0] == "text,number,street,town,p(number),p(street),p(town)"
    assert all(0.5 < float(share) <= 1 for share in out.splitlines()[1].split(",")[-3:])


def test_segment_text_and_html_for_people(folder: Path) -> None:
    text = "7 Park <Lane>, York\n"
    out = good("segment", folder / "model", "--to", "text", "-p", stdin="7 Park Lane, York\n").out
    assert re.fullmatch(
        r"\[7\]\(number 0\.\d+\) \[Park Lane\]\(street 0\.\d+\) , \[York\]\(town 0\.\d+\)\n", out
    )
    page = good("segment", folder / "model", "--to", "html", stdin=text).out
    assert page.startswith("<!doctype html>")
    assert page.endswith("</body></html>\n")
    assert "&lt;" in page
    assert "<Lane>" not in page
    assert 'content="light dark"' in page


def test_a_page_marks_what_is_doubtful(folder: Path) -> None:
    lines = ["7 Park Lane, York", "Leeds High 12 of"]
    page = good("segment", folder / "model", "-t", "html", stdin="\n".join(lines) + "\n").out
    found = [
        one for some in caesura.load(folder / "model").predict_confident(lines) for one in some
    ]
    doubtful = [f"? {one.probability:.2f}" for one in found if one.probability < 0.9]
    assert 0 < len(doubtful) < len(found)
    assert re.findall(r"<i [^>]*>(.*?)</i>", page) == doubtful
    assert page.count("dashed frame and a ? mark a probability below 0.9") == 1
    several = good("segment", folder / "model", "-t", "html", "-n", 2, stdin=lines[0] + "\n").out
    assert "dashed" not in several


def test_segment_probabilities_and_n_best(folder: Path) -> None:
    line = "7 Park Lane, York"
    out = good("segment", folder / "model", "-p", "-n", 3, "-t", "jsonl", stdin=line + "\n").out
    record = json.loads(out)
    model = caesura.load(folder / "model")
    best = model.predict_n_best([line], 3)[0]
    assert [one["probability"] for one in record["n_best"]] == [round(p, 6) for _, p in best]
    assert record["n_best"][0]["segments"] == [list(segment) for segment in best[0][0]]
    sure = model.predict_confident([line])[0]
    shares = record["confidence"]["probabilities"]
    assert shares == pytest.approx([one.probability for one in sure], abs=1e-6)
    text = good("segment", folder / "model", "-n", 3, "-t", "text", stdin=line + "\n").out
    assert text.startswith(f"{best[0][1]:.3f}  [7](number)")
    assert len(text.splitlines()) == 3
    wrong = bad("segment", folder / "model", "-n", 3, "-t", "csv", code=2)
    assert "cannot hold several answers" in wrong
    for form in ("text", "html"):
        ran = good("segment", folder / "model", "-n", 3, "-p", "-t", form, stdin=line + "\n")
        assert f"with --n-best, {form} has only the probability of each answer" in ran.err


def test_segment_shows_text_on_a_page_as_it_was_written(folder: Path) -> None:
    line = "7 Park's-Lane, (York)\n"
    for more in ([], ["-n", 1]):
        page = good("segment", folder / "model", "-t", "html", *more, stdin=line).out
        words = re.sub(
            r"<style.*?</style>|<p>.*?</p>|<small.*?</small>|<b .*?</b>|<[^>]*>",
            "",
            page,
            flags=re.S,
        )
        assert "Park's-Lane" in html.unescape(words)
    given = '{"tokens": ["7", "Park", "Lane"]}\n'
    assert (
        "Park Lane"
        in good("segment", folder / "model", "-f", "jsonl", "-t", "html", stdin=given).out
    )


def test_segment_sends_the_doubtful_to_a_review_file(folder: Path) -> None:
    model, text, out = folder / "model", folder / "new.txt", folder / "sure.jsonl"
    lines = text.read_text().splitlines()
    sure = caesura.load(model).predict_confident(lines)
    least = [min(one.probability for one in some) for some in sure]
    middle = sorted(least)[len(least) // 2]
    review = folder / "check.jsonl"
    good("segment", model, text, "-o", out, "--threshold", middle, "--review", review)
    kept, aside = records_of(out), records_of(review)
    assert [one["text"] for one in kept] == [
        x for x, p in zip(lines, least, strict=True) if p >= middle
    ]
    wrong = {
        x: sum(1 - one.probability for one in some) for x, some in zip(lines, sure, strict=True)
    }
    doubtful = [x for x, p in zip(lines, least, strict=True) if p < middle]
    assert [one["text"] for one in aside] == sorted(doubtful, key=lambda x: -wrong[x])
    assert kept
    assert aside
    assert "confidence" in aside[0]
    found = good("segment", model, text, "-o", out, "--threshold", 1, "--json").json
    assert found["for_review"] == found["sequences"] == 15
    assert found["written"] == found["segments"] == 0
    said = good("segment", model, text, "-o", out, "--threshold", middle).err
    segments = sum(len(one["segments"]) for one in kept)
    assert f"{len(kept)} sequences, {segments} segments: {out}" in said
    assert f"{len(aside)} sequences need review and were written only to" in said
    assert "--review" in bad("segment", model, text, "--threshold", 0.5, code=2)
    assert "0 to 1" in bad("segment", model, text, "--threshold", 5, "-o", out, code=2)
    assert "--threshold" in bad("segment", model, text, "--review", out, code=2)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_segment_flags_doubtful_fields_in_one_table(
    folder: Path, tmp_path: Path, form: str
) -> None:
    model, text, out = folder / "model", folder / "new.txt", tmp_path / f"all.{form}"
    lines = text.read_text().splitlines()
    sure = caesura.load(model).predict_confident(lines)
    middle = sorted(min(one.probability for one in some) for some in sure)[len(sure) // 2]
    said = good("segment", model, text, "-o", out, "--threshold", middle, "--flag").err
    if form == "csv":
        rows: Any = list(csv.DictReader(out.read_text().splitlines()))
    else:
        rows = parquet.read_table(out).to_pylist()
    assert [row["text"] for row in rows] == lines
    expected = [{one.segment.label for one in some if one.probability < middle} for some in sure]
    assert [set(filter(None, row["doubtful"].split(", "))) for row in rows] == expected
    assert f"{sum(map(bool, expected))} of them are for review" in said
    assert not list(tmp_path.glob("*review*"))
    wrong = ["segment", model, text, "--flag"]
    assert "--threshold" in bad(*wrong, "-o", out, code=2)
    assert "a table" in bad(*wrong, "-o", tmp_path / "x.jsonl", "--threshold", 0.5, code=2)
    named = tmp_path / "in.csv"
    named.write_text(f'id,doubtful\n1,"{lines[0]}"\n')
    good("segment", model, named, "-o", tmp_path / "o.csv", "--threshold", 1, "--flag")
    [row] = csv.DictReader((tmp_path / "o.csv").read_text().splitlines())
    assert row["doubtful"] == lines[0]
    assert row["doubtful fields"]
    more = ["-o", out, "--threshold", 0.5, "--review", tmp_path / "r.csv"]
    assert "leave --review out" in bad(*wrong, *more, code=2)


def test_segment_writes_bars_in_tables_that_are_read_again(folder: Path, tmp_path: Path) -> None:
    text, rules = "7 Park | Lane, York | York\n", tmp_path / "rules.json"
    segments = [[1, 4, "street"], [5, 6, "town"], [7, 8, "town"]]
    rules.write_text(json.dumps({"required": segments}))
    plain, sure = tmp_path / "plain.csv", tmp_path / "sure.csv"
    for out, more in ((plain, []), (sure, ["--probabilities"])):
        options = ["-o", out, "--constraints", rules, *more]
        good("segment", folder / "model", "-", *options, stdin=text)
        [document] = corpora.read(out, labels=LABELS)
        assert [list(segment) for segment in document.segments or ()][1:] == segments
    rows = [list(csv.reader(out.read_text().splitlines())) for out in (plain, sure)]
    assert [row[:4] for row in rows[1]] == rows[0]
    assert rows[1][0][4:] == ["p(number)", "p(street)", "p(town)"]
    assert all(0 < float(share) <= 1 for share in rows[1][1][4:])


def test_segment_counts_empty_sequences_that_columns_cannot_hold(folder: Path) -> None:
    lines = '{"text": ""}\n{"text": "7 Park Lane"}\n{"text": " "}\n'
    arguments = ["segment", folder / "model", "-", "-f", "jsonl", "--to"]
    assert "left out: 2 sequences" in good(*arguments, "conll", stdin=lines).err
    assert "left out" not in good(*arguments, "csv", stdin=lines).err


def test_segment_keeps_constraints(folder: Path, tmp_path: Path) -> None:
    model, lines = folder / "model", "7 Park Lane, York\n9 Mill Road, Bath\n"
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"required": [[1, 2, "town"]], "allowed": {"0": ["street"]}}))
    out = good("segment", model, "-t", "jsonl", "--constraints", rules, stdin=lines).out
    for line in out.splitlines():
        segments = json.loads(line)["segments"]
        assert segments[:2] == [[0, 1, "street"], [1, 2, "town"]]
    each = tmp_path / "rules.jsonl"
    each.write_text('{"boundaries": [2]}\n{}\n')
    arguments = ["segment", model, "-t", "jsonl", "--constraints", each]
    first, second = good(*arguments, stdin=lines).out.splitlines()
    assert not any(start < 2 < end for start, end, _ in json.loads(first)["segments"])
    assert [1, 3, "street"] in json.loads(second)["segments"]
    assert "fewer lines" in bad(*arguments, stdin=lines + lines)
    assert "more lines" in bad(*arguments, stdin="7 Park Lane\n")
    each.write_text('{"sometimes": 1}\n')
    assert "rules.jsonl, line 1: got the rule 'sometimes'" in bad(*arguments, stdin="7 Park Lane\n")
    each.write_text('{"required": [[0, 1, "number"]]}\n{"required": [[0, 9, "number"]]}\n')
    assert "sequence 2" in bad(*arguments, stdin=lines)
    ran = good(*arguments, "--skip-errors", stdin=lines)
    assert len(ran.out.splitlines()) == 1
    assert "left out: standard input, sequence 2" in ran.err


def test_errors_of_constraints_name_the_file_and_the_sequence(folder: Path, tmp_path: Path) -> None:
    lines, rules = "7 Park Lane, York\n9 Mill Road\n", tmp_path / "rules.json"
    arguments = ["segment", folder / "model", "-t", "jsonl", "--constraints", rules]
    rules.write_text('{"required": [[3, 5, "town"]]}')
    line = bad(*arguments, stdin=lines)
    assert f"standard input, sequence 2: {rules}: constraints['required']: got" in line
    rules.write_text('{"required": [[0, 1, "town"]], "forbidden": [[0, 1, "town"]]}')
    assert f"sequence 1: no segmentation is possible; relax the constraints in {rules}" in bad(
        *arguments, stdin=lines
    )


def test_errors_of_settings_name_their_file(folder: Path, tmp_path: Path) -> None:
    train, config = folder / "train.jsonl", tmp_path / "best.toml"
    config.write_text("c2 = -1\nseed = 3\n")
    arguments = [train, "--config", config]
    assert f"error: {config}: c2: got -1" in bad("train", *arguments, "-o", tmp_path / "m")
    assert f"error: {config}: c2: got -1" in bad("learning-curve", *arguments)
    assert f"error: {config}: c2: got -1" in bad("tune", *arguments, "--try", "c1=0.1")
    line = bad("train", *arguments, "-o", tmp_path / "m", "--c2", -2)
    assert f"{config}: c2" not in line


def test_a_checkpoint_of_another_run_is_named(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    files = folder / "train.jsonl", folder / "dev.jsonl"
    options = ["-o", tmp_path / "m", "--checkpoint", place]
    good("train", files[0], *options, "--max-iterations", 2)
    line = bad("train", files[1], *options, "--resume", "-q").splitlines()[-1]
    assert f"error: {place}: got the checkpoint of a run with other data" in line
    assert "--restart" in line
    assert "number of weights" in line or "of the weights" in line
    place.write_bytes(place.read_bytes()[:-9])
    line = bad("train", files[0], *options, "--resume", "-q").splitlines()[-1]
    assert f"error: {place}: got a file that is cut off" in line
    assert "--restart" in line


def test_segment_leaves_the_old_file_if_it_fails(folder: Path, tmp_path: Path) -> None:
    out, broken = tmp_path / "out.jsonl", tmp_path / "broken.jsonl"
    out.write_text("old")
    broken.write_text('{"text": "7 Park Lane"}\n{\n')
    bad("segment", folder / "model", broken, "-o", out, "--batch", 1)
    assert out.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [broken, out]


def test_segment_refuses_what_is_no_model(folder: Path) -> None:
    assert "not a model" in bad("segment", folder / "new.txt", folder / "new.txt")
    broken = folder / "broken"
    broken.write_bytes((folder / "model").read_bytes()[:-9])
    assert str(broken) in bad("segment", broken, folder / "new.txt")
    assert "give -o FILE" in bad("segment", folder / "model", "--json", code=2)
