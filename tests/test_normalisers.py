"""Normalisers: what each makes of the text of a field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caesura import InvalidInput
from caesura.normalisers import NORMALISERS, default_normaliser, normaliser


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("none", " (a). ", " (a). "),
        ("space", " a\n b\t", "a b"),
        ("punctuation", "“Animal Farm”.", "Animal Farm"),
        ("punctuation", 'The Google File System."', "The Google File System"),
        ("punctuation", 'Bravia 55",', 'Bravia 55"'),
        ("punctuation", "f(x)", "f(x)"),
        ("punctuation", "...", "..."),
        ("punctuation", "", ""),
        ("lower", "APPLE,", "apple"),
        ("name", "Codd, E. F.,", "Codd, E. F."),
        ("name", "Noam Chomsky.", "Noam Chomsky"),
        ("name", "Ng, A. et al.", "Ng, A. et al."),
        ("editor", "in: B. Meltzer, D. Michie (Eds.),", "B. Meltzer, D. Michie"),
        ("editor", "ed. Raymond E. Miller", "Raymond E. Miller"),
        ("venue", "In: Proc. VLDB,", "Proc. VLDB"),
        ("venue", "Information Systems", "Information Systems"),
        ("pages", "pp. 1185–1192.", "1185-1192"),
        ("pages", "1185--92,", "1185-1192"),
        ("pages", "(p. 7)", "7"),
        ("pages", "e124", "e124"),
        ("pages", "A12–5", "A12-A15"),
        ("volume", "Vol. 13(6),", "13(6)"),
        ("year", "(March 1998a).", "1998"),
        ("year", "no. 12345", None),
        ("date", "12 March 2005", "2005-03-12"),
        ("date", "March 3rd, 2005.", "2005-03-03"),
        ("date", "2005-3-9", "2005-03-09"),
        ("date", "2005, November", "2005-11"),
        ("date", "45 March 2005", "45 March 2005"),
        ("date", "03/04/2005", "03/04/2005"),
        ("date", "Marina 2005", "Marina 2005"),
        ("date", "Junk 2004", "Junk 2004"),
        ("date", "2005 Decision", "2005 Decision"),
        ("date", "Marketing 12, 2005", "Marketing 12, 2005"),
        ("date", "30 February 2001", "30 February 2001"),
        ("date", "29 Febr. 2000", "2000-02-29"),
        ("date", "2001-04-31", "2001-04-31"),
        ("date", "2001/2/29", "2001/2/29"),
        ("date", "1 noviembre 1999", "1999-11-01"),
        ("date", "Sept 1999", "1999-09"),
        ("venue", "In Silico Biology", "In Silico Biology"),
        ("venue", "In: In vitro", "In vitro"),
        ("venue", "in Situations", "Situations"),
        ("number", "ISO-9000", "9000"),
        ("number", "$ 1 234.50", "1234.50"),
        ("number", "-1 234", "-1234"),
        ("number", "5 100 ml", "5"),
        ("number", "EUR 1.234,50", "1234.50"),
        ("number", "1,234", "1234"),
        ("number", "1,234,567", "1234567"),
        ("number", "−3.5", "-3.5"),
        ("number", "none", None),
    ],
)
def test_normalisers(name: str, text: str, value: str | None) -> None:
    assert normaliser(name)(text) == value


@given(st.sampled_from(sorted(NORMALISERS)), st.text())
def test_normalisers_take_any_text_and_repeat(name: str, text: str) -> None:
    value = NORMALISERS[name](text)
    assert value is None or isinstance(value, str)
    if name not in ("none", "year", "number") and text.strip():
        assert value  # a field never becomes empty
    if name in ("year", "number", "space") and value is not None:
        assert NORMALISERS[name](value) == value


def test_labels_have_a_default() -> None:
    found = [default_normaliser(one) for one in ("Author", "editors", "PAGES", "number", "colour")]
    assert found == ["name", "editor", "pages", "punctuation", "punctuation"]


@pytest.mark.parametrize("wrong", ["page", 3, None])
def test_an_unknown_name_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput, match=r"expected one of none, space, .* or a function"):
        normaliser(wrong)  # type: ignore[arg-type]
