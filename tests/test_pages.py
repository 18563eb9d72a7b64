"""The pages in a real browser, used as a person would.

They need Chromium (Debian's package ``chromium``), and for accessibility axe-core, which ``make
test`` fetches into the virtual environment.  Where one cannot be had the tests are not run.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_data import good
from server_cases import Server, chain, running, semi

import caesura
from caesura import corpora
from caesura.demo import citations

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
CHROMIUM = os.environ.get("CAESURA_CHROMIUM") or shutil.which("chromium") or ""
AXE = Path(sys.prefix) / "axe" / "package" / "axe.min.js"
NAME = "<b>hit</b>'&quot;"
EVIL = '<img src=x onerror="window.hit=1">'
PICTURES = Path(os.environ["CAESURA_PICTURES"]) if "CAESURA_PICTURES" in os.environ else None

pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium: install Debian's chromium, or set CAESURA_CHROMIUM"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield made
        made.close()


class Watched:
    """A page whose errors and requests are noted."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1200, "height": 860}, **options)
        self.url = url
        self.problems: list[str] = []
        self.page = self.another()

    def another(self) -> Any:
        page = self.context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._said)
        page.on("request", self._asked)
        page.goto(self.url)
        return page

    def _said(self, said: Any) -> None:
        if said.type == "error" and "status of 4" not in said.text:
            self.problems.append(said.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(self.url):
            self.problems.append(f"another host: {request.url}")

    def close(self) -> None:
        self.context.close()
        assert self.problems == []


def picture(page: Any, name: str) -> None:
    """Keep a light and a dark picture for the documentation where that is asked for."""
    if PICTURES is None:
        return
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=PICTURES / f"{name}-{scheme}.png", full_page=True)


# -- the playground --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    semi().save(folder / "citations.model")
    chain().save(folder / "chain.model")
    return folder


@pytest.fixture(scope="module")
def playground(models: Path) -> Iterator[Server]:
    files = (models / "citations.model", f"{NAME}={models / 'chain.model'}")
    with running(models, "serve", *files, "--quiet") as server:
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_playground(browser: Any, playground: Server, models: Path, scheme: str) -> None:
    watched = Watched(browser, playground.url, color_scheme=scheme)
    page = watched.page
    page.wait_for_selector(".alternative")
    text = citations(1, 11)[0].text
    page.fill("#input", text)
    model = caesura.load(models / "citations.model")
    [sure] = model.predict_confident([text])
    page.wait_for_function(
        "n => document.querySelectorAll('#answer .seg').length === n", arg=len(sure)
    )
    labels = page.eval_on_selector_all("#answer .tag", "all => all.map(x => x.firstChild.data)")
    assert labels == [one.segment.label for one in sure]
    page.focus("#answer .seg")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#why table")
    assert page.locator("#why tbody tr").count() == 10
    if scheme == "light":
        picture(page, "playground")
    page.set_viewport_size({"width": 390, "height": 844})  # all of the text is seen on a phone
    assert page.eval_on_selector("#input", "x => x.scrollHeight <= x.clientHeight")
    page.select_option("#why select", "volume")
    page.click("text=Force as")
    page.wait_for_selector("#answer .seg.fixed")
    assert page.locator("#answer .seg.fixed .tag").inner_text().startswith("volume")
    page.click("#rules button")
    page.wait_for_selector("#rules", state="hidden")
    page.click("#why button:text-is('Forbid')")  # a long text is cut in its chip
    page.wait_for_selector("#rules .chip")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.eval_on_selector("#rules .chip span", "x => x.scrollWidth > x.clientWidth")
    page.click("#rules button")
    page.wait_for_selector("#rules", state="hidden")
    options = page.eval_on_selector_all("#other option", "all => all.map(x => x.value)")
    assert options == ["", NAME]  # the chosen model is not compared with itself
    page.select_option("#other", NAME)
    page.wait_for_selector("#second .seg")
    colours: dict[str, set[str]] = {}
    for label, hue in page.eval_on_selector_all(
        "#answer .seg, #second .seg",
        "all => all.map(x => [x.querySelector('.tag').firstChild.data, x.style.cssText])",
    ):
        colours.setdefault(label, set()).add(hue)
    assert all(len(some) == 1 for some in colours.values())  # a label looks the same in both
    page.fill("#input", f"{EVIL} {text} <script>window.hit=1</script> \U0001f600")
    page.wait_for_function("() => document.querySelector('#second').textContent.includes('<img')")
    assert page.evaluate("window.hit") is None
    assert page.locator("main img, #compared b").count() == 0
    watched.close()


def test_the_page_of_the_api(browser: Any, playground: Server) -> None:
    watched = Watched(browser, playground.url)
    watched.page.click("nav a")
    watched.page.wait_for_selector("section:nth-of-type(8)")
    assert "POST /SEGMENT" in watched.page.inner_text("main").upper()
    watched.close()


def test_a_server_with_tokens_asks_for_one(browser: Any, models: Path, tmp_path: Path) -> None:
    token = "0123456789abcdef"
    (tmp_path / "tokens").write_text(token)
    options = ("--token-file", tmp_path / "tokens", "--quiet")
    with running(tmp_path, "serve", models / "chain.model", *options) as server:
        watched = Watched(browser, server.url)
        watched.page.fill("#token", token)
        watched.page.keyboard.press("Enter")
        watched.page.wait_for_selector("#answer .seg")
        watched.close()


# -- labelling -------------------------------------------------------------------------------------

GOLD = citations(30, 21)


def texts_in(folder: Path) -> Path:
    path = folder / "texts.txt"
    path.write_text("\n".join(" ".join(str(d.text).split()) for d in GOLD) + "\n")
    return path


def at(page: Any) -> int:
    """Return the number of the text that is shown."""
    return int(page.inner_text("#status").split(" of ")[0]) - 1


def settle(page: Any) -> None:
    """Wait until all that was typed is answered."""
    page.wait_for_function(
        "() => document.querySelector('#text[aria-busy=false]') !== null"
        " && document.querySelectorAll('#text .tok').length > 0"
    )


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def label_with_keys(page: Any, keys: dict[str, str]) -> None:
    """Make the labels of a text right, by the keyboard alone, and accept them."""
    gold = GOLD[at(page)]
    for start, end, label in gold.segments or ():
        press(page, "Home", *["ArrowRight"] * start)
        press(page, *["Shift+ArrowRight"] * (end - start - 1), keys[label])
    press(page, "Enter")


def labels_of(path: Path) -> dict[str, list[Any]]:
    return {str(d.text): list(d.segments or ()) for d in corpora.read(path)}


def test_labelling_from_nothing_by_keyboard(browser: Any, tmp_path: Path) -> None:
    texts = texts_in(tmp_path)
    names = sorted({s.label for d in GOLD for s in d.segments or ()})
    command = ("label", texts, "-o", tmp_path / "labels.jsonl", "--labels", ",".join(names))
    with running(tmp_path, *command, "--every", "3") as server:
        watched = Watched(browser, server.url)
        page = watched.page
        page.wait_for_selector("#text .tok")
        keys = dict(_keys(page))
        seen = []
        for _ in range(10):
            seen.append(at(page))
            label_with_keys(page, keys)
        page.wait_for_function(
            "() => document.getElementById('model').textContent.startsWith('Trained')"
        )
        assert len(set(seen)) == 10
        page.wait_for_function(
            "() => document.getElementById('progress').textContent === '10 of 30'"
        )
        page.wait_for_selector("#text .seg .chance")  # the model suggests
        picture(page, "label")
        now = at(page)
        page.reload()
        page.wait_for_selector("#text .tok")
        assert at(page) == now
        assert page.locator("#taken").is_hidden()
        page.wait_for_function(
            """() => { const row = document.querySelector('#list [aria-current="true"]');
            const [a, b] = [row, document.getElementById('list')].map(
              (one) => one?.getBoundingClientRect());
            return a && b.top <= a.top && a.bottom <= b.bottom; }"""
        )  # the list shows where the text is
        server.kill(signal.SIGKILL)
        watched.context.close()
    with running(tmp_path, *command) as server:
        watched = Watched(browser, server.url)
        watched.page.wait_for_selector("#text .tok")
        assert watched.page.inner_text("#progress") == "10 of 30"
        press(watched.page, "Control+z")  # the last acceptance is taken back
        watched.page.wait_for_function(
            "() => document.getElementById('progress').textContent === '9 of 30'"
        )
        assert at(watched.page) == seen[-1]
        press(watched.page, "Control+y")
        watched.page.wait_for_function(
            "() => document.getElementById('progress').textContent === '10 of 30'"
        )
        watched.page.click("text=Next")  # of another text, only one segment is known
        watched.page.wait_for_selector("#text .seg:not(.fixed)")
        press(watched.page, "ArrowUp", "ArrowUp", "ArrowDown", "Space", "Shift+Enter")
        watched.page.wait_for_function(
            "() => document.getElementById('progress').textContent === '11 of 30'"
        )
        watched.close()
        assert server.kill(signal.SIGTERM) == 143
    found = labels_of(tmp_path / "labels.jsonl")
    assert len(found) == 11
    options = ("--max-iterations", "5", "--json")
    ran = good("train", tmp_path / "labels.jsonl", "-o", tmp_path / "my.model", *options)
    assert ran.json["data"]["train"]["partial"] == 1
    for i in seen:
        assert found[" ".join(str(GOLD[i].text).split())] == list(GOLD[i].segments or ()), i
    assert caesura.load(tmp_path / "labels.model").labels_


def _keys(page: Any) -> Iterator[tuple[str, str]]:
    for button in page.locator("#labels button").all():
        name = button.evaluate("one => one.childNodes[1].data")
        yield name, button.locator("kbd").inner_text().split()[-1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_correction_decodes_the_rest_again(
    browser: Any, models: Path, tmp_path: Path, scheme: str
) -> None:
    path = models / "citations.model"
    with running(
        tmp_path, "label", texts_in(tmp_path), "-o", tmp_path / "labels.jsonl", "--model", path
    ) as server:
        watched = Watched(browser, server.url, color_scheme=scheme)
        page = watched.page
        page.wait_for_selector("#text .seg")
        document = corpora.read(texts_in(tmp_path))
        shown = list(document)[at(page)]
        model = caesura.load(path)
        first = model.predict([shown])[0][0]
        press(page, "Home", "Alt+ArrowRight")  # the first segment is one token longer
        required = (first.start, first.end + 1, first.label)
        page.wait_for_selector("#text .seg.fixed")
        [sure] = model.predict_confident([shown], constraints={"required": [required]})
        chances = page.eval_on_selector_all("#text .tag", "all => all.map(x => x.textContent)")
        assert [one.split("%")[0].rstrip("0123456789.") for one in chances] == [
            one.segment.label for one in sure
        ]
        frames = page.eval_on_selector_all(
            "#text .seg.doubt:not(.at)",
            """all => all.map((x) => [getComputedStyle(x).outlineColor,
            getComputedStyle(x.querySelector(".tag")).color])""",
        )
        assert frames
        assert all(frame == words for frame, words in frames)  # readable, so seen in the dark
        if scheme == "light":
            picture(page, "correction")
        press(page, "/")  # nothing to split at the first token
        press(page, "ArrowRight", "/")
        assert page.locator("#text .seg.fixed").count() == 2
        press(page, "Home", "+")
        page.wait_for_function("() => document.querySelectorAll('#text .seg.fixed').length === 1")
        press(page, "Delete")
        assert page.locator("#text .out").count() == first.end + 1
        press(page, "Control+z", "Control+z", "Control+z", "Control+z")
        page.wait_for_function(
            "() => document.querySelectorAll('#text .seg.fixed, #text .out').length === 0"
        )
        press(page, "Home", " ", "Shift+Enter")  # only this one is known
        page.wait_for_function(
            "() => document.getElementById('progress').textContent === '1 of 30'"
        )
        watched.close()
        server.kill(signal.SIGTERM)
    [line] = (tmp_path / "labels.jsonl").read_text().splitlines()
    assert json.loads(line)["known"]["segments"] == [list(first)]


def framed(page: Any) -> list[str]:
    """Return the words that are framed."""
    found: list[str] = page.eval_on_selector_all(
        "#text .tok.at, #text .seg.at .tok", "all => all.map(x => x.textContent)"
    )
    return found


def test_keys_are_about_what_is_framed(browser: Any, models: Path, tmp_path: Path) -> None:
    path = models / "citations.model"
    command = ("label", texts_in(tmp_path), "-o", tmp_path / "labels.jsonl", "--model", path)
    with running(tmp_path, *command) as server:
        watched = Watched(browser, server.url)
        page = watched.page
        page.wait_for_selector("#text .seg")
        tokens = page.eval_on_selector_all("#text .tok", "all => all.map(x => x.textContent)")
        shown = list(corpora.read(texts_in(tmp_path)))[at(page)]
        first, second, *_ = caesura.load(path).predict([shown])[0]
        name, key = next((n, k) for n, k in _keys(page) if n not in (first.label, second.label))
        assert framed(page) == tokens[first.start : first.end]
        press(page, "ArrowDown")
        assert framed(page) == tokens[second.start : second.end]
        press(page, key)  # the segment gets another label, and stays framed
        assert page.inner_text("#text .seg.at .tag").startswith(name)
        assert framed(page) == tokens[second.start : second.end]
        press(page, "Control+z", "Home", "ArrowRight")
        assert framed(page) == tokens[1:2]
        press(page, key)  # the word alone
        assert page.inner_text("#text .seg.at .tag").startswith(name)
        assert framed(page) == tokens[1:2]
        press(page, "Control+z")
        word = page.locator(f".tok[data-t='{second.start}']")
        word.click()
        assert framed(page) == tokens[second.start : second.end]
        word.click()
        assert framed(page) == tokens[second.start : second.start + 1]
        press(page, "Delete")
        assert page.eval_on_selector_all("#text .out", "all => all.map(x => x.textContent)") == [
            tokens[second.start]
        ]
        watched.close()


def test_a_new_model_does_not_change_what_is_shown(browser: Any, tmp_path: Path) -> None:
    names = sorted({s.label for d in GOLD for s in d.segments or ()})
    command = ("label", texts_in(tmp_path), "-o", tmp_path / "labels.jsonl", "--labels")
    with running(tmp_path, *command, ",".join(names), "--every", "2") as server:
        watched = Watched(browser, server.url)
        page = watched.page
        page.wait_for_selector("#text .tok")
        for _ in range(2):
            label_with_keys(page, dict(_keys(page)))
        page.wait_for_selector("#text .seg .chance")  # the first model suggests at once
        before = page.inner_text("#text")
        page.click("#train")
        page.wait_for_function(
            "() => document.getElementById('model').textContent.startsWith('Trained')"
        )
        page.wait_for_timeout(1200)  # the page asks every second
        assert page.inner_text("#text") == before
        watched.close()


def test_labels_to_review(browser: Any, tmp_path: Path) -> None:
    corpora.write(tmp_path / "found.jsonl", GOLD[:3])
    command = ("label", tmp_path / "found.jsonl", "-o", tmp_path / "labels.jsonl", "--review")
    with running(tmp_path, *command) as server:
        watched = Watched(browser, server.url)
        page = watched.page
        page.wait_for_selector("#text .seg")
        assert page.inner_text("#progress") == "0 of 3"
        assert page.locator("#text .seg").count() == len(GOLD[at(page)].segments or ())
        first = at(page)
        press(page, "Enter")
        page.wait_for_function("() => document.getElementById('progress').textContent === '1 of 3'")
        watched.close()
        server.kill(signal.SIGTERM)
    found = labels_of(tmp_path / "labels.jsonl")
    assert found == {str(GOLD[first].text): list(GOLD[first].segments or ())}


def test_mouse_and_touch(browser: Any, tmp_path: Path) -> None:
    command = ("label", texts_in(tmp_path), "-o", tmp_path / "labels.jsonl", "--labels", "author,b")
    with running(tmp_path, *command) as server:
        watched = Watched(browser, server.url, has_touch=True)
        page = watched.page
        page.wait_for_selector("#text .tok")
        a, b = (page.locator(f".tok[data-t='{t}']").bounding_box() for t in (1, 3))
        page.mouse.move(a["x"] + 3, a["y"] + 8)
        page.mouse.down()
        page.mouse.move(b["x"] + 2, b["y"] + 8, steps=4)
        page.mouse.up()
        page.click("#labels button >> nth=0")
        page.wait_for_selector("#text .seg.fixed")
        assert page.locator("#text .seg .tok").count() == 3
        page.locator(".tok[data-t='5']").tap()
        page.locator(".tok[data-t='6']").tap()
        page.click("#labels button >> nth=1")
        page.wait_for_function("() => document.querySelectorAll('#text .seg.fixed').length === 2")
        assert page.locator("#text .seg >> nth=1 >> .tok").count() == 2
        watched.close()


def test_labelling_on_a_phone(browser: Any, models: Path, tmp_path: Path) -> None:
    path = models / "citations.model"
    command = ("label", texts_in(tmp_path), "-o", tmp_path / "labels.jsonl", "--model", path)
    with running(tmp_path, *command) as server:
        watched = Watched(browser, server.url)
        page = watched.page
        page.set_viewport_size({"width": 390, "height": 844})
        for _ in range(4):
            page.wait_for_selector("#text .seg")
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            assert page.evaluate(
                """() => { const box = document.getElementById("text").getBoundingClientRect();
                return [...document.querySelectorAll("#text .seg")].flatMap(
                  (one) => [...one.getClientRects()]).every(
                  (one) => box.left <= one.left && one.right <= box.right); }"""
            )
            press(page, "PageDown")
        tops = page.eval_on_selector_all(
            "[data-key=accept], [data-key=partial], [data-key=skip]",
            "all => all.map(x => x.getBoundingClientRect().top)",
        )
        assert len(set(tops)) == 1
        first = at(page)
        press(page, "Home", *["Shift+ArrowRight"] * 200, "Delete")
        page.wait_for_selector("#text .seg", state="detached")
        assert page.inner_text("#status") == f"{first + 1} of 30, no suggestion"
        watched.close()


def test_a_second_tab_is_told_and_cannot_overwrite(browser: Any, tmp_path: Path) -> None:
    command = ("label", texts_in(tmp_path), "-o", tmp_path / "labels.jsonl", "--labels", "author,b")
    with running(tmp_path, *command) as server:
        watched = Watched(browser, server.url)
        first = watched.page
        first.wait_for_selector("#text .tok")
        second = watched.another()
        second.wait_for_selector("#taken", state="visible")
        second.wait_for_selector("#text .tok")
        press(second, "a")
        second.wait_for_selector("#problem", state="visible")
        assert second.locator("#text .seg").count() == 0
        press(first, "a")
        first.wait_for_selector("#text .seg.fixed")
        second.click("#take")
        second.wait_for_selector("#text .seg.fixed")
        press(second, "ArrowRight", "b")
        second.wait_for_function("() => document.querySelectorAll('#text .seg').length === 2")
        first.wait_for_selector("#taken", state="visible")
        watched.close()


def test_texts_and_labels_are_never_markup(browser: Any, tmp_path: Path) -> None:
    texts = tmp_path / f"{EVIL.replace('/', '')}.txt"
    texts.write_text(f"{EVIL} one two\n<script>window.hit=1</script> three\n")
    output = tmp_path / f"{EVIL.replace('/', '')}.jsonl"
    with running(tmp_path, "label", texts, "-o", output, "--labels", EVIL) as server:
        watched = Watched(browser, server.url)
        page = watched.page
        page.wait_for_selector("#text .tok")
        press(page, "1", "Enter", "1", "Enter")
        page.fill("#new-label", "<b>x</b>")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('#labels button').length === 2")
        page.wait_for_function(
            "() => document.querySelectorAll('#warnings, #list button').length >= 2"
        )
        assert page.evaluate("window.hit") is None
        assert page.locator("main img, main script, #labels b").count() == 0
        assert page.inner_text("#name") == output.name
        watched.close()


# -- accessibility ---------------------------------------------------------------------------------


@pytest.mark.skipif(not AXE.exists(), reason=f"no axe-core in {AXE}: make test fetches it from npm")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations(
    browser: Any, playground: Server, models: Path, tmp_path: Path, scheme: str
) -> None:
    options = {"color_scheme": scheme, "bypass_csp": True}
    watched = Watched(browser, playground.url, **options)
    watched.page.wait_for_selector(".alternative")
    watched.page.click("#answer .seg")
    watched.page.wait_for_selector("#why table")
    check(watched.page)
    watched.page.goto(f"{playground.url}/docs")
    watched.page.wait_for_selector("section:nth-of-type(8)")
    check(watched.page)
    watched.context.close()
    command = ("label", texts_in(tmp_path), "-o", tmp_path / "labels.jsonl", "--model")
    with running(tmp_path, *command, models / "citations.model") as server:
        watched = Watched(browser, server.url, **options)
        page = watched.page
        page.wait_for_selector("#text .seg")
        press(page, "Delete", "ArrowDown", " ", "Shift+ArrowRight")
        page.set_viewport_size({"width": 390, "height": 844})
        check(page)
        press(page, "?")
        page.wait_for_selector("#help[open]")
        check(page)
        watched.context.close()


def check(page: Any) -> None:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]][:4]) for one in found] == []


def test_pages_are_small() -> None:
    folder = Path(caesura.__file__).parent / "server" / "page"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 150_000
