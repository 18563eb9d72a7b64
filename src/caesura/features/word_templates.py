"""Templates of word-based segmentation: words, word pairs, characters by position."""

from __future__ import annotations

from collections.abc import Iterable

from caesura.features.columns import bias, word
from caesura.features.lookback import previous, this
from caesura.features.segment_base import SegmentFeature
from caesura.features.templates import Column, Template, begin, end, inside, single, within

__all__ = ["at_places", "word_templates"]


def word_templates(column: Column = word) -> list[Template | SegmentFeature]:
    """Return the fourteen templates of word-based segmentation, in the order of the textbook.

    Tokens are characters and segments are words.  They look at whole words and at the word before,
    so a model needs a bound on the length of words.

    Parameters
    ----------
    column : Column
        The column that represents each character; ``folded(word)`` treats wide and narrow forms as
        equal.

    Examples
    --------
    >>> word_templates()[:2]
    [this.text, previous.text & this.text]
    >>> len(word_templates())
    14
    """
    w, v = this[column], previous[column]
    return [
        w.text,
        v.text & w.text,
        single(bias[0]),
        w.first & w.length,
        w.last & w.length,
        v.last & w.first,
        within(column[0] & column[1]),
        w.first & w.last,
        w.text & w.after,
        w.before & w.text,
        v.first & w.first,
        v.last & w.last,
        w.text & v.length,
        v.text & w.length,
    ]


def at_places(features: Iterable[Template | SegmentFeature]) -> list[Template]:
    """Return templates at each of the four positions in a word: begin, inside, end and single.

    So a semi-CRF knows what a chain with the tags B, M, E and S does.

    Examples
    --------
    >>> at_places([word[0]])
    [begin(word[0]), inside(word[0]), end(word[0]), single(word[0])]
    """
    places = (begin, inside, end, single)
    return [place(one) for one in features if isinstance(one, Template) for place in places]
