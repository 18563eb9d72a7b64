"""Presets: ready-made lists of features for common tasks.

Each preset is a list of templates that a chain can use; with `segments=True` it goes on with what
only a semi-CRF can: the ends of segments, what they contain, their length and text, and the
lexicons' match with whole segments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from caesura.errors import InvalidInput, message
from caesura.features.character_features import for_characters
from caesura.features.columns import (
    bias,
    case,
    char_class,
    check_lexicon,
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
from caesura.features.dictionary import Dictionary, Text, matched
from caesura.features.document_columns import column, position, repeats
from caesura.features.lexicons import Lexicon
from caesura.features.segment import Length, Pattern, SegmentShape
from caesura.features.segment_base import SegmentFeature
from caesura.features.templates import Column, Template, edge, first, last, window, within
from caesura.features.word_templates import at_places, word_templates

__all__ = ["PRESETS", "TOKENS", "ends_of", "preset"]

Features = list[Template | SegmentFeature]
OF_TOKENS = ("words", "chunking")  # presets that tokens="characters" leaves unchanged
TOKENS = ("words", "parts", "characters", "whitespace", "regex")  # the supported kinds of tokens

_MONTHS = (
    "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july "
    "august september october november december spring summer autumn fall winter"
)
_STREETS = (
    "alley aly avenue ave av boulevard blvd bypass byp circle cir court ct crescent cres drive dr "
    "expressway expy freeway fwy highway hwy lane ln loop parkway pkwy pike place pl plaza plz "
    "point pt road rd route rte run square sq street st terrace ter trail trl turnpike tpke way"
)
_UNITS = "apartment apt building bldg box department dept floor fl lot room rm suite ste unit"
_DIRECTIONS = "n s e w ne nw se sw north south east west northeast northwest southeast southwest"
_STATES = (
    "al ak az ar ca co ct de dc fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj "
    "nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy"
)


def preset(name: str, **options: Any) -> Features:
    """Return the features of a preset.

    Parameters
    ----------
    name : str
        One of `PRESETS`.
    **options
        segments=True adds the features for a semi-CRF, in all presets. gazetteers=[...] takes
        lexicons, in citations, addresses and ner. pos="pos" names the column with parts of speech,
        in chunking (always used) and ner (not used unless named).  bigrams=True, in words, takes
        characters at their places in words together with `word_templates`.  tokens="characters",
        in all presets but words and chunking, gives the same features for documents that are cut
        into characters, where they see the words around these; lexicons must be split into
        characters, too.

    Examples
    --------
    >>> len(preset("chunking")) < len(preset("chunking", segments=True))
    True
    >>> cities = Lexicon("cities", ["Chicago"])
    >>> [feature for feature in preset("ner", gazetteers=[cities]) if "cities" in repr(feature)]
    [(matched cities, casefold, loose)[-1], (matched cities, casefold, loose)[0],
     (matched cities, casefold, loose)[1],
     in_lexicon(Lexicon('cities', 1 entry), True, True)[0]]
    """
    make = _PRESETS.get(name) if isinstance(name, str) else None
    if make is None:
        raise InvalidInput(message("name", name, ", ".join(_PRESETS), "pass one of these names"))
    tokens = options.pop("tokens", "words")
    if not isinstance(tokens, str) or tokens not in TOKENS:
        raise InvalidInput(message("tokens", tokens, ", ".join(TOKENS), "pass one of these names"))
    known = inspect.signature(make).parameters
    for option in options:
        if option not in known:
            remedy = f"leave it out of the preset {name}"
            raise InvalidInput(message("options", option, ", ".join(known), remedy))
    features = make(**options)
    if tokens == "characters" and name not in OF_TOKENS:
        features = for_characters(features, bool(options.get("segments")))
    return list(dict.fromkeys(features))


# ---- feature groups of several presets ----------------------------------------------------------

LENGTH = Length(exact=4, at_least=(6,))


def _pairs(columns: Iterable[Column], first: int, last: int) -> list[Template]:
    """Return templates of adjacent pairs, from offset `first` to `last`."""
    return [one[t] & one[t + 1] for one in columns for t in range(first, last)]


def _affixes(longest: int) -> list[Template]:
    return [make(n)[0] for make in (prefix, suffix) for n in range(1, longest + 1)]


def ends_of(columns: Iterable[Column], near: bool = True) -> Features:
    """Return templates of the end tokens of a segment, with `near` also their neighbours."""
    features: Features = [first(bias[0])]
    for one in columns:
        features += [first(one[0]), last(one[0])]
        if near:
            features += [first(one[-1]), last(one[1]), first(one[1]), last(one[-1])]
    return features


def _of_segments(text: Column, others: Iterable[Column], length: Length = LENGTH) -> Features:
    """Return the segment features for most tasks."""
    return [
        *ends_of([text, *others]),
        within(text[0] & text[1]),
        *(first(one[t] & one[t + 1]) for one in (text, short_shape) for t in (-1, 0)),
        *(last(one[t] & one[t + 1]) for one in (text, short_shape) for t in (-1, 0)),
        edge(text[-1]),
        edge(text[0]),
        length,
        Text(casefold=text == lower),
    ]


def _gazetteers(lexicons: Iterable[Lexicon], segments: bool) -> Features:
    """Return lexicon features of tokens and of whole segments."""
    features: Features = []
    if isinstance(lexicons, Lexicon):
        remedy = "put it into a list: [lexicon]"
        raise InvalidInput(message("gazetteers", lexicons, "a list of lexicons", remedy))
    for lexicon in lexicons:
        check_lexicon(lexicon)
        features += window(matched(lexicon, casefold=True, loose=True), -1, 1)
        features.append(in_lexicon(lexicon, casefold=True, part=True)[0])
        if segments:
            features.append(Dictionary(lexicon, casefold=True, loose=True, length=True))
    return features


def _small(name: str, words: str) -> Column:
    """Return membership in a short word list, with or without a final full stop or comma."""
    return lowered(matches(f"({'|'.join(words.split())})[.,]*", name))


# ---- the presets --------------------------------------------------------------------------------


def _generic(segments: bool = False) -> Features:
    """Anything made of words."""
    features: Features = [
        bias[0],
        *window([lower, shape], -2, 2),
        word[0],
        *_pairs([lower], -1, 1),
        *_pairs([short_shape], -1, 1),
        *_affixes(4),
        zeroed(word)[0],
        case[0],
        hyphen[0],
        punctuation[0],
        *(position(origin, 2)[0] for origin in ("start", "end")),
    ]
    return features + (_of_segments(lower, [short_shape]) if segments else [])


def _citations(gazetteers: Sequence[Lexicon] = (), segments: bool = False) -> Features:
    """References: authors, title, journal, pages, date."""
    marks = [
        matches(r"\W*(1[5-9]|20)\d\d[a-z]?\W*", "year"),
        matches(r"\W*\d+(\W|--)+\d+\W*", "pages"),
        matches(r"\W*\d{1,3}\W*", "small number"),
        matches(r"\W*\d+\W*", "number"),
        matches(r"([A-Z]\.-?)+,?|[A-Z]", "initial"),
        matches(r"\d+(st|nd|rd|th)\W*", "ordinal"),
        matches(r"https?:.*|www\..*", "address of a page"),
        _small("month", _MONTHS),
        _small("pages word", "pp p page pages"),
        _small("volume word", "vol volume no number issue"),
        _small("editor word", "ed eds editor editors edited"),
        _small("venue word", "in proc proceedings conference symposium workshop journal trans"),
        _small("report word", "tech technical report rep memo thesis phd dissertation tr"),
        _small("maker word", "press publisher publishers publishing verlag wiley springer inc"),
        _small("school word", "university univ dept department institute laboratory college"),
    ]
    alike = zeroed(lower)
    tokens = [
        bias[0],
        lower[0],
        *window([alike, short_shape], -2, 2),
        *window([case, punctuation], -1, 1),
        *_pairs([alike, short_shape], -1, 1),
        *_affixes(3),
        *window(marks, -1, 1),
    ]
    if not segments:
        return [*tokens, *_gazetteers(gazetteers, segments)]
    known = _gazetteers(gazetteers, segments)
    tokens += [one for one in known if isinstance(one, Template)]
    return [
        *tokens,
        *map(first, tokens),
        *(one for one in known if isinstance(one, SegmentFeature)),
        Length(exact=4, at_least=(6, 8)),
        Text(casefold=True),
        SegmentShape(4),
        SegmentShape(5, collapse=True),
        Pattern(r"\(? ?(\w+\.? )?(19|20)\d\d[a-z]? ?\)? ?[.,]*", 6, "a date"),
        Pattern(r"(pp?|pages?) ?\.? ?\d+ ?-+ ?\d+ ?[.,]*", 7, "some pages"),
        Pattern(r"\d+( ?\( ?\d+([-/]\d+)? ?\))? ?[,:.]*", 6, "a volume"),
    ]


def _addresses(gazetteers: Sequence[Lexicon] = (), segments: bool = False) -> Features:
    """Postal addresses."""
    marks = [
        matches(r"\d+,?", "number"),
        matches(r"\d{5}(-\d{4})?,?", "zip code"),
        matches(r"\d+(st|nd|rd|th),?", "ordinal"),
        matches(r"\d+-?[A-Za-z],?|[A-Za-z]-?\d+,?", "number and letter"),
        matches(r"#.*", "number sign"),
        matches(r".*,", "before a comma"),
        _small("street word", _STREETS),
        _small("unit word", _UNITS),
        _small("direction", _DIRECTIONS),
        _small("state", _STATES),
    ]
    features: Features = [
        bias[0],
        *window([lower, short_shape], -2, 2),
        *_pairs([lower, short_shape], -1, 1),
        *window(marks, -2, 2),
        zeroed(lower)[0],
        word_length()[0],
        case[0],
        *_affixes(3),
        *(position(*place)[0] for place in (("start", 4), ("end", 4), ("part", 4))),
        *_gazetteers(gazetteers, segments),
    ]
    if segments:
        features += [*_of_segments(lower, [short_shape, *marks]), SegmentShape(3)]
    return features


def _ner(
    gazetteers: Sequence[Lexicon] = (), segments: bool = False, pos: str | None = None
) -> Features:
    """Names in running text."""
    given = [column(pos)] if pos else []
    features: Features = [
        bias[0],
        *window([word, *given, shape, short_shape], -2, 2),
        *window(lower, -1, 1),
        *_affixes(5),
        case[0],
        hyphen[0],
        *_pairs([lower, shape, *given], -1, 1),
        lower[-1] & lower[0] & lower[1],
        *window(zeroed(lower), -1, 1),
        lowered(ngrams(3, 4))[0],
        punctuation[0],
        word_length()[0],
        *_gazetteers(gazetteers, segments),
    ]
    if segments:
        features += [*_of_segments(lower, [short_shape, *given]), SegmentShape(4)]
        features += [Dictionary(lexicon) for lexicon in gazetteers]
        features += [
            make(lowered(one)[0]) for make in (first, last) for one in (prefix(3), suffix(3))
        ]
    return features


def _chunking(segments: bool = False, pos: str = "pos") -> Features:
    """Chunks in running text with parts of speech."""
    w, p = word, column(pos)
    features: Features = [
        *window([w, p], -2, 2),
        *_pairs([w], -1, 1),
        *_pairs([p], -2, 2),
        *(p[t] & p[t + 1] & p[t + 2] for t in (-2, -1, 0)),
        bias[0],
        lower[0],
        *_affixes(4),
        *window(short_shape, -1, 1),
        shape[0],
        w[-1] & w[1],
        p[-1] & p[1],
        *(w[t] & p[t] for t in (-1, 0, 1)),
        w[0] & p[-1],
        w[0] & p[1],
    ]
    if segments:
        features += [*_of_segments(w, [p]), SegmentShape(4, column=case)]
        features += [within(p[0] & p[1]), within(p[0] & p[1] & p[2])]
        features += [edge(p[-1] & p[0]), edge(w[-1] & w[0])]
    return features


def _words(segments: bool = False, bigrams: bool = False) -> Features:
    """Words of Chinese or Japanese text, whose tokens are characters."""
    c = folded(word)
    characters: Features = [
        *window(c, -2, 2),
        *_pairs([c], -2, 2),
        c[-1] & c[1],
        c[-1] & c[0] & c[1],
    ]
    if bigrams:  # no character classes: a perceptron updates such frequent features too much
        return [*at_places(characters), *word_templates(c)]
    features = [
        *characters,
        punctuation[0],
        char_class[-1] & char_class[0] & char_class[1],
        *window(char_class, -1, 1),
        repeats(-1)[0],
        repeats(-2)[0],
    ]
    if segments:
        features += [*ends_of([c, char_class]), within(c[0] & c[1]), edge(c[-1] & c[0])]
        features += [first(c[0] & c[1]), last(c[-1] & c[0])]
        features += [Length(exact=4, at_least=(5,)), Text()]
        features.append(SegmentShape(4, collapse=True, column=char_class))
    return features


_PRESETS: dict[str, Callable[..., Features]] = {
    "citations": _citations,
    "addresses": _addresses,
    "ner": _ner,
    "chunking": _chunking,
    "words": _words,
    "generic": _generic,
}
PRESETS: tuple[str, ...] = tuple(_PRESETS)
"""The names of the presets."""
