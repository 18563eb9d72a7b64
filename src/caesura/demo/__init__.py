"""Generated references to real publications with exact labels, and a demonstration on them.

::

    publications.tsv -> records -> styles, noise -> citations -> learning, testing, ten shown

Beside them, small data for other tasks: addresses, names, chunks, Chinese words, a sensor, pages
with lists.
"""

from caesura.demo.activity import activity
from caesura.demo.addresses import CITIES, addresses
from caesura.demo.chinese import chinese
from caesura.demo.chunks import chunks
from caesura.demo.citations import citations, render
from caesura.demo.names import PLACES, names
from caesura.demo.pages import pages, write_pages
from caesura.demo.records import Name, Record, Split, records, split
from caesura.demo.styles import HELD_OUT_STYLES, LABELS, STYLES, Style, style

__all__ = [
    "CITIES",
    "HELD_OUT_STYLES",
    "LABELS",
    "PLACES",
    "RECORDS",
    "STYLES",
    "Name",
    "Record",
    "Split",
    "Style",
    "activity",
    "addresses",
    "chinese",
    "chunks",
    "citations",
    "names",
    "pages",
    "records",
    "render",
    "split",
    "style",
    "write_pages",
]

RECORDS: tuple[Record, ...] = records()
"""All publications."""
