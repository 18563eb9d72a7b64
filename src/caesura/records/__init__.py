"""Records: from strings to the rows of a database.

::

    strings, files, tables -> load -> DuckDB, SQLite, PostgreSQL ..., Parquet
    SQL in DuckDB          -> segment(text), a function that register makes of a model
"""

from caesura.records.functions import register
from caesura.records.loading import Loaded, Progress, load
from caesura.records.sinks import Column, Mark, Sink, Table
from caesura.records.splitting import split_records

__all__ = [
    "Column",
    "Loaded",
    "Mark",
    "Progress",
    "Sink",
    "Table",
    "load",
    "register",
    "split_records",
]
