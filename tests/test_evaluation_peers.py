"""Scores of 1,000 random files with ill-formed tags, as seqeval and conlleval give them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import seqeval.metrics as peer
from seqeval.metrics import accuracy_score
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support
from seqeval.metrics.v1 import precision_recall_fscore_support as strict_scores
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2
from seqeval_gaps import missed_by_seqeval

from caesura.compat import metrics, seqeval
from caesura.corpora import read_conlleval
from caesura.errors import InvalidInput
from caesura.evaluation import Report, evaluate, evaluate_side_by_side, evaluate_tags

FILES = 1000
LETTERS = {
    "BIO": "BI",
    "IOB1": "BI",
    "IOE1": "IE",
    "IOE2": "IE",
    "IO": "I",
    "BIOES": "BIES",
    "BILOU": "BILU",
}
STRICT = {"BIO": IOB2, "IOB1": IOB1, "IOE1": IOE1, "IOE2": IOE2, "BIOES": IOBES, "BILOU": BILOU}
LABELS = ["PER", "LOC", "B-cell"]
Sides = tuple[list[list[str]], list[list[str]]]  # gold and predicted tags


# ---- files ------------------------------------------------------------------------------------


class Written(NamedTuple):
    """A file, and the tags in it."""

    scheme: str
    lines: list[str]
    separator: str
    gold: list[list[str]]
    predicted: list[list[str]]


def drawn_tags(rng: random.Random, letters: str, length: int) -> list[str]:
    """Return tags, well formed or not."""
    tags: list[str] = []
    for _ in range(length):
        if tags and rng.random() < 0.3:
            tags.append(tags[-1])
        else:
            tag = f"{rng.choice(letters)}-{rng.choice(LABELS)}"
            tags.append("O" if rng.random() < 0.3 else tag)
    return tags


def written(seed: int) -> Written:
    """Return a random file as conlleval takes it."""
    rng = random.Random(seed)
    scheme = list(LETTERS)[seed % len(LETTERS)]
    separator = rng.choice([" ", "\t"])
    others = [f"c{k}" for k in range(rng.randint(0, 2))]
    start = separator.join(["-DOCSTART-", *others, "O", "O"])
    lines: list[str] = [start, ""] if rng.random() < 0.2 else []
    gold: list[list[str]] = []
    predicted: list[list[str]] = []
    for _ in range(rng.randint(1, 5)):
        length = rng.randint(1, 7)
        right = drawn_tags(rng, LETTERS[scheme], length)
        guess = drawn_tags(rng, LETTERS[scheme], length)
        guess = [a if rng.random() < 0.6 else b for a, b in zip(right, guess, strict=True)]
        gold.append(right)
        predicted.append(guess)
        for t, tags in enumerate(zip(right, guess, strict=True)):
            lines.append(separator.join([f"w{t}", *others, *tags]))
        boundary = separator.join(["-X-", *others, "O", "O"])
        lines += rng.choice([[""], ["", ""], [boundary], ["", start, ""]])
    return Written(scheme, lines, separator, gold, predicted)


# ---- conlleval, from its definition ------------------------------------------------------------


class Counts(NamedTuple):
    """What conlleval counts."""

    tokens: int
    equal_tags: int
    gold: Counter[str]
    predicted: Counter[str]
    correct: Counter[str]


def parted(tag: str) -> tuple[str, str]:
    letter, _, kind = tag.partition("-")
    return letter, kind


def chunk_ends(before: tuple[str, str], now: tuple[str, str]) -> bool:
    """Say whether a chunk ended between two words: the table of letters, or a change of type."""
    pairs = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
    return before[0] + now[0] in pairs or (before[0] not in "O." and before[1] != now[1])


def chunk_starts(before: tuple[str, str], now: tuple[str, str]) -> bool:
    """Say whether a chunk started between two words."""
    pairs = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
    return before[0] + now[0] in pairs or (now[0] not in "O." and before[1] != now[1])


def conlleval(lines: Iterable[str], separator: str) -> Counts:
    """Count line by line, as conlleval does for the schemes with the letters B, I, O and E.

    A chunk is right if both sides started it at one word with one type, and ended it at one word.
    """
    tokens = equal_tags = 0
    gold, predicted, correct = Counter[str](), Counter[str](), Counter[str]()
    last_right = last_guess = ("O", "")
    both = False  # a chunk that has been right so far
    for line in [*lines, ""]:
        fields = line.split(separator) if line else []
        apart = not fields or fields[0] == "-X-"
        right, guess = (("O", ""), ("O", "")) if apart else map(parted, fields[-2:])
        ended = chunk_ends(last_right, right), chunk_ends(last_guess, guess)
        if both and all(ended) and last_right[1] == last_guess[1]:
            correct[last_right[1]] += 1
            both = False
        elif both and (ended[0] != ended[1] or right[1] != guess[1]):
            both = False
        started = chunk_starts(last_right, right), chunk_starts(last_guess, guess)
        both = both or (all(started) and right[1] == guess[1])
        gold[right[1]] += started[0]
        predicted[guess[1]] += started[1]
        if not apart:
            tokens += 1
            equal_tags += right == guess
        last_right, last_guess = right, guess
    return Counts(tokens, equal_tags, +gold, +predicted, correct)


def same_as_conlleval(report: Report, counts: Counts) -> None:
    ours = {label: tuple(score) for label, score in report.labels.items()}
    kinds = counts.gold.keys() | counts.predicted.keys()
    theirs = {k: (counts.gold[k], counts.predicted[k], counts.correct[k]) for k in kinds}
    assert ours == theirs
    assert report.tags == (counts.tokens, counts.equal_tags)


# ---- seqeval ----------------------------------------------------------------------------------


def same_as_seqeval(report: Report, sides: Sides, beta: float, scheme: Any = None) -> None:
    """Compare precision, recall, F-beta and support: of each label, micro, macro and weighted."""
    options: dict[str, Any] = {"beta": beta, "zero_division": 0}

    def theirs(average: str | None) -> Any:
        if scheme is None:
            return precision_recall_fscore_support(*sides, average=average, **options)
        return strict_scores(*sides, average=average, scheme=scheme, **options)

    each = [(s.precision, s.recall, s.f_beta(beta), s.gold) for s in report.labels.values()]
    assert np.allclose(np.array(each).T, theirs(None)) if each else not len(theirs(None)[3])
    for average in ("micro", "macro", "weighted") if each else ("micro",):
        ours = getattr(report, average)
        figures = ours.precision, ours.recall, report.f_beta(average), report.micro.gold
        assert figures == pytest.approx(theirs(average)), average


# ---- all of them ------------------------------------------------------------------------------


def test_a_thousand_files_score_as_seqeval_and_conlleval_do(tmp_path: Path) -> None:
    """The file is read and scored; then its tags, as Python has them."""
    path, compared = tmp_path / "output.txt", Counter[str]()
    for seed in range(FILES):
        file = written(seed)
        path.write_text("\n".join(file.lines) + "\n")
        sides, beta = (file.gold, file.predicted), random.Random(seed).choice([0.5, 1.0, 2.0])
        lenient = evaluate_side_by_side(
            read_conlleval(path, file.scheme, repair="repair"), beta=beta
        )
        found = evaluate_side_by_side(read_conlleval(path, repair="repair"), beta=beta)
        assert (found.labels, found.tags) == (lenient.labels, lenient.tags)  # whatever the scheme
        if {*LETTERS[file.scheme]} <= {*"BIE"}:
            same_as_conlleval(lenient, conlleval(file.lines, file.separator))
            compared["conlleval"] += 1
        if file.scheme != "BILOU":  # of which its default mode knows nothing
            same_as_seqeval(lenient, sides, beta)
            compared["seqeval"] += 1
        tags = evaluate_tags(*sides, file.scheme, repair="repair", beta=beta)
        assert tags.tags is not None
        assert tags.labels == lenient.labels
        assert tags.tags.value == pytest.approx(accuracy_score(*sides))
        unlike = any(missed_by_seqeval(one, file.scheme) for side in sides for one in side)
        if file.scheme in STRICT and not unlike:
            strict = read_conlleval(path, file.scheme, repair="drop")
            report = evaluate_side_by_side(strict, beta=beta)
            same_as_seqeval(report, sides, beta, STRICT[file.scheme])
            compared["strict " + file.scheme] += 1
    assert compared["conlleval"] > 700
    assert compared["seqeval"] > 800
    assert min(compared["strict " + scheme] for scheme in STRICT) > 20


@pytest.mark.parametrize("mode", [None, "strict"])
def test_the_metrics_of_seqeval_under_their_names(mode: str | None) -> None:
    """Files in six schemes: all scores, all averages, and the report as text and as a dict."""
    compared = 0
    for seed in range(200):
        file = written(seed)
        tags = [*file.gold, *file.predicted]
        unlike = mode is not None and any(missed_by_seqeval(one, file.scheme) for one in tags)
        if file.scheme not in STRICT or (mode is None and file.scheme == "BILOU"):
            continue
        scheme = None if mode is None else STRICT[file.scheme]
        options: dict[str, Any] = {"mode": mode, "scheme": scheme, "zero_division": seed % 2}
        each = peer.f1_score(file.gold, file.predicted, average=None, **options)
        if unlike or not len(each):  # the mean of nothing is NaN there
            continue
        compared += 1
        for name in ("precision_score", "recall_score", "f1_score", "accuracy_score"):
            ours, theirs = (getattr(m, name) for m in (metrics, peer))
            if name == "accuracy_score":
                assert ours(file.gold, file.predicted) == theirs(file.gold, file.predicted)
                continue
            for average in (None, "micro", "macro", "weighted"):
                one, two = (
                    f(file.gold, file.predicted, average=average, **options) for f in (ours, theirs)
                )
                assert np.allclose(one, two), (name, average, file)
        for form in ({"output_dict": True}, {"digits": 3}):
            one, two = (
                m.classification_report(file.gold, file.predicted, **options, **form)
                for m in (metrics, peer)
            )
            if isinstance(two, dict):
                assert one.keys() == two.keys()
                assert all(one[name] == pytest.approx(row) for name, row in two.items())
            else:
                assert one == two
    assert compared > 90


def test_tags_with_their_letters_last_as_seqeval() -> None:
    """The labels may have hyphens; bare letters have the label _."""
    gold = [["PER-B", "PER-I", "O", "B-cell-I"], ["B", "I", "O"]]
    found = [["PER-B", "PER-I", "O", "B-cell-B"], ["I", "I", "O"]]
    ours = seqeval.precision_recall_fscore_support(gold, found, suffix=True)
    assert np.allclose(ours, precision_recall_fscore_support(gold, found, suffix=True))
    assert seqeval.f1_score(gold, found, suffix=True) == 1
    assert seqeval.f1_score(gold, found, suffix=True, labels=["PER"]) == 1
    assert seqeval.fbeta_score(gold, found, suffix=True, beta=2) == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"average": "mean"}, "average: got 'mean', expected None or 'micro' or 'macro' or"),
        ({"mode": "lenient"}, "mode: got 'lenient', expected None or 'strict'"),
        ({"zero_division": 2}, "zero_division: got 2, expected 'warn' or 0 or 1"),
        ({"beta": -1}, "beta: got -1, expected a number above 0"),
        ({"schema": 1}, "options: got 'schema', expected one of average, suffix, mode"),
        ({"mode": "strict", "scheme": "IOB"}, "scheme: got 'IOB', expected plain, BIO"),
    ],
)
def test_wrong_options_of_the_metrics(options: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match="^" + text):
        seqeval.precision_recall_fscore_support([["O"]], [["O"]], **options)


def test_a_subset_of_labels() -> None:
    """The figures of each label stay; the averages are over the labels that are named."""
    files = [written(seed) for seed in range(0, 70, len(LETTERS))]
    sides = [tags for f in files for tags in f.gold], [tags for f in files for tags in f.predicted]
    whole = evaluate_tags(*sides, "BIO", repair="repair", beta=2)
    some = evaluate_tags(*sides, "BIO", repair="repair", beta=2, labels=["PER", "LOC"])
    assert some.labels == {label: whole.labels[label] for label in ("LOC", "PER")}
    counts = np.array(list(some.labels.values()))
    assert tuple(some.micro) == tuple(counts.sum(axis=0))
    figures = [score.f_beta(2) for score in some.labels.values()]
    assert some.f_beta("macro") == pytest.approx(np.mean(figures))
    assert some.f_beta("weighted") == pytest.approx(np.average(figures, weights=counts[:, 0]))
    assert some.tags == whole.tags
    assert some.sequences_correct >= whole.sequences_correct


@pytest.mark.parametrize("beta", [0, -1, float("nan"), float("inf"), "2", True])
def test_beta_is_above_0(beta: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^beta: got .*, expected a number above 0; pass 1 for"):
        evaluate([[]], [[]], beta=beta)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["PRE"], "labels: got 'PRE', expected a label of .*: LOC, PER; did you mean 'PER'"),
        (["x"], "labels: got 'x', expected a label of .*: LOC, PER; name one of them"),
        ("PER", r"labels: got 'PER', expected a list of labels; pass \['PER'\]"),
    ],
)
def test_labels_that_do_not_occur(labels: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match="^" + text):
        evaluate([[(0, 1, "PER")]], [[(0, 1, "LOC")]], labels=labels)


@pytest.mark.parametrize(
    ("gold", "predicted", "text"),
    [
        ("B-X", ["B-X"], "gold: got 'B-X', expected a list with the tags of each sequence"),
        (["B-X"], [["B-X"]], r"gold\[0\]: got 'B-X', expected a list of tags"),
        ([["O"], ["O"]], [["O"]], "predicted: got 1 sequence, expected 2"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], r"predicted\[1\]: got 1 tag, expected 2, as many"),
        ([["B-X"]], [["I-X"]], r"predicted\[0\]\[0\]: got 'I-X', expected 'B-X'.*repair='repair'"),
        (
            [["B-X", "I-X"]],
            [["B-X", "L-X"]],
            r"gold\[0\]\[1\]: got 'I-X', expected 'L-X', as BILOU",
        ),
        (
            [["B-X", "Y"]],
            [["O", "O"]],
            r"gold: got 'B-X' \(sequence 1\) and 'Y'",
        ),
    ],
)
def test_wrong_tags_are_named(gold: Any, predicted: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match="^" + text):
        evaluate_tags(gold, predicted)


def test_unknown_scheme_and_repair() -> None:
    with pytest.raises(InvalidInput, match=r"^scheme: got 'IOB', expected plain, BIO"):
        evaluate_tags([["O"]], [["O"]], "IOB")
    with pytest.raises(InvalidInput, match=r"^repair: got 'fix', expected 'error', 'repair' or"):
        evaluate_tags([["O"]], [["O"]], repair="fix")  # type: ignore[arg-type]


# ---- files that cannot be read ----------------------------------------------------------------


def read(tmp_path: Path, text: str, **options: Any) -> Any:
    path = tmp_path / "output.txt"
    path.write_text(text)
    return read_conlleval(path, **options)


@pytest.mark.parametrize(
    ("text", "options", "wrong"),
    [
        ("a O\n", {}, "line 1: got 2 fields, expected at least 3: the token, the gold tag and the"),
        ("a\n", {}, "line 1: got 1 field, expected at least 3"),
        ("a B-X B-X\nb O\n", {}, "line 2: got 2 fields, expected 3, as on line 1"),
        ("a B-X B-X\n\nb B-X I-X\n", {}, "line 3: predicted tag: got 'I-X', expected 'B-X'"),
        ("a I-X B-X\nb B-X B-X\nc O B-X\nd B-X O\n", {}, "line 1: gold tag: got 'I-X'"),
        (
            "a B-X Q-X\n",
            {},
            "tags: got 'B-X' (line 1) and 'Q-X' (line 1), expected tags of one scheme",
        ),
        ("a B-X E-X\n", {"scheme": "BIO"}, "line 1: predicted tag: got 'E-X', expected O, or B, I"),
        ("a O O\n", {"scheme": "IOB"}, "scheme: got 'IOB', expected plain"),
        ("a O O\n", {"repair": "fix"}, "repair: got 'fix', expected 'error', 'repair' or 'drop'"),
        ("a O O\n", {"columns": ["token", "tag"]}, "columns: got ['token', 'tag'], expected"),
        ("a O O\n", {"separator": "\t"}, "line 1: got 1 field, expected at least 3"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, text: str, options: Any, wrong: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, text, **options)
    assert wrong in str(caught.value)


def test_skipped_sequences_are_left_out_on_both_sides(tmp_path: Path) -> None:
    text = "a B-X B-X\n\nb B-X I-X\n\nc I-X\n\nd O B-X\n"
    found = read(tmp_path, text, on_error="skip")
    assert [document.tokens for document in found.documents] == [("a",), ("d",)]
    assert found.predicted == [[(0, 1, "X")], [(0, 1, "X")]]
    assert (found.tags, found.equal_tags) == (2, 1)
    assert [note.partition(": ")[0][-6:] for note in found.notes.skipped] == ["line 3", "line 5"]


def test_columns_may_be_named(tmp_path: Path) -> None:
    found = read(tmp_path, "B-X O\nI-X B-X\n", columns=["gold", "predicted"])
    assert found.documents[0].tokens == ("1", "2")
    assert found.documents[0].segments == ((0, 2, "X"),)
    columns = ["predicted", None, "gold", "token"]
    found = read(tmp_path, "O x B-X Ann\nB-X x I-X Lee\n", columns=columns)
    assert (found.documents[0].tokens, found.predicted) == (("Ann", "Lee"), [[(1, 2, "X")]])


def test_a_report_with_beta_and_tags_is_read_back() -> None:
    report = evaluate_tags([["B-X", "O"]], [["B-X", "B-X"]], beta=0.5)
    assert Report.from_json(report.to_json()) == report
    old = json.loads(report.to_json())
    for name in ("beta", "tags", "weighted"):
        del old[name]
    assert Report.from_json(json.dumps(old)) == report._replace(beta=1.0, tags=None)
    assert "F0.5" in str(report)
    assert "1 of 2 tags equal as written: 0.500" in str(report)
