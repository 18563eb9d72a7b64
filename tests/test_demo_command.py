"""The demonstration from its beginning to its end, small."""

import csv
import itertools
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from cli_data import good

import caesura
from caesura import InvalidInput
from caesura.cli.demo import _program, demo
from caesura.corpora import read
from caesura.demo import HELD_OUT_STYLES, LABELS, split
from caesura.demo.database import QUERY
from caesura.demo.trial import data, lexicons

COLUMNS = list(dict.fromkeys(LABELS.values()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "made for it"


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    """Return what the demonstration prints where nobody is looking."""
    code = "from pathlib import Path; from caesura.cli.demo import demo; import sys; "
    code += "demo(n=40, seed=1, output=Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(folder)],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={"PYTHONIOENCODING": "utf-8", "PYTHONPATH": ":".join(sys.path)},
    )
    assert not done.stderr
    return done.stdout


def test_it_prints_scores_of_both_models(printed: str) -> None:
    for name in ("semi-CRF", r"token CRF \(BIO\)"):
        found = re.search(rf"^{name} +(\S+) +(\S+) +[\d,]+ +\S+$", printed, re.MULTILINE)
        assert found is not None
        assert all(30 < float(score) <= 100 for score in found.groups())


def test_it_is_plain_where_nobody_is_looking(printed: str) -> None:
    assert "\x1b" not in printed


def test_it_shows_ten_references_with_probabilities(printed: str, folder: Path) -> None:
    for line in (folder / "references.txt").read_text(encoding="utf-8").splitlines():
        assert f"\n{line}\n" in printed
    facts = re.findall(rf"^  ([? ]) (\d\.\d\d)  (?:{'|'.join(COLUMNS)}) +\S", printed, re.MULTILINE)
    assert len(facts) >= 30
    assert {mark for mark, _ in facts} == {"?", " "}
    assert (
        "\nThe limits: 5 references in citation styles that are not in the training data.\n"
        in printed
    )
    for mark, probability in facts:
        assert (mark == "?") == (float(probability) < 0.9) or probability == "0.90"


def test_it_writes_rows(printed: str, folder: Path) -> None:
    with open(folder / "references.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["text", *COLUMNS]
    assert [row[0] for row in rows] == (folder / "references.txt").read_text("utf-8").splitlines()
    assert len(rows) == 10
    for row in rows:
        for name, cell in zip(COLUMNS, row[1:], strict=True):
            if cell and name not in ("date", "pages"):  # whose form is changed
                assert all(field in row[0] for field in cell.split(" | "))


def test_it_ends_in_a_database(printed: str, folder: Path) -> None:
    with duckdb.connect(str(folder / "references.duckdb"), read_only=True) as connection:
        count, review = connection.sql("SELECT count(*), sum(review::int) FROM papers").fetchall()[
            0
        ]
    assert f"All {count} references in known styles are now rows" in printed
    assert f"{review} are marked for review" in printed
    shown = printed.split(QUERY)[1].splitlines()[1:]
    assert shown[0].split() == ["date", "author", "title", "probability"]
    for line in itertools.takewhile(str.strip, shown[1:]):
        assert re.match(r"20\d\d", line)


def test_it_takes_sqlite_without_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    demo(n=12, output=tmp_path)
    assert "This is an SQLite file" in capsys.readouterr().out
    assert (tmp_path / "references.db").exists()
    assert not (tmp_path / "references.duckdb").exists()


def test_the_commands_at_the_end_work(printed: str, folder: Path) -> None:
    lines = printed.split("To try next:\n")[1].splitlines()
    names = ["segment", "explain", "load", "train"]
    words = [shlex.split(line) for line in lines]
    called = [one[one.index(name) :] for one, name in zip(words, names, strict=True)]
    cut, explained, loaded, learnt = (good(*command) for command in called)
    assert cut.out.count("\n") == 10
    label = called[1][called[1].index("--label") + 1]
    assert f"\n{label} [" in explained.out
    assert "10 records, 10 new rows" in loaded.out
    assert "SemiCRF with" in learnt.out + learnt.err
    mine, shown = (caesura.load(folder / name) for name in ("my.model", "citations.model"))
    for name in ("c1", "c2", "max_iterations", "same_label_adjacent"):
        assert getattr(mine, name) == getattr(shown, name)


def test_the_program_is_named_as_it_can_be_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / ".venv" / "bin"
    inner.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(inner / "python"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert _program() == ".venv/bin/python -m caesura"
    (inner / "caesura").write_text("")
    assert _program() == ".venv/bin/caesura"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert _program() == shlex.quote(str(inner / "caesura"))
    monkeypatch.setattr("shutil.which", lambda name: "/somewhere/caesura")
    assert _program() == "caesura"


def test_the_files_are_what_was_learnt_and_tested(printed: str, folder: Path) -> None:
    names = ("train", "dev", "test", "unseen-styles")
    train, dev, test, unseen = (list(read(folder / f"{name}.jsonl")) for name in names)
    assert len(train) == 40
    assert train[3].segments == data(40, 1).train[3].segments
    model = caesura.load(folder / "citations.model")
    for some in (dev, test, unseen):
        assert (
            caesura.evaluate([d.segments or () for d in some], model.predict(some)).micro.f1 > 0.3
        )


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(n=12, seed=2, output=tmp_path, json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["train"] == 12
    assert len(found["references"]) == 10
    assert 0 < found["semi"]["f1_unseen_styles"] <= 1
    for name in ("doubt_known_styles", "doubt_unseen_styles"):
        doubt = found[name]
        assert doubt["flagged_wrong"] <= doubt["flagged"] <= doubt["segments"]


def test_quiet_prints_scores_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo(n=12, output=tmp_path, quiet=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("segment F1")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="give a folder"):
        demo(n=20, output=tmp_path / "file" / "inner")


def test_too_few_references() -> None:
    with pytest.raises(InvalidInput, match="n: got 3, expected at least 10"):
        data(3)


# -- what is held out ----------------------------------------------------------------------------


def titles(documents: list[caesura.Document]) -> set[str]:
    found = set()
    for document in documents:
        for start, end, label in document.segments or ():
            if label == "title":
                found.add(" ".join(document.tokens[start:end]).lower())
    return found


def test_no_title_of_the_test_is_in_the_training_data() -> None:
    made = data(300)
    assert not titles(made.train) & (titles(made.test) | titles(made.unseen) | titles(made.dev))
    assert len(HELD_OUT_STYLES) == 3


def test_lexicons_know_the_training_records_only() -> None:
    parts = split(0)
    known = {name.family for record in parts.train for name in record.authors + record.editors}
    surnames = data(20).lexicons[0]
    assert surnames.name == "surnames"
    assert {"".join(entry) for entry in surnames.entries} <= {n.replace(" ", "") for n in known}
    assert lexicons([]) == [caesura.features.Lexicon(one.name, []) for one in data(20).lexicons]


def test_importing_the_package_does_not_load_the_demo() -> None:
    code = "import sys, caesura; print('caesura.demo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
