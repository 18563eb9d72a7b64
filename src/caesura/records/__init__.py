"""Records: from strings to the rows of a database.

::

    strings, files, tables -> load -> DuckDB, SQLite, PostgreSQL ..., Parquet
    SQL in DuckDB          -> segment(text), a function that register makes of a model
"""

from caesura.records.entities import Schema, Stored, split_names, store_entities
from caesura.records.functions import register
from caesura.records.linking import Link, Linker, ReadRecord
from caesura.records.loading import Loaded, Progress, load
from caesura.records.matching import KnownValues, Match
from caesura.records.sinks import Column, Mark, Sink, Table
from caesura.records.splitting import split_records

__all__ = [
    "Column",
    "KnownValues",
    "Link",
    "Linker",
    "Loaded",
    "Mark",
    "Match",
    "Progress",
    "ReadRecord",
    "Schema",
    "Sink",
    "Stored",
    "Table",
    "load",
    "register",
    "split_names",
    "split_records",
    "store_entities",
]
