"""The command line: ``caesura train``, ``caesura segment`` and the rest, one module for each.

::

    app             the program and its commands
    command         turns a function into a command
    reading         reads corpora, with the options that all commands share
    settings        the options of the commands that train models
    model_settings  merges these options with a TOML file
    output          prints tables, JSON, notes and errors, and sets exit codes
"""

from caesura.cli.app import app, main

__all__ = ["app", "main"]
