"""Tables as data engineers bring them: which column is what, and nothing lost."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

import caesura
from caesura import Document, InvalidInput, Segment, SemiCRF
from caesura.corpora import Columns, from_frame, read, read_csv, read_jsonl, read_parquet, write
from caesura.corpora.columns import choose
from caesura.corpora.files import Together, writing

PRODUCTS = """title,brand,model,storage,colour
Fairphone 5 256 GB Black,Fairphone,5,256 GB,Black
Apple iPhone 12 64 GB Red,Apple,iPhone 12,64 GB,Red
Samsung Galaxy S21 128 GB Blue,Samsung,Galaxy S21,128 GB,Blue
"""
LABELS = ["brand", "model", "storage", "colour"]


def put(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def columns_of(path: Path, **options: Any) -> Columns:
    corpus = read(path, **options)
    list(corpus)
    assert corpus.columns is not None
    return corpus.columns


def fields(document: Document) -> dict[str, str]:
    return {s.label: document.text_of(s) for s in document.segments or ()}


# -- which column is the text ----------------------------------------------------------------------


def test_the_column_that_holds_the_others_is_the_text(tmp_path: Path) -> None:
    path = put(tmp_path, PRODUCTS)
    corpus = read(path)
    first, *_ = corpus
    assert first.text == "Fairphone 5 256 GB Black"
    assert list(fields(first)) == LABELS
    assert corpus.columns is not None
    assert corpus.columns.text == "title"
    assert corpus.columns.guessed
    assert list(corpus.columns.labels) == LABELS


@pytest.mark.parametrize("head", ["Text,Brand", "TEXT,Brand", " text ,Brand"])
def test_the_case_of_names_does_not_matter(tmp_path: Path, head: str) -> None:
    found = columns_of(put(tmp_path, f"{head}\nFairphone 5,Fairphone\n"))
    assert found.text == head.split(",")[0]
    assert found.labels == ("Brand",)
    assert not found.guessed


def test_other_columns_are_carried_along(tmp_path: Path) -> None:
    content = "id,price,text,brand\n17,699.00,Fairphone 5,Fairphone\n18,,Pixel 8,\n"
    first, second = read(put(tmp_path, content))
    assert first.carried == {"id": "17", "price": "699.00"}
    assert fields(first) == {"brand": "Fairphone"}
    assert second.carried == {"id": "18", "price": ""}
    assert second.segments == ()


def test_without_labels_the_longest_column_is_the_text(tmp_path: Path) -> None:
    path = put(tmp_path, "sku,title\nSKU1000,Fairphone 5 256 GB\nSKU1001,Pixel 8 Pro\n")
    found = columns_of(path, labels=[])
    assert (found.text, found.carried) == ("title", ("sku",))
    with pytest.raises(InvalidInput, match=r"line 1: text: got .*name it with text="):
        list(read(path))  # nothing of one column stands in the other
    two = put(tmp_path, "first,second\nFairphone five phone,Google Pixel eight\n", "b.csv")
    with pytest.raises(InvalidInput, match="several may be it"):
        list(read(two, labels=[]))
    assert columns_of(two, labels=[], text="Second").text == "second"


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = put(tmp_path, PRODUCTS)
    [first, *_] = read(path, text="title", labels=["Brand", "colour"])
    assert fields(first) == {"brand": "Fairphone", "colour": "Black"}
    assert first.carried == {"model": "5", "storage": "256 GB"}
    [joined, *_] = read(path, text=False, labels=["brand", "model"])
    assert joined.text == "Fairphone 5"
    for wrong in ({"text": "name"}, {"labels": ["make"]}):
        with pytest.raises(InvalidInput, match="expected one of the columns 'title', 'brand'"):
            list(read(path, **wrong))
    with pytest.raises(InvalidInput, match="other than that of the text"):
        list(read(path, text="title", labels=["title"]))


def test_a_file_without_names_of_columns_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "\n".join(PRODUCTS.split("\n")[1:]))
    with pytest.raises(InvalidInput, match="look like a row of the table"):
        list(read(path))
    with pytest.raises(InvalidInput, match="look like a row of the table"):
        list(read(put(tmp_path, "17,Fairphone five\n18,Pixel\n"), labels=[]))


def test_a_column_that_is_partly_in_the_text_is_told(tmp_path: Path) -> None:
    rows = [["a b", "a"], ["c d", "x"], ["e f", "y"], ["g h", "z"]]
    found = choose(["text", "tag"], rows)
    assert found.carried == ("tag",)
    assert found.partly == {"tag": 0.25}


# -- what files look like --------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_separators_line_ends_and_marks(
    tmp_path: Path, separator: str, end: str, mark: str
) -> None:
    rows = [["id", "text", "name"], ["1x", '"Lee, Ann; (ed.)"', '"Lee, Ann"'], ["2x", "Wu", "Wu"]]
    content = mark + "".join(separator.join(row) + end for row in rows)
    first, second = read(put(tmp_path, content))
    assert first.text == "Lee, Ann; (ed.)"
    assert fields(first) == {"name": "Lee, Ann"}
    assert second.carried == {"id": "2x"}


def test_line_ends_in_cells_and_blank_lines(tmp_path: Path) -> None:
    content = 'id;text;name\r\n1x;"Ann\r\nLee";Lee\r\n\r\n2x;;\r\n'
    first, second = read(put(tmp_path, content))
    assert first.text == "Ann\r\nLee"
    assert (second.text, second.segments) == ("", ())


def test_names_of_columns(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="columns: got 'a', expected unique column names"):
        list(read(put(tmp_path, "text,a,a\nx,x,x\n")))
    [document] = read(put(tmp_path, ",text,name\n0,Ann Lee,Lee\n"))  # as pandas writes its index
    assert document.carried == {"column1": "0"}
    with pytest.raises(InvalidInput, match="separator: got 'xx'"):
        read_csv(tmp_path / "a.csv", separator="xx")


def test_wide_tables(tmp_path: Path) -> None:
    """They took a minute when the names of columns were compared with each other."""
    names = [f"c{i}" for i in range(40_000)]
    path = put(tmp_path, f"text,{','.join(names)}\nAnn,{','.join('v' for _ in names)}\n")
    [document] = read(path)
    assert list(document.carried) == names
    [document] = read(path, labels=[])
    assert list(document.carried) == names


@pytest.mark.parametrize("text", [None, "text", "long"])
def test_names_of_columns_are_not_compared_with_each_other(text: str | None) -> None:
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [Name(f"c{i}") for i in range(500)] + [Name("text" if text == "text" else "long")]
    for cell in ("", "Ann", "v"):  # cells that say nothing, labels, and what is carried along
        row = [*([cell] * 500), "Ann came home today"]
        for labels in (None, names[:400]):
            if cell == "Ann" or (text is not None and labels is None):
                choose(names, [row] * 3, text, labels)
    assert 0 < compared < 60 * len(names)


def test_values_that_stand_in_the_text_twice_are_noted(tmp_path: Path) -> None:
    path = put(tmp_path, "text,town\nYork Road York,York\nLeeds,Leeds\n")
    corpus = read(path)
    assert [fields(document)["town"] for document in corpus] == ["York", "Leeds"]
    assert corpus.notes.repeated == 1
    assert corpus.notes.first_repeated == "line 2, town: 'York'"
    assert "1 value occurs twice in its text" in str(corpus.notes)
    told = read(put(tmp_path, "text,town\nYork Road York,York @10:14\n"))
    assert [d.segments[0].start for d in told if d.segments] == [2]
    assert told.notes.repeated == 0
    both = read(put(tmp_path, "text,town\nYork Road York,York | York\n"))
    assert len(list(both)) == 1
    assert both.notes.repeated == 0


# -- other formats ---------------------------------------------------------------------------------


def test_json_lines_carry_what_they_do_not_know(tmp_path: Path) -> None:
    line = '{"text": "Ann Lee", "spans": [[0, 7, "PER"]], "id": 7, "meta": {"a": [1]}}\n'
    [document] = read(put(tmp_path, line, "a.jsonl"))
    assert document.carried == {"id": 7, "meta": {"a": [1]}}
    write(tmp_path / "b.jsonl", [document])
    [again] = read(tmp_path / "b.jsonl")
    assert again.carried == document.carried
    assert again.segments == document.segments


def test_json_lines_with_a_text_under_another_key(tmp_path: Path) -> None:
    path = put(tmp_path, '{"id": 7, "title": "Fairphone 5", "brand": "Fairphone"}\n', "a.jsonl")
    [document] = read(path, text="title", labels=["brand"])
    assert fields(document) == {"brand": "Fairphone"}
    assert document.carried == {"id": 7}
    [again] = (guessed := read(path))
    assert (again.segments, again.carried) == (document.segments, {"id": 7})
    assert str(guessed.columns) == "text: title (guessed); labels: brand; carried along: id"
    unclear = put(tmp_path, '{"id": 7, "title": "Fairphone", "brand": "Apple"}\n', "b.jsonl")
    with pytest.raises(InvalidInput, match="line 1: text: got the keys 'id', 'title', 'brand'"):
        list(read(unclear))
    with pytest.raises(InvalidInput, match="line 1: text: got 'name', expected one of"):
        list(read_jsonl(path, text="name"))


def test_parquet_keeps_types(tmp_path: Path) -> None:
    day = datetime.date(2026, 1, 2)
    table = pyarrow.table(
        {
            "id": pyarrow.array([7, None], pyarrow.int32()),
            "day": [day, None],
            "title": ["Fairphone 5 of 2023", None],
            "brand": [["Fairphone"], []],
            "year": pyarrow.array([2023, None]),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    corpus = read_parquet(tmp_path / "a.parquet")
    first, second = corpus
    assert fields(first) == {"brand": "Fairphone", "year": "2023"}
    assert first.carried == {"id": 7, "day": day}
    assert (second.text, second.segments) == ("", ())
    assert corpus.columns is not None
    assert corpus.columns.types is not None
    assert corpus.columns.types["id"] == pyarrow.int32()


@pytest.mark.parametrize("name", ["b.csv", "b.tsv", "b.parquet", "b.xlsx", "b.jsonl"])
def test_what_is_carried_is_written_and_read_again(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, "id;text;brand\n0017;=Fairphone 5 \u00e9;Fairphone\n0018;+1;\n")
    documents = list(read(path))
    format = "csv" if name == "b.tsv" else None
    assert write(tmp_path / name, documents, format) == 2
    again = list(read(tmp_path / name, format))
    assert [d.text for d in again] == [d.text for d in documents]
    assert [d.carried for d in again] == [d.carried for d in documents]
    assert [d.segments or () for d in again] == [d.segments for d in documents]


def test_sheets_say_what_they_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no control characters"):
        write(tmp_path / "a.xlsx", [Document(("a\x01",))])
    with pytest.raises(caesura.TooLarge, match="32,767"):
        write(tmp_path / "a.xlsx", [Document(("a" * 40_000,))])
    assert not list(tmp_path.iterdir())
    for name in ("a.parquet", "a.xlsx"):
        with pytest.raises(InvalidInput, match="or is damaged"):
            list(read(put(tmp_path, b"no table", name)))


# -- tables in memory ------------------------------------------------------------------------------

FRAME: dict[str, Any] = {
    "id": [7, 8],
    "title": ["12 High Street, Leeds", "7 Park Lane, York"],
    "town": ["Leeds", "York"],
}


def frames() -> list[Any]:
    return [pandas.DataFrame(FRAME), polars.DataFrame(FRAME), pyarrow.table(FRAME)]


@pytest.fixture(scope="module")
def model() -> SemiCRF:
    X = ["12 High Street, Leeds", "7 Park Lane, York", "3 Mill Road Leeds"]
    return SemiCRF(c2=0.1).fit(
        [
            {"text": X[0], "spans": [[0, 2, "number"], [3, 14, "street"], [16, 21, "town"]]},
            {"text": X[1], "spans": [(0, 1, "number"), (2, 11, "street"), (13, 17, "town")]},
            {"text": X[2], "spans": [{"start": 12, "end": 17, "label": "town"}], "id": 9},
        ]
    )


def test_frames_become_documents() -> None:
    for frame in [*frames(), polars.DataFrame(FRAME).lazy(), frames()[2].to_batches()[0]]:
        first, _ = from_frame(frame, text="title", labels=["town"])
        assert fields(first) == {"town": "Leeds"}
        assert first.carried == {"id": 7}
        assert from_frame(frame, text="title")[0].segments is None
        with pytest.raises(InvalidInput, match="expected the name of the column with the text"):
            from_frame(frame)
        with pytest.raises(InvalidInput, match=r"labels: got 'city', expected one of the col"):
            from_frame(frame, text="title", labels=["city"])
    with pytest.raises(InvalidInput, match=r"^frame: got "):
        from_frame(FRAME)
    wrong = pandas.DataFrame({"text": ["a b"], "x": ["z"]})
    with pytest.raises(InvalidInput, match="row 0: x: got 'z', expected a value that occurs in"):
        from_frame(wrong, labels=["x"])
    with pytest.raises(InvalidInput, match=r"row 0: x: got '7', .*; its column holds numbers"):
        from_frame(pandas.DataFrame({"text": ["a b"], "x": [7]}), labels=["x"])
    with pytest.raises(InvalidInput, match=r"row 0: x: got 'true', .*; correct the cell"):
        from_frame(pandas.DataFrame({"text": ["a b"], "x": [True]}), labels=["x"])
    with pytest.raises(InvalidInput, match="frame, row 1: text: got 3, expected a text"):
        from_frame(pandas.DataFrame({"text": ["a", 3]}))
    gaps = from_frame(pandas.DataFrame({"text": ["a", None], "n": [1.5, float("nan")]}))
    assert [d.carried["n"] for d in gaps] == [1.5, None]


def test_models_refuse_frames_that_they_would_misread(model: SemiCRF) -> None:
    for frame in frames():
        asked: list[Any] = [
            lambda frame=frame: model.predict(frame),
            lambda frame=frame: model.predict_confident(frame),
            lambda frame=frame: model.predict_n_best(frame, 2),
            lambda frame=frame: model.predict_tags(frame),
            lambda frame=frame: model.predict_marginals(frame),
            lambda frame=frame: model.sample(frame),
            lambda frame=frame: model.explain(frame),
            lambda frame=frame: model.potentials(frame),
            lambda frame=frame: model.score(frame),
            lambda frame=frame: SemiCRF().fit(frame, [[]]),
            lambda frame=frame: SemiCRF().fit(["a b"], frame),
            lambda frame=frame: model.predict([frame]),
        ]
        for ask in asked:
            with pytest.raises(InvalidInput, match=r"got a (pandas|polars|pyarrow) \w+ with the"):
                ask()


def test_a_column_is_a_list_of_texts(model: SemiCRF) -> None:
    pandas_, polars_, arrow = frames()
    expected = model.predict(FRAME["title"])
    for column in (pandas_["title"], polars_["title"], arrow.column("title")):
        assert model.predict(column) == expected


def test_values_that_occur_twice_are_warned_of(tmp_path: Path) -> None:
    rows = {"text": ["York Street , York", "1 Leeds", "Leeds Lane , Leeds"]}
    frame = pandas.DataFrame(rows | {"town": ["York", "Leeds", "Leeds"]})
    twice = r"^frame: 2 values .* once in their text .row 0, town: 'York'; row 2, town: 'Leeds'"
    with pytest.warns(UserWarning, match=twice) as caught:
        documents = from_frame(frame, labels=["town"])
    assert documents[0].segments == (Segment(0, 1, "town"),)
    assert caught[0].filename == __file__
    put(tmp_path, frame.to_csv(index=False), "towns.csv")
    corpus = read(tmp_path / "towns.csv")
    with pytest.warns(UserWarning, match="towns.csv: 2 values .* text .line 2, town: 'York'; line"):
        SemiCRF(c2=0.1).fit(corpus)
    assert corpus.notes.repeated_at == ("line 2, town: 'York'", "line 4, town: 'Leeds'")
    told = pandas.DataFrame({"text": ["York Street , York"], "town": ["York @14:18"]})
    assert from_frame(told, labels=["town"])[0].segments == (Segment(3, 4, "town"),)


def test_a_number_that_is_not_in_its_text_is_named_as_one() -> None:
    frame = pandas.DataFrame({"id": [1], "text": ["Reno 01234"], "zip": [1234.0]})
    with pytest.raises(InvalidInput, match=r"row 0: zip: .* holds numbers, .*dtype=str"):
        from_frame(frame, labels=["zip"])
    with pytest.raises(InvalidInput, match="pass tokeniser='parts'"):
        from_frame(frame.assign(zip="1234"), labels=["zip"])


def test_a_text_column_with_the_name_of_a_label_is_warned_of(model: SemiCRF) -> None:
    told = dict(zip(["id", "street", "town"], FRAME.values(), strict=True))
    streets = model.extract(FRAME["title"]).columns()["street"]
    same = r"the columns 'street', 'town' have names .* in the columns 'street_2', 'town_2' of"
    for kind in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        with pytest.warns(UserWarning, match=same):
            columns = model.extract(kind(told), text="street").columns()
        assert columns["street"] == FRAME["title"]
        assert columns["street_2"] == streets
    alone = model.extract(pandas.DataFrame({"title": FRAME["title"]}), text="title").to_pandas()
    assert list(alone[model.columns_]["town"]) == ["Leeds", "York"]  # without a warning


def test_extract_takes_frames(model: SemiCRF) -> None:
    names = ["id", "town", "title", "number", "street", "town_2", "probability"]
    for frame in frames():
        same = r"texts: the columns 'town' have names of labels .* in the columns 'town_2' of"
        with pytest.warns(UserWarning, match=same):
            columns = model.extract(frame, text="title").columns()
        assert list(columns) == names
        assert columns["id"] == [7, 8]
        assert columns["town_2"] == ["Leeds", "York"]
    indexed = pandas.DataFrame(FRAME, index=["a", "b"])[["id", "title"]]
    assert list(model.extract(indexed, text="title").to_pandas().index) == ["a", "b"]
    with pytest.raises(InvalidInput, match="expected the name of the column with the text"):
        model.extract(frames()[0])
    with pytest.raises(InvalidInput, match="text: got 'title' for texts without columns"):
        model.extract(FRAME["title"], text="title")
    [record] = model.extract([{"text": "9 Elm Road, York", "id": 3}])
    assert record.carried == {"id": 3}
    assert record.to_dict()["carried"] == {"id": 3}


def test_what_looks_like_a_sequence_and_is_none(
    model: SemiCRF, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "{}\n", "train.jsonl")
    for ask in (model.predict, model.extract, lambda X: SemiCRF().fit(X, [[]])):
        with pytest.raises(InvalidInput, match=r"caesura\.corpora\.read\('train\.jsonl'\)"):
            ask(["train.jsonl"])
    assert len(model.predict(["other.jsonl"])) == 1  # there is no such file
    with pytest.raises(InvalidInput, match=r"x: got .* expected one sequence: a text, or a list"):
        model.explain(["12 High Street", "7 Park Lane"])
    with pytest.raises(InvalidInput, match="expected one sequence"):
        model.potentials(["12 High Street"])
    assert model.explain(["12", "High", "Street"])


def test_spans_in_memory(model: SemiCRF) -> None:
    assert model.columns_ == ["number", "street", "town"]
    for wrong, expected in (
        ([[0, 1, "a"]], "whole tokens"),
        ([[0, 99, "a"]], "within the 2 characters"),
        ([[0, "a"]], r"\[start, end, label\]"),
        (5, r"\[start, end, label\]"),
    ):
        with pytest.raises(InvalidInput, match=rf"X\[0\]\.spans.*{expected}"):
            SemiCRF(tokeniser="words").fit([{"text": "ab", "spans": wrong}])
    with pytest.raises(InvalidInput, match="got segments as well"):
        SemiCRF().fit([{"text": "ab", "spans": [], "segments": []}])


def test_columns_keep_their_order(tmp_path: Path) -> None:
    documents = list(read(put(tmp_path, PRODUCTS)))
    model = SemiCRF(max_iterations=5).fit(documents)
    assert model.labels_ == sorted(LABELS)
    assert model.columns_ == LABELS
    model.save(tmp_path / "m")
    assert caesura.load(tmp_path / "m").columns_ == LABELS
    assert caesura.load(tmp_path / "m").set_columns(["model"]).columns_[0] == "model"
    with pytest.raises(InvalidInput, match="labels: got 'x', expected labels of the model"):
        model.set_columns(["x"])


# -- files that belong together --------------------------------------------------------------------


def write_all(folder: Path, names: list[str], error: Exception | None = None) -> None:
    with Together():
        for name in names:
            with writing(folder / name) as file:
                file.write("new")
        if error is not None:
            raise error


def test_files_are_put_in_their_places_together(tmp_path: Path) -> None:
    old = put(tmp_path, "old", "a")
    with pytest.raises(RuntimeError):
        write_all(tmp_path, ["a", "b"], RuntimeError())
    assert old.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_what_cannot_be_placed_takes_the_others_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = put(tmp_path, "old", "a")
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target.name == "c":
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(OSError, match="No space"):
        write_all(tmp_path, ["a", "b", "c"])
    assert old.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("header", "row", "expected", "repeated"),
    [
        # a value that stands twice goes behind the one that the column before it has
        ("text,street,unit", "5 Elm St 5,Elm St,5", ["Elm St@2", "5@9"], 1),
        ("text,number,street", "5 Elm St 5,5,Elm St", ["5@0", "Elm St@2"], 1),
        ("text,number,street,unit", "5 Elm St 5,5,Elm St,5", ["5@0", "Elm St@2", "5@9"], 0),
        ("text,a,b,c", "x 7 y 7 z 7,x,y,7", ["x@0", "y@4", "7@6"], 1),
        # where others are in another order than their columns, the first place is taken
        ("text,a,b,c", "y 7 x 7,x,y,7", ["x@4", "y@0", "7@2"], 1),
        ("text,a", "7 x 7,7", ["7@0"], 1),  # nothing tells
        ("text,a,b", "7 x 7,x,7 @0:1", ["x@2", "7@0"], 0),  # unless the cell does
        ("text,a,b", "7 x,x,7", ["x@2", "7@0"], 0),  # one place only
    ],
)
def test_values_that_stand_twice(
    header: str, row: str, expected: list[str], repeated: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{row}\n")
    corpus = read(path, text="text", labels=header.split(",")[1:])
    [document] = corpus
    offsets, segments = document.offsets or (), document.segments or ()
    found = {s.label: f"{document.text_of(s)}@{offsets[s.start][0]}" for s in segments}
    assert [found[label] for label in header.split(",")[1:]] == expected
    assert corpus.notes.repeated == repeated


def test_whole_parts_of_words_come_before_the_middle_of_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,year\nNo 20101 of 2010a,2010\n")
    [document] = read(path, tokeniser="parts", text="text", labels=["year"])
    assert document.segments == ((3, 4, "year"),)


# -- types of carried columns ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def extractor() -> SemiCRF:
    X = ["Leeds York", "York Hull"]
    return SemiCRF(max_iterations=5).fit(X, [[(0, 1, "from"), (1, 2, "to")]] * 2)


def test_carried_columns_keep_their_types(extractor: SemiCRF) -> None:
    cells = {
        "ok": pandas.array([True, False]).to_numpy(bool),
        "n": pandas.array([1, 2]).to_numpy("int64"),
        "kind": pandas.Categorical(["a", "b"]),
        "wide": pandas.Series([2**63 + 5, 1], dtype="uint64").to_numpy(),
        "some": pandas.array([1, None], "Int32"),
        "day": pandas.to_datetime(["2020-01-01", None]),
    }
    frame = pandas.DataFrame({"text": ["Leeds York", "Hull York"], **cells}, index=[5, 7])
    found = extractor.extract(frame)
    pandas.testing.assert_frame_equal(found.to_pandas()[list(cells)], frame[list(cells)])
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    assert found.to_arrow().select(list(cells)).equals(table.select(list(cells)))
    for other in (table, polars.from_pandas(frame)):
        again = extractor.extract(other).to_arrow().select(list(cells))
        known = other if other is table else other.to_arrow()
        assert again.equals(known.select(list(cells)))
        assert extractor.extract(other).to_pandas()["wide"].tolist() == [2**63 + 5, 1]


def test_integers_of_any_size_are_kept(extractor: SemiCRF) -> None:
    found = extractor.extract([{"text": "Leeds York", "n": 2**70}, {"text": "York Hull", "n": 1}])
    assert found.to_pandas()["n"].tolist() == [2**70, 1]
    assert [int(n) for n in found.to_arrow()["n"].to_pylist()] == [2**70, 1]


def test_changed_values_do_not_take_the_old_type(extractor: SemiCRF) -> None:
    found = extractor.extract(pandas.DataFrame({"text": ["Leeds York"], "ok": [True]}))
    found[0].carried = {"ok": "perhaps"}
    assert found.to_pandas()["ok"].tolist() == ["perhaps"]
    assert found.to_arrow()["ok"].to_pylist() == ["perhaps"]


# -- first lines -----------------------------------------------------------------------------------

STREETS = ["12 High Street Leeds", "7 Park Lane York", "9 Elm Road Hull"]


@pytest.mark.parametrize("lines", [STREETS, [f"A{i},{one}" for i, one in enumerate(STREETS)]])
def test_a_table_without_header_loses_no_record(lines: list[str], tmp_path: Path) -> None:
    file = tmp_path / "streets.csv"
    file.write_text("\n".join(lines))
    with pytest.raises(InvalidInput, match="looks like the cells below it; write a header, or if"):
        list(read_csv(file, labels=[]))
    assert len(list(read_csv(file, text=STREETS[0], labels=[]))) == 2


@pytest.mark.parametrize("name", ["address", "Address line 1", "Postal address"])
def test_names_of_several_words_are_no_cells(name: str, tmp_path: Path) -> None:
    file = tmp_path / "streets.csv"
    file.write_text("\n".join([name, *STREETS]))
    assert [one.text for one in read_csv(file, labels=[])] == STREETS


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"'])
def test_the_separator_that_excel_declares_is_used(first: str, tmp_path: Path) -> None:
    file = tmp_path / "streets.csv"
    file.write_text(f"{first}\nid;text\n1;Leeds, York\n2;x;y\n")
    corpus = read_csv(file, labels=[], on_error="skip")
    [document] = corpus
    assert (document.text, document.carried) == ("Leeds, York", {"id": "1"})
    assert "line 4" in corpus.notes.skipped[0]
