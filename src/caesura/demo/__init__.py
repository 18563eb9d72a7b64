"""References to real publications with exact labels, made here, and a demonstration on them.

::

    publications.tsv -> records -> styles, noise -> citations -> learning, testing, ten shown
"""

from caesura.demo.citations import citations, render
from caesura.demo.records import Name, Record, Split, records, split
from caesura.demo.styles import HELD_OUT_STYLES, LABELS, STYLES, Style, style

__all__ = [
    "HELD_OUT_STYLES",
    "LABELS",
    "RECORDS",
    "STYLES",
    "Name",
    "Record",
    "Split",
    "Style",
    "citations",
    "records",
    "render",
    "split",
    "style",
]

RECORDS: tuple[Record, ...] = records()
"""All publications."""
