"""Write docs/names.md: every public name, how it is called, and what it does.

Run ``python docs/names.py`` after a public name has come, gone or changed; a test compares.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "names.md"
WIDEST = 90  # of a signature
# Each module, what it holds, and the page that explains it.
MODULES = {
    "caesura": ("Models, segments and questions", "[Models](models.md), [the engine](engine.md)"),
    "caesura.features": ("Features", "[Features](features.md)"),
    "caesura.documents": ("Documents", "[Models](models.md)"),
    "caesura.corpora": ("Files of labelled sequences", "[Models](models.md)"),
    "caesura.evaluation": ("How good predictions are", "[Models](models.md)"),
    "caesura.normalisers": ("Values of fields", "[Tables and records](tables.md)"),
    "caesura.extraction": ("Records", "[Tables and records](tables.md)"),
    "caesura.learning": ("Optimisers", "[Models](models.md)"),
    "caesura.neural": ("Layers for torch", "[Neural models](neural.md)"),
    "caesura.records": (
        "Rows of databases",
        "[Records](records.md), [match and link](linking.md), [uncertain rows](uncertain-rows.md), "
        "[tables from lists](tables-from-lists.md)",
    ),
    "caesura.server": ("Models over HTTP", "[A server](server.md)"),
    "caesura.compat": ("For users of CRFsuite's wrappers", "[Models](models.md)"),
}
HEAD = """# All names

Every public name with the first line of its docstring; `help(name)` shows the rest and an example.
The [reference](reference.md) says more about the engine. Written by `python docs/names.py`.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for name, (title, links) in MODULES.items():
        module = importlib.import_module(name)
        parts.append(f"## {title}: `{name}`\n\nExplained in {links}.\n\n" + _table(module))
        together: dict[str, list[str]] = {}  # classes with the same methods
        for public in sorted(module.__all__, key=str.lower):
            methods = list(_methods(getattr(module, public))) if _home(module, public) else []
            if methods:
                together.setdefault(_rows(methods), []).append(f"`{public}`")
        parts += [f"### {', '.join(some)}\n\n{rows}" for rows, some in together.items()]
    return "\n".join(parts)


def _home(module: Any, public: str) -> bool:
    """Say whether a name is explained here, not with a module before this one."""
    listed = list(MODULES)
    earlier = listed[: listed.index(module.__name__)]
    return all(public not in importlib.import_module(name).__all__ for name in earlier)


def _table(module: Any) -> str:
    names = sorted(module.__all__, key=str.lower)
    return _rows([(_called(name, getattr(module, name)), _said(module, name)) for name in names])


def _rows(rows: list[tuple[str, str]]) -> str:
    cells = (f"| `{name}` | {said} |".replace("\n", " ") for name, said in rows)
    return "\n".join(["| name | what it does |", "|---|---|", *cells, ""])


def _methods(found: Any) -> Iterator[tuple[str, str]]:
    """Yield the methods of a class that has several, but for exceptions and tuples."""
    if not inspect.isclass(found) or issubclass(found, tuple | Exception):
        return
    for name, member in inspect.getmembers(found):
        own = (getattr(member, "__module__", None) or "").startswith("caesura")  # not of torch
        if not name.startswith("_") and inspect.isfunction(member) and own:
            yield _called(name, member), _first_line(member)


def _called(name: str, found: Any) -> str:
    """Return a name with its arguments, the last left out where there are many."""
    if not inspect.isclass(found) and not inspect.isroutine(found):
        return name
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except ValueError:
        return name
    shown = [_plain(one) for one in parameters if one.name != "self"]
    while len(", ".join(shown)) > WIDEST:
        shown = [*shown[:-2], "..."]
    return f"{name}({', '.join(shown)})".replace("|", "\\|")


def _plain(parameter: inspect.Parameter) -> str:
    text = str(parameter.replace(annotation=inspect.Parameter.empty))
    return re.sub(r"<.*>", "...", text)


def _said(module: Any, name: str) -> str:
    """Return what a name does; of a value, what is written below it, or the value."""
    found = getattr(module, name)
    if inspect.isclass(found) or inspect.isroutine(found):
        return _first_line(found)
    shown = re.sub(r"[\w.]+\.(?=\w)", "", repr(found))  # without the modules of types
    return _below(module, name) or f"`{shown}`".replace("|", "\\|")


def _below(module: Any, name: str) -> str:
    """Return the string that follows the assignment of a name in some file of a package."""
    for file in sorted(Path(module.__file__).parent.glob("*.py")):
        for one, two in pairwise(ast.parse(file.read_text(encoding="utf-8")).body):
            targets = (
                [one.target] if isinstance(one, ast.AnnAssign) else getattr(one, "targets", [])
            )
            names = [t.id for t in targets if isinstance(t, ast.Name)]
            if name in names and isinstance(two, ast.Expr) and isinstance(two.value, ast.Constant):
                return " ".join(str(two.value.value).split())
    return ""


def _first_line(found: Any) -> str:
    lines = (inspect.getdoc(found) or "").split("\n\n")[0].splitlines()
    return " ".join(line.strip() for line in lines).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
