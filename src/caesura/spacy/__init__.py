"""A spaCy pipeline component, and training data from spaCy documents; needs spaCy.

::

    Doc with entities -> from_docs -> documents -> SemiCRF().fit -> save -> model file
    nlp.add_pipe("caesura", config={"model": path}) -> doc.ents or doc.spans, with probabilities
"""

from importlib.util import find_spec

from caesura.errors import MissingPackage

if find_spec("spacy") is None:
    raise MissingPackage("spacy", "spacy", "caesura.spacy")

from caesura.spacy.component import CaesuraComponent, make_component
from caesura.spacy.docs import from_docs

__all__ = ["CaesuraComponent", "from_docs", "make_component"]
