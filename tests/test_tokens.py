"""Text that does not fit its tokens: which tokeniser is chosen, and what features see then."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_data import bad, good, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

import caesura
from caesura import ChainCRF, Document, SemiCRF
from caesura.corpora import read
from caesura.documents import Tokeniser, as_document
from caesura.documents.tokeniser_fitting import LEVELS, Fitting, recut
from caesura.encoding import Encoder
from caesura.errors import InvalidInput
from caesura.features import (
    PRESETS,
    Dictionary,
    Lexicon,
    Template,
    default_for,
    enclosing,
    first,
    from_spec,
    lexicons_of,
    lower,
    matched,
    matches,
    ngrams,
    place_in,
    position,
    preset,
    repeats,
    shape,
    to_spec,
    word,
)
from caesura.features.enclosing import UNITS, VIEWS
from caesura.features.reference import rows

WHOLE = [{"text": "12 High Street, Leeds", "spans": [[0, 2, "number"], [16, 21, "town"]]}]
PARTS = [
    {"text": "I'm in Oslo2010a.", "spans": [[0, 1, "NP"], [7, 11, "town"], [11, 15, "year"]]},
    {"text": "He's in Rome1999b.", "spans": [[0, 2, "NP"], [8, 12, "town"], [12, 16, "year"]]},
]
CHARACTERS = [
    {"text": "snowfall in Oslo", "spans": [[0, 4, "what"], [12, 16, "town"]]},
    {"text": "rainfall at Rome", "spans": [[0, 4, "what"], [12, 16, "town"]]},
]
BY_NAME = {"words": WHOLE, "parts": PARTS, "characters": CHARACTERS}


def chosen(name: str) -> Any:
    """Expect the warning that a tokeniser was chosen."""
    return pytest.warns(UserWarning, match=rf"tokeniser: '{name}' was chosen, because '.*' ")


def spans_in(model: Any, x: dict[str, Any]) -> list[list[Any]]:
    """Return what a model finds in a text, by characters."""
    document = as_document(x["text"], model.tokeniser_)
    offsets = document.offsets or ()
    [found] = model.predict([x["text"]])
    return [[offsets[s.start][0], offsets[s.end - 1][1], s.label] for s in found]


# ---- the choice ---------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.text("aB1' é\u0301_.北", min_size=1, max_size=10), st.data())
def test_the_coarsest_that_no_span_cuts(text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))

    def fits(name: str) -> bool:
        try:
            as_document({"text": text, "spans": [[start, end, "x"]]}, name)
        except InvalidInput:
            return False
        return True

    fitting = Fitting()
    fitting.see([{"text": text, "spans": [[start, end, "x"]]}])
    possible = [name for name in LEVELS if fits(name)]
    if possible:
        assert fitting.tokeniser == possible[0]
    assert bool(fitting.reason) == bool(fitting.level)


@given(st.text("aB1' é_.", max_size=12), st.sampled_from(LEVELS), st.sampled_from(LEVELS))
def test_cut_again(text: str, one: str, other: str) -> None:
    assert recut(as_document(text, one), other).tokens == as_document(text, other).tokens


def test_documents_that_are_not_cut_again() -> None:
    given = Document(("snow", "fall"), "snowfall", ((0, 4), (4, 8)))
    tagged = Document(("snow",), "snow", ((0, 4),), {"pos": ("NN",)})
    for document in (given, tagged, Document(("a", "b")), Document(("a",), dense=np.zeros((1, 1)))):
        assert recut(document, "characters") is document


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("name", ["parts", "characters"])
def test_fit_chooses_and_says_so(kind: Any, name: str, tmp_path: Path) -> None:
    data = BY_NAME[name]
    with chosen(name):
        model = kind(c2=0.01).fit(data)
    assert (model.tokeniser, model.tokeniser_) == ("auto", name)
    assert [spans_in(model, x) for x in data] == [x["spans"] for x in data]
    assert model.score(data) == 1.0
    model.save(tmp_path / "model")
    loaded = caesura.load(tmp_path / "model")
    assert loaded.tokeniser_ == name
    assert loaded.predict(data) == model.predict([x["text"] for x in data])
    assert all(one.text in data[0]["text"] for one in model.explain(data[0]["text"]))
    assert model.extract([data[0]["text"]])[0]["town"][0].text == "Oslo"


def test_words_stay_words() -> None:
    model = SemiCRF().fit(WHOLE)
    assert model.tokeniser_ == "words"
    assert SemiCRF().fit(["a b"], [[(0, 1, "x")]]).tokeniser_ == "words"


def test_development_data_has_a_say() -> None:
    with chosen("parts"):
        assert SemiCRF(max_iterations=2).fit(WHOLE, X_dev=PARTS).tokeniser_ == "parts"
    with chosen("characters"):
        model = SemiCRF(max_iterations=2).fit(PARTS, X_dev=CHARACTERS)
    assert model.tokeniser_ == "characters"


@pytest.mark.parametrize("name", ["words", "whitespace", {"regex": r"\S+"}])
def test_a_tokeniser_that_was_given_stays(name: Any) -> None:
    match = r"X\[0\]\.spans\[0\]: .* is cut; pass tokeniser='parts' or 'characters', or align="
    with pytest.raises(InvalidInput, match=match):
        SemiCRF(tokeniser=name).fit(CHARACTERS)


def test_what_characters_cannot_hold_either() -> None:
    with pytest.raises(InvalidInput, match="whole tokens, but 'e\u0301"):
        SemiCRF().fit([{"text": "e\u0301a", "spans": [[0, 1, "x"]]}])


def test_a_generator_is_judged_by_its_first_sequences() -> None:
    with chosen("characters"):
        model = SemiCRF(max_iterations=2).fit(iter(CHARACTERS))
    assert model.tokeniser_ == "characters"
    late = [*WHOLE * 1000, *CHARACTERS]
    with pytest.raises(InvalidInput, match=r"X\[1000\].*pass tokeniser='parts'"):
        SemiCRF(max_iterations=2).fit(iter(late))


def test_a_fit_that_fails_leaves_the_tokeniser() -> None:
    with chosen("characters"):
        model = SemiCRF(max_iterations=2).fit(CHARACTERS)
    before = model.predict(["hailfall"])
    with pytest.raises(InvalidInput):
        model.fit([*WHOLE, {"text": 3}])
    assert model.tokeniser_ == "characters"
    assert model.predict(["hailfall"]) == before
    assert model.fit(WHOLE).tokeniser_ == "words"


def test_a_model_that_goes_on_keeps_its_tokeniser() -> None:
    model = SemiCRF(max_iterations=2, warm_start=True).fit(WHOLE)
    with pytest.raises(InvalidInput, match="'snowfall' is cut"):
        model.fit(CHARACTERS)
    with chosen("characters"):
        online = SemiCRF(learner="perceptron").partial_fit(CHARACTERS)
    assert online.partial_fit(CHARACTERS).tokeniser_ == "characters"


def test_a_corpus_is_cut_as_the_model_needs_it(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "cut.jsonl", CHARACTERS)
    choices: list[dict[str, Any]] = [{}, {"learner": "sgd", "stream": True}]
    for more in choices:
        with chosen("characters"):
            model = SemiCRF(**more).fit(read(path))
        assert model.tokeniser_ == "characters"
        assert model.score(read(path)) == 1.0
        assert model.predict(read(path)) == model.predict([x["text"] for x in CHARACTERS])
    with pytest.raises(InvalidInput, match="'snowfall' is cut; pass tokeniser='parts'"):
        list(read(path))
    with pytest.raises(InvalidInput, match="'snowfall' is cut"):
        SemiCRF().fit(read(path, tokeniser="words"))
    expanded = SemiCRF(max_iterations=2).fit(read(path, align="expand"))
    assert expanded.tokeniser_ == "words"
    late = write_lines(tmp_path / "late.jsonl", [*CHARACTERS, {"text": "e\u0301", "spans": []}])
    assert len(model.predict(read(late))) == 3


def test_a_corpus_that_a_model_would_cut(tmp_path: Path) -> None:
    with chosen("parts"):
        model = SemiCRF().fit(PARTS)
    path = write_lines(tmp_path / "cut.jsonl", [*PARTS, *CHARACTERS])
    with pytest.raises(InvalidInput, match=r"cut\.jsonl, sequence 3: spans.*'snowfall' is cut"):
        model.score(read(path))


# ---- the command line ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tokens")
    for name, data in BY_NAME.items():
        write_lines(place / f"{name}.jsonl", data * 3)
    return place


def test_train_chooses_over_all_files(files: Path) -> None:
    model = files / "model"
    words, parts, smallest = (files / f"{name}.jsonl" for name in LEVELS)
    quiet = ("-o", model, "--restart", "--max-iterations", 3, "--json")
    for arguments, name in (
        ((words,), "words"),
        ((words, parts), "parts"),
        ((words, "--also", parts), "parts"),
        ((parts, "--dev", smallest), "characters"),
        ((parts, "--also", smallest, "--preset", "citations"), "characters"),
        ((parts, "--model", "chain"), "parts"),
        ((parts, "--learner", "sgd", "--stream"), "parts"),
        ((smallest, "--learner", "sgd", "--stream", "--also", words), "characters"),
    ):
        ran = good("train", *arguments, *quiet)
        assert ran.json["tokeniser"] == name
        assert caesura.load(model).tokeniser_ == name
        said = [line for line in ran.err.splitlines() if line.startswith("tokens are")]
        assert len(said) == (name != "words"), ran.err
        for line in said:
            assert re.fullmatch(
                rf"tokens are {name}, not words, because '.*', labelled .*, is only a part of the "
                r"token .* \(.*\.jsonl, sequence 1\); to change that, pass --tokeniser or --align",
                line,
            )


def test_all_commands_cut_as_the_model_does(files: Path, tmp_path: Path) -> None:
    data, model = files / "characters.jsonl", tmp_path / "model"
    lines = data.read_text()
    good("train", "-", "-f", "jsonl", "-o", model, "--c2", 0.01, stdin=lines)
    out = tmp_path / "out.jsonl"
    good("segment", model, data, "-o", out)
    for line, one in zip(out.read_text().splitlines(), CHARACTERS * 3, strict=True):
        found = json.loads(line)
        at, segments = found["offsets"], found["segments"]
        assert [[at[s][0], at[e - 1][1], label] for s, e, label in segments] == one["spans"]
    assert good("evaluate", model, data, "--json").json["micro"]["f1"] == 1.0
    assert good("compare", data, model, model, "--json").code == 0
    assert "characters" in good("inspect", model).out
    assert "snow" in good("explain", model, "snowfall in Oslo").out
    good("tune", data, "--folds", 2, "--try", "c2=0.1")
    good("learning-curve", data, "--sizes", 4, "--test", data)
    more = tmp_path / "more"
    good("train", data, "-o", more, "--warm-start", model)
    line = bad("train", data, "-o", more, "--tokeniser", "words")
    assert "pass --tokeniser parts or characters, or --align expand or contract" in line
    expanded = good("train", data, "-o", more, "--align", "expand", "--json")
    assert expanded.json["tokeniser"] == "words"
    good("train", data, "-o", more, "--tokeniser", "auto")


def test_a_stream_that_needs_other_tokens_later(tmp_path: Path) -> None:
    late = write_lines(tmp_path / "late.jsonl", [*PARTS * 600, *CHARACTERS])
    line = run_failing("train", late, "-o", tmp_path / "m", "--learner", "sgd", "--stream")
    assert "late.jsonl, sequence 1201: spans" in line
    assert "'snowfall' is cut; pass --tokeniser parts or characters" in line


def run_failing(*arguments: object) -> str:
    from cli_data import run

    ran = run(*arguments)
    assert ran.code == 1
    assert "Traceback" not in ran.err
    return ran.err.splitlines()[-1]


@pytest.mark.parametrize("form", ["csv", "xml", "brat"])
def test_other_formats(form: str, tmp_path: Path) -> None:
    if form == "csv":
        path = tmp_path / "a.csv"
        path.write_text("text,who,year\nI'm here 2010a,I,2010\nShe's at 1999b,She,1999\n")
        more: tuple[object, ...] = ("--labels", "who,year")
    elif form == "xml":
        path, more = tmp_path / "a.xml", ()
        record = "<r><who>I</who>'m here <year>2010</year>a</r>"
        path.write_text(f"<all>{record}{record}</all>")
    else:
        path, more = tmp_path / "notes", ()
        path.mkdir()
        (path / "a.txt").write_text("I'm here 2010a")
        (path / "a.ann").write_text("T1\twho 0 1\tI\nT2\tyear 9 13\t2010\n")
    ran = good("train", path, "-o", tmp_path / "model", "--json", *more)
    assert ran.json["tokeniser"] == "parts"
    assert [label["segments"] for label in ran.json["data"]["train"]["labels"]] == (
        [1, 1] if form == "brat" else [2, 2]
    )


def test_gazetteers_of_characters(files: Path, tmp_path: Path) -> None:
    towns = tmp_path / "towns.txt"
    towns.write_text("Oslo\nNew York\n")
    for name in ("generic", "ner"):
        data = files / "characters.jsonl"
        options = ("--preset", name, "--gazetteer", towns, "--c2", 0.01, "--restart")
        good("train", data, "-o", tmp_path / "model", *options)
        model = caesura.load(tmp_path / "model")
        [lexicon] = [one for key, one in lexicons_of(model.features_).items() if key == "towns"]
        assert lexicon.entries[0] == tuple("Oslo")
        assert any(isinstance(one, Dictionary) for one in model.features_)


# ---- words around characters --------------------------------------------------------------------

WRONG: Any = "word"
LEXICON = Lexicon("towns", ["New York", "Rome"])
COLUMNS = [
    *(
        enclosing(column, offset, by, view)
        for column in (lower, ngrams(2, 2), matches(r"\d+"))
        for offset in (-2, -1, 0, 1, 2)
        for by in UNITS
        for view in VIEWS
    ),
    enclosing(position("start", 2)),
    enclosing(repeats(-1), 1, "parts", "first"),
    enclosing(matched(LEXICON), view="first"),
    *map(place_in, UNITS),
]
text = st.text(st.sampled_from("abB1 2'_.é\u0301北 "), max_size=10)


# Some matches are white space, or empty; the second expression needs `re`.
EXPRESSIONS = [{"regex": r"\w|\W{1,2}|"}, {"regex": r"(?=\w)\w{1,2}|(?!b)\W*"}]


@settings(max_examples=90, deadline=None)
@given(
    st.lists(text, min_size=1, max_size=3), st.sampled_from([*LEVELS, "whitespace", *EXPRESSIONS])
)
def test_the_encoder_says_what_the_definition_says(texts: list[str], tokeniser: Any) -> None:
    features = [column[0] for column in COLUMNS] + [first(COLUMNS[0][-1] & COLUMNS[5][0])]
    documents = [as_document(one, tokeniser) for one in texts] + [Document(("a b", "New"))]
    known = {row.attribute for one in documents for row in rows(one, features)}
    encoder = Encoder(features)
    for one in documents:  # words that are known, and new ones
        encoder.encode([one], grow=True)
    assert set(encoder.names(range(len(encoder)))) == known
    again = Encoder(features)
    again.encode_texts(texts, tokeniser, grow=True)
    plain = {row.attribute for one in documents[:-1] for row in rows(one, features)}
    assert set(again.names(range(len(again)))) == plain


def test_words_that_were_not_known_become_known() -> None:
    encoder = Encoder([enclosing(lower, view="before")[0]])
    encoder.encode([as_document("ab", "characters")], grow=True)
    encoder.encode([as_document("cd", "characters")], grow=False)
    assert len(encoder) == 2
    encoder.encode([as_document("cd", "characters")], grow=True)
    assert [name[-2:] for name in encoder.names(range(4))] == ["ab", "=b", "cd", "=d"]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: enclosing(WRONG), "column: got 'word', expected a column of words, position"),
        (lambda: enclosing(position("end"), view="before"), "expected a column of words; pass"),
        (lambda: enclosing(word, WRONG), "offset: got 'word', expected a whole number"),
        (lambda: enclosing(word, by="characters"), "by: got 'characters', expected words, parts"),
        (lambda: enclosing(word, view="all"), "view: got 'all', expected every, first, before"),
        (lambda: place_in("letters"), "by: got 'letters', expected words, parts"),
        (lambda: preset("ner", tokens="letters"), "tokens: got 'letters', expected words, parts"),
    ],
)
def test_wrong_columns(make: Any, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        make()


def test_columns_are_saved_by_their_spec() -> None:
    features = [column[-1] for column in COLUMNS]
    spec = json.loads(json.dumps(to_spec(features)))
    assert from_spec(spec, lexicons_of(features)) == features


# ---- features for characters --------------------------------------------------------------------


def columns_of(features: list[Any]) -> set[str]:
    templates = [one for one in features if isinstance(one, Template)]
    return {column.name for one in templates for column, _ in one.parts}


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_presets_for_characters_see_words(name: str, segments: bool) -> None:
    features = preset(name, segments=segments, tokens="characters")
    if name in ("words", "chunking"):
        assert features == preset(name, segments=segments)
        return
    names = columns_of(features)
    assert {"place_in_words", "place_in_parts", "enclosing(lower)"} <= names
    assert any(one.startswith("enclosing(short_shape, -1, parts") for one in names)
    assert preset(name, segments=segments, tokens="parts") == preset(name, segments=segments)
    spec = json.loads(json.dumps(to_spec(features)))
    assert from_spec(spec, lexicons_of(features)) == features


def test_default_features_by_documents() -> None:
    latin = [as_document("High Street 12", "characters")]
    assert default_for(latin, True) == preset("generic", segments=True, tokens="characters")
    for document in (as_document("其中外企6个", "characters"), Document(tuple("High Street"))):
        assert default_for([document]) == preset("words")
    assert default_for([as_document("High Street 12", "parts")]) == preset("generic")


def streets(number: int) -> Iterator[dict[str, Any]]:
    """Yield addresses; with the letter a or b directly behind a number, and no letter elsewhere."""
    draw = np.random.default_rng(number)
    names = ("High Street", "Park Lane", "Mill Road", "Low Street", "Bridge Road")
    towns = ("Leeds", "York", "Bath", "New Mills")
    for _ in range(number):
        house = f"{draw.integers(1, 99)}"
        name, town = names[draw.integers(5)], towns[draw.integers(4)]
        yield {"text": (house, name, town)}


def test_characters_learn_what_words_learn() -> None:
    """The same addresses, whole or with s cut off the end of towns: as many are right."""

    def made(cut: bool, count: int) -> list[dict[str, Any]]:
        out = []
        for one in streets(count):
            house, name, town = one["text"]
            text = f"{house} {name}, {town}"
            at = [0, len(house), len(house) + 1, len(house) + 1 + len(name), len(text) - len(town)]
            end = len(text) - (cut and town.endswith("s"))
            spans = [[at[0], at[1], "house"], [at[2], at[3], "street"], [at[4], end, "town"]]
            out.append({"text": text, "spans": spans})
        return out

    scores = []
    for cut in (False, True):
        train, test = made(cut, 40), made(cut, 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SemiCRF(c2=0.1).fit(train)
        assert model.tokeniser_ == ("characters" if cut else "words")
        scores.append(np.mean([spans_in(model, x) == x["spans"] for x in test]))
    assert scores[0] > 0.9
    assert abs(scores[1] - scores[0]) <= 0.01


def test_shape_is_that_of_the_word() -> None:
    document = as_document("High 12", "characters")
    assert enclosing(shape).of_document(document)[-1] == ("dd",)
    assert Tokeniser("words").spans("High 12") == ((0, 4), (5, 7))
