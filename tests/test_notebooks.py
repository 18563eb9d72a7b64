"""What notebooks show: the facts, in one look, with all text escaped; and the example notebook."""

import copy
import json
import pickle
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
import pytest

import caesura
from caesura import ChainCRF, Potentials, SemiCRF, compare, evaluate
from caesura.compat import CRF
from caesura.extraction import Record, Records, Value
from caesura.models.pruned import PrunedSemiCRF
from caesura.neural import NeuralSegmenter
from caesura.notebooks import Listed, bar, card, facts, label_names, table

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))
EVIL = "<script>alert('&')</script>"
X = ["12 High Street , Leeds", "7 Park Lane , York", "3 Mill Road , Leeds"]
Y = [[(0, 1, "number"), (1, 3, EVIL), (4, 5, "town")]] * 3
EMPTY = {"br", "hr", "img", "input", "meta"}


class Page(HTMLParser):
    """The tags and the words of a piece of a page, which must be well-formed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.titles: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.titles += [value or "" for name, value in attrs if name == "title"]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def model() -> SemiCRF:
    return SemiCRF(c2=0.1).fit(X, Y, X, Y)


def shown(found: Any) -> Page:
    """Return what a notebook shows, which is safe whatever the texts are."""
    page = Page(found._repr_html_())
    assert "script" not in page.tags
    assert not any(tag.startswith("on") for tag in page.tags)
    return page


# -- models ----------------------------------------------------------------------------------------


def test_a_fitted_model_says_what_it_is(model: SemiCRF) -> None:
    assert repr(model) == f"<fitted SemiCRF(c2=0.1): 3 labels, {len(model.weights_)} weights>"
    page = shown(model)
    assert page.text.startswith("SemiCRF, fitted labels 3 weights")
    assert f"{len(model.weights_)} iterations {len(model.history_)} ({model.status_})" in page.text
    best = max(step.dev_score or 0.0 for step in model.history_)
    assert f"F1 on development data {best:.3f}" in page.text
    assert EVIL in page.text
    assert re.search(r"setting value c2 0\.1 defaults .* learner 'lbfgs'", page.text)


def test_a_model_before_it_is_fitted() -> None:
    pruned = PrunedSemiCRF(lambda document, start, end: document.tokens[start:end])
    for model in (SemiCRF(), ChainCRF(), pruned, NeuralSegmenter(), CRF()):
        name = type(model).__name__
        assert repr(model).startswith(f"{name}(")
        assert shown(model).text.startswith(f"{name}, not fitted")


def test_a_long_setting_is_cut() -> None:
    page = shown(SemiCRF(constraints={"ordered": [f"label-{k}" for k in range(200)]}))
    assert "label-3" in page.text
    assert "label-190" not in page.text


def test_a_loaded_model_and_its_copies_are_the_same(model: SemiCRF, tmp_path: Path) -> None:
    model.save(tmp_path / "a.model")
    again = caesura.load(tmp_path / "a.model")
    assert repr(again).endswith(f": 3 labels, {len(model.weights_)} weights>")
    assert "status loaded" in shown(again).text
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)


def test_other_models() -> None:
    gold = [[(0, 1, "a"), (1, 2, "b")]] * 4
    chain = ChainCRF().fit([["x", "y"]] * 4, gold)
    assert repr(chain).startswith("<fitted ChainCRF(): 2 labels, ")
    neural = NeuralSegmenter(epochs=1, hidden=2, word_size=2).fit([["x", "y"]] * 4, gold)
    assert f"2 labels, {neural.n_features_:,} weights>" in repr(neural)
    assert "NeuralSegmenter, fitted" in shown(neural).text
    assert "2 sequences" in shown(neural.predict([["x", "y"]] * 2)).text
    assert "probability" in shown(neural.predict_n_best([["x", "y"]], 2)).text
    assert shown(neural.predict_confident([["x", "y"]])).text.startswith("1 sequence")


# -- reports and explanations ----------------------------------------------------------------------


def test_reports() -> None:
    report = evaluate(Y, [Y[0], [], Y[2]])
    page = shown(report)
    assert page.text.startswith("F1 0.800 Bars show F1. precision recall F1 gold predicted correct")
    assert EVIL in page.text
    assert "2 of 3 sequences right: 0.667" in page.text
    result = compare(Y, Y, [[]] * 3, rounds=99)
    assert shown(result).text.startswith(f"F1 differs by 1.000, p = {result.p_value:.2g}")


def test_explanations(model: SemiCRF) -> None:
    found = model.explain(X[0])
    page = shown(found)
    assert page.text.count("feature for answer runner-up difference") == len(found) == 3
    assert EVIL in page.text
    assert f"{found[0].reasons[0].difference:+.2f}" in shown(found[0]).text
    assert found == list(found)


# -- predictions -----------------------------------------------------------------------------------


def test_predictions(model: SemiCRF) -> None:
    found = model.predict([f"12 {EVIL} Street , Leeds", "7 Park Lane , York"])
    page = shown(found)
    assert page.text.startswith(f"2 sequences {EVIL} number town")
    assert EVIL in page.text.split("2 sequences")[1]
    assert any(title.startswith("number [0, 1)") for title in page.titles)
    sure = model.predict_confident(X)
    chance = sure[0][0].probability
    assert f"number [0, 1): probability {chance:.4g}" in shown(sure).titles
    constrained = model.predict_confident(X, constraints={"required": [(0, 1, "town")]})
    assert "town [0, 1): probability 1" in shown(constrained).titles
    best = model.predict_n_best(X[:1], 3)
    text = shown(best).text
    assert [f"probability {chance:.3f}" in text for _, chance in best[0]] == [True] * 3


def test_predictions_are_lists_that_leave_x_behind(model: SemiCRF) -> None:
    found = model.predict(X)
    assert found == list(found)
    assert repr(found) == repr(list(found))
    for twin in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert twin == found
        assert X[0] not in repr(vars(twin) if hasattr(twin, "__dict__") else twin)
        assert "Leeds" not in shown(twin).text
    assert json.loads(json.dumps(found)) == [[list(s) for s in some] for some in found]
    assert np.concatenate([found, found]).shape == (6,)


def test_predictions_of_what_can_be_read_once_or_has_changed(model: SemiCRF) -> None:
    assert "Leeds" not in shown(model.predict(iter(X))).text
    changed = [*X]
    found = model.predict(changed)
    changed[0] = "12"
    assert "0 number 1 2" in shown(found).text
    changed.clear()
    assert "0 number 1 2" in shown(found).text
    numbers = [np.zeros((3, 2)), np.ones((2, 2))]
    dense = SemiCRF().fit(numbers, [[(0, 3, "a")], [(0, 2, "b")]])
    assert "0 1 2" in shown(dense.predict(numbers)).text
    assert "(no segments)" in shown(model.predict([""])).text


def test_only_the_first_are_shown(model: SemiCRF) -> None:
    assert "15 sequences" in shown(model.predict(X * 5)).text
    assert "5 more" in shown(model.predict(X * 5)).text
    assert "5 more" in shown(model.extract(X * 5)).text


def test_records(model: SemiCRF) -> None:
    records = model.extract(X)
    assert shown(records).text.startswith(f"3 records number {EVIL} town")
    page = shown(records[0])
    whole = records[0].probability
    assert page.text.startswith(f"Record, probability {whole:.3f}")
    assert f"number 12 {records[0]['number'][0].probability:.3f}" in page.text
    assert "Leeds" in page.text
    evil = Record(EVIL, [(EVIL, Value("script", 1, 7, None, EVIL))], [EVIL])
    assert shown(evil).text.count("alert") == 4  # the text, the label, the label, the value
    assert shown(Records([evil, Record("", [], [])], [EVIL])).text.startswith("2 records")


def test_paths_of_the_engine() -> None:
    p = Potentials(2, ["a", EVIL], tokens=["x", EVIL])
    found = caesura.n_best(p, 12)
    assert isinstance(found, list)
    assert EVIL in shown(found).text
    assert shown(caesura.n_best(p, 2)).text.count(EVIL) >= 2


# -- the pieces ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [EVIL, '" onload="x', "a\x00b\x1b[31m", "\u202e", "\ud800", ""])
def test_pieces_escape_everything(text: str) -> None:
    parts = [table(text, [("", text), (text, text)]), facts({text: text}), label_names([text])]
    page = Page(card(text, *parts, f"<table><tr>{bar(2.0)}</tr></table>"))
    assert "script" not in page.tags
    assert "\x1b" not in page.text
    assert "width:100.0%" in bar(2.0)
    assert Listed()._repr_html_()
    Page(card("x").encode(errors="replace").decode())


def test_colours_come_from_the_page_around(model: SemiCRF) -> None:
    """Neither a background nor a colour of text of its own, so that it suits light and dark."""
    style = model._repr_html_().split("</style>")[0]
    assert re.findall(r"background: (\w+)", style) == ["transparent", "transparent", "rgba", "rgb"]
    assert set(re.findall(r"[ ;]color: (\w+)", style)) == {"inherit"}


# -- the example -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_runs_and_shows_what_is_stored(path: Path) -> None:
    stored: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    again = copy.deepcopy(stored)
    nbclient.NotebookClient(again, timeout=120, kernel_name="python3").execute()
    for before, after in zip(stored.cells, again.cells, strict=True):
        if before.cell_type != "code":
            continue
        kinds = [[sorted(o.get("data", {})) for o in cell.outputs] for cell in (before, after)]
        assert kinds[0] == kinds[1], before.source


def test_there_is_a_notebook() -> None:
    assert [path.name for path in NOTEBOOKS] == ["addresses.ipynb"]
