"""The pages: their links, their order, their spelling, and that none is left out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "bench/README.md",
]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
ON_SITE = [page for page in PAGES if page.name != "README.md"]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
AMERICAN = re.compile(
    r"\b(\w+(iz(e[ds]?|ing|ation)|ized)|labell?ed|labeling|behaviors?|colors?|centers?|gray|"
    r"neighbors?|favor\w*|catalog|license[ds]?)\b"
)
AS_IN_BRITISH = {"labelled", "size", "sized", "sizes", "resize", "seize", "prize", "initialize"}


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub and Sphinx make them."""
    found: list[str] = []
    for head in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        again = sum(one == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", one) is not None
                    for one in found)  # fmt: skip
        found.append(f"{slug}-{again}" if again else slug)
    return set(found)


def links(page: Path) -> list[tuple[Path, str]]:
    """Return the file and the anchor of each link to a file."""
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    text = re.sub(r"\{include\} \S+", "", text)
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in link and not link.startswith("mailto:"):
            name, _, anchor = link.partition("#")
            found.append((page.parent / name if name else page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), target
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{target.name}#{anchor}"


def test_each_page_is_in_the_table_of_contents() -> None:
    tables = [(ROOT / "docs" / name).read_text("utf-8") for name in ("index.md", "benchmarks.md")]
    listed = set(re.findall(r"^([a-z][\w/-]*)$", "\n".join(tables), re.MULTILINE))
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in PAGES[4:]}
    assert {page for page in pages if not page.startswith("api/caesura")} - {"index"} == listed


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_start_from_data_and_end_with_a_result(page: Path) -> None:
    heads = re.findall(r"^## (.+)$", prose(page), re.MULTILINE)
    assert heads[0] == "The data"
    assert heads[1] in ("Train", "Train and evaluate", "Extract")
    assert heads[-1] == "The result"
    result = page.read_text(encoding="utf-8").split("## The result")[1]
    assert re.search(r"^```(python|console)$", result, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_spelling_is_british(page: Path) -> None:
    """codespell, which `make lint` runs, knows misspellings, but accepts both kinds of English."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|\*[^*\n]+\*", "", prose(page))
    found = {one[0].lower() for one in AMERICAN.finditer(text)}
    assert found <= AS_IN_BRITISH


LONGEST = 108  # characters of a line that are seen without scrolling on a desktop: caesura.css


@pytest.mark.parametrize("page", ON_SITE, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_code_are_not_cut(page: Path) -> None:
    blocks = re.findall(r"^```.*?^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert [line for block in blocks for line in block.splitlines() if len(line) > LONGEST] == []


def test_screenshots_are_light_and_dark() -> None:
    text = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    light, dark = (
        re.findall(rf"\(pictures/(\w+)-{scheme}\.png\){{\.only-{scheme}}}", text)
        for scheme in ("light", "dark")
    )
    assert sorted(light) == sorted(dark) == ["correction", "label", "playground"]
    assert len(re.findall(r"pictures/\w+-(?:light|dark)\.png", text)) == 6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_a_comment(page: Path) -> None:
    """MyST leaves out a line that starts with a percent sign."""
    assert [line for line in prose(page).splitlines() if line.startswith("%")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_columns_of_tables_have_headers(page: Path) -> None:
    """The first column, which names the rows, may have none; the others have one."""
    heads = re.findall(r"^(\|.*)\n\|(?::?-+:?\|)+$", prose(page), re.MULTILINE)
    assert [head for head in heads if "" in [one.strip() for one in head.split("|")[2:-1]]] == []
