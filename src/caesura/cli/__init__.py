"""The command line: ``caesura train``, ``caesura segment`` and the rest, one module for each.

::

    app        the program and its commands
    declare    how a function becomes a command
    reading    corpora, with the options that every command that reads them has
    settings   the choices of the estimators: options, and a file of them
    output     tables, JSON, notes, errors and exit codes
"""

from caesura.cli.app import app, main

__all__ = ["app", "main"]
