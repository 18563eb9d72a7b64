"""The page of all names is current."""

import importlib.util
from pathlib import Path

import caesura

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_of_all_names_is_current() -> None:
    spec = importlib.util.spec_from_file_location("names", DOCS / "names.py")
    assert spec is not None
    assert spec.loader is not None
    names = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(names)
    page = names.page()
    assert all(f"| `{name}" in page for name in caesura.__all__)
    assert (DOCS / "names.md").read_text(encoding="utf-8") == page, "run python docs/names.py"
