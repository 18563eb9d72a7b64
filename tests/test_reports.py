"""Reports for people: the page of HTML, its drawings, and tables for terminals."""

from __future__ import annotations

import doctest
import inspect
import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from caesura import evaluation, render
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.evaluation import (
    Confusion,
    Errors,
    confusion,
    errors,
    evaluate,
    html_report,
    partial,
    reliability,
    right_segments,
)
from caesura.evaluation.drawings import STYLE, diagram, heat_map
from caesura.evaluation.scores import Share
from caesura.segments import Segment

VOID = {"meta", "br", "img", "link", "input", "hr"}
TOKENS = [["Ann", "Lee", "met", "Bob"], ["New", "York", "sleeps"], ["all", "well"]]
GOLD: list[Any] = [[(0, 2, "PER"), (3, 4, "PER")], [(0, 2, "LOC")], []]
PREDICTED: list[Any] = [[(0, 1, "PER"), (3, 4, "LOC")], [(0, 2, "LOC")], [(0, 1, "ORG")]]
SURE = [[0.55, 0.65], [0.95], [0.35]]


class Reader(HTMLParser):
    """Read a page strictly: every element is closed, in order, and all text is kept."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []  # element, text
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, names)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def words(self, *tags: str) -> list[str]:
        return [text for tag, text in self.texts if not tags or tag in tags]


def full_page(**options: Any) -> str:
    return html_report(TOKENS, GOLD, PREDICTED, probabilities=SURE, **options)


# ---- the page ---------------------------------------------------------------------------------


def test_page_is_complete_and_accessible() -> None:
    page = full_page(title="Names", vocabulary={"Ann Lee", "New York"})
    reader = Reader(page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert reader.words("title")[:2] == ["Names", reader.all("svg")[0]["aria-label"]]
    assert reader.words("h1") == ["Names"]
    assert reader.words("h2") == [
        *("Labels", "Partly right", "Kinds of error", "Labels taken for others"),
        *("Reliability", "The worst sequences"),
    ]
    assert len(reader.all("table")) == len(reader.all("caption")) == 6
    assert all(cell.get("scope") in ("row", "col") for cell in reader.all("th"))
    assert {"charset": "utf-8"} in reader.all("meta")
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in reader.all("svg"))
    style = reader.words("style")[0]
    assert "prefers-color-scheme: dark" in style
    assert "color-scheme: light dark" in style


def test_page_needs_nothing_else() -> None:
    page = full_page()
    reader = Reader(page)
    assert not {tag for tag, _ in reader.elements} & {"script", "link", "img", "iframe", "object"}
    assert not any(
        {"src", "href", "onload", "onclick"} & found.keys() for _, found in reader.elements
    )
    links = re.findall(r"\w+://[^\"' ]+|url\(|@import", page)
    assert links == ["http://www.w3.org/2000/svg"]


def test_page_shows_the_scores() -> None:
    words = Reader(full_page(vocabulary={"Ann Lee", "New York"})).words()
    report = evaluate(GOLD, PREDICTED, tokens=TOKENS, confidence=0.95)
    assert report.tokens is not None
    assert report.interval is not None
    for value in (report.micro.f1, report.sequence_accuracy, report.tokens.value):
        assert f"{value:.3f}" in words
    assert str(report.interval.f1) in words
    assert "in the vocabulary, found" in words
    assert "1 of 2" in words
    assert {"LOC", "ORG", "PER", "micro", "macro", "untyped", "boundaries"} <= set(words)
    assert {"strict", "exact", "partial", "ent_type"} <= set(words)
    assert "3 errors; 1 segment is right" in words


def test_page_shows_f_beta_and_equal_tags() -> None:
    words = Reader(full_page(beta=2, tags=Share(8, 6))).words()
    report = evaluate(GOLD, PREDICTED, beta=2)
    assert {"F2", f"{report.f_beta():.3f}", f"{report.f_beta('weighted'):.3f}"} <= set(words)
    assert {"tags equal as written", "0.750", "6 of 8"} <= set(words)
    assert not {"F2", "tags equal as written"} & set(Reader(full_page()).words())


def test_page_shows_texts_as_they_were_written() -> None:
    document = Document.from_text("Zukofsky, Louis. (1948)")
    author = [[Segment(0, 4, "author")]]
    page = Reader(html_report([document], author, [[]]))
    assert page.words("span") == ["Zukofsky, Louis. "]
    assert "Zukofsky, Louis. (1948)" in page.words("div")
    page = Reader(html_report([document.tokens], author, [[]]))
    assert page.words("span") == ["Zukofsky , Louis . "]


def test_worst_sequences_gold_beside_predicted() -> None:
    reader = Reader(full_page())
    assert reader.words("h3") == [
        "Sequence 1: 1 wrong boundary, 1 wrong label",
        "Sequence 3: 1 spurious",
    ]
    assert reader.words("h4") == ["gold", "predicted"] * 2
    assert reader.words("i") == [*["wrong boundary", "wrong label"] * 2, "spurious"]
    titles = [found.get("title") for found in reader.all("span")]
    assert "PER [0, 1): probability 0.55" in titles
    assert "PER [0, 2)" in titles
    assert "1 of 2 with mistakes" in " ".join(Reader(full_page(worst=1)).words("p"))
    assert Reader(full_page(worst=1)).words("h3")[1:] == []


def test_one_colour_for_one_label_throughout() -> None:
    page = full_page()
    found = re.findall(r'title="(LOC|PER) [^"]*" style="background:(#\w{6})', page)
    shades = {label: {shade for one, shade in found if one == label} for label in ("LOC", "PER")}
    assert len(shades["LOC"]) == len(shades["PER"]) == 1
    assert shades["LOC"] != shades["PER"]


def test_a_page_without_mistakes_and_one_without_anything() -> None:
    page = html_report(TOKENS, GOLD, GOLD)
    assert "None has a mistake." in Reader(page).words()
    assert "<svg" not in page
    for page in (html_report([], [], []), html_report([], [], [], probabilities=[])):
        assert "0 of 0" in Reader(page).words()


def test_documents_iterators_and_outside_segments() -> None:
    documents = [Document(tuple(words)) for words in TOKENS]
    filled = [[(0, 1, "PER"), (1, 3, "none"), (3, 4, "LOC")], *PREDICTED[1:]]
    chances = [[0.55, 0.99, 0.65], *SURE[1:]]
    page = html_report(
        iter(documents),
        (iter(cuts) for cuts in GOLD),
        (iter(cuts) for cuts in filled),
        probabilities=(iter(some) for some in chances),
        outside="none",
    )
    assert page == full_page()


HOSTILE = "<script>alert(1)</script>\"'&amp;\x00\x1b[31m\u202e\ud800"


def test_everything_is_escaped() -> None:
    tokens = [[HOSTILE, "", " "]]
    page = html_report(
        *(tokens, [[(0, 1, HOSTILE)]], [[(0, 2, HOSTILE + "2")]]),
        probabilities=[[0.5]],
        title=HOSTILE,
        vocabulary={HOSTILE},
    )
    reader = Reader(page)
    assert reader.all("script") == []
    assert "<script>" in reader.words("title")[0]
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800]", page)
    page.encode()


@settings(max_examples=40)
@given(st.lists(st.text(max_size=6), min_size=4, max_size=6), st.text(max_size=6), st.text())
def test_any_text_makes_a_page(tokens: list[str], label: str, title: str) -> None:
    gold, predicted = [[(0, 2, label), (3, 4, "X")]], [[(1, 2, "X"), (2, 4, label)]]
    page = html_report([tokens], gold, predicted, probabilities=[[0.0, 1.0]], title=title)
    reader = Reader(page)
    assert reader.words("h1")[0] == reader.words("title")[0] != ""
    page.encode()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"documents": TOKENS[:2]}, "documents: got 2 sequences, expected 3, as many as in gold"),
        ({"documents": ["a b", "c", "d"]}, "documents[0]: got 'a b', expected a list of strings"),
        ({"predicted": [[], 3, []]}, "predicted[1]: got 3, expected a list of segments"),
        (
            {"predicted": [[], [(1, 4, "A")], []]},
            "predicted[1][0]: got (1, 4, 'A'), expected a seg",
        ),
        ({"probabilities": SURE[:2]}, "probabilities: got 2 sequences, expected 3"),
        ({"probabilities": 0.5}, "probabilities: got 0.5, expected a list for each sequence"),
        (
            {"probabilities": [[0.5], [0.5], [0.5]]},
            "probabilities[0]: got [0.5], expected 2 numbers from 0 to 1, one for each",
        ),
        ({"probabilities": [[0.5, 2], [0.5], [0.5]]}, "probabilities[0]: got [0.5, 2], expected 2"),
        ({"probabilities": [[0.5, 1], ["a"], [1]]}, "probabilities[1]: got ['a'], expected 1 numb"),
        ({"worst": -1}, "worst: got -1, expected a whole number, at least 0"),
        ({"vocabulary": "abc"}, "vocabulary: got 'abc', expected a set of words"),
    ],
)
def test_wrong_input_is_named(arguments: dict[str, Any], text: str) -> None:
    given_ones = {"documents": TOKENS, "gold": GOLD, "predicted": PREDICTED} | arguments
    with pytest.raises(InvalidInput, match="^" + re.escape(text)):
        html_report(**given_ones)


# ---- drawings ---------------------------------------------------------------------------------


def test_diagram_is_an_image_with_a_column_for_each_bin() -> None:
    random = np.random.default_rng(0)
    p = random.random(300)
    found = reliability(p, random.random(300) < p)
    tree = ET.fromstring(diagram(found))
    name = "{http://www.w3.org/2000/svg}"
    groups = tree.findall(f"{name}g")
    assert len(groups) == sum(bin.segments > 0 for bin in found.bins)
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    for group, bin in zip(groups, found.bins, strict=True):
        share, count = group.findall(f"{name}rect")
        assert float(share.attrib["height"]) == pytest.approx(280 * bin.accuracy, abs=0.06)
        assert 0 < float(count.attrib["height"]) <= 44
        title = group.find(f"{name}title")
        assert title is not None
        assert f"{bin.segments} segments" in str(title.text)
    for shape in tree.iter(f"{name}rect"):
        x, y, w, h = (float(shape.attrib[key]) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    assert "expected calibration error 0." in tree.attrib["aria-label"]
    ET.fromstring(diagram(reliability([], [])))


def test_heat_map_shows_the_counts_of_confused_labels() -> None:
    found = confusion(GOLD, PREDICTED)
    reader = Reader(heat_map(found))
    titles = [cell["title"] for cell in reader.all("td") if "title" in cell]
    kept = {"LOC": 0, "PER": 2, "(none)": 3}  # ORG was only spurious
    assert titles == [
        f"gold {a}, predicted {b}: {found.counts[i, j]}"
        for a, i in kept.items()
        for b, j in kept.items()
        if (i, j) != (3, 3)
    ]
    assert "Of 3 labels, 1 was never taken for another one." in reader.words("caption")[0]
    assert "0" not in reader.words("td")


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["accent", "wrong"])
def test_numbers_on_the_darkest_cells_can_be_read(scheme: int, kind: str) -> None:
    def colour(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        value = re.findall(rf"--{name}: ([^;]+);", STYLE)[scheme]
        if "," in value:
            return np.array([int(part) for part in value.split(",")]) / 255
        digits = value[1:] if len(value) == 7 else "".join(2 * digit for digit in value[1:])
        return np.frombuffer(bytes.fromhex(digits), np.uint8) / 255

    def luminance(shade: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        linear = np.where(shade <= 0.04045, shade / 12.92, ((shade + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    counts = np.array([[9, 0, 0], [9, 0, 0], [0, 0, 0]])  # all of A right, all of B taken for A
    page = heat_map(Confusion(("A", "B"), counts))
    [strength] = re.findall(rf"--{kind}\),([\d.]+)\)", page)
    cell = float(strength) * colour(kind) + (1 - float(strength)) * colour("paper")
    low, high = sorted(luminance(shade) + 0.05 for shade in (cell, colour("ink")))
    assert high / low >= 4.5


def test_heat_map_keeps_the_most_confused_labels() -> None:
    counts = np.diag(np.arange(41))
    counts[-1, -1] = 0
    labels = tuple(f"L{y:02}" for y in range(40))
    assert Reader(heat_map(Confusion(labels, counts))).words() == [
        "No label was taken for another one."
    ]
    counts[range(1, 40), range(39)] = range(1, 40)  # each for the one before it
    reader = Reader(heat_map(Confusion(labels, counts)))
    rows = [text for text in reader.words("th") if text.startswith("L")]
    assert rows == [f"L{y}" for y in range(24, 39)]  # L39 only for L38
    text = "The 15 labels of 40 that were taken for others most often."
    assert text in reader.words("caption")[0]


def test_notes_of_segments() -> None:
    cuts = [(0, 1, "PER"), (2, 3, "PER")]
    page = render.html(cuts, ["Ann", "met", "Bob"], notes=["", "in <doubt>"])
    assert Reader(page).words("i") == ["in <doubt>"]
    assert page.count("dashed") == 1
    assert render.html(cuts, ["Ann", "met", "Bob"], notes=["", ""]) == render.html(
        cuts, ["Ann", "met", "Bob"]
    )


# ---- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", evaluation.__all__)
def test_names_have_an_example(name: str) -> None:
    documentation = inspect.getdoc(getattr(evaluation, name)) or ""
    assert doctest.DocTestParser().get_examples(documentation), f"{name} has no example"


# ---- terminals --------------------------------------------------------------------------------


def printed(what: object) -> str:
    stream = io.StringIO()
    Console(file=stream, width=120, color_system=None).print(what)
    return stream.getvalue()


@pytest.mark.parametrize(
    "what",
    [
        evaluate(GOLD, PREDICTED, tokens=TOKENS, vocabulary={"Ann Lee"}, confidence=0.9),
        partial(GOLD, PREDICTED),
        errors(GOLD, PREDICTED),
        confusion(GOLD, PREDICTED),
        reliability(
            [p for some in SURE for p in some],
            [r for some in right_segments(GOLD, PREDICTED) for r in some],
        ),
    ],
)
def test_terminals_show_what_print_shows(what: Any) -> None:
    plain, rich = str(what).split(), printed(what).replace("─", " ").split()
    assert rich == plain


def test_labels_cannot_steer_a_terminal() -> None:
    label = "[red]\x1b[31m"
    report = evaluate([[(0, 1, label)]], [[(0, 1, label)]])
    for shown in (str(report), printed(report), str(confusion([[(0, 1, label)]], [[]]))):
        assert r"[red]\x1b[31m" in shown
        assert "\x1b" not in shown


def test_wide_labels_keep_columns() -> None:
    lines = str(evaluate([[(0, 1, "地名"), (1, 2, "LOC")]], [[]])).splitlines()
    assert lines[1].index("0.000") == lines[2].index("0.000") + 2
    assert str(Errors(0, 0, 0, 0, 0, 0)).count("0.000") == 5
