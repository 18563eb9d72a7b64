"""Shared parts of ``caesura serve`` and ``caesura label``: addresses, tokens, logs."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from caesura.cli.output import note
from caesura.errors import InvalidInput, MissingPackage

__all__ = [
    "Address",
    "announce",
    "check_installed",
    "hosts_of",
    "listening_at",
    "log_to_stderr",
    "tokens_of",
]

TOKENS = "CAESURA_TOKENS"
LEAST = 16  # minimum number of characters in an access token
LOCAL_ADDRESSES = ("127.0.0.1", "localhost", "::1")
PANEL = "Server"


class Address(NamedTuple):
    """Options for the address and the access tokens of a server."""

    host: Annotated[
        str,
        typer.Option("--host", rich_help_panel=PANEL, help="Wait for requests on this address."),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=65535,
            rich_help_panel=PANEL,
            help="Wait for requests on this port; 0 takes a free one.",
        ),
    ] = 8000
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            rich_help_panel=PANEL,
            help="Accept the bearer tokens in this file, separated by white space. Default: those "
            "in the environment variable CAESURA_TOKENS. Tokens are required with --host other "
            "than localhost.",
        ),
    ] = None
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            rich_help_panel=PANEL,
            help="Allow requests to this host name. Can be repeated. Default: localhost.",
        ),
    ] = None
    open_page: Annotated[
        bool, typer.Option("--open", rich_help_panel=PANEL, help="Show the page in a browser.")
    ] = False


def check_installed(user: str) -> None:
    """Raise if a package of the extra is missing."""
    import importlib.util

    for package in ("starlette", "uvicorn", "prometheus_client"):
        if importlib.util.find_spec(package) is None:
            raise MissingPackage(package, "server", user)


def tokens_of(address: Address) -> list[str]:
    """Return the access tokens, or raise if they are required and missing.

    Examples
    --------
    >>> tokens_of(Address())
    []
    """
    found = os.environ.get(TOKENS, "").split()
    if address.token_file is not None:
        found = address.token_file.read_text(encoding="utf-8").split()
    for token in found:
        if len(token) < LEAST or not token.isascii():
            expected = f"at least {LEAST} ASCII characters"
            raise InvalidInput(
                place="--token-file",
                got="a token that is too short or not ASCII",
                expected=expected,
                remedy="write one as by: openssl rand -hex 32",
            )
    if not found and address.host not in LOCAL_ADDRESSES:
        raise InvalidInput(
            place="--host",
            got=f"{address.host} without tokens",
            expected="a token, since others can reach this address",
            remedy="write one into a file (as by: openssl rand -hex 32) and pass --token-file FILE",
        )
    return found


def hosts_of(address: Address, tokens: list[str]) -> list[str] | None:
    """Return the accepted host names; any host if access tokens are set.

    Examples
    --------
    >>> hosts_of(Address(), [])
    ['localhost', '127.0.0.1', '[::1]']
    """
    from caesura.server.guard import LOCAL

    if address.allow_host:
        return [*LOCAL, *address.allow_host]
    return None if tokens else list(LOCAL)


@contextlib.contextmanager
def listening_at(address: Address) -> Iterator[socket.socket]:
    """Open the listening socket, or raise if that is not possible."""
    from caesura.server.running import listening

    try:
        made = listening(address.host, address.port)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidInput(
            place="--port",
            got=f"{address.host}:{address.port}, which cannot be listened on ({reason})",
            remedy="choose another one, or 0 for a free one",
        ) from None
    with made:
        yield made


def log_to_stderr() -> None:
    """Log each request as a line of JSON on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    form = logging.Formatter('{"time":"%(asctime)sZ","level":"%(levelname)s","event":%(message)s}')
    form.converter = time.gmtime
    form.default_time_format, form.default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03d"
    handler.setFormatter(form)
    logger = logging.getLogger("caesura.server")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def announce(address: Address, port: int, what: str) -> None:
    """Print the address of the page and open it in a browser if requested."""
    shown = f"[{address.host}]" if ":" in address.host else address.host
    url = f"http://{'localhost' if shown == '0.0.0.0' else shown}:{port}/"
    note(f"{what}: {url}", "bold")
    note("stop with Ctrl-C")
    if address.open_page:
        webbrowser.open(url)
