"""Records: from strings to rows of a database, with their uncertainty."""

from caesura.records.consolidation import Source, TableRow
from caesura.records.lists import ListTable, Round, table_from_lists
from caesura.records.uncertain import answer_probability, uncertain_rows
from caesura.records.uncertain_records import UncertainRecord, UncertainRow
from caesura.records.uncertain_tables import Answers, answers, store_uncertain

__all__ = [
    "Answers",
    "ListTable",
    "Round",
    "Source",
    "TableRow",
    "UncertainRecord",
    "UncertainRow",
    "answer_probability",
    "answers",
    "store_uncertain",
    "table_from_lists",
    "uncertain_rows",
]
