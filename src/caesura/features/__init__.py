"""Features of tokens and segments, declared as plain objects.

::

    Column      strings for each token                     word, shape, prefix(3), column("pos")
    Template    columns at offsets, at a place             word[-1] & word[0], first(word[0])
    Segment-    properties of whole segments               Length(), Dictionary(lexicon), Text()
    Feature
    Segment-    segments and those before them             previous.text & this.text
    Template
"""

from caesura.features.columns import (
    WordColumn,
    bias,
    case,
    char_class,
    folded,
    hyphen,
    in_lexicon,
    lower,
    lowered,
    matches,
    ngrams,
    prefix,
    punctuation,
    shape,
    short_shape,
    suffix,
    word,
    word_length,
    zeroed,
)
from caesura.features.defaults import default_for, default_name
from caesura.features.dictionary import Dictionary, Text, matched
from caesura.features.document_columns import attributes, column, dense, function, position, repeats
from caesura.features.enclosing import enclosing, place_in
from caesura.features.history import history
from caesura.features.lexicons import Lexicon
from caesura.features.lookback import (
    Incremental,
    SegmentTemplate,
    SegmentView,
    earlier,
    looks_back,
    previous,
    this,
)
from caesura.features.presets import PRESETS, preset
from caesura.features.segment import (
    Length,
    Pattern,
    SegmentFunction,
    SegmentShape,
    TokenAt,
)
from caesura.features.segment_base import SegmentFeature
from caesura.features.similar import Similar
from caesura.features.specs import declared, from_spec, lexicons_of, to_spec
from caesura.features.templates import (
    Column,
    Template,
    begin,
    edge,
    end,
    first,
    inside,
    last,
    single,
    token,
    window,
    within,
)
from caesura.features.word_templates import word_templates

__all__ = [
    "PRESETS",
    "Column",
    "Dictionary",
    "Incremental",
    "Length",
    "Lexicon",
    "Pattern",
    "SegmentFeature",
    "SegmentFunction",
    "SegmentShape",
    "SegmentTemplate",
    "SegmentView",
    "Similar",
    "Template",
    "Text",
    "TokenAt",
    "WordColumn",
    "attributes",
    "begin",
    "bias",
    "case",
    "char_class",
    "column",
    "declared",
    "default_for",
    "default_name",
    "dense",
    "earlier",
    "edge",
    "enclosing",
    "end",
    "first",
    "folded",
    "from_spec",
    "function",
    "history",
    "hyphen",
    "in_lexicon",
    "inside",
    "last",
    "lexicons_of",
    "looks_back",
    "lower",
    "lowered",
    "matched",
    "matches",
    "ngrams",
    "place_in",
    "position",
    "prefix",
    "preset",
    "previous",
    "punctuation",
    "repeats",
    "shape",
    "short_shape",
    "single",
    "suffix",
    "this",
    "to_spec",
    "token",
    "window",
    "within",
    "word",
    "word_length",
    "word_templates",
    "zeroed",
]
