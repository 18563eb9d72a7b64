"""What train says about presets of features."""

import json
from pathlib import Path

import pytest
from cli_data import good

import caesura
from caesura import Document, corpora
from caesura.cli.advice import Advice, _clear, _sample, _Trial, advise
from caesura.demo import addresses, chunks, citations
from caesura.features import column, word


def test_the_better_preset_is_named(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    corpora.write(train, citations(120, 7))
    few = ["--max-iterations", 3]
    out = good("train", train, "-o", tmp_path / "m", *few).out
    assert "features: the preset generic, by default" in out
    assert "with 120 of the sequences, --preset citations was better (F1 0.8" in out
    said = json.loads(good("train", train, "-o", tmp_path / "m", "--json", *few).out)["preset"]
    assert (said["chosen"], said["better"]) == ("generic", "citations")
    assert said["f1"]["citations"] > said["f1"]["generic"] + 0.005


def test_nothing_is_said_where_features_were_chosen(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    corpora.write(train, addresses(60))
    for chosen in (["--preset", "ner"], ["--quiet"]):
        assert "features:" not in good("train", train, "-o", tmp_path / "m", *chosen).out


def test_presets_that_are_equal_and_samples() -> None:
    ner = frozenset({"ner"})
    assert Advice("generic", 50, {"generic": 0.9, "ner": 0.904}, ner).better is None
    assert Advice("generic", 50, {"generic": 0.9, "ner": 0.906}, ner).better == "ner"
    assert Advice("generic", 50, {"generic": 0.9, "ner": 0.906}).better is None  # perhaps chance
    assert "no other preset was better" in str(Advice("generic", 50, {"generic": 0.9}))
    many = advise(addresses(1500))
    assert many is not None
    assert 40 <= many.sequences < 1500  # no more than can be tried quickly
    assert advise([caesura.Document(("", ""), attributes=[["a"], ["b"]])]) is None
    characters = [caesura.Document(tuple("其中外企6个"), segments=()) for _ in range(50)]
    assert advise(characters) == Advice("words", 0, {})


def test_a_column_of_parts_of_speech_without_a_name_is_found(tmp_path: Path) -> None:
    train = tmp_path / "train.conll"
    corpora.write(train, chunks(120), comments=False)
    assert "_" not in (columns := train.read_text().split("\n")[0].split())
    assert len(columns) == 3
    out = " ".join(good("train", train, "-o", tmp_path / "m", "--max-iterations", 2).out.split())
    assert "the preset chunking was better (F1 0." in out
    assert "with --columns token,pos,tag" in out
    named = good("train", train, "-o", tmp_path / "m", "--columns", "token,pos,tag").out
    assert "features: the preset chunking, by default" in named
    scores, clear = {"generic": 0.7, "chunking": 0.9}, frozenset({"chunking"})
    other = Advice("generic", 50, scores, clear, "xpos", ("lemma", "xpos"))
    assert "with the column xpos as the part of speech: call it pos" in str(other)


def test_what_chance_may_give_is_not_advised() -> None:
    few, more, many = (_Trial(0.5, {(i, "x") for i in range(n)}) for n in (5, 9, 10))
    assert _clear(many, few)  # 5 more, where chance gives 4.5
    assert not _clear(more, few)  # 4 more, where it gives 4
    assert not _clear(few, many)
    mixed = _Trial(0.6, {(i, "x") for i in range(3, 20)})  # 15 gained, 3 lost
    assert _clear(mixed, few)
    assert not _clear(_Trial(0.6, {(i, "x") for i in range(4, 12)}), few)  # 7 gained, 4 lost


def test_labels_that_show_the_task_name_its_preset() -> None:
    tried = {"generic": 0.9, "addresses": 0.902}
    likely = Advice("generic", 50, tried, likely="addresses")
    assert likely.better is None
    assert "try --preset addresses, made for addresses, which the labels look like;" in str(likely)
    assert str(likely).endswith(
        "they did not clearly differ: F1 0.902 (addresses) and 0.900 (generic)"
    )
    clearly = Advice("generic", 50, tried | {"ner": 0.95}, frozenset({"ner"}), likely="addresses")
    assert "addresses" not in str(clearly)  # the test outweighs names
    few = advise(addresses(10))
    assert few is not None
    assert (few.likely, few.sequences) == ("addresses", 0)


def test_samples_are_larger_where_segments_are_rare() -> None:
    rare = [caesura.Document(("a", "b"), segments=()) for _ in range(12_000)]
    dense = [
        caesura.Document(("a", "b"), segments=(caesura.Segment(0, 1, "x"),)) for _ in range(12_000)
    ]
    assert (len(_sample(rare)), len(_sample(dense))) == (6000, 2400)


def test_fit_warns_once_of_columns_that_no_feature_looks_at() -> None:
    X = [Document(("Ann", "runs"), columns={"lemma": ("Ann", "run")})] * 3
    y = [[(0, 1, "PER")]] * 3
    with pytest.warns(
        UserWarning, match=r"^columns: no feature looks at 'lemma'; .*column\('lemma"
    ):
        caesura.ChainCRF(max_iterations=1).fit(X, y)
    caesura.ChainCRF([column("lemma")[0]], max_iterations=1).fit(X, y)
    caesura.ChainCRF([word[0]], max_iterations=1).fit(X, y)
