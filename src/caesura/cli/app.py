"""The program: its commands, and what it says to wrong usage."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from caesura.cli.command import command
from caesura.cli.output import Wrong, fail, silence

__all__ = ["COMMANDS", "app", "main"]

# In the order of --help, with what it says; each is a function of this name in a module of this
# name, which is imported when the command is called.
COMMANDS = {
    "train": "Learn from labelled sequences, and write a model.",
    "segment": "Cut sequences into labelled segments.",
    "load": "Segment strings and write them as rows of a table, in a database or Parquet files.",
    "evaluate": "Count right segments: precision, recall and F1, over all and by label.",
    "compare": "Compare two systems on the same sequences, by approximate randomisation.",
    "inspect": "Show what is in a model: labels, features, size, the largest weights, lengths.",
    "explain": "Say which features made each segment win, against the best answer without it.",
    "convert": "Read sequences in one format, and write them in another.",
    "tune": "Try settings by cross-validation, and write down the best.",
    "learning-curve": "Train on more and more of the data, chain beside semi-CRF; show the scores.",
    "serve": "Serve models over HTTP, with a page to try them.",
    "label": "Label texts in the browser, with a model that learns meanwhile.",
    "table": "Extend a table by rows that are found in the lists of pages.",
    "demo": "Learn to cut references into fields, and load new ones into a database.",
}


class Program(TyperGroup):
    """A group of commands that says in one line what is wrong with how it was called.

    Of each command it knows no more than a line, until it is called.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called, once it is imported."""
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
        """Run, and exit with 0, or 1 for an error, 2 for wrong usage, 130 when interrupted."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **rest)
        except Wrong as error:
            if not standalone_mode:
                raise
            sys.exit(_wrong(error))
        except typer.Abort:
            sys.exit(130)
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # the reader of --help went away
                silence()
                sys.exit(0)
            raise
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _wrong(error: Any) -> int:
    """Say what is wrong with how the program was called, and return the exit code."""
    context = getattr(error, "ctx", None)
    place = context.command_path if context else "caesura"
    text = str(error.format_message()).strip().rstrip(".")
    if type(error).__name__ == "NoArgsIsHelpError":
        if text:
            sys.stderr.write(text + "\n")
        return 2
    fail(f"{text}; see {place} --help", place)
    return 2


SETTINGS: Any = {"context_settings": {"help_option_names": ["-h", "--help"]}}

app = typer.Typer(
    name="caesura",
    cls=Program,
    help="Cut sequences into labelled segments: learn from examples, then cut what is new.",
    epilog="Example: caesura train train.jsonl --dev dev.jsonl -o my.model",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    **SETTINGS,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            sys.stdout.write(f"caesura {version('caesura')}\n")
        except PackageNotFoundError:  # run from its sources
            sys.stdout.write("caesura, not installed\n")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@functools.cache
def _imported(name: str) -> Any:
    """Return a command, from its module."""
    module = name.replace("-", "_")
    run = getattr(importlib.import_module(f"caesura.cli.{module}"), module)
    if not hasattr(run, "example"):
        run = command(f"caesura {name}")(run)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", **SETTINGS)
    lines = ["Example:", *run.example.split("\n")]
    alone.command(name, epilog="\n\n".join(lines))(run)
    return typer.main.get_command(alone)


def _not_yet() -> None:
    """Stand for a command that is not imported."""


for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(_not_yet)


def main() -> None:
    """Run the program with the arguments of the process."""
    app(prog_name="caesura")
