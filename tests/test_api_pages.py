"""The API reference has a page for each public module, and leaves no public name out."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import caesura

API = Path(__file__).parent.parent / "docs" / "api"
# Parts of the package that users meet only through others.
INTERNAL = {
    "caesura.checks",
    "caesura.cli",
    "caesura.constraints",
    "caesura.demo",
    "caesura.encoding",
    "caesura.persistence",
    "caesura.notebooks",
    "caesura.potentials",
    "caesura.segments",
}
PAGES = sorted(path.stem for path in API.glob("caesura*.md"))


def excluded(page: str) -> set[str]:
    found = re.search(r":exclude-members: (.*)", (API / f"{page}.md").read_text(encoding="utf-8"))
    return set(found[1].split(", ")) if found else set()


def test_each_public_module_has_a_page_in_the_index() -> None:
    parts = {f"caesura.{part.name}" for part in pkgutil.iter_modules(caesura.__path__)}
    public = {part for part in parts - INTERNAL if not part.split(".")[1].startswith("_")}
    assert set(PAGES) == {"caesura", *public}
    tree = (API / "index.md").read_text(encoding="utf-8").split("{toctree}")[1]
    assert sorted(re.findall(r"^caesura\S*$", tree, re.MULTILINE)) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_names_that_a_page_leaves_out_are_on_another(page: str) -> None:
    module = importlib.import_module(page)
    for name in excluded(page):
        value = getattr(module, name)
        others = [
            other
            for other in PAGES
            if other != page
            and name not in excluded(other)
            and getattr(importlib.import_module(other), name, None) is value
        ]
        assert others, name


@pytest.mark.parametrize("page", PAGES)
def test_every_public_function_and_class_has_a_docstring(page: str) -> None:
    module = importlib.import_module(page)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
