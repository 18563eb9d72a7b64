"""Every command in the documentation runs."""

import json
import re
from pathlib import Path

import pytest
from cli_data import addresses, commands, good

from caesura import corpora

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "command-line.md"


def test_commands_in_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    for name, count, seed in (("train", 40, 1), ("dev", 12, 2), ("predicted", 12, 2)):
        corpora.write(f"{name}.jsonl", addresses(count, seed))
    texts = [str(document.text) for document in addresses(15, 3)]
    Path("new.txt").write_text("\n".join(texts) + "\n")
    [products] = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    Path("products.csv").write_text(products)
    Path("towns.txt").write_text("Leeds\nYork\nNew Mills\n")
    Path("conlleval.txt").write_text("York B-town B-town\n\nNew B-town I-town\n")
    [settings] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("settings.toml").write_text(settings)
    objects = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    Path("rules.json").write_text(json.dumps(objects[1]))
    Path("each.jsonl").write_text(json.dumps(objects[2]) + "\n")
    found = commands(page)
    assert {one[0] for one in found} >= {"train", "segment", "evaluate", "compare", "inspect"}
    for arguments in found:
        good(*arguments)
    rules = ["--constraints", "each.jsonl", "-t", "jsonl"]
    out = good("segment", "address.model", *rules, stdin="7 Park Lane, York\n").out
    assert json.loads(out)["segments"][0] == [0, 1, "number"]


def test_commands_about_records_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpora.write("train.jsonl", addresses(40, 1))
    good("train", "train.jsonl", "-o", "address.model", "--c2", "0.1")
    texts = [str(document.text) for document in addresses(15, 3)]
    Path("new.txt").write_text("\n".join(texts) + "\n")
    lines = [f's{k},"{text}",{k}' for k, text in enumerate(texts)]
    Path("new.csv").write_text("sku,address,price\n" + "\n".join(lines) + "\n")
    found = commands((DOCS / "records.md").read_text(encoding="utf-8"))
    assert [one[0] for one in found][:3] == ["load"] * 3
    for arguments in found:
        good(*arguments)
