"""``caesura serve``: serve models over HTTP, with a page to try them."""

from __future__ import annotations

import json
import logging
from typing import Annotated, NamedTuple

import typer

from caesura.cli.command import command
from caesura.cli.model_files import Trust, load_model
from caesura.cli.server_setup import (
    Address,
    announce,
    check_installed,
    hosts_of,
    listening_at,
    log_to_stderr,
    tokens_of,
)
from caesura.errors import CaesuraError
from caesura.server.limits import Limits

__all__ = ["serve"]

PANEL = "Limits"
MOST = Limits()


class Most(NamedTuple):
    """Limits for a single request."""

    max_texts: Annotated[
        int, typer.Option(min=1, rich_help_panel=PANEL, help="Allow this many texts in a request.")
    ] = MOST.texts
    max_characters: Annotated[
        int,
        typer.Option(min=1, rich_help_panel=PANEL, help="Allow this many characters in a text."),
    ] = MOST.characters
    max_body: Annotated[
        int, typer.Option(min=1, rich_help_panel=PANEL, help="Allow this many bytes in a request.")
    ] = MOST.body
    max_seconds: Annotated[
        float,
        typer.Option(
            min=0.01, rich_help_panel=PANEL, help="Stop an answer after this many seconds."
        ),
    ] = MOST.seconds
    max_waiting: Annotated[
        int,
        typer.Option(
            min=1,
            rich_help_panel=PANEL,
            help="Let this many requests be answered or wait; further ones get status 503.",
        ),
    ] = MOST.waiting


@command(
    "caesura serve citations.model --port 8000\n"
    "caesura serve old=citations.model new=citations-2.model --open\n"
    "curl -s localhost:8000/segment -H 'content-type: application/json' "
    '-d \'{"texts": ["Codd, E. F. (1970). A relational model of data."]}\''
)
def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Use these model files, or NAME=FILE; the first is the default.",
        ),
    ],
    address: Address = Address(),  # noqa: B008 - a frozen tuple
    most: Most = Most(),  # noqa: B008
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Process up to this many requests concurrently. Default: one per core."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Use this many threads for each answer. Default: all cores.")
    ] = None,
    trust: Trust = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write no log of requests.")] = False,
) -> None:
    """Serve models over HTTP, with a page to try them.

    GET /docs describes the API: /segment, /extract, /explain and /n-best take texts and optionally
    the name of a model. SIGHUP or POST /reload loads the files again without dropping requests. The
    log has a line of JSON for each request, without the texts.
    """
    check_installed("caesura serve")
    from caesura.server import Models, application, model_names
    from caesura.server.running import run

    tokens = tokens_of(address)
    loaded = Models(model_names(models), lambda path: load_model(path, threads, trust=trust))
    limits = Limits(
        body=most.max_body,
        texts=most.max_texts,
        characters=most.max_characters,
        seconds=most.max_seconds,
        waiting=most.max_waiting,
    )
    app = application(
        loaded, limits=limits, tokens=tokens, hosts=hosts_of(address, tokens), workers=workers
    )
    if not quiet:
        log_to_stderr()
    with listening_at(address) as made:
        announce(address, made.getsockname()[1], "Playground and API")
        run(app, made, on_hangup=lambda: _reload(loaded))


def _reload(models: object) -> None:
    """Reload the models and log the result."""
    log = logging.getLogger("caesura.server")
    try:
        names = models.reload()  # type: ignore[attr-defined]
        log.info(json.dumps({"reloaded": names}))
    except (CaesuraError, OSError) as error:
        log.error(json.dumps({"reload failed": str(error)}))
