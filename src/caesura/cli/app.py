"""The program: its commands, and what it says to wrong usage."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from caesura.cli.declare import command
from caesura.cli.output import Wrong, fail, silence

__all__ = ["COMMANDS", "app", "main"]

# In the order of --help; each is a function of this name in a module of this name.
COMMANDS = (
    *("train", "segment", "evaluate", "compare", "inspect", "explain", "convert"),
    *("tune", "learning-curve", "demo"),
)


class Program(TyperGroup):
    """A group of commands that says in one line what is wrong with how it was called."""

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


app = typer.Typer(
    name="caesura",
    cls=Program,
    help="Cut sequences into labelled segments: learn from examples, then cut what is new.",
    epilog="Example: caesura train train.jsonl --dev dev.jsonl -o my.model",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
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


def _register(name: str) -> None:
    """Add a command, if its module is there."""
    place = f"caesura.cli.{name.replace('-', '_')}"
    if importlib.util.find_spec(place) is None:
        return
    run = getattr(importlib.import_module(place), name.replace("-", "_"))
    if not hasattr(run, "example"):
        run = command(f"caesura {name}")(run)
    lines = run.example.split("\n")
    app.command(name, epilog="\n\n".join(["Example:", *lines]))(run)


for _name in COMMANDS:
    _register(_name)


def main() -> None:
    """Run the program with the arguments of the process."""
    app(prog_name="caesura")
