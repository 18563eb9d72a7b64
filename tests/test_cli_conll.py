"""CoNLL files on the command line: those named .txt, and those with more columns."""

from pathlib import Path

import pytest
from cli_data import addresses, bad, good

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
