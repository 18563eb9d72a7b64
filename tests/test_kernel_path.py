"""From text to answers, Python runs for batches, not for texts and not for tokens."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from test_text import EVERY

from caesura import ChainCRF, SemiCRF
from caesura.demo import addresses
from caesura.documents import Document
from caesura.encoding import Encoder
from caesura.features import enclosing, place_in, preset, word
from caesura.features.compiled import compiled
from caesura.features.enclosing import EnclosingColumn
from caesura.features.reference import rows
from caesura.features.templates import Template

LINEAR, BACKTRACKING = {"regex": r"\w+|[^\w\s]"}, {"regex": r"(?=\w)\w+|[^\w\s]"}
GENERATED = addresses(300, seed=5)
QUESTIONS: list[Callable[[Any, list[str]], Any]] = [
    lambda model, X: model.predict(X),
    lambda model, X: model.predict_tags(X, scheme=None) if isinstance(model, ChainCRF) else None,
    lambda model, X: model.predict(X, {"at_most_once": ["zip"]}),
    lambda model, X: model.predict_confident(X),
    lambda model, X: model.predict_n_best(X, 2),
    lambda model, X: model.sample(X, 2, seed=1),
]


def fitted(kind: type[Any], tokeniser: Any, tokens: str) -> Any:
    """Return a model of addresses, fitted briefly."""
    X, y = [], []
    for one in GENERATED[:100]:
        document = Document.from_text(one.text or "", tokeniser)
        at, segments = one.offsets or (), one.segments or ()
        spans = [(at[s.start][0], at[s.end - 1][1], s) for s in segments]
        inside = [
            [t for t, (a, b) in enumerate(document.offsets or ()) if start <= a and b <= end]
            for start, end, _ in spans
        ]
        X.append(document)
        y.append([(t[0], t[-1] + 1, s.label) for t, (_, _, s) in zip(inside, spans, strict=True)])
    features = preset("addresses", tokens=tokens, segments=kind is SemiCRF)
    return kind(features, tokeniser=tokeniser, max_iterations=3, n_threads=1).fit(X, y)


def calls(question: Callable[[], Any]) -> Counter[str]:
    """Count the calls of Python functions, and those that Python makes of others."""
    found: Counter[str] = Counter()

    def count(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found[frame.f_code.co_name] += 1
        elif event == "c_call":
            found[getattr(argument, "__name__", "")] += 1

    before = sys.getprofile()
    gc.disable()  # others' callbacks on collections are not ours
    sys.setprofile(count)
    try:
        question()
    finally:
        sys.setprofile(before)
        gc.enable()
    return found


@pytest.mark.parametrize(
    ("kind", "tokeniser", "tokens"),
    [
        (ChainCRF, "words", "words"),
        (ChainCRF, "characters", "characters"),
        (SemiCRF, "characters", "characters"),
        (ChainCRF, LINEAR, "words"),
        (ChainCRF, BACKTRACKING, "words"),
    ],
)
def test_python_calls_do_not_grow_with_texts(kind: Any, tokeniser: Any, tokens: str) -> None:
    """Twice as many texts take as many calls, but for one `finditer` each where `re` must cut."""
    model = fitted(kind, tokeniser, tokens)
    texts = [one.text or "" for one in GENERATED[100:]]
    assert len(texts) == 200
    for ask in QUESTIONS:
        ask(model, texts)
        few, many = (calls(partial(ask, model, texts[:n])) for n in (100, 200))
        more = {name: count - few[name] for name, count in many.items() if count != few[name]}
        allowed = {"_matches": 100, "finditer": 100} if tokeniser == BACKTRACKING else {}
        assert more == (allowed if few else {})


def test_new_words_take_no_python() -> None:
    """Nor do tokens that were never seen: twice as many take as many calls."""
    model = fitted(SemiCRF, "characters", "characters")
    texts = [f"{n} Xy{n}z Lane{n % 7}, Abc{n * 13}" for n in range(600)]
    model.predict(texts[:1])
    few, many = (calls(partial(model.predict, some)) for some in (texts[:200], texts[200:]))
    assert many == few


def test_character_presets_are_compiled() -> None:
    for name in ("citations", "addresses", "ner", "generic"):
        for feature in preset(name, segments=True, tokens="characters"):
            for column, _ in feature.parts if isinstance(feature, Template) else ():
                seen = column.column if isinstance(column, EnclosingColumn) else column
                assert not seen.per_word or compiled(seen) is not None, column


@pytest.mark.parametrize("tokeniser", ["characters", BACKTRACKING])
def test_words_around_many_characters(tokeniser: Any) -> None:
    """The kernels' words and places are those of the definition, at characters of all kinds."""
    features = [enclosing(word)[0] & place_in("parts")[0], enclosing(word, 1, "parts", "first")[0]]
    some = [*EVERY[:0x250], *EVERY[0x250::29]]
    texts = [" ".join(f"a{c}1{c}" for c in some[k : k + 20]) for k in range(0, len(some), 20)]
    encoder = Encoder(features)
    encoder.encode_texts(texts, tokeniser, grow=True)
    documents = [Document.from_text(text, tokeniser) for text in texts]
    said = {row.attribute for one in documents for row in rows(one, features)}
    assert set(encoder.names(range(len(encoder)))) == said
