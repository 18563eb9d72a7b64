"""Every command in the documentation runs, and prints what the page shows."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_data import addresses, good
from console import Servers, check, commands
from typer.main import get_command

from caesura import corpora, demo
from caesura.cli.app import COMMANDS, app

ROOT = Path(__file__).parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
WITH_COMMANDS = [name for name, page in PAGES.items() if "```console" in page]
# Blocks of commands and code that are not run, by page and beginning, with the reason.
NOT_RUN = {
    ("README.md", "make demo"): "make calls these tests",
    ("README.md", "pip install"): "installs packages",
    ("docs/records.md", "pip install"): "installs packages",
    ("docs/scale.md", "caesura train"): "a cluster",
    ("docs/scale.md", "caesura segment"): "a cluster and a bucket",
    ("docs/scale.md", "caesura load"): "a cluster and a bucket",
    ("docs/tutorials/cluster.md", "caesura train"): "a cluster",
    ("docs/coming-from-crfsuite.md", "import sys, caesura.compat"): "eli5",
    ("docs/coming-from-crfsuite.md", "from eli5.explain"): "eli5",
}
# Pages whose commands need files that cannot be made here; their options are checked.
NEED_MORE = {
    "docs/neural.md": "a transformer",
    "docs/coming-from-usaddress.md": "usaddress' training file",
}


# -- what the pages need -------------------------------------------------------------------------


def for_quick_start() -> None:
    for name, n, seed in (("train", 80, 1), ("dev", 40, 2), ("test", 40, 3)):
        corpora.write(f"{name}.jsonl", demo.addresses(n, seed), form="text")


def for_ready_made() -> None:
    references = demo.citations(12, seed=1)
    Path("references.txt").write_text("".join(f"{one.text}\n" for one in references))
    Path("addresses.txt").write_text("301 Lake Ave, Apt 4B, Duluth MN 55802\n")
    corpora.write("mine.jsonl", references, form="text")


def for_command_line() -> None:
    page = PAGES["docs/command-line.md"]
    for name, count, seed in (("train", 40, 1), ("dev", 12, 2), ("predicted", 12, 2)):
        corpora.write(f"{name}.jsonl", addresses(count, seed))
    write_texts()
    [products] = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    Path("products.csv").write_text(products)
    Path("towns.txt").write_text("Leeds\nYork\nNew Mills\n")
    Path("conlleval.txt").write_text("York B-town B-town\n\nNew B-town I-town\n")
    [settings] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("settings.toml").write_text(settings)
    objects = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    Path("rules.json").write_text(json.dumps(objects[1]))
    Path("each.jsonl").write_text(json.dumps(objects[2]) + "\n")


def for_records() -> None:
    corpora.write("train.jsonl", addresses(40, 1))
    good("train", "train.jsonl", "-o", "address.model", "--c2", "0.1")
    texts = write_texts()
    lines = [f's{k},"{text}",{k}' for k, text in enumerate(texts)]
    Path("new.csv").write_text("sku,address,price\n" + "\n".join(lines) + "\n")


def for_citations() -> None:
    """Write labelled and new references, and a model of them."""
    for name, seed in (("train", 1), ("texts", 2)):
        corpora.write(f"{name}.jsonl", demo.citations(30, seed=seed), form="text")
    references = "".join(f"{one.text}\n" for one in demo.citations(12, seed=3))
    for path in ("references.txt", "new.txt"):
        Path(path).write_text(references)
    good("train", "train.jsonl", "-o", "citations.model", "--max-iterations", "40")


def for_scale() -> None:
    for_citations()
    Path("shards").mkdir()
    Path("new").mkdir()
    for k in range(3):
        corpora.write(f"shards/part-{k}.jsonl.gz", demo.citations(20, seed=k), form="text")
        Path(f"new/page-{k}.txt").write_text(Path("new.txt").read_text())


def for_linking() -> None:
    for_citations()
    Path("people.csv").write_text("name\nA. M. Turing\nGrace Hopper\n")
    good("load", "citations.model", "texts.jsonl", "--into", "papers.duckdb")
    import duckdb

    with duckdb.connect("papers.duckdb") as database:
        database.execute("CREATE TABLE people AS SELECT 'Grace Hopper' AS name")


def for_tables() -> None:
    documents = addresses(40, 1)
    corpora.write("train.csv", documents)
    good("train", "train.csv", "-o", "address.model", "--c2", "0.1")
    write_texts()
    review = ["--threshold", "0.999", "--review", "check.xlsx"]
    good("segment", "address.model", "new.txt", "-o", "good.csv", *review)


def for_names() -> None:
    for name, count, seed in (("train", 40, 1), ("test", 200, 2)):
        corpora.write(f"{name}.conll", demo.names(count, seed=seed))


def for_word_models() -> None:
    corpora.write("train.jsonl", demo.chinese(20, seed=1))


def write_texts() -> list[str]:
    texts = [str(document.text) for document in addresses(15, 3)]
    Path("new.txt").write_text("\n".join(texts) + "\n")
    return texts


NEEDED: dict[str, Callable[[], None]] = {
    "docs/quick-start.md": for_quick_start,
    "docs/ready-made.md": for_ready_made,
    "docs/command-line.md": for_command_line,
    "docs/labelling.md": for_citations,
    "docs/linking.md": for_linking,
    "docs/records.md": for_records,
    "docs/scale.md": for_scale,
    "docs/server.md": for_citations,
    "docs/tables.md": for_tables,
    "docs/tutorials/names.md": for_names,
    "docs/word-models.md": for_word_models,
}


# -- the commands --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in WITH_COMMANDS if name not in NEED_MORE])
def test_commands_run_and_print_what_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("caesura.learning.progress.FIRST", float("inf"))  # on a slow machine
    NEEDED.get(name, lambda: None)()
    with Servers() as servers:
        for command in commands(PAGES[name]):
            check(command, servers)


def test_constraints_for_each_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for_command_line()
    good("train", "train.jsonl", "-o", "address.model", "--c2", "0.1")
    rules = ["--constraints", "each.jsonl", "-t", "jsonl"]
    out = good("segment", "address.model", *rules, stdin="7 Park Lane, York\n").out
    assert json.loads(out)["segments"][0] == [0, 1, "number"]


def mentions(page: str) -> Iterator[list[str]]:
    """Return each call of the program in blocks and in code in the text, as words."""
    blocks = re.findall(
        r"^(?:\$ |    )?caesura ([a-z].*)$", page.replace("\\\n", " "), re.MULTILINE
    )
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    for line in [*blocks, *re.findall(r"`caesura\s+([a-z][^`]*)`", prose)]:
        words = shlex.split(line, comments=True)
        if words[0] in COMMANDS:
            yield words


@pytest.mark.parametrize("name", PAGES)
def test_commands_and_options_exist(name: str) -> None:
    """Also where a command is only named, or needs what is not here."""
    group: Any = get_command(app)
    for words in mentions(PAGES[name]):
        command = group.resolve_command(None, [words[0]])[1]
        known = {one for option in command.params for one in option.opts} | {"--help"}
        given = {word for word in words if re.match(r"--?[a-z]", word)}
        assert given <= known, f"caesura {' '.join(words)}: {given - known}"


# -- the code ------------------------------------------------------------------------------------


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and the content of each block of code."""
    found = re.findall(r"^ *```(\S*)[^\n]*\n(.*?)^ *```$", page, re.DOTALL | re.MULTILINE)
    assert 2 * len(found) == len(re.findall(r"^ *```", page, re.MULTILINE))
    return found


@pytest.mark.parametrize("name", PAGES)
def test_each_block_is_run_or_of_a_declared_kind(name: str) -> None:
    """pytest runs Python with a prompt, a test above runs console blocks, and data is parsed."""
    for language, block in blocks(PAGES[name]):
        if language == "python":
            assert block.startswith(">>> "), block
        elif language in ("sh", "py"):
            assert any(name == page and block.startswith(one) for page, one in NOT_RUN), block
        elif language == "json":
            json.loads(block)
        elif language == "toml":
            tomllib.loads(block)
        else:  # text has equations and listings, and {...} are directives of Sphinx
            assert language in ("console", "csv", "text") or language.startswith("{"), block


@pytest.mark.parametrize("name", PAGES)
def test_no_code_is_indented_in_place_of_a_block(name: str) -> None:
    """Such code has no language, so that the test above would not see it."""
    prose = re.sub(r"^ *```.*?^ *```$", "", PAGES[name], flags=re.DOTALL | re.MULTILINE)
    for before, line in re.findall(r"^(.*)\n\n(    \S.*)$", prose, re.MULTILINE):
        assert re.match(r"(\d+\.|[-*]|  ) ?", before), line


@pytest.mark.parametrize(("page", "beginning"), NOT_RUN)
def test_blocks_that_are_not_run_exist(page: str, beginning: str) -> None:
    assert [
        block
        for language, block in blocks(PAGES[page])
        if language in ("sh", "py") and block.startswith(beginning)
    ]
