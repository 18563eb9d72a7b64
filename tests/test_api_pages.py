"""The API reference has a page for each public module, and leaves no public name out."""

import ast
import importlib
import inspect
import itertools
import pkgutil
import re
from pathlib import Path

import pytest

import caesura

API = Path(__file__).parent.parent / "docs" / "api"
MODULES = sorted(Path(caesura.__file__).parent.rglob("*.py"))
# Parts of the package that users meet only through others.
INTERNAL = {
    "caesura.checks",
    "caesura.cli",
    "caesura.constraints",
    "caesura.demo",
    "caesura.encoding",
    "caesura.executors",  # public as caesura.scale
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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_texts_of_attributes_do_not_look_like_types(path: Path) -> None:
    """Napoleon takes what stands before a colon in the first line for the type of an attribute."""
    first_lines = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            if any("property" in ast.unparse(one) for one in node.decorator_list):
                first_lines.append((ast.get_docstring(node) or "").partition("\n")[0])
        elif isinstance(node, ast.Module | ast.ClassDef):
            for before, text in itertools.pairwise(node.body):
                if isinstance(before, ast.Assign | ast.AnnAssign):
                    match text:
                        case ast.Expr(ast.Constant(str(words))):
                            first_lines.append(words.partition("\n")[0])
    assert [line for line in first_lines if ":" in line] == []


@pytest.mark.parametrize("page", PAGES)
def test_parameters_with_one_text_are_few(page: str) -> None:
    """Napoleon repeats the text of parameters that are documented together for each of them."""
    module = importlib.import_module(page)
    for name in module.__all__:
        heads = re.findall(
            r"^(\w+(?:, \w+){4,})(?: :.*)?\n    \w",
            inspect.getdoc(getattr(module, name)) or "",
            re.MULTILINE,
        )
        assert heads == [], name
