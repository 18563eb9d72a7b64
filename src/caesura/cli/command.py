"""Turn functions into commands: option groups, one example, one-line errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from caesura.cli.output import reporting
from caesura.cli.progress import showing
from caesura.cli.remedies import GIVEN

__all__ = ["Command", "command"]

Command = Callable[..., None]


def command(example: str) -> Callable[[Command], Command]:
    """Return a decorator that makes a function a command of the program.

    A parameter whose type is a NamedTuple stands for a group of options: its fields are the
    options, and the function gets all of them as one value.

    Parameters
    ----------
    example : str
        What ends the help: a line to try, or several.

    Examples
    --------
    >>> @command("caesura greet Ann")
    ... def greet(name: str) -> None:
    ...     print(f"Hello {name}")
    >>> greet(name="Ann")
    Hello Ann
    >>> greet.example
    'caesura greet Ann'
    """

    def declared(run: Command) -> Command:
        hints = get_type_hints(run, include_extras=True)
        groups = {name: kind for name, kind in hints.items() if hasattr(kind, "_fields")}
        parameters = list(_parameters(run, hints))

        def called(**given: Any) -> None:
            named = GIVEN.set(_shown(parameters, given))
            for name, kind in groups.items():
                fields = {field: given.pop(field) for field in kind._fields}
                given[name] = kind(**fields)
            try:
                with reporting(), showing():
                    run(**given)
            finally:
                GIVEN.reset(named)

        called.__name__, called.__doc__, called.__module__ = run.__name__, _help(run), __name__
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.example = example  # type: ignore[attr-defined]
        return called

    return declared


def _shown(
    parameters: list[inspect.Parameter], given: dict[str, Any]
) -> dict[str, tuple[str, Any]]:
    """Return the parameters that are given, as the help writes them, with their values."""
    shown: dict[str, tuple[str, Any]] = {}
    for one in parameters:
        value = given.get(one.name)
        if value is None or value == one.default:
            continue
        name = f"--{one.name.replace('_', '-')}"
        for info in getattr(one.annotation, "__metadata__", ()):
            if isinstance(info, ArgumentInfo):
                name = str(info.metavar or one.name.upper())
            elif isinstance(info, OptionInfo):
                long = [text for text in info.param_decls or () if text.startswith("--")]
                name = long[0].partition("/")[0] if long else name
        shown[one.name] = name, value
    return shown


def _help(run: Command) -> str:
    """Return the help text of a function, one line for each paragraph."""
    paragraphs = (inspect.getdoc(run) or "").split("\n\n")
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)


def _parameters(run: Command, hints: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a function, with option groups expanded in place."""
    for name, parameter in inspect.signature(run).parameters.items():
        kind = hints[name]
        if not hasattr(kind, "_fields"):
            yield parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        inner = get_type_hints(kind, include_extras=True)
        for field in kind._fields:
            default = kind._field_defaults.get(field, inspect.Parameter.empty)
            yield inspect.Parameter(
                field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=inner[field]
            )
