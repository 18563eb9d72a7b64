"""The help of every command: whole sentences that say what an option does, and its default."""

import inspect
import re
from typing import Any

import pytest
from cli_data import good
from typer.testing import CliRunner

from caesura import ChainCRF, SemiCRF
from caesura.cli.app import COMMANDS, app
from caesura.cli.setting_texts import TEXTS
from caesura.neural import NeuralSegmenter

VERBS = {
    *("add", "allow", "average", "calibrate", "choose", "compare", "continue", "count"),
    *("delete", "draw", "drop", "end", "explain", "find", "give", "ignore", "import", "keep"),
    *("leave", "let", "limit", "look", "mark", "name", "penalise", "predict", "print", "read"),
    *("say", "scale", "score", "search", "separate", "set", "show", "skip", "split", "start"),
    *("stay", "stop", "store", "test", "train", "treat", "try", "use", "wait", "weight", "write"),
    *("accept", "evaluate", "identify", "learn", "process"),
}


def parameters() -> list[Any]:
    """Return each option and argument of each command, with its name."""
    found = []
    for name in COMMANDS:
        command = app_command(name)
        found += [pytest.param(one, id=f"{name} {one.opts[0]}") for one in command.params]
    return found


def app_command(name: str) -> Any:
    from typer.main import get_command

    group: Any = get_command(app)
    return group.resolve_command(None, [name])[1]


@pytest.mark.parametrize("option", parameters())
def test_texts_are_sentences_with_a_verb_and_a_default(option: Any) -> None:
    text = option.help or ""
    words = re.findall(r"[\w'-]+", text)
    assert len(words) >= 3, text
    assert text.endswith(".")
    first = next(word.lower() for word in words if word.lower() not in ("also", "do", "not"))
    assert first in VERBS, text
    said = re.search("default|required unless", text.lower()) or option.default not in (
        None,
        [],
        (),
    )
    said = said or isinstance(option.show_default, str)  # where it depends on other options
    flag = getattr(option, "is_flag", False)  # off by default
    assert said or flag or option.required or option.param_type_name == "argument", text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_types_of_python(name: str) -> None:
    page = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).stdout
    assert not re.search(r"<(bool|list)", page)
    usage = page.split("Usage:")[1].splitlines()[0].strip()
    assert re.fullmatch(rf"caesura {name} \[OPTIONS\]( \[?[A-Z|]+(\.\.\.)?\]?(\.\.\.)?)*", usage)
    assert COMMANDS[name].split()[0] in page


def test_defaults_are_those_of_the_models() -> None:
    """What the texts say about plain values is what the models do."""
    known: dict[str, Any] = {}
    for kind in (NeuralSegmenter, ChainCRF, SemiCRF):
        parameters = inspect.signature(kind.__init__).parameters
        known |= {name: one.default for name, one in parameters.items()}
    known |= {"network": "chain", "model": "semi", "seed": known["random_state"]}
    shown = {True: "yes", False: "no"}
    checked = 0
    for option, text in TEXTS.items():
        name = option.removeprefix("--").replace("-", "_")
        found = re.search(r"Default: (\S+)\.$", text)
        if found is None or name not in known or known[name] is None:
            continue
        default, told = known[name], found[1]
        if default is False and told == "off":
            continue
        if isinstance(default, bool):
            assert told == shown[default], option
        elif isinstance(default, int | float):
            assert float(told) == default, option
        else:
            assert told == default, option
        checked += 1
    assert checked >= 40


def test_every_setting_has_a_text() -> None:
    options = {one.opts[0] for one in app_command("train").params}
    assert set(TEXTS) <= options
    assert "Usage: caesura train" in good("train", "--help").out
