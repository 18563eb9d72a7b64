"""Records: from strings to database rows with their uncertainty.

::

    strings, files, tables -> load             -> DuckDB, SQLite, PostgreSQL ..., Parquet
    SQL in DuckDB          -> segment(text), a function that register makes of a model
    what a database knows  -> KnownValues      -> features of segments
    records                -> Linker           -> links, entities; store_entities
    texts                  -> uncertain_rows   -> a few rows with probabilities; store_uncertain
    seed rows and pages    -> table_from_lists -> a ranked table
"""

from caesura.records.consolidation import Source, TableRow
from caesura.records.entities import Schema, Stored, split_names, store_entities
from caesura.records.functions import register
from caesura.records.linking import Link, Linker, ReadRecord
from caesura.records.lists import ListTable, Round, table_from_lists
from caesura.records.loading import Loaded, Progress, load
from caesura.records.matching import KnownValues, Match
from caesura.records.sinks import Column, Mark, Sink, Table
from caesura.records.splitting import split_records
from caesura.records.uncertain import answer_probability, uncertain_rows
from caesura.records.uncertain_records import UncertainRecord, UncertainRow
from caesura.records.uncertain_tables import Answers, answers, store_uncertain

__all__ = [
    "Answers",
    "Column",
    "KnownValues",
    "Link",
    "Linker",
    "ListTable",
    "Loaded",
    "Mark",
    "Match",
    "Progress",
    "ReadRecord",
    "Round",
    "Schema",
    "Sink",
    "Source",
    "Stored",
    "Table",
    "TableRow",
    "UncertainRecord",
    "UncertainRow",
    "answer_probability",
    "answers",
    "load",
    "register",
    "split_names",
    "split_records",
    "store_entities",
    "store_uncertain",
    "table_from_lists",
    "uncertain_rows",
]
