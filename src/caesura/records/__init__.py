"""Records: from strings to rows of a database, with their uncertainty."""

from caesura.records.uncertain import (
    UncertainRecord,
    UncertainRow,
    answer_probability,
    uncertain_rows,
)
from caesura.records.uncertain_tables import Answers, answers, store_uncertain

__all__ = [
    "Answers",
    "UncertainRecord",
    "UncertainRow",
    "answer_probability",
    "answers",
    "store_uncertain",
    "uncertain_rows",
]
