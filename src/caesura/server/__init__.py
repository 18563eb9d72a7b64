"""HTTP server for models, with a playground and a labelling page.

::

    limits -> worker_threads -> registry -> answers, bodies -> metrics, guard
    -> requests, openapi -> api -> app
    journal, edits -> project, suggestions -> background_training -> label_api

``caesura serve`` and ``caesura label`` run them; see the pages "A server" and "Labelling" of the
documentation.  All of it needs the extra ``server``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caesura.errors import MissingPackage
from caesura.server.limits import Limits
from caesura.server.registry import Models, model_names

if TYPE_CHECKING:
    from caesura.server.app import application

__all__ = ["Limits", "Models", "application", "model_names"]

_LATER = {"application": "app"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'caesura.server' has no attribute {name!r}")
    try:
        return getattr(import_module(f"caesura.server.{_LATER[name]}"), name)
    except ModuleNotFoundError as error:
        raise MissingPackage(str(error.name), "server", f"caesura.server.{name}") from None
