"""What train says about presets of features."""

import json
from pathlib import Path

from cli_data import good

import caesura
from caesura import corpora
from caesura.cli.advice import Advice, advise
from caesura.demo import addresses, chunks


def test_the_better_preset_is_named(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    corpora.write(train, addresses(200))
    out = good("train", train, "-o", tmp_path / "m").out
    assert "features: the preset generic, by default" in out
    assert "with 200 of the sequences, --preset addresses was better (F1 0.9" in out
    said = json.loads(good("train", train, "-o", tmp_path / "m", "--json").out)["preset"]
    assert (said["chosen"], said["better"]) == ("generic", "addresses")
    assert said["f1"]["addresses"] > said["f1"]["generic"] + 0.005


def test_nothing_is_said_where_features_were_chosen(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    corpora.write(train, addresses(60))
    for chosen in (["--preset", "ner"], ["--quiet"]):
        assert "features:" not in good("train", train, "-o", tmp_path / "m", *chosen).out


def test_presets_that_are_equal_and_samples() -> None:
    assert Advice("generic", 50, {"generic": 0.9, "ner": 0.904}).better is None
    assert Advice("generic", 50, {"generic": 0.9, "ner": 0.906}).better == "ner"
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
    other = Advice("generic", 50, {"generic": 0.7, "chunking": 0.9}, "xpos", ("lemma", "xpos"))
    assert "with the column xpos as the part of speech: call it pos" in str(other)
