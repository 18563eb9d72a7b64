"""The package as a whole: its names, its order, what importing it costs, and that examples run."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import json
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import caesura

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "caesura"
# Each part imports only parts before it; `render` comes before what shows itself with it.
LINE = [
    *("errors", "segments", "render", "notebooks", "checks", "documents", "corpora"),
    *("persistence", "features", "constraints", "potentials", "inference", "encoding"),
    *("evaluation", "normalisers", "extraction", "learning", "executors", "ready", "models"),
    *("neural", "compat", "spacy", "records", "scale", "demo", "server", "cli", "__main__"),
]
PARTS = sorted(
    {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    - {"__init__"}
)
FOLDERS = [part for part in PARTS if (SOURCE / part).is_dir()]
HEAVY = {
    *("dask", "distributed", "ray"),
    *("duckdb", "joblib", "matplotlib", "pandas", "pyarrow", "pycrfsuite", "rapidfuzz", "rich"),
    *("safetensors", "scipy", "sklearn", "spacy", "sqlalchemy", "torch", "typer"),
}


def run(*arguments: str, **environment: str) -> str:
    """Run Python and return what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- names ---------------------------------------------------------------------------------------


def test_public_names() -> None:
    assert caesura.__all__ == [
        "CaesuraError",
        "ChainCRF",
        "Comparison",
        "Document",
        "Impossible",
        "InvalidInput",
        "Marginals",
        "Partial",
        "Path",
        "Potentials",
        "Report",
        "Segment",
        "SemiCRF",
        "TooLarge",
        "compare",
        "drop_outside",
        "entropy",
        "evaluate",
        "fill_gaps",
        "from_tags",
        "kl_divergence",
        "load",
        "log_partition",
        "log_probability",
        "marginals",
        "minimum_risk",
        "n_best",
        "sample",
        "score",
        "segmentation",
        "text_of",
        "to_tags",
        "viterbi",
    ]


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert caesura.__version__ == project["version"]
    assert run("-m", "caesura", "--version") == f"caesura {project['version']}\n"


@pytest.mark.parametrize("name", caesura.__all__)
def test_public_names_have_an_example(name: str) -> None:
    documentation = inspect.getdoc(getattr(caesura, name)) or ""
    assert doctest.DocTestParser().get_examples(documentation), f"{name} has no example"


@pytest.mark.parametrize("name", PARTS)
def test_modules_say_what_is_public(name: str) -> None:
    module = importlib.import_module(f"caesura.{name}")
    assert module.__doc__
    for public in module.__all__:
        assert hasattr(module, public)


# -- order ---------------------------------------------------------------------------------------


def parts_imported(file: Path) -> set[str]:
    """Return the parts of the package that a file imports, anywhere in it."""
    tree = ast.parse(file.read_text())
    modules: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules += names if node.module == "caesura" else [node.module or ""]
    return {module.split(".")[1] for module in modules if module.startswith("caesura.")}


def files_of(part: str) -> list[Path]:
    return sorted((SOURCE / part).rglob("*.py")) or [SOURCE / f"{part}.py"]


def test_every_module_has_a_place_in_the_line() -> None:
    assert set(PARTS) <= set(LINE)


@pytest.mark.parametrize("part", PARTS)
def test_imports_point_backwards(part: str) -> None:
    before = {"_kernels", part, *LINE[: LINE.index(part)]}
    for file in files_of(part):
        assert parts_imported(file) <= before, file


@pytest.mark.parametrize("part", FOLDERS)
def test_folders_have_no_cycle(part: str) -> None:
    """Inside a folder, modules are imported by those after them: sort them, or find a cycle.

    Imports inside functions are put off on purpose, and those for type checkers are none.
    """
    folder = SOURCE / part
    name = re.compile(rf"^from caesura\.{part}(?:\.(\w+))? import (.+)$", re.MULTILINE)
    imports = {
        file.stem: {
            module
            for inner, names in name.findall(file.read_text())
            for module in ([inner] if inner else re.findall(r"\w+", names))
            if (folder / f"{module}.py").exists()
        }
        for file in folder.glob("*.py")
    }
    while imports:
        ready = {module for module, needs in imports.items() if not needs & imports.keys()}
        assert ready, f"a cycle among {sorted(imports)}"
        imports = {module: needs for module, needs in imports.items() if module not in ready}


def test_files_are_short() -> None:
    for file in SOURCE.rglob("*.py"):
        assert len(file.read_text().splitlines()) <= 400, file


# -- importing -----------------------------------------------------------------------------------


def test_import_is_light() -> None:
    code = "import sys, json, caesura; print(json.dumps(sorted(sys.modules)))"
    imported = {module.split(".")[0] for module in json.loads(run("-c", code))}
    assert "caesura" in imported
    assert not imported & (HEAVY | {"numpy"})


def test_import_prints_nothing() -> None:
    assert run("-W", "error", "-c", "import caesura") == ""


# -- the demo and the examples -------------------------------------------------------------------


def test_make_demo_runs_the_command() -> None:
    """What the command does is tested in test_demo_command."""
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^demo: .*\n\t\$\(VENV\)/bin/caesura demo$", makefile, re.MULTILINE)
    assert "caesura-demo/" in (ROOT / ".gitignore").read_text().split()


def test_the_example_that_learns() -> None:
    shown = run("examples/learn.py", NO_COLOR="1", COLUMNS="80")
    assert re.search(r"street +Willow Lane +0\.\d\d", shown)
    assert "dictionary" in shown.split("Why is the first town a town?")[1]


@pytest.fixture(scope="module")
def rules() -> str:
    return run("examples/citation.py", NO_COLOR="1", COLUMNS="80")


def test_rules_show_segments_with_probabilities(rules: str) -> None:
    assert "\x1b" not in rules
    assert "[Sarawagi , S . and Cohen , W . W .](author 0." in rules
    for field in ("( 2004 ) .", "In NIPS ,", "pp . 1185-1192 ."):
        assert re.search(rf"{re.escape(field)} +(year|venue|pages) +0\.\d+ █", rules)


def test_rules_show_the_five_best(rules: str) -> None:
    best = [
        float(number) for number in re.findall(r"^  probability (0\.\d+)$", rules, re.MULTILINE)
    ]
    assert len(best) == 5
    assert best == sorted(best, reverse=True)
    assert sum(best) < 1.0


def test_rules_show_what_at_most_once_changes(rules: str) -> None:
    _, free, once, rest = re.split(
        "the rules alone say:|With each field at most once:|ln Z falls", rules
    )
    assert free.count(" year ") == 2
    assert once.count(" year ") == once.count(" title ") == 1
    found = re.search(r"from (\S+) to (\S+)\. .*exp\((\S+)\) = (0\.\d+)", rest, re.DOTALL)
    assert found is not None
    before, after, difference, probability = map(float, found.groups())
    assert after - before == pytest.approx(difference, abs=2e-3)
    assert math.exp(difference) == pytest.approx(probability, abs=1e-3)


def test_rules_show_what_a_correction_changes(rules: str) -> None:
    wrong, right = rules.split("3. A correction")[1].split("Someone says")
    assert re.search(r"Machine Learning \. +venue", wrong)
    assert re.search(r"Machine Learning \. +title +1\.000", right)
    assert re.search(r"McGraw Hill \. +venue", right)
    assert "To try next" in right


def test_rules_repeat_exactly(rules: str) -> None:
    assert run("examples/citation.py", NO_COLOR="1", COLUMNS="80") == rules


# -- the documentation ---------------------------------------------------------------------------


def test_pictures_are_what_the_script_draws(tmp_path: Path) -> None:
    run("docs/pictures/draw.py", str(tmp_path))
    committed = {file.name: file.read_text() for file in (ROOT / "docs/pictures").glob("*.svg")}
    assert {file.name: file.read_text() for file in tmp_path.glob("*.svg")} == committed


def test_pages_name_benchmarks_that_exist() -> None:
    for page in [ROOT / "README.md", ROOT / "bench/README.md", *(ROOT / "docs").rglob("*.md")]:
        for name in re.findall(r"\bbench/(\w+\.py)", page.read_text(encoding="utf-8")):
            assert (ROOT / "bench" / name).exists(), f"{page.name}: {name}"


def test_pages_name_what_make_bench_runs() -> None:
    run_by_make = set(re.findall(r'"(\w+\.py)"', (ROOT / "bench/run.py").read_text()))
    report = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    [listed] = re.findall(r"\*\*`make bench`\*\* runs(.*?)\n- ", report, re.DOTALL)
    assert set(re.findall(r"`(\w+\.py)`", listed)) == run_by_make
    assert all(f"`{name}`" in (ROOT / "bench/README.md").read_text() for name in run_by_make)


def test_no_module_reads_private_fields_of_the_classes_of_another() -> None:
    """What a module takes from an object without defining it itself is public."""
    of_others = {"_kernels", "_replace", "_asdict", "_fields", "_make", "_field_defaults", "_exit"}
    of_others |= {"_"}  # where spaCy keeps attributes of its users
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        own |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}  # type: ignore[misc]
        reads = []
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                own.add(node.target.id)
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            base = ast.unparse(node.value)
            if base == "self" and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
            elif base not in ("self", "cls", "super()") and not node.attr.startswith("__"):
                reads.append((path.name, node.lineno, ast.unparse(node)))
        found += [one for one in reads if one[2].rsplit(".", 1)[1] not in own | of_others]
    assert found == []


def test_no_module_imports_private_names_of_another() -> None:
    found = [
        (path.name, alias.name)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("caesura")
        for alias in node.names
        if alias.name.startswith("_") and alias.name not in ("_kernels", "__version__")
    ]
    assert found == []


def sections(page: str) -> dict[str, str]:
    """Return the sections of a page, by the anchors of their headings."""
    parts = re.split(r"^#+ (.+)$", page, flags=re.MULTILINE)
    slug = (re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in parts[1::2])
    return dict(zip(slug, parts[2::2], strict=True))


def test_figures_of_the_readme_stand_in_the_benchmarks() -> None:
    """Whatever the README measures is a link to the section that has the same figures."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = sections((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    links = re.findall(r"\[([^\]]+)\]\(docs/benchmarks\.md#([^)]+)\)", readme)
    assert len(links) >= 6
    for text, anchor in links:
        figures = re.findall(r"\d[\d,.]*\d|\d", text.replace("F1", ""))
        there = set(re.findall(r"\d[\d,.]*\d|\d", measured[anchor]))
        assert figures, text
        assert set(figures) <= there, f"{text}: {set(figures) - there}"
    peers = next(line for line in readme.splitlines() if line.startswith("| Compared with it"))
    assert len(re.findall(r"docs/benchmarks\.md#", peers)) == 4


def test_a_wheel_may_hold_every_file_of_the_package() -> None:
    """`make wheel` refuses files that it does not know, and must know all of the package."""
    found = importlib.util.spec_from_file_location("wheel", ROOT / "tools" / "wheel.py")
    assert found is not None
    assert found.loader is not None
    wheel = importlib.util.module_from_spec(found)
    found.loader.exec_module(wheel)
    names = wheel.sources()
    assert {"caesura/server/page/label.js", "caesura/ready/citations.model"} <= names
    assert [name for name in sorted(names) if not wheel.ALLOWED.fullmatch(name)] == []
