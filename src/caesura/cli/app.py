"""The program: its commands, its help and its handling of usage errors."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import caesura
from caesura.cli.command import command
from caesura.cli.output import Wrong, fail, silence

__all__ = ["COMMANDS", "app", "main"]

# In the order of --help, with their summaries. Each is a function in a module of the same name,
# which is imported when the command is called.
COMMANDS = {
    "train": "Train a model on labelled sequences.",
    "segment": "Split sequences into labelled segments.",
    "load": "Segment strings and write them as rows to a database or to Parquet files.",
    "evaluate": "Compute precision, recall and F1 of segments, in total and by label.",
    "compare": "Test whether two systems differ in F1, by approximate randomisation.",
    "inspect": "Show the labels, features, size and largest weights of a model.",
    "explain": "Show the features behind each segment, compared with the best answer without it.",
    "convert": "Convert labelled sequences from one format to another.",
    "split": "Split labelled sequences at random into files for training, development and test.",
    "tune": "Search for the best settings by cross-validation.",
    "learning-curve": "Show how the scores grow with the amount of training data.",
    "label": "Label texts in the browser while a model learns in the background.",
    "serve": "Serve models over HTTP, with a page to try them.",
    "table": "Extend a table with rows found in the lists of web pages.",
    "demo": "Train on references, segment new ones and load them into a database.",
}


class _PlainHelp:
    """A mixin for commands whose help hides Python types and braces."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", True):  # arguments have no is_flag; their names suffice
                option.display_type_rich = lambda ctx: ""
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the arguments of the usage line: ``TRAIN...`` in place of ``{TRAIN...}...``."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [re.sub(r"\.{4,}", "...", re.sub(r"[{}]", "", one)).upper() for one in pieces]


class OneCommand(_PlainHelp, TyperCommand):
    """A command of the program."""


class Program(_PlainHelp, TyperGroup):
    """A group of commands that reports usage errors in one line.

    Of each command it knows no more than a line, until it is called.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the called command and return it."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = _imported(args[0])
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **rest: Any,
    ) -> Any:
        """Run the program; exit with 0, 1 (error), 2 (usage error) or 130 (interrupted)."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **rest)
        except Wrong as error:
            if not standalone_mode:
                raise
            sys.exit(_usage_error(error))
        except typer.Abort:
            sys.exit(130)
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # the reader of --help is gone
                silence()
                sys.exit(0)
            raise
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _usage_error(error: Any) -> int:
    """Print a usage error and return the exit code."""
    context = getattr(error, "ctx", None)
    place = context.command_path if context else "caesura"
    for wrong in getattr(error.__cause__, "errors", list)():
        if wrong["type"] in EXPECTED:
            error.message = f"got {wrong['input']!r}, expected {EXPECTED[wrong['type']]}"
    text = str(error.format_message()).strip().rstrip(".")
    if type(error).__name__ == "NoArgsIsHelpError":
        if text:
            sys.stderr.write(text + "\n")
        return 2
    fail(f"{text}; see {place} --help", place)
    return 2


EXPECTED = {  # error type of the option parser -> what it expects
    "float_parsing": "a number with a decimal point, such as 0.9",
    "int_parsing": "a whole number, such as 10",
}
SETTINGS: Any = {"context_settings": {"help_option_names": ["-h", "--help"]}}

app = typer.Typer(
    name="caesura",
    cls=Program,
    help="Split sequences into labelled segments: train on examples, then segment new text.",
    epilog="Example: caesura train train.jsonl --dev dev.jsonl -o my.model",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    **SETTINGS,
)


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"caesura {caesura.__version__}\n")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@functools.cache
def _imported(name: str) -> Any:
    """Import a command and return it."""
    module = name.replace("-", "_")
    run = getattr(importlib.import_module(f"caesura.cli.{module}"), module)
    if not hasattr(run, "example"):
        run = command(f"caesura {name}")(run)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", **SETTINGS)
    lines = ["Example:", *run.example.split("\n")]
    alone.command(name, cls=OneCommand, epilog="\n\n".join(lines))(run)
    return typer.main.get_command(alone)


def _placeholder() -> None:
    """Return a placeholder for a command whose module is not imported yet."""


for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(_placeholder)


def main() -> None:
    """Run the program with the arguments of the process."""
    app(prog_name="caesura")
