"""CoNLL files on the command line: those named .txt, and those with more columns."""

import csv
import json
import pickle
from pathlib import Path

import pytest
from cli_data import addresses, bad, good

import caesura
from caesura import corpora
from caesura.documents import Document
from caesura.errors import InvalidInput


def tagged(path: Path, count: int, seed: int = 1) -> Path:
    """Write addresses in three columns: token, kind of token, tag."""
    documents = [
        Document(
            one.tokens,
            segments=one.segments,
            columns={"kind": [("N" if token.isdigit() else "W") for token in one.tokens]},
        )
        for one in addresses(count, seed)
    ]
    corpora.write(path, documents, "conll")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("#")))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with train.txt, test.txt and a model."""
    place = tmp_path_factory.mktemp("conll")
    tagged(place / "train.txt", 40)
    tagged(place / "test.txt", 10, 2)
    good("train", place / "train.txt", "-o", place / "model", "-q", "--max-iterations", 20)
    return place


# -- labels are not lost in text -----------------------------------------------------------------


def test_convert_and_split_keep_the_tags_of_text_files(folder: Path, tmp_path: Path) -> None:
    train, names = folder / "train.txt", ("a.txt", "b.txt.gz", "c.txt")
    a, b, c = (tmp_path / name for name in names)
    good("split", train, a, b)
    good("convert", train, c)
    whole = [repr(one) for one in corpora.read(train)]
    assert [repr(one) for one in corpora.read(c)] == whole
    parts = [*corpora.read(a), *corpora.read(b)]
    assert sorted(map(repr, parts)) == sorted(whole)


def test_labels_are_not_written_to_text_files(folder: Path, tmp_path: Path) -> None:
    lines, out = tmp_path / "a.jsonl", tmp_path / "a.txt"
    good("convert", folder / "train.txt", lines)
    for arguments in (("convert", lines, out), ("split", lines, out, tmp_path / "b.txt")):
        assert "name it .conll or .jsonl; caesura convert --to text" in bad(*arguments)
    with pytest.raises(InvalidInput, match=r"pass format='text' for the texts alone"):
        corpora.write(out, corpora.read(lines))
    assert [*tmp_path.iterdir()] == [lines]
    good("convert", lines, out, "--to", "text")
    assert len(out.read_text().splitlines()) == 40


# -- text files with columns ---------------------------------------------------------------------


def test_segment_reads_columns_as_train_does(folder: Path, tmp_path: Path) -> None:
    model, test, out = folder / "model", folder / "test.txt", tmp_path / "out.jsonl"
    (tmp_path / "test.conll").write_text(test.read_text())
    good("segment", model, tmp_path / "test.conll", "-o", out)
    expected = out.read_text()
    ran = good("segment", model, test, "-o", out, "-q")
    assert "is read as conll" in ran.err
    assert out.read_text() == expected
    assert good("segment", model, "-", "--to", "jsonl", stdin=test.read_text()).out == expected
    named = good("segment", model, test, "--columns", "token,_,tag", "--to", "jsonl").out
    assert [one["tokens"] for one in map(json.loads, named.splitlines())] == [
        one["tokens"] for one in map(json.loads, expected.splitlines())
    ]
    good("segment", model, test, "-o", out, "--format", "text")
    assert len(out.read_text().splitlines()) == len(test.read_text().splitlines())


def test_columns_may_be_without_tags(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.txt"
    path.write_text("12 N\nMill W\nRoad W\n")
    for arguments in ([path], ["-"]):
        options = ["--columns", "token,kind", "--to", "jsonl"]
        out = good("segment", folder / "model", *arguments, *options, stdin=path.read_text()).out
        assert json.loads(out)["tokens"] == ["12", "Mill", "Road"]


def test_load_refuses_columns(folder: Path, tmp_path: Path) -> None:
    into = tmp_path / "a.db"
    said = bad("load", folder / "model", folder / "test.txt", "--into", into)
    assert "not CoNLL columns" in said
    assert "pass --format text if each line is a text" in said
    assert not into.exists()


@pytest.mark.parametrize(
    "text", ["Vitamin A\nVitamin B-12\n", "Hepatitis B-virus\n", "Plan B\n\nPlan C\n", "B-2 O\n"]
)
def test_texts_that_resemble_columns_are_texts(folder: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "new.txt"
    path.write_text(text)
    for arguments in ([path], ["-"]):
        ran = good("segment", folder / "model", *arguments, "--to", "jsonl", stdin=text)
        assert "conll" not in ran.err
        assert [json.loads(line)["text"] for line in ran.out.splitlines()] == text.splitlines()


# -- more columns --------------------------------------------------------------------------------


def test_train_warns_of_columns_that_it_does_not_use(folder: Path, tmp_path: Path) -> None:
    train = folder / "train.txt"
    command = ["train", train, "-o", tmp_path / "m", "-q", "--max-iterations", 2]
    for options in ([], ["--columns", "token,kind,tag"], ["--preset", "ner"]):
        ran = good(*command, *options)
        assert "not used; call it pos if it has parts of speech, as in --columns" in ran.err
    for names in ("token,pos,tag", "token,_,tag"):
        assert "not used" not in good(*command, "--columns", names).err


def test_models_remember_the_names_of_columns(folder: Path, tmp_path: Path) -> None:
    model, test, out = tmp_path / "m", folder / "test.txt", tmp_path / "o.jsonl"
    columns = ["--columns", "token,pos,tag"]
    said = good("train", folder / "train.txt", "-o", model, *columns, "--max-iterations", 5).out
    for command in (["evaluate", model, test], ["segment", model, test, "-o", out]):
        assert "the columns are token,pos,tag, as in training" in good(*command).err
    assert good("evaluate", model, test).out == good("evaluate", model, test, *columns).out
    good("convert", test, tmp_path / "again.txt")
    again = good("evaluate", model, tmp_path / "again.txt", "--json").json
    assert again == good("evaluate", model, test, "--json").json
    good("convert", test, tmp_path / "named.conll", "--columns", "token,lemma,tag")
    assert "it has lemma" in bad("evaluate", model, tmp_path / "named.conll")
    assert f"caesura evaluate {model} TEST --columns token,pos,tag," in said
    assert f"caesura segment {model} new.conll --columns token,pos,tag" in said
    assert "caesura explain" not in said
    assert "pass --columns, as in --columns token,pos,tag" in bad(
        "evaluate", model, test, "--columns", "token,other,tag"
    )


def test_models_remember_the_text_column(tmp_path: Path) -> None:
    rows = [(one.text or "", one) for one in addresses(40, 1)]
    table, new, model = tmp_path / "train.csv", tmp_path / "new.csv", tmp_path / "m"
    with table.open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "town"])
        for text, one in rows:
            town = (one.segments or ())[2]
            writer.writerow([text, " ".join(one.tokens[town.start : town.end])])
    with new.open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "description"])
        writer.writerows([text, f"A {text} and many more words about it"] for text, _ in rows)
    good("train", table, "-o", model, "-q", "--max-iterations", 5, "--text-column", "title")
    loaded = caesura.load(model)
    assert (
        loaded.reading_ == pickle.loads(pickle.dumps(loaded)).reading_ == {"text_column": "title"}
    )
    ran = good("segment", model, new, "-o", tmp_path / "o.csv")
    assert "the text is in the column 'title', as in training" in ran.err
    given = good("segment", model, new, "--text-column", "title", "--to", "csv").out
    assert (tmp_path / "o.csv").read_text() == given
    ran = good("load", model, new, "--into", tmp_path / "a.db")
    assert "the text is in the column 'title'" in ran.err
    other = good("segment", model, new, "--text-column", "description", "--to", "csv")
    assert "as in training" not in other.err
    with pytest.raises(InvalidInput, match="expected text_column or columns"):
        loaded.set_reading({"text": "title"})
    assert loaded.fit(["a b"], [[(0, 1, "x")]]).reading_ == {}
