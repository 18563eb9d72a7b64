"""Generated sentences with chunks and parts of speech."""

from __future__ import annotations

import random

from caesura.demo.templates import check, filled, pieces
from caesura.documents import Document
from caesura.segments import Segment

__all__ = ["chunks"]

_LISTS = {
    "sentence": (
        *("{clause} ./.",) * 3,
        "{clause} {pp} ./.",
        "{pp} ,/, {clause} ./.",
        "{clause} and/CC {clause} ./.",
        "[SBAR {sub}] {clause} ,/, {clause} ./.",
        "{who} [VP {said}] [SBAR that/IN] {clause} ./.",
        "[ADVP {early}] ,/, {clause} ./.",
        "{clause} [SBAR {sub}] {clause} ./.",
    ),
    "clause": (
        *("{who} {vp} {np}",) * 3,
        *("{who} {vp} {np} {pp}",) * 2,
        "{who} {go} {pp}",
        "{who} {go} {pp} {pp}",
        "{who} {be} [ADJP {adjp}]",
        "{np} {pp} {vp} {np}",
        "{who} {vp} {np} [ADVP {late}]",
        "{who} {go}",
    ),
    "pp": ("[PP {in}] {np}", "[PP {in}] {np}", "[PP {in}] {np} [PP of/IN] {np}"),
    "np": (
        *("[NP {det} {noun}]", "[NP {det} {noun}]", "[NP {det} {adj} {noun}]", "[NP {names}]"),
        *("[NP {adj} {plural}]", "[NP {plural}]", "[NP {det} {noun} {noun}]"),
        *(
            "[NP {number} {plural}]",
            "[NP {det} {degree} {adj} {noun}]",
            "[NP {number} {adj} {plural}]",
        ),
        *("[NP {det} {adj} {adj} {noun}]", "[NP {det} {noun}] [NP 's/POS {noun}]"),
        "[NP {det} {noun} and/CC {noun}]",
    ),
    "who": ("{np}", "{np}", "[NP {pronoun}]"),
    "vp": (
        *("[VP {past}]", "[VP {past}]", "[VP {modal} {base}]", "[VP {modal} {adverb} {base}]"),
        *("[VP had/VBD {done}]", "[VP had/VBD not/RB {done}]", "[VP {want} to/TO {base}]"),
        *("[VP kept/VBD {ing}]", "[VP {adverb} {past}]", "[VP had/VBD been/VBN {done}] [PP by/IN]"),
    ),
    "go": ("[VP {went}]", "[VP {modal} {come}]", "[VP had/VBD {gone}]", "[VP {adverb} {went}]"),
    "be": ("[VP became/VBD]", "[VP seemed/VBD]", "[VP {modal} be/VB]", "[VP had/VBD been/VBN]"),
    "adjp": ("{adj}", "{degree} {adj}", "too/RB {adj}", "{adj} and/CC {adj}"),
    "det": (
        "the/DT",
        "the/DT",
        "each/DT",
        "this/DT",
        "every/DT",
        "her/PRP$",
        "their/PRP$",
        "no/DT",
    ),
    "noun": (
        *("report/NN", "market/NN", "company/NN", "river/NN", "engine/NN", "price/NN", "plan/NN"),
        *("teacher/NN", "bank/NN", "letter/NN", "garden/NN", "ship/NN", "court/NN", "oil/NN"),
        *("train/NN", "paper/NN", "winter/NN", "loss/NN", "school/NN", "trading/NN", "cut/NN"),
    ),
    "plural": (
        *("shares/NNS", "workers/NNS", "reports/NNS", "prices/NNS", "trees/NNS", "banks/NNS"),
        *("plans/NNS", "children/NNS", "analysts/NNS", "ships/NNS", "losses/NNS", "rules/NNS"),
    ),
    "adj": (
        *("new/JJ", "large/JJ", "old/JJ", "quiet/JJ", "annual/JJ", "foreign/JJ", "early/JJ"),
        *("green/JJ", "heavy/JJ", "sharp/JJ", "falling/VBG", "proposed/VBN", "better/JJR"),
    ),
    "adverb": ("quickly/RB", "still/RB", "also/RB", "hardly/RB", "sharply/RB"),
    "degree": ("very/RB", "rather/RB", "quite/RB"),
    "names": ("{name}", "{name} {name}", "{title} {name}"),
    "name": ("Mercer/NNP", "Lund/NNP", "Paris/NNP", "Harlan/NNP", "Novak/NNP", "Tamsin/NNP"),
    "title": ("Mr./NNP", "Mrs./NNP", "Judge/NNP"),
    "pronoun": ("it/PRP", "they/PRP", "she/PRP", "he/PRP", "we/PRP"),
    "number": ("two/CD", "40/CD", "ten/CD", "1.5/CD million/CD", "300/CD"),
    "past": ("bought/VBD", "cut/VBD", "sold/VBD", "read/VBD", "reported/VBD", "closed/VBD"),
    "done": ("bought/VBN", "cut/VBN", "sold/VBN", "read/VBN", "reported/VBN", "closed/VBN"),
    "base": ("buy/VB", "cut/VB", "sell/VB", "read/VB", "report/VB", "close/VB", "plan/VB"),
    "ing": ("buying/VBG", "cutting/VBG", "selling/VBG", "reading/VBG", "closing/VBG"),
    "want": ("wanted/VBD", "planned/VBD", "hoped/VBD", "began/VBD", "refused/VBD"),
    "modal": ("will/MD", "may/MD", "could/MD", "must/MD"),
    "went": ("fell/VBD", "rose/VBD", "stayed/VBD", "grew/VBD", "waited/VBD"),
    "come": ("fall/VB", "rise/VB", "stay/VB", "grow/VB", "wait/VB"),
    "gone": ("fallen/VBN", "risen/VBN", "stayed/VBN", "grown/VBN"),
    "said": ("said/VBD", "thought/VBD", "believed/VBD", "added/VBD"),
    "in": ("in/IN", "on/IN", "with/IN", "from/IN", "after/IN", "before/IN", "near/IN"),
    "sub": ("because/IN", "after/IN", "before/IN", "while/IN", "if/IN", "although/IN"),
    "early": ("meanwhile/RB", "still/RB", "yesterday/NN", "however/RB"),
    "late": ("again/RB", "too/RB", "quickly/RB", "once/RB more/RBR", "very/RB early/RB"),
}


def chunks(n: int, seed: int = 0) -> list[Document]:
    """Generate sentences with parts of speech, each with its tokens and its chunks.

    Parameters
    ----------
    n : int
        Number of documents.
    seed : int
        The same seed gives the same sentences.

    Returns
    -------
    list of Document
        Their column is pos, with the tags of the Penn Treebank; their labels are NP, VP, PP, ADJP,
        ADVP and SBAR. Marks and some conjunctions are outside.

    Examples
    --------
    >>> document = chunks(1, seed=5)[0]
    >>> for start, end, label in document.segments:
    ...     print(label, *document.tokens[start:end])
    NP every very large garden
    VP may hardly read
    NP Mercer Lund
    >>> document.columns["pos"][:3]
    ('DT', 'RB', 'JJ')
    """
    check(n, seed)
    draw = random.Random(f"chunks {seed}")
    return [_document(filled("{sentence}", _LISTS, draw)) for _ in range(n)]


def _document(template: str) -> Document:
    tokens: list[str] = []
    tags: list[str] = []
    segments: list[Segment] = []
    for label, piece in pieces(template):
        words = [word.rsplit("/", 1) for word in piece.split()]
        if label is not None:
            segments.append(Segment(len(tokens), len(tokens) + len(words), label))
        tokens += [word for word, _ in words]
        tags += [tag for _, tag in words]
    return Document(tuple(tokens), columns={"pos": tags}, segments=tuple(segments))
