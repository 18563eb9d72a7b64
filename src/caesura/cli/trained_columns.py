"""Column names of the training files, which models remember, for reading new files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from caesura.cli.output import note
from caesura.cli.reading import Reading, base_name, separator_of
from caesura.cli.training_data import TABLES, columns_of
from caesura.corpora.columns import Columns
from caesura.corpora.detection import detect, is_tagged, n_fields
from caesura.errors import CaesuraError

__all__ = ["as_trained", "remember", "trained_text"]


def remember(model: Any, reading: Reading, tables: Iterable[Columns], conll: bool) -> None:
    """Keep the names of the columns of the training files in the model."""
    found = {} if reading.columns is None or not conll else {"columns": reading.columns}
    texts = {columns.text for columns in tables}
    text = texts.pop() if len(texts) == 1 else None
    model.set_reading(found if text is None else found | {"text_column": text})


def as_trained(path: str | Path, reading: Reading, model: Any) -> Reading:
    """Return the reading options with the column names of training, if the file has them."""
    name, names = os.fspath(path), getattr(model, "reading_", {}).get("columns")
    if not os.path.isfile(name):
        return reading
    form = reading.format or detect(name)
    if form != "conll":
        return reading._replace(text_column=trained_text(name, form, reading, model))
    text_like = reading.format is None and base_name(name).suffix == ".txt"
    given = (reading.columns, reading.delimiter, reading.encoding) != (None, None, None)
    if names is None or given or (text_like and not is_tagged(name)):
        return reading
    if n_fields(name) != len(names.split(",")):
        return reading
    note(f"{name}: the columns are {names}, as in training; see --columns")
    return reading._replace(columns=names)


def trained_text(name: str, form: str, reading: Any, model: Any) -> str | None:
    """Return the given text column, or by default that of training if the table has it."""
    text, given = getattr(model, "reading_", {}).get("text_column"), reading.text_column
    if given is not None or text is None or form not in TABLES or not os.path.isfile(name):
        return given  # type: ignore[no-any-return]
    try:
        names = columns_of(name, form, reading.encoding, separator_of(reading.delimiter))
    except CaesuraError:  # the reader of the file will say what is wrong, or skip it
        return None
    if text not in names:
        return None
    if text != "text":
        note(f"{name}: the text is in the column {text!r}, as in training; see --text-column")
    return str(text)
