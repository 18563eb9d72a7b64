"""The evaluation report as one self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

from caesura.checks import whole
from caesura.documents import Document
from caesura.errors import InvalidInput, counted, message
from caesura.evaluation.calibration import Reliability, reliability
from caesura.evaluation.drawings import STYLE, diagram, heat_map
from caesura.evaluation.error_analysis import (
    Errors,
    Kind,
    Match,
    confusion_of,
    kinds_of,
    matched,
    worst_first,
)
from caesura.evaluation.input_checks import Pair, Sequences, checked, listed, same_number, tokens_of
from caesura.evaluation.overlap import WAYS_OF_MATCHING, partials_of
from caesura.evaluation.report import Report, evaluate
from caesura.evaluation.scores import Share
from caesura.notebooks import bar, table, written
from caesura.render import Written, html

__all__ = ["html_report"]

CONFIDENCE = 0.95
TITLE = "Evaluation"
Chances = list[list[float]]  # probabilities of the predicted segments of each sequence


class _Material(NamedTuple):
    """The content of the page."""

    tokens: list[tuple[str, ...]]
    texts: list[Written | None]  # the original texts and the positions of their tokens
    pairs: list[Pair]
    matches: list[list[Match]]
    probabilities: Chances | None
    outside: str


def html_report(
    documents: Iterable[Any],
    gold: Sequences,
    predicted: Sequences,
    *,
    probabilities: Iterable[Iterable[float]] | None = None,
    vocabulary: Collection[str] | None = None,
    title: str = TITLE,
    worst: int = 20,
    outside: str = "O",
    beta: float = 1.0,
    tags: Share | None = None,
) -> str:
    """Return an HTML page with scores, error analysis, calibration and the worst sequences.

    The page needs nothing else: no script, no network, no other file. It follows the reader's
    choice of light or dark.

    Parameters
    ----------
    documents : iterable of (list of str, or Document)
        The tokens of each sequence; of a Document with a text, the text is shown.
    gold, predicted : iterable of iterable of (start, end, label)
        The segments of each sequence.
    probabilities : iterable of iterable of float, optional
        One for each predicted segment; then there is a reliability diagram.
    vocabulary : collection of str, optional
        The words seen in training, as for `evaluate`.
    title : str
        The title of the page.
    worst : int
        Number of sequences to show, those with the most errors first.
    outside : str
        The label of text outside any segment, which does not count.
    beta : float
        Weight of recall, as in `evaluate`: F-beta is shown beside F1 unless it is 1.
    tags : Share, optional
        Number of tags that equal the gold tags as written, as in a report of `evaluate_tags`.

    Returns
    -------
    str
        The page; write it to a file as UTF-8.

    Examples
    --------
    >>> page = html_report([["<Ann>", "sings"]], [[(0, 1, "PER")]], [[(0, 1, "LOC")]])
    >>> page.startswith("<!DOCTYPE html>"), "&lt;Ann&gt;" in page, "wrong label" in page
    (True, True, True)
    """
    worst = whole("worst", worst, 0)
    right, guess = listed("gold", gold), [_kept(s) for s in listed("predicted", predicted)]
    given = list(documents) if isinstance(documents, Iterator) else documents
    tokens = tokens_of("documents", given, right)
    lengths = [len(words) for words in tokens]
    pairs = checked(right, guess, outside, lengths=lengths)
    report = evaluate(
        (a for a, _ in pairs),
        (b for _, b in pairs),
        outside,
        tokens=tokens,
        vocabulary=vocabulary,
        confidence=CONFIDENCE,
        beta=beta,
    )._replace(tags=tags)
    chances = None if probabilities is None else _chances(probabilities, guess, outside)
    texts = [_written(document) for document in given]
    found = [matched(pair) for pair in pairs]
    material = _Material(tokens, texts, pairs, found, chances, outside)
    sections = [
        _summary(report),
        _labels(report),
        _overlap(material),
        _kinds(material),
        f"<h2>Labels taken for others</h2>{heat_map(confusion_of(material.matches))}",
        _calibration(material),
        _worst(material, worst, list(report.labels)),
    ]
    return _page(written(title.strip() or TITLE), "\n".join(sections))


def _written(document: Any) -> Written | None:
    """Return the original text of tokens, if it is known."""
    if not isinstance(document, Document) or document.text is None or document.offsets is None:
        return None
    return Written(document.text, document.offsets)


def _kept(segments: Any) -> Any:
    """Materialise segments so that they can be iterated twice; invalid ones fail later."""
    return list(segments) if isinstance(segments, Iterator) else segments


def _chances(
    probabilities: Iterable[Iterable[float]], guess: Sequence[Sequence[Any]], outside: str
) -> Chances:
    """Return the probabilities of the predicted segments that are not outside, or raise."""
    if not isinstance(probabilities, Iterable):
        expected, remedy = "a list for each sequence", "pass one number for each segment"
        raise InvalidInput(message("probabilities", probabilities, expected, remedy))
    given = list(probabilities)
    same_number("probabilities", guess, given)
    kept: Chances = []
    for i, (numbers, segments) in enumerate(zip(given, guess, strict=True)):
        values = list(numbers) if isinstance(numbers, Iterable) else numbers
        if not _shares(values) or len(values) != len(segments):
            expected = f"{len(segments)} numbers from 0 to 1, one for each predicted segment"
            raise InvalidInput(
                message(f"probabilities[{i}]", values, expected, "complete the list")
            )
        kept.append([p for p, s in zip(values, segments, strict=True) if s[2] != outside])
    return kept


def _shares(values: Any) -> bool:
    """Return whether all values are numbers from 0 to 1."""
    numbers = isinstance(values, list) and all(isinstance(p, Real) for p in values)
    return numbers and all(0 <= p <= 1 for p in values)


def _page(title: str, body: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


# ---- sections of the page ---------------------------------------------------------------------


def _summary(report: Report) -> str:
    """Return the headline scores, then the table of all averages."""
    interval = report.interval
    figures = [
        (
            name,
            getattr(report.micro, field),
            "" if interval is None else str(getattr(interval, field)),
        )
        for name, field in (("F1", "f1"), ("precision", "precision"), ("recall", "recall"))
    ]
    if report.beta != 1:
        figures.append((f"F{report.beta:g}", report.f_beta(), ""))
    of = f"{report.sequences_correct} of {report.sequences}"
    figures.append(("sequences right", report.sequence_accuracy, of))
    shares = {
        "tokens right": report.tokens,
        "tags equal as written": report.tags,
        "in the vocabulary, found": report.known,
        "out of the vocabulary, found": report.unknown,
    }
    for name, share in shares.items():
        if share is not None:
            figures.append((name, share.value, f"{share.correct} of {share.total}"))
    items = "".join(
        f"<div><dt>{written(name)}</dt><dd>{value:.3f}<small>{written(note)}</small></dd></div>"
        for name, value, note in figures
    )
    rows = report.rows()
    averages = [rows[0], *rows[1 + len(report.labels) :]]
    caption = (
        "micro: all segments; macro: the mean over labels; weighted: the mean weighted by gold "
        "segments; untyped: labels do not matter"
    )
    sure = ""
    if interval is not None:
        sure = f"Ranges hold with {100 * interval.confidence:g} % confidence, "
        sure = f"<p>{sure}by {interval.rounds} draws of the sequences.</p>"
    return f'<dl class="figures">{items}</dl>{sure}{table(caption, averages)}'


def _labels(report: Report) -> str:
    rows = report.rows()[: 1 + len(report.labels)]
    bars = ["<td></td>"]
    bars += [bar(score.f1) for score in report.labels.values()]
    caption = "A segment is right if start, end and label are. Bars show F1."
    return f"<h2>Labels</h2>{table(caption, rows, bars)}"


def _overlap(material: _Material) -> str:
    found = partials_of(material.pairs)
    return f"<h2>Partly right</h2>{table(WAYS_OF_MATCHING, found.rows())}"


def _kinds(material: _Material) -> str:
    counts = Counter(match.kind for found in material.matches for match in found)
    found = Errors(*(counts[kind] for kind in Kind))
    rows = [row for row in found.rows() if row[0] != Kind.RIGHT]
    bars = ["<td></td>"]
    bars += [bar(count / max(found.wrong, 1)) for count in found[1:]]
    are = "is" if found.right == 1 else "are"
    right = counted(found.right, "segment")
    caption = f"{counted(found.wrong, 'error')}; {right} {are} right"
    return f"<h2>Kinds of error</h2>{table(caption, rows, bars)}"


def _calibration(material: _Material) -> str:
    found = _reliability(material)
    if found is None:
        return ""
    rows = [row for row in found.rows() if row[1] != "0"]
    caption = "Bars and dots on the dashed line: probabilities mean what they say."
    beside = f'<div class="beside"><div>{diagram(found)}</div>{table(caption, rows)}</div>'
    return f"<h2>Reliability</h2><p>{found.line().capitalize()}.</p>{beside}"


def _reliability(material: _Material) -> Reliability | None:
    """Return the reliability of the probabilities, if there are any."""
    if material.probabilities is None:
        return None
    right = [b in there for a, guess in material.pairs for there in (set(a),) for b in guess]
    return reliability([p for some in material.probabilities for p in some], right)


def _worst(material: _Material, worst: int, labels: list[str]) -> str:
    """Return the sequences with the most errors, gold beside predicted."""
    order = worst_first(material.matches)
    if not order:
        return "<h2>The worst sequences</h2><p>None has a mistake.</p>"
    shown = "".join(_sequence(material, i, labels) for i in order[:worst])
    told = f"{min(worst, len(order))} of {len(order)} with mistakes, those with the most first."
    return f"<h2>The worst sequences</h2><p>{told} What is wrong has a dashed frame.</p>{shown}"


def _sequence(material: _Material, i: int, labels: list[str]) -> str:
    found = material.matches[i]
    remarks = {(0, m.gold): m.kind for m in found} | {(1, m.predicted): m.kind for m in found}
    sides = []
    for k, name in enumerate(("gold", "predicted")):
        cuts = material.pairs[i][k]
        notes = [str(remarks[k, cut]) for cut in cuts]
        chances = material.probabilities[i] if k and material.probabilities else None
        notes = ["" if note == Kind.RIGHT else note for note in notes]
        shown = html(
            *(cuts, material.tokens[i], chances),
            labels=labels,
            outside=material.outside,
            notes=notes,
            written=material.texts[i],
        )
        sides.append(f'<div dir="auto"><h4>{name}</h4>{shown}</div>')
    return f'<h3>Sequence {i + 1}: {kinds_of(found)}</h3><div class="sides">{"".join(sides)}</div>'
