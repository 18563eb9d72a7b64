"""Segments for people: what is shown, in which colours, and that no text can break it."""

import html
import pickle
import re
from html.parser import HTMLParser
from io import StringIO
from typing import Any

import numpy as np
import pytest

import caesura
from caesura import Path, Potentials, Segment, render

TOKENS = ["Ann", "Lee", "sings", "in", "Paris"]
SEGMENTS = [Segment(0, 2, "PER"), Segment(4, 5, "LOC")]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
ODD = ["<b>", "&amp;", '"', "'", "\x1b[31m", "a\nb", "", " ", "日本", "e\u0301", "\u202e", "\ud800"]


class Page(HTMLParser):
    """The text and the titles of a piece of a page, and a check that every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.titles: list[str] = []
        self.words = ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.titles += [value or "" for name, value in attrs if name == "title"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def named(length: int = 5, labels: list[str] | int = 2) -> Potentials:
    p = Potentials(length, labels, tokens=TOKENS[:length])
    if length:
        p.add(0, min(2, length), 0, 3.0)
    return p


@pytest.fixture(autouse=True)
def no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours only where a test asks for them, also under ``pytest -s`` in a terminal."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")


# -- in a terminal -------------------------------------------------------------------------------


def test_text_names_labels_and_probabilities() -> None:
    shown = render.text(SEGMENTS, TOKENS, [0.9, 0.25], width=80)
    assert shown == "[Ann Lee](PER 0.900) sings in [Paris](LOC 0.250)"


def test_colours_are_only_added() -> None:
    for show in (render.text, render.table):
        plain = show(SEGMENTS, TOKENS, [0.9, 0.25], colour=False)
        coloured = show(SEGMENTS, TOKENS, [0.9, 0.25], colour=True)
        assert "\x1b" not in plain
        assert ESCAPE.sub("", coloured) == plain
        assert coloured.count("\x1b[0m") == len(ESCAPE.findall(coloured)) / 2


def test_lines_fit_the_width() -> None:
    long = render.text([(0, 40, "A"), (40, 60, "B")], [f"word{t}" for t in range(60)], width=30)
    assert max(map(len, long.splitlines())) <= 30
    assert " ".join(long.split("\n")).startswith("[word0 word1")


def test_colour_is_wanted_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    assert render.colour_wanted(Terminal())
    assert not render.colour_wanted(StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not render.colour_wanted(Terminal())


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    assert "\x1b" not in render.text(SEGMENTS, TOKENS)
    assert "\x1b" not in render.table(SEGMENTS, TOKENS)
    monkeypatch.setenv("NO_COLOR", "")  # set but empty says nothing
    assert "\x1b" in render.text(SEGMENTS, TOKENS)


def test_a_label_keeps_its_colour_when_all_labels_are_given() -> None:
    labels = ["LOC", "ORG", "PER"]
    both = render.text(SEGMENTS, TOKENS, labels=labels, colour=True)
    alone = render.text(SEGMENTS[1:], TOKENS, labels=labels, colour=True)
    of_paris = re.compile(r"\x1b\[[0-9;]*m\[Paris\]")
    found = of_paris.search(both)
    assert found is not None
    assert found.group() in alone


def test_outside_has_no_colour() -> None:
    shown = render.text([(0, 1, "O"), (1, 2, "PER")], ["the", "king"], colour=True)
    assert shown.startswith("[the](O) \x1b")


def test_the_palette_can_be_read_on_black_and_on_white() -> None:
    def luminance(shade: str) -> float:
        parts = np.array([int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for _, shade in render.PALETTE:
        assert 1.05 / (luminance(shade) + 0.05) > 3.0
        assert (luminance(shade) + 0.05) / 0.05 > 3.0
    assert len({number for number, _ in render.PALETTE}) == len(render.PALETTE) >= 14


def _lab(shade: list[int]) -> Any:
    """Return a colour of sRGB in CIELAB, where distances are as people see them."""
    parts = np.array(shade) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    rows = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x = (np.array(rows) @ linear) / [0.9505, 1.0, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_no_two_colours_of_the_palette_are_alike() -> None:
    shades = [[int(shade[i : i + 2], 16) for i in (1, 3, 5)] for _, shade in render.PALETTE]
    seen = [_lab(shade) for shade in shades]
    assert all(np.linalg.norm(a - b) > 20 for i, a in enumerate(seen) for b in seen[:i])
    levels = [0, 95, 135, 175, 215, 255]
    for (number, _), shade in zip(render.PALETTE, shades, strict=True):
        cube = number - 16  # of six levels of red, green and blue
        assert [levels[cube // 36], levels[cube // 6 % 6], levels[cube % 6]] == shade


def test_a_page_has_the_text_as_it_was_written_and_the_spans_of_tokens() -> None:
    written = render.Written("see (Ann's)\n now", [(0, 3), (4, 5), (5, 10), (10, 11), (13, 16)])
    tokens = ["see", "(", "Ann's", ")", "now"]
    page = render.html([(1, 4, "PER")], tokens, written=written)
    assert ">(Ann&#x27;s) <b" in page
    assert 'title="PER [1, 4)"' in page
    assert "</span> now<" in page


def test_table_columns_line_up() -> None:
    shown = render.table([(0, 1, "A"), (1, 3, "long")], ["日本", "x", "y"], [1.0, 0.0]).splitlines()
    assert shown == ["[0, 1)  日本  A     1.000 ██████████", "[1, 3)  x y   long  0.000"]


def test_table_cuts_long_text() -> None:
    line = render.table([(0, 99, "A")], ["word"] * 99)
    assert "…" in line
    assert len(line) < 70


# -- as a page -------------------------------------------------------------------------------------


def test_html_has_titles_and_no_outside_assets() -> None:
    page = render.html(SEGMENTS, TOKENS, [0.9, 0.25])
    assert Page(page).titles == ["PER [0, 2): probability 0.9", "LOC [4, 5): probability 0.25"]
    assert "http" not in page
    assert "script" not in page


def test_html_escapes_tokens_and_labels() -> None:
    label = '<i onclick="x">'
    page = render.html([(0, 2, label)], ["<script>alert(1)</script>", "&"], [0.5])
    assert "<script" not in page
    assert "<i" not in page
    read = Page(page)
    assert read.words.startswith("<script>alert(1)</script> &")
    assert read.titles == [f"{label} [0, 2): probability 0.5"]


@pytest.mark.parametrize("token", ODD)
def test_odd_tokens(token: str) -> None:
    cut = [(0, 1, "A"), (1, 2, "B")]
    shown = render.text(cut, [token, "end"]) + render.table(cut, [token, "end"])
    assert "\x1b" not in shown
    assert shown.count("\n") == 1  # between the two lines of the table
    assert shown.replace("\n", "").isprintable()
    shown.encode()  # no lone surrogates
    page = Page(render.html(cut, [token, "end"]))
    assert page.words.endswith("end B")
    assert "<b>" not in html.unescape(page.titles[0])


# -- what is missing, and what is wrong ------------------------------------------------------------


def test_no_tokens() -> None:
    assert render.text(SEGMENTS, width=80) == "[0 1](PER) 2 3 [4](LOC)"
    assert "[0, 2)  0 1  PER" in render.table(SEGMENTS)
    assert Page(render.html(SEGMENTS)).titles == ["PER [0, 2)", "LOC [4, 5)"]


def test_no_segments() -> None:
    for show in (render.text, render.table, render.html):
        assert "(no segments)" in show([])
    assert render.text([], ["all", "outside"]) == "all outside"


def test_labels_as_ints() -> None:
    assert render.text([(0, 1, 0), (1, 2, 11)], width=80) == "[0](0) [1](11)"
    path = caesura.viterbi(named(labels=3))
    assert "(0 0." in render.text(path, width=80)
    assert Page(path._repr_html_()).titles[0].startswith("0 [0, 2): probability 0.")


def test_numpy_arrays_are_taken() -> None:
    tokens: Any = np.array(TOKENS)
    probabilities: Any = np.array([0.5, 0.5])
    assert "0.500" in render.text(SEGMENTS, tokens, probabilities)


@pytest.mark.parametrize(
    ("segments", "tokens", "probabilities", "message"),
    [
        ([(0, 2, "A"), (1, 3, "A")], None, None, "segments[1]"),
        ([(0, 2, "A")], ["one"], None, "segments[0]"),
        ([(1, 1, "A")], TOKENS, None, "segments[0]"),
        ([(0, 2, "A")], TOKENS, [0.5, 0.5], "probabilities"),
    ],
)
def test_what_does_not_fit_is_named(
    segments: list[tuple[int, int, str]],
    tokens: list[str] | None,
    probabilities: list[float] | None,
    message: str,
) -> None:
    with pytest.raises(caesura.InvalidInput, match=re.escape(message)):
        render.text(segments, tokens, probabilities)


# -- potentials, paths, marginals ----------------------------------------------------------------


def test_path_is_a_tuple() -> None:
    path = caesura.viterbi(named())
    segments, score = path
    assert path == (segments, score) == Path(segments, score)
    assert repr(path) == f"Path(segments={segments!r}, score={score!r})"
    assert repr(path._replace(score=1.0)).endswith("score=1.0)")


def test_path_pickles_without_its_potentials() -> None:
    path = caesura.viterbi(named())
    again = pickle.loads(pickle.dumps(path))
    assert type(again) is Path
    assert again == path
    assert "Ann" not in str(again)


def test_path_shows_tokens_and_exact_probabilities() -> None:
    p = named()
    marginals = caesura.marginals(p)
    for path in caesura.n_best(p, 3):
        chances = [marginals.segment(*segment) for segment in path.segments]
        assert str(path) == render.table(path.segments, TOKENS, chances, colour=False)
        assert path._repr_html_() == render.html(path.segments, TOKENS, chances, labels=p.labels)


def test_path_shows_the_potentials_that_it_came_from() -> None:
    p = named()
    path = caesura.viterbi(p)
    before = str(path)
    p.constrain(at_most_once=[0])
    caesura.log_partition(p)
    assert str(path) == before


def test_path_shows_no_probability_when_its_score_has_changed() -> None:
    p = named()
    path = caesura.viterbi(p)
    p.emission[:] = 1.0
    assert "0." not in str(path)
    assert "Ann Lee" in str(path)


def test_empty_path() -> None:
    path = caesura.viterbi(named(length=0))
    assert str(path) == "(no segments)"
    assert "(no segments)" in path._repr_html_()
    assert str(Path([], 0.0)) == "(no segments)"


def test_potentials_tell_what_they_hold() -> None:
    p = Potentials(5, ["A", "B"], max_length=[3, None], same_label_adjacent=False)
    p.emission[0, 0] = 1.0
    p.add(0, 2, "A", 1.0)
    p.add(0, 2, "A", 1.0, open_end=True)
    p.add_many([0, 1], [1, 2], "A", 1.0, open_start=True)
    p.add(3, 5, ("B", "A"), -np.inf, open_start=True, open_end=True)
    p.add_transition(2, "A", "B", 1.0)
    p.add_pattern(["A", "B", "A"], 2.0)
    p.add_pattern(["A", "B"], 2.0, end=4)
    p.constrain(at_most_once=["A"], boundaries=[2], forbidden=[(0, 3, "A")], allowed={4: ["B"]})
    assert repr(p).splitlines() == [
        "Potentials of 5 tokens, 2 labels: A, B",
        "  not 0: emission 1 of 10, transition 0 of 4, start 0 of 2, end 0 of 2",
        "  potentials: 1 exact, 1 with open end, 2 with open start, 1 with both open",
        "  edges: 1; patterns: 2",
        "  max_length: (3, None); same_label_adjacent: False",
        "  constraints: forced boundaries: 1, forbidden segments: 1, "
        "tokens limited to some labels: 1, labels at most once: 1",
    ]
    page = Page(p._repr_html_())
    for cell in ("-infB > A[≤3, ≥5)", "+2A > Bto 4", "+2A > B > Aanywhere", "+1A > Bat 2"):
        assert cell in page.words


def test_potentials_as_a_page_are_escaped_and_small() -> None:
    p = Potentials(300, [f"<{y}>" for y in range(40)], tokens=["<p>"] * 300)
    p.add(0, 1, "<0>", 1.0)
    page = Page(p._repr_html_())
    assert "16 more rows, 220 more columns" in page.words
    assert page.titles[0] == "<p>, <0>: 0"
    assert repr(p).startswith("Potentials of 300 tokens, 40 labels: <0>, <1>")
    assert "<39>" not in repr(p)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_empty_potentials_and_marginals_can_be_shown(length: int) -> None:
    p = Potentials(length, 2, max_length=2)
    assert Page(p._repr_html_()).titles[:1] == ["0, 0: 0"][:length]
    _ = p.spans
    assert ", spans 0 of " in repr(p)
    assert Page(caesura.marginals(p)._repr_html_()).words.startswith("Marginals(")
