"""Known values as features, links between records, and the tables of entities."""

import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caesura
from caesura import InvalidInput
from caesura.features import Dictionary, Lexicon, bias, first, lower, window
from caesura.models.lexicons import with_lexicons
from caesura.records import (
    KnownValues,
    Linker,
    Schema,
    Stored,
    blocking,
    linking,
    load,
    split_names,
    store_entities,
)
from caesura.records.alternatives import alternatives
from caesura.records.blocking import WordIndex, words_of
from caesura.records.pairs import logistic, merged
from caesura.records.tuning import Settings, fitted, tuned

PEOPLE = ["Codd", "Chen", "Gray", "Liskov", "Lamport", "Hoare", "Knuth", "Stonebraker"]
TOPICS = ["data", "time"]
X = [f"{name}, {1970 + i}. On {topic}." for i, name in enumerate(PEOPLE) for topic in TOPICS]
Y = [[(0, 1, "author"), (2, 3, "year"), (4, 6, "title")]] * len(X)
WORDS = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]), max_size=5
)


@pytest.fixture(scope="module")
def model() -> caesura.SemiCRF:
    return caesura.SemiCRF(c2=0.01).fit(X, Y)


@pytest.fixture(scope="module")
def linker() -> Linker:
    rows = [
        {"author": name, "title": f"On {topic}", "year": str(1970 + i)}
        for i, name in enumerate(PEOPLE)
        for topic in ("data", "time")
    ]
    again = [{**row, "author": row["author"].upper() + ","} for row in rows]
    n = len(rows)
    fields = ["author", "title", "year"]
    return Linker(fields, c2=0.01).fit([*rows, *again], matches=[(i, n + i) for i in range(n)])


# -- the index -------------------------------------------------------------------------------------


@given(st.lists(WORDS.map(" ".join), max_size=8), WORDS.map(" ".join))
def test_the_index_ranks_by_the_cosine_of_rare_words(texts: list[str], query: str) -> None:
    def weight(word: str) -> float:
        return math.log(1 + len(texts) / max(1, sum(word in words_of(text) for text in texts)))

    def norm(text: str) -> float:
        return math.sqrt(sum(weight(word) ** 2 for word in words_of(text)))

    expected = {
        i: sum(weight(w) ** 2 for w in both) / (norm(query) * norm(text))
        for i, text in enumerate(texts)
        if (both := set(words_of(text)) & set(words_of(query)))
    }
    found = WordIndex(texts).nearest(query, len(texts) + 1)
    assert dict(found) == pytest.approx(expected)
    assert [rank for _, rank in found] == sorted((rank for _, rank in found), reverse=True)


def test_texts_can_be_added_to_the_index_at_any_time() -> None:
    index = WordIndex(["red apple"])
    assert index.nearest("pear", 3) == []
    assert index.add("green pear") == 1
    assert [i for i, _ in index.nearest("pear", 3)] == [1]


# -- known values ----------------------------------------------------------------------------------


def known_model(known: KnownValues) -> caesura.SemiCRF:
    texts = ["from Stoke on Trent", "from York", "from nowhere in haste"]
    segments = [[(1, 4, "town")], [(1, 2, "town")], []]
    return caesura.SemiCRF([bias, *known.features()], c2=0.01).fit(texts, segments)


def test_values_that_arrive_later_count_without_fitting_again() -> None:
    known = KnownValues({"town": ["Stoke on Trent", "York"]})
    model = known_model(known)
    text = ["from Bury St Edmunds"]
    before = model.predict(text)
    assert known.add({"town": ["Bury St Edmunds", "York", "", None]}) == 1
    later = known.attach(model)
    assert later.predict(text) == [[(1, 4, "town")]]
    assert model.predict(text) == before != later.predict(text)
    assert sorted(later.weights_) == sorted(model.weights_)


def test_a_load_keeps_known_values_current(tmp_path: Path) -> None:
    known = KnownValues({"town": ["York", "Stoke on Trent"]})
    texts = ["lives in York", "lives in Hull", "York is old", "nothing is old", "it is old"]
    segments = [[(2, 3, "town")], [(2, 3, "town")], [(0, 1, "town")], [], []]
    features = [bias, first(lower[-1]), first(lower[0]), *known.features()]
    model = caesura.SemiCRF(features, c2=0.01).fit(texts, segments)
    new = ["lives in Leeds", "Leeds is old"]

    def towns(name: str, **options: Any) -> list[Any]:
        options = {"threshold": 0.3, "batch": 1, "known": known, **options}
        load(model, new, tmp_path / name, **options)
        connection = sqlite3.connect(tmp_path / name)
        return [town for (town,) in connection.execute("SELECT town FROM records ORDER BY record")]

    assert towns("none.db", known=None) == ["Leeds", None]
    assert towns("review.db", threshold=1.0) == ["Leeds", None]  # nothing is sure enough to add
    assert repr(known) == "KnownValues(town: 2)"
    assert towns("known.db") == ["Leeds", "Leeds"]
    assert repr(known) == "KnownValues(town: 3)"
    assert towns("known.db") == ["Leeds", "Leeds"]  # the version is that of the model as given
    with pytest.raises(InvalidInput, match="known: got 5, expected KnownValues"):
        towns("known.db", known=5)


def test_a_model_with_known_values_is_saved_with_them(tmp_path: Path) -> None:
    known = KnownValues({"town": ["Stoke on Trent", "York"]})
    model = known.attach(known_model(known))
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    text = ["from stoke-on-trent, at last"]
    assert again.predict_confident(text) == model.predict_confident(text)
    assert known.attach(again).predict(text) == model.predict(text)


def test_normalisers_and_settings_stay_with_other_lexicons() -> None:
    model = caesura.SemiCRF([bias, Dictionary(Lexicon("a", ["x"]))], c2=0.5).fit(
        ["x y"], [[(0, 1, "l")]]
    )
    model.set_normalisers({"l": "lower"})
    again = with_lexicons(model, {"a": Lexicon("a", ["y"])})
    assert (again.c2, again.normalisers_) == (0.5, {"l": "lower"})


@pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect])
def test_values_are_read_from_tables(connect: Callable[[str], Any]) -> None:
    connection = connect(":memory:")
    connection.execute('CREATE TABLE "the ""best""" (a VARCHAR, "b c" VARCHAR)')
    table = '"the ""best"""'
    connection.execute(f"INSERT INTO {table} VALUES ('x', 'y'), ('x', NULL), ('z', 'w')")
    known = KnownValues.read(connection, 'the "best"', {"first": "a", "second": "b c"})
    assert repr(known) == "KnownValues(first: 2, second: 2)"
    with pytest.raises(InvalidInput, match="expected a table 'nowhere' with a column 'a'"):
        KnownValues.read(connection, "nowhere", ["a"])


@pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect])
def test_missing_tables_are_named_without_the_query(connect: Callable[[str], Any]) -> None:
    with connect(":memory:") as connection, pytest.raises(InvalidInput, match="a table 'no") as e:
        KnownValues.read(connection, "nowhere", ["town"])
    assert "\n" not in str(e.value)
    assert "SELECT" not in str(e.value)


def test_canonical_forms() -> None:
    known = KnownValues({"venue": ["Very Large Data Bases", "Management of Data"]})
    match = known.canonical("venue", "VERY LARGE DATABASES")
    assert match is not None
    assert match.value == "Very Large Data Bases"
    assert 0.8 <= match.similarity < 1
    assert known.canonical("venue", "Neural Networks") is None
    with pytest.raises(InvalidInput, match="label"):
        known.canonical("journal", "x")


@pytest.mark.parametrize(
    ("values", "message"),
    [({}, "a dict of label to values"), ([], "a dict"), ({"town": "York"}, "a list")],
)
def test_wrong_values(values: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        KnownValues(values)


def test_wrong_labels_and_lexicons(model: caesura.SemiCRF) -> None:
    known = KnownValues({"town": []})
    with pytest.raises(InvalidInput, match="one of town"):
        known.add({"city": ["York"]})
    with pytest.raises(InvalidInput, match="the name of a lexicon of the model"):
        known.attach(model)


# -- links -----------------------------------------------------------------------------------------


def test_the_match_score_is_the_optimum() -> None:
    """Against the gradient of the penalised likelihood."""
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(60, 4)), (rng.random(60) < 0.5).astype(float)
    w = logistic(features, y, 0.3)
    p = 1 / (1 + np.exp(-features @ w))
    np.testing.assert_allclose(features.T @ (p - y) + 0.6 * w, 0, atol=1e-6)


def test_weights_of_rows_count_them_as_often() -> None:
    rng = np.random.default_rng(1)
    features, y = rng.normal(size=(20, 3)), (rng.random(20) < 0.5).astype(float)
    times = rng.integers(1, 4, 20)
    repeated = logistic(np.repeat(features, times, axis=0), np.repeat(y, times), 0.3)
    np.testing.assert_allclose(logistic(features, y, 0.3, times.astype(float)), repeated)


def test_balanced_pairs_count_less_in_large_entities() -> None:
    """One entity of three, two of two: weights 1/2 within the first, 1 within the others."""
    entity = np.array([0, 0, 0, 3, 3, 5, 5])
    pairs = [(i, j) for i in range(7) for j in range(i + 1, 7)]
    features = np.random.default_rng(2).normal(size=(len(pairs), 2))
    right = np.array([entity[i] == entity[j] for i, j in pairs], float)
    weights = np.array([[1, 1 / math.sqrt(2), 1 / 2][(i < 3) + (j < 3)] for i, j in pairs])
    weights *= len(pairs) / weights.sum()
    found = fitted(features, pairs, entity, Settings(0.5, balanced=True))
    np.testing.assert_allclose(found, logistic(features, right, 0.5, weights))


@given(st.floats(-2.0, 2.0))
def test_tuned_settings_separate_what_can_be_separated(shift: float) -> None:
    """One feature separates the matches, wherever its zero is."""
    entity = np.repeat(np.arange(0, 24, 3), 3)
    pairs = [(i, j) for i in range(24) for j in range(i + 1, 24)]
    same = np.array([entity[i] == entity[j] for i, j in pairs])
    features = np.stack([np.where(same, 3.0, -3.0) + shift, np.ones(len(pairs))], axis=1)
    settings = tuned(features, pairs, entity, 0.01)
    scores = features @ fitted(features, pairs, entity, settings) - settings.threshold
    assert merged(24, dict(zip(pairs, scores.tolist(), strict=True))) == entity.tolist()


def test_tuning_shifts_the_log_odds_by_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"a": f"{name} {name}s {name}ing {word}"} for name in PEOPLE for word in TOPICS]
    matches = [(k, k + 1) for k in range(0, len(rows), 2)]
    linker = Linker(["a"]).fit(rows, matches=matches, tune=True)
    assert linker.entities(rows) == [i - i % 2 for i in range(len(rows))]
    odds = []
    for settings in (Settings(0.1), Settings(0.1, threshold=1.5)):
        monkeypatch.setattr(linking, "tuned", lambda *_, settings=settings: settings)
        linker = Linker(["a"]).fit(rows, matches=matches, tune=True)
        odds.append([linker.log_odds(rows[0], row) for row in rows])
    np.testing.assert_allclose(np.diff(odds, axis=0), -1.5)


@pytest.mark.parametrize("others", [None, [{"a": "x y"}, {"a": "z"}]])
def test_tuning_needs_several_entities_of_one_set(others: Any) -> None:
    rows = [{"a": "x y"}, {"a": "x z"}, {"a": "z"}]
    with pytest.raises(InvalidInput, match=r"tune: got .*one set with four entities or more"):
        Linker(["a"]).fit(rows, others, matches=[(0, 1)], tune=True)


def test_similarities_count_beyond_each_knot() -> None:
    """Four of five words are shared; a field that one record lacks counts nowhere."""
    a, b = {"a": "one two three four five"}, {"a": "one two three four six", "b": "x"}
    found = []
    linker = Linker(["a", "b"])
    for k in range(11 * 2 + 10):
        linker.weights_ = np.eye(11 * 2 + 10)[k]
        found.append(linker.log_odds(a, b))
    fields, beyond = found[:14], np.reshape(found[14:], (3, 6))
    assert fields[:2] == [0.0, 0.0]
    assert fields[5:10] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert fields[3] == pytest.approx(0.8)
    np.testing.assert_allclose(beyond[:, 1], [0.4, 0.2, 0.0], atol=1e-12)  # words of field a
    np.testing.assert_allclose(beyond[:, 2:4], 0.0)  # field b
    assert beyond[0, 0] == pytest.approx(fields[2] - 0.4)


def test_links_between_two_sets(linker: Linker) -> None:
    mine = [{"author": "hoare", "title": "On time", "year": "1975"}, {"author": "Dijkstra"}]
    other = {"author": "Knuth", "title": "On data", "year": "1976"}
    theirs = [other, {**mine[0], "author": "Hoare"}]
    assert [(a, b) for a, b, _ in linker.link(mine, theirs)] == [(0, 1)]
    assert linker.log_odds(mine[0], theirs[1]) > 0 > linker.log_odds(mine[0], theirs[0])


def test_one_to_one_takes_the_likeliest_pairs(linker: Linker) -> None:
    row = {"author": "Gray", "title": "On data", "year": "1972"}
    near = {**row, "author": "Grey"}
    links = linker.link([row, near], [row, near], at_least=0.0, one_to_one=True)
    assert [(a, b) for a, b, _ in links] == [(0, 0), (1, 1)]


@given(st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.floats(-3, 3)))
def test_groups_are_consistent(scores: dict[tuple[int, int], float]) -> None:
    pairs = {(i, j): x for (i, j), x in scores.items() if i < j}
    group = merged(6, pairs)
    assert all(group[head] == head <= i for i, head in enumerate(group))
    for i, head in enumerate(group):  # members of a group of two or more are held by some pair
        others = [j for j in range(6) if j != i and group[j] == head]
        held = any(pairs.get((min(i, j), max(i, j)), 0.0) > 0 for j in others)
        assert not others or held


@pytest.mark.parametrize("matches", [None, [(0, 1, 2)], [("a", "b")], [5], [(0.5, 1)]])
def test_wrong_matches(matches: Any) -> None:
    with pytest.raises(InvalidInput, match="matches"):
        Linker(["a"]).fit([{"a": "x"}, {"a": "y"}], matches=matches)


@pytest.mark.parametrize("c2", ["x", -1.0, math.nan, math.inf])
def test_wrong_penalties(c2: Any) -> None:
    with pytest.raises(InvalidInput, match="c2: got"):
        Linker(["a"], c2=c2)


def test_wrong_questions_to_a_linker(model: caesura.SemiCRF, linker: Linker) -> None:
    with pytest.raises(InvalidInput, match="records: got 5"):
        linker.link(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="at_least: got 2"):
        linker.link([], at_least=2)
    with pytest.raises(InvalidInput, match=r"texts: got 'Codd'.*pass \[text\]"):
        linker.read(model, "Codd", [])
    with pytest.raises(InvalidInput, match="model: got 'm'"):
        linker.read("m", ["Codd"], [])


def test_linkers_that_cannot_answer() -> None:
    rows = [{"a": "x y"}, {"a": "x z"}, {"a": "x"}]
    with pytest.raises(InvalidInput, match="fields"):
        Linker("a")
    with pytest.raises(InvalidInput, match="not fitted yet"):
        Linker(["a"]).link(rows)
    with pytest.raises(InvalidInput, match=r"matches\[0\]"):
        Linker(["a"]).fit(rows, matches=[(0, 3)])
    with pytest.raises(InvalidInput, match="some pairs that match and some that do not"):
        Linker(["a"]).fit(rows, matches=[])
    with pytest.raises(InvalidInput, match=r"records\[1\]"):
        Linker(["a"]).fit([rows[0], "x"], matches=[])  # type: ignore[list-item]


def test_records_of_a_model_are_compared_by_their_values(
    model: caesura.SemiCRF, linker: Linker
) -> None:
    records = model.extract(["Hoare, 1975. On time.", "HOARE, 1975. On time."])
    assert linker.entities(records) == [0, 0]


# -- many equal records ----------------------------------------------------------------------------


def plainly_merged(
    count: int,
    scores: dict[tuple[int, int], float],
    order: dict[tuple[int, int], float] | None = None,
) -> list[int]:
    """The twin of `merged`: the sums between groups are found anew for each pair."""
    group = list(range(count))
    for (i, j), score in sorted((order or scores).items(), key=lambda item: (-item[1], item[0])):
        a, b = sorted((group[i], group[j]))
        between = [x for (k, m), x in scores.items() if {group[k], group[m]} == {a, b}]
        if score > 0 and a != b and sum(between) > 0:
            group = [a if head == b else head for head in group]
    return group


@given(st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 7)), st.integers(-3, 3)))
def test_groups_are_those_of_the_plain_twin(scores: dict[tuple[int, int], int]) -> None:
    pairs = {(i, j): float(x) for (i, j), x in scores.items() if i < j}
    assert merged(8, pairs) == plainly_merged(8, pairs)
    weighted = {(i, j): x * (i + 1) * (j + 1) for (i, j), x in pairs.items()}
    assert merged(8, pairs, range(1, 9)) == plainly_merged(8, weighted, order=pairs)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the fields that are compared."""
    compared, field = [0], linking._field

    def counting(a: str, b: str) -> tuple[float, float, float, float, float]:
        compared[0] += 1
        return field(a, b)

    monkeypatch.setattr(linking, "_field", counting)
    return compared


def test_equal_records_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 equal records, and one that is nearly equal, which their number must not hide."""
    row = {"author": "Hoare", "title": "On time", "year": "1975"}
    near = {**row, "author": "HOARE, A."}
    other = {"author": "Knuth", "title": "On data", "year": "1976"}
    linker = Linker(list(row), c2=0.01).fit(
        [row, near, other, row], matches=[(0, 1), (1, 3), (0, 3)]
    )
    rows = [other, *[row] * 20_000, near]
    compared = counted(monkeypatch)
    found = linker.entities(rows)
    assert compared[0] <= 4 * 4  # three fields and the whole of at most four pairs
    assert found == [0, *[1] * 20_001]
    compared[0], rows = 0, [other, *[row] * 1000, near]
    links = linker.link(rows)
    assert compared[0] <= 4 * 4
    assert len(links) <= 2 * linker.candidates * len(rows)
    assert {(1, 2), (1, 1000), (1, 1001)} <= {(a, b) for a, b, _ in links}
    compared[0] = 0
    between = linker.link(rows[:2], rows)
    assert compared[0] <= 4 * 6
    assert [pair for *pair, _ in between] == [
        [0, 0],
        *([1, j] for j in range(1, linker.candidates + 1)),
        [1, 1001],
    ]


def test_learning_from_equal_records_compares_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"a": "x y"}] * 2_000 + [{"a": "x z"}]
    compared = counted(monkeypatch)
    Linker(["a"]).fit(rows, matches=[(0, 1)])
    assert compared[0] <= 2 * 4


def test_records_of_common_words_look_at_a_limited_number_of_others() -> None:
    """Each word is in more texts than `MOST_TEXTS`, and all texts differ."""
    texts = [f"a{i % 30} b{i // 30 % 30} c{i // 900}" for i in range(18_000)]
    index = blocking.WordIndex(texts)
    seen = sum(len(entries) for _, entries in index._looked_at(["a1", "b1", "c1"]))
    assert seen <= blocking.MOST_LOOKS
    assert index.nearest(texts[77], 1)[0][0] == 77


def test_equal_records_do_not_hide_others_from_a_reading(model: caesura.SemiCRF) -> None:
    row = {"author": "Hoare", "title": "On time", "year": "1975"}
    other = {"author": "Hoare", "title": "On data", "year": "1976"}
    linker = Linker(list(row), candidates=2, c2=0.01).fit([row, other, row], matches=[(0, 2)])
    known = [*[row] * 30, other]
    found = linker.read(model, ["Hoare, 1975. On time.", "Hoare, 1976. On data."], known)
    assert [one.entity for one in found] == [0, 30]
    texts = ["Hoare, 1975. On time."] * 2 + ["Hoare, 1976. On data."]
    again = linker.read(model, texts, [row, row, other], reread=True)
    assert [one.entity for one in again] == [1, 0, None]


def test_equal_records_that_do_not_match_stay_apart() -> None:
    """Of records without a title, equal ones are different things, as the training data says."""
    rows = [{"title": "", "year": "1975"}] * 6 + [{"title": f"no {i // 2}"} for i in range(8)]
    matches = [(i, i + 1) for i in range(6, 14, 2)]
    linker = Linker(["title", "year"], c2=0.001).fit(rows, matches=matches)
    assert linker.entities(rows)[:6] == [0, 1, 2, 3, 4, 5]
    assert linker.entities([{}, {}, {"title": "no 1"}, {"title": "no 1"}]) == [0, 1, 2, 2]


# -- reading and linking at once -------------------------------------------------------------------


def test_alternatives_are_the_n_best_as_fields(model: caesura.SemiCRF) -> None:
    text = "Hoare, 1975. On time."
    [ranked] = alternatives(model, [text], 3)
    expected = model.predict_n_best([text], 3)[0]
    assert [p for _, p in ranked] == pytest.approx([math.log(p) for _, p in expected])
    assert ranked[0][0] == {"author": "Hoare", "title": "On time", "year": "1975"}


def test_a_likely_match_changes_the_segmentation() -> None:
    """Scores and log-odds are added, so a record that is known decides between two readings."""
    texts = ["a b c", "b c a", "a c b", "c b a"]
    labels = [[(0, 1, "x"), (1, 3, "y")], [(0, 2, "x"), (2, 3, "y")]] * 2
    model = caesura.SemiCRF([bias, *window(lower, 0, 0)], c2=10.0).fit(texts, labels)
    ranked = next(alternatives(model, ["a b c"], 8))
    wanted = ranked[1][0]  # not the best by itself
    rows = [wanted, wanted, {"x": "b", "y": "a"}, ranked[0][0]]
    linker = Linker(["x", "y"], c2=0.001).fit(rows, matches=[(0, 1)])
    [joint] = linker.read(model, ["a b c"], [wanted], 8)
    [piped] = linker.read(model, ["a b c"], [wanted], 1)
    assert joint.fields == wanted != piped.fields
    scores = [log_p + max(0.0, linker.log_odds(fields, wanted)) for fields, log_p in ranked]
    assert joint.log_probability + joint.log_odds == pytest.approx(max(scores))
    assert linker.read(model, ["a b c"], [wanted], 8, reread=True)[0].entity is None
    assert linker.read(model, ["a b c"], [], 8)[0].entity is None


# -- entities --------------------------------------------------------------------------------------

SCHEMA = Schema("papers", many={"author": "authors"}, one={"title": "topics"})


@pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect])
def test_entities_and_mentions(
    connect: Callable[[str], Any], model: caesura.SemiCRF, linker: Linker
) -> None:
    connection = connect(":memory:")
    texts = ["Hoare, 1975. On time.", "Gray, 1972. On data.", "HOARE, 1975. On time."]
    assert store_entities(connection, SCHEMA, linker, model, texts) == Stored(3, 2, 1)
    assert store_entities(connection, SCHEMA, linker, model, texts) == Stored(0, 0, 0)
    later = ["hoare, 1975. On time.", "Liskov, 1973. On data."]
    assert store_entities(connection, SCHEMA, linker, model, later) == Stored(2, 1, 1)
    query = """
        SELECT papers.id, authors.name, topics.name, year, mentions
        FROM papers JOIN papers_authors ON entity_id = papers.id
        JOIN authors ON authors.id = papers_authors.id JOIN topics ON topics.id = title_id
        ORDER BY papers.id"""
    rows = connection.execute(query).fetchall()
    assert [(*row[:1], row[1].lower(), *row[2:]) for row in rows] == [
        (1, "hoare", "On time", "1975", 3),
        (2, "gray", "On data", "1972", 1),
        (3, "liskov", "On data", "1973", 1),
    ]
    mentions = "SELECT entity_id FROM papers_mentions ORDER BY id"
    assert [row[0] for row in connection.execute(mentions).fetchall()] == [1, 2, 1, 1, 3]
    connection.execute("BEGIN TRANSACTION")
    with pytest.raises(InvalidInput, match="a connection without an open transaction"):
        store_entities(connection, SCHEMA, linker, model, ["Gray, 1972. On time."])
    with pytest.raises(
        InvalidInput, match=r"connection: got 'papers.db', expected a connection of"
    ):
        store_entities("papers.db", SCHEMA, linker, model, ["Gray, 1972. On time."])


@pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect])
def test_tables_of_others_are_left_alone(
    model: caesura.SemiCRF, linker: Linker, connect: Callable[[str], Any]
) -> None:
    connection = connect(":memory:")
    schema = Schema("papers", many={"author": "authors"})
    connection.execute("CREATE TABLE Authors (id INTEGER, name VARCHAR)")
    connection.execute("INSERT INTO Authors VALUES (7, 'mine')")
    connection.commit()
    with pytest.raises(InvalidInput, match="schema: got 'authors', expected names of tables"):
        store_entities(connection, schema, linker, model, X)
    assert connection.execute("SELECT * FROM Authors").fetchall() == [(7, "mine")]


def test_names_that_cannot_be_tables_or_columns(model: caesura.SemiCRF, linker: Linker) -> None:
    connection = sqlite3.connect(":memory:")
    with pytest.raises(InvalidInput, match="expected different tables"):
        store_entities(connection, Schema("a", many={"author": "A"}), linker, model, X)
    taken = caesura.SemiCRF(c2=0.01).fit(["a b"], [[(0, 1, "id"), (1, 2, "mentions")]])
    with pytest.raises(InvalidInput, match="model: got 'id', expected labels"):
        store_entities(connection, Schema("a"), linker, taken, X)
    wrong: list[tuple[Any, ...]] = [
        ("papers", linker, model, X),
        (Schema("a"), None, model, X),
        (Schema("a"), linker, "m", X),
        (Schema("a"), linker, model, "Codd"),
    ]
    for schema, one, other, texts in wrong:
        with pytest.raises(InvalidInput, match=r"(schema|linker|model|texts): got"):
            store_entities(connection, schema, one, other, texts)


def test_nothing_is_stored_if_something_fails(model: caesura.SemiCRF, linker: Linker) -> None:
    connection = sqlite3.connect(":memory:")
    with pytest.raises(InvalidInput, match="schema"):
        store_entities(connection, Schema("p", many={"editor": "e"}), linker, model, ["x"])
    texts: list[Any] = ["Gray, 1972. On data.", 7]
    with pytest.raises(caesura.CaesuraError):
        store_entities(connection, SCHEMA, linker, model, texts)
    tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert tables == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("E. F. Codd", ["E. F. Codd"]),
        ("Codd, E.F.", ["Codd, E.F."]),
        ("Gray, J. and Reuter, A.", ["Gray, J.", "Reuter, A."]),
        ("Gray, J., Reuter, A.", ["Gray, J.", "Reuter, A."]),
        ("Jim Gray; Andreas Reuter", ["Jim Gray", "Andreas Reuter"]),
        (
            "van der Aalst, W. M. P., and ter Hofstede, A. H. M.",
            ["van der Aalst, W. M. P.", "ter Hofstede, A. H. M."],
        ),
        ("Öberg, Å.", ["Öberg, Å."]),
        ("Öberg, Å. & CODD, E.-F.", ["Öberg, Å.", "CODD, E.-F."]),
        ("Challis, P. et al.", ["Challis, P."]),
        ("Challis, P., Ng, A., et al", ["Challis, P.", "Ng, A."]),
        ("King, M. L., Jr., Codd E F, Gray J", ["King, M. L., Jr.", "Codd E F", "Gray J"]),
        ("李明, 王芳", ["李明", "王芳"]),
    ],
)
def test_names_of_people(text: str, names: list[str]) -> None:
    assert split_names(text) == names


def test_tuning_leaves_out_halves_without_matches() -> None:
    texts = ["alpha beta", "alpha bets", "gamma delta", "gamma delto", "zq", "kkk"]
    rows = [{"a": text} for text in texts]
    linker = Linker(["a"]).fit(rows, matches=[(0, 1), (2, 3)], tune=True)
    assert linker.entities(rows) == [0, 0, 2, 2, 4, 5]


def test_tuning_without_other_pairs_says_so() -> None:
    entity = np.array([0, 0, 2, 2, 4, 5])
    with pytest.raises(InvalidInput, match="tune: got 2 pairs, expected matches and others"):
        tuned(np.ones((2, 1)), [(0, 1), (2, 3)], entity, 0.1)
