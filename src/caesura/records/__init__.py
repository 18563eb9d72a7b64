"""Records: from strings to rows of a database, with their uncertainty."""

from caesura.records.uncertain import (
    UncertainRecord,
    UncertainRow,
    answer_probability,
    uncertain_rows,
)

__all__ = [
    "UncertainRecord",
    "UncertainRow",
    "answer_probability",
    "uncertain_rows",
]
