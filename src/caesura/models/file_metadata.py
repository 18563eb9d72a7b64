"""Metadata of model files: columns, normalisers and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caesura import normalisers
from caesura.models.extracting import Extractor

__all__ = ["describe", "description"]


def description(model: Extractor) -> dict[str, Any]:
    """Return the metadata for the header of a file."""
    return {
        "columns": model.columns_,
        "normalisers": normalisers.written(model.normalisers_),
        **({"about": model.about_} if model.about_ else {}),
        **({"reading": model.reading_} if model.reading_ else {}),
    }


def describe(model: Extractor, header: Mapping[str, Any], trust: bool) -> None:
    """Set the metadata of a model from the header of its file; older files may lack some of it."""
    if "columns" in header:
        model.set_columns(header["columns"])
    if "normalisers" in header:
        model.set_normalisers(normalisers.read(header["normalisers"], trust))
    if "about" in header:
        model.set_about(header["about"])
    if "reading" in header:
        model.set_reading(header["reading"])
