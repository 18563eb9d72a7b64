"""Encoding: from documents to the integer arrays of the kernels.

::

    documents -> columns of value numbers -> templates -> attributes on rows (a Corpus)

Strings are met once: each distinct value of a column has a number, and an attribute is a template
with the numbers that it found. What is computed from a word alone is computed once for each
distinct word.
"""

from caesura.encoding.encoder import Encoder

__all__ = ["Encoder"]
