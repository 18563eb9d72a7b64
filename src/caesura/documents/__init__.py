"""Documents: one sequence with its tokens and annotations, and the tokenisers.

::

    str                           --+
    list of str                   --+
    list of attributes per token  --+-- as_document -->  Document
    array (T, D)                  --+
    dict of some of these         --+
"""

from caesura.documents.conversion import as_document, text_of
from caesura.documents.document import FIELDS, Document
from caesura.documents.partial import Partial
from caesura.documents.tokenisers import Tokeniser, align

__all__ = ["FIELDS", "Document", "Partial", "Tokeniser", "align", "as_document", "text_of"]
