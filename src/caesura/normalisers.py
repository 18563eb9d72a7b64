"""Normalisers: from the text of a field to a value for a table.

::

    "(1970),"             year    ->  "1970"
    "pp. 1185–92."        pages   ->  "1185-1192"
    "In: Proc. VLDB,"     venue   ->  "Proc. VLDB"

A normaliser is a function from the text of a segment to its value, or None if there is none in it.
Each label has one, given by its name; model files keep the names.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from caesura.errors import InvalidInput, message
from caesura.features.document_columns import remember
from caesura.features.specs import function_name, named_function

__all__ = ["NORMALISERS", "Normaliser", "default_normaliser", "normaliser"]

Normaliser: TypeAlias = Callable[[str], Any]
"""A function from the text of a segment to its value, or None if there is none in it."""

_MARKS = " ,;:“”„«»\"'`´‘’"
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_EDITED = re.compile(r"([Ii]n:?\s+)?(\(?\s*[Ee]d(itor)?s?\b\.?\s*|[Ee]dited by\s+)?")
_IN = re.compile(r"[Ii]n(:\s*|\s+(?!([Ss]ilico|[Ss]itu|[Vv]itro|[Vv]ivo)\b))")
_PAGES = re.compile(r"([Pp]p?\b\.?|[Pp]ages?\b)\s*")
_VOLUME = re.compile(r"[Vv]ol(ume)?\b\.?\s*")
_EDITORS = re.compile(r"\s*[(\[,]?\s*\b[Ee]d(itor)?s?\b\.?[)\]]?$")
_INCHES = re.compile(r"\d[\"']$")
_WORD_AT_END = re.compile(r"(?<!\bal)(?<=[a-zß-ÿ]{2})\.$")  # a full stop that ends a sentence
_YEAR = re.compile(r"(?<!\d)(1[0-9]|20|21)\d\d(?!\d)")
_RANGE = re.compile(r"([A-Za-z]*)(\d+)\s*[-‐‑‒–—−]+\s*([A-Za-z]*)(\d+)")
_NUMBER = re.compile(r"(?:(?<!\w)[-+−])?\d[\d.,'’\u00a0\u202f]*(?<=\d)")
_SPACED = re.compile(r"\W*\d{1,3}(?: \d{3})+(?:[.,]\d+)?\W*")  # a field that is one number
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAMES = (  # English ones, and those of other languages that begin in the same way
    "jan(?:uary|uari|uar|vier)?|feb(?:ruary|ruari|ruar|rero|braio|r)?|mar(?:ch|s|zo|z|et)?"
    "|apr(?:ile|il)?|mayo?|jun(?:e|io|i|ho)?|jul(?:y|io|i|ho)?|aug(?:ustus|usti|ust)?"
    "|sep(?:tember|ti?embre|t)?|oct(?:ober|obre)?|nov(?:ember|i?embre|embro)?|dec(?:ember|embre)?"
)
_MONTH = rf"(?P<month>{_NAMES})\.?"
_DAY, _FULL_YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>(?:1[0-9]|20|21)\d\d)"
_DATES = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_FULL_YEAR}-(?P<number>\d\d?)(?:-(?P<day>\d\d?))?",
        rf"{_FULL_YEAR}[/.](?P<number>\d\d?)[/.](?P<day>\d\d?)",
        rf"{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_FULL_YEAR}",
        rf"{_MONTH}\s+{_DAY},?\s+{_FULL_YEAR}",
        rf"{_MONTH},?\s+{_FULL_YEAR}",
        rf"{_FULL_YEAR},?\s+{_MONTH}(?:\s+{_DAY})?",
        rf"{_FULL_YEAR}[a-z]?",
    )
]


# ---- normalising functions -----------------------------------------------------------------------


def _none(text: str) -> str:
    """Return the text unchanged."""
    return text


def _space(text: str) -> str:
    """Collapse white space, and strip it at both ends."""
    return " ".join(text.split())


def _lower(text: str) -> str:
    """Return the text in lower case, without punctuation at both ends.

    Examples
    --------
    >>> _lower(" Apple, ")
    'apple'
    """
    return _punctuation(text).lower()


def _bare(text: str) -> str:
    """Return text without punctuation at both ends, and without enclosing or empty brackets.

    Examples
    --------
    >>> _bare("(1970),"), _bare("13(6),"), _bare("1998),"), _bare("ACM (")
    ('1970', '13(6)', '1998', 'ACM')
    """
    text = _stripped(_space(text))
    for opening, closing in _BRACKETS:
        if opening not in text and closing not in text:
            continue
        text = _stripped(text.removesuffix(opening))
        depth = text[:-1].count(opening) - text[:-1].count(closing)
        if text.endswith(closing) and (depth < 1 or text.startswith(opening)):
            text = _stripped(text[:-1])
        if text.startswith(opening) and text.count(opening) > text.count(closing):
            text = _stripped(text[1:])
    return text


def _stripped(text: str) -> str:
    """Return text without punctuation at both ends, except inch marks.

    Examples
    --------
    >>> _stripped('"13",'), _stripped('Bravia 55",')
    ('13', 'Bravia 55"')
    """
    if text[:1].isalnum() and text[-1:].isalnum():
        return text
    text = text.rstrip(" ,;:")
    inches = _INCHES.search(text) and text.count(text[-1]) == 1
    return text.lstrip(_MARKS) if inches else text.strip(_MARKS)


def _punctuation(text: str) -> str:
    """Return the text without enclosing punctuation, quotes and brackets.

    Examples
    --------
    >>> _punctuation('"The Google File System." ')
    'The Google File System'
    """
    bare = _bare(text)
    if bare.endswith("."):
        bare = _bare(bare.rstrip(". ")) or bare
    return bare or _space(text)


def _after(announced: re.Pattern[str], text: str) -> str:
    """Return a field without punctuation and introductory words."""
    found = _punctuation(text)
    return _punctuation(announced.sub("", found, count=1)) if announced.match(found) else found


def _name(text: str) -> str:
    """Return names of people; the full stops of initials are kept.

    Examples
    --------
    >>> _name("Codd, E. F.,"), _name("Edgar Codd."), _name("Ng, A. et al.")
    ('Codd, E. F.', 'Edgar Codd', 'Ng, A. et al.')
    """
    bare = _bare(text)
    return (_bare(bare.rstrip(". ")) if _WORD_AT_END.search(bare) else bare) or _space(text)


def _editor(text: str) -> str:
    """Return names of editors.

    Examples
    --------
    >>> _editor("In J. Gray (Ed.),"), _editor("edited by Jim Gray,"), _editor("Gray, J., Eds.")
    ('J. Gray', 'Jim Gray', 'Gray, J.')
    """
    found = _name(text)
    return _name(_EDITORS.sub("", _EDITED.sub("", found, count=1))) or found


def _venue(text: str) -> str:
    """Return the name of a book, a journal or a conference, without the "In" before it.

    Examples
    --------
    >>> _venue("In: Proc. VLDB,"), _venue("Information Systems,")
    ('Proc. VLDB', 'Information Systems')
    """
    return _after(_IN, text)


def _pages(text: str) -> str:
    """Return a page range as first-last, with the last page in full.

    Examples
    --------
    >>> _pages("(pp. 1185–92)."), _pages("p. 7"), _pages("A12--A15,"), _pages("Article 5")
    ('1185-1192', '7', 'A12-A15', 'Article 5')
    """
    bare = _after(_PAGES, text)
    found = _RANGE.fullmatch(bare)
    if found is None:
        return bare
    letter, first, other, last = found.groups()
    if not other and len(last) < len(first):
        last = first[: len(first) - len(last)] + last
    return f"{letter}{first}-{other or letter}{last}"


def _volume(text: str) -> str:
    """Return a volume, with the issue if there is one.

    Examples
    --------
    >>> _volume("vol. 13(6),"), _volume("XII.")
    ('13(6)', 'XII')
    """
    return _after(_VOLUME, text)


def _year(text: str) -> str | None:
    """Return the first year in a text, from 1000 to 2199.

    Examples
    --------
    >>> _year("(March 1998a)."), _year("to appear")
    ('1998', None)
    """
    found = _YEAR.search(text)
    return None if found is None else found[0]


def _date(text: str) -> str:
    """Return a date in ISO 8601, as precise as the text.

    What is not certainly one date (03/04/2005, 30 February) only loses the punctuation around it.

    Examples
    --------
    >>> _date("12 March 2005,"), _date("(Sept. 1998)."), _date("(1998a)"), _date("03/04/2005")
    ('2005-03-12', '1998-09', '1998', '03/04/2005')
    """
    bare = _punctuation(text)
    found = next(filter(None, (form.fullmatch(bare) for form in _DATES)), None)
    return bare if found is None else _iso(found.groupdict(), bare)


def _iso(parts: Mapping[str, str | None], bare: str) -> str:
    """Return an ISO date from its parts, or the text if the date is invalid."""
    year, word, number, day = map(parts.get, ("year", "month", "number", "day"))
    month = _MONTHS.index(word[:3].lower()) + 1 if word else int(number or 1)
    try:
        date = datetime.date(int(year or 0), month, int(day or 1))
    except ValueError:
        return bare
    return date.isoformat()[: 10 if day else 7 if word or number else 4]


def _number(text: str) -> str | None:
    """Return the first number in a text, without thousands separators, with a decimal point.

    Where only commas are there, one before three last digits stands between thousands; so do spaces
    where nothing else is there.

    Examples
    --------
    >>> _number("USD 1,234.50"), _number("1.234,5 kg"), _number("2,5"), _number("none")
    ('1234.50', '1234.5', '2.5', None)
    """
    found = _NUMBER.search(text.replace(" ", "") if _SPACED.fullmatch(text) else text)
    if found is None:
        return None
    digits = re.sub(r"['’\u00a0\u202f]", "", found[0].replace("−", "-"))
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma > point and (point >= 0 or (digits.count(",") == 1 and len(digits) - comma != 4)):
        whole, _, part = digits.rpartition(",")
        return re.sub("[.,]", "", whole) + "." + part
    digits = digits.replace(",", "")
    return digits.replace(".", "") if digits.count(".") > 1 else digits


NORMALISERS: dict[str, Normaliser] = {
    "none": _none,
    "space": _space,
    "punctuation": _punctuation,
    "lower": _lower,
    "name": _name,
    "editor": _editor,
    "venue": _venue,
    "pages": _pages,
    "volume": _volume,
    "year": _year,
    "date": _date,
    "number": _number,
}
"""The normalisers of this library by name.

:meta hide-value:
"""

_DEFAULTS = {
    **dict.fromkeys(("author", "name", "person", "people", "creator", "inventor"), "name"),
    **dict.fromkeys(("booktitle", "journal", "venue", "conference", "container"), "venue"),
    **dict.fromkeys(("page", "pages"), "pages"),
    **{name: name for name in ("date", "editor", "volume", "year")},
}


# ---- lookup by name ------------------------------------------------------------------------------


def default_normaliser(label: str) -> str:
    """Return the name of the default normaliser of a label.

    It follows from the name of the label: ``pages`` for the label pages, ``name`` for authors, and
    ``punctuation`` for a label of any other name.

    Parameters
    ----------
    label : str
        The label; case does not matter, nor does an s at its end.

    Examples
    --------
    >>> default_normaliser("Authors"), default_normaliser("year"), default_normaliser("brand")
    ('name', 'year', 'punctuation')
    """
    name = label.strip().lower()
    return _DEFAULTS.get(name) or _DEFAULTS.get(name.removesuffix("s")) or "punctuation"


def normaliser(chosen: str | Normaliser, argument: str = "normaliser") -> Normaliser:
    """Return the normaliser of a name, or a function as it is.

    Parameters
    ----------
    chosen : str or callable
        One of `NORMALISERS`, or a function from the text of a segment to its value.
    argument : str
        Name of the argument, for error messages.

    Examples
    --------
    >>> normaliser("pages")("pp. 29–43.")
    '29-43'
    >>> normaliser("page")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: normaliser: got 'page', expected one of none, space, ...
    """
    if isinstance(chosen, str) and chosen in NORMALISERS:
        return NORMALISERS[chosen]
    if callable(chosen):
        return chosen
    expected = f"one of {', '.join(NORMALISERS)}, or a function"
    raise InvalidInput(message(argument, chosen, expected, "pass one of them"))


def written(chosen: Mapping[str, str | Normaliser]) -> dict[str, str]:
    """Return the normalisers of labels for JSON: a name, or "module:function".

    Examples
    --------
    >>> written({"date": "year"})
    {'date': 'year'}
    """
    own = {id(function): name for name, function in NORMALISERS.items()}
    return {
        label: one if isinstance(one, str) else own.get(id(one)) or function_name(one)
        for label, one in chosen.items()
    }


def read(stored: Any, trust: bool) -> dict[str, str | Normaliser]:
    """Return normalisers from the output of `written`; functions are imported only with trust.

    Examples
    --------
    >>> read({"date": "year"}, trust=False)
    {'date': 'year'}
    """
    if not isinstance(stored, Mapping):
        raise InvalidInput(message("normalisers", stored, "a name for each label", "save it again"))
    out: dict[str, str | Normaliser] = {}
    for label, one in stored.items():
        if isinstance(one, str) and ":" in one:
            out[label] = named_function(one, trust)
            continue
        normaliser(one, f"normalisers[{label!r}]")
        out[label] = one
    return out


def checked(chosen: Any, labels: list[str]) -> dict[str, str | Normaliser]:
    """Return normalisers by label, or raise for an invalid one or an unknown label.

    Examples
    --------
    >>> checked({"date": "year"}, ["date", "title"])
    {'date': 'year'}
    """
    if not isinstance(chosen, Mapping):
        remedy = "pass {'date': 'year'}"
        raise InvalidInput(message("normalisers", chosen, "a dict from label to name", remedy))
    for label, one in chosen.items():
        if label not in labels:
            expected = f"labels of the model, which are {', '.join(labels)}"
            raise InvalidInput(message("normalisers", label, expected, "correct the label"))
        normaliser(one, f"normalisers[{label!r}]")
        if not isinstance(one, str):
            remember(one)
    return dict(chosen)
