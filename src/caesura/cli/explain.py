"""``caesura explain``: show why a model segmented a text as it did."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from caesura.cli.command import command
from caesura.cli.gold_and_predicted import confident
from caesura.cli.model_files import ModelFile, Trust, load_model
from caesura.cli.naming import naming
from caesura.cli.output import Json, emit, note, say, table, warn
from caesura.cli.prediction_output import as_written, field_text
from caesura.cli.reading import Reading, read_all
from caesura.cli.tokeniser_option import tokeniser_of
from caesura.documents import Document
from caesura.errors import CaesuraError, InvalidInput, message
from caesura.models.explanation import COLUMNS, Explanation
from caesura.render import text as coloured

__all__ = ["explain"]


@command("caesura explain citations.model 'Sarawagi, S. and Cohen, W. (2004). Semi-CRFs. NIPS.'")
def explain(
    model: ModelFile,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Explain this text; - reads the standard input.")
    ],
    label: Annotated[
        str | None,
        typer.Option(
            "--label", "-l", help="Explain only segments with this label. Default: all labels."
        ),
    ] = None,
    segment: Annotated[
        str | None,
        typer.Option(
            metavar="START,END,LABEL",
            help="Explain this segment, predicted or not: the best answer with it is compared with "
            "the best one without it. START and END count tokens from 0, END is exclusive. "
            "Default: the predicted segments.",
        ),
    ] = None,
    reasons: Annotated[
        int,
        typer.Option("--reasons", "-r", min=0, help="Show this many features for each segment."),
    ] = 8,
    tokeniser: Annotated[
        str | None,
        typer.Option(help="Split the text into tokens in this way. Default: as the model does."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Read TEXT as CoNLL lines with these columns, for example token,pos, one token on "
            "each line; _ skips a column. Default: TEXT is plain text.",
        ),
    ] = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Show the features behind each segment, compared with the best answer without it.

    The latter, the runner-up, is the best segmentation that does not contain the segment. Each row
    has a feature, the label that its weight is for, and what it adds to the score of the answer and
    of the runner-up.
    """
    loaded = load_model(model, trust=trust)
    if os.path.isfile(text):
        warn(
            f"TEXT: there is a file {text}, but its name is explained as the text; for what is in "
            f"it: caesura explain {model} - < {text}"
        )
    if text == "-":
        text = typer.get_text_stream("stdin").read()
    elif not text.isascii():
        _check_unicode(text)
    if columns is None:
        document = Document.from_text(text, tokeniser_of(tokeniser) or loaded.tokeniser_)
    elif tokeniser is None:
        document = _of_columns(text, columns)
    else:
        raise InvalidInput(
            place="--columns", got="--tokeniser as well", expected="one", remedy="leave one out"
        )
    if not document.tokens:
        raise InvalidInput(
            place="TEXT",
            got="no words",
            expected="a text to segment",
            remedy="write a text, or - for the standard input",
        )
    if label is not None and label not in loaded.labels_:
        known = ", ".join(loaded.labels_)
        raise InvalidInput(message("--label", label, f"one of {known}", "pass one of them"))
    if segment is not None:
        if label is not None:
            raise InvalidInput(
                place="--segment", got="--label as well", expected="one", remedy="leave one out"
            )
        _explain_one(loaded, document, _segment_of(segment), reasons, json)
        return
    with naming("TEXT"):
        found = loaded.explain(document)
        sure = confident(loaded, [document])[0]  # for the probabilities that `segment` writes
    found = [
        why._replace(probability=one.probability, text=field_text(document, why.segment))
        for why, one in zip(found, sure, strict=True)
    ]
    chosen = [why for why in found if label in (None, why.segment.label)]
    if json:
        emit({"tokens": document.tokens, "segments": [_plain(why, reasons) for why in chosen]})
        return
    said, shares = [why.segment for why in found], [why.probability for why in found]
    print(coloured(*as_written(document, said), shares, labels=loaded.labels_))
    for why in chosen:
        _show(why, reasons)
    if label is not None and not chosen:
        note(
            f"no segment with the label {label!r} is predicted; to see why not, name one: caesura "
            f"explain {model} TEXT --segment START,END,{label}, in tokens"
        )


def _check_unicode(text: str) -> None:
    """Raise if an argument of the command has bytes that are no characters."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        came = f"a byte that is not UTF-8 after {text[: error.start][-20:]!r}"
        remedy = "give text in UTF-8"
        raise InvalidInput(place="TEXT", got=came, remedy=remedy) from None


def _of_columns(text: str, columns: str) -> Document:
    """Return the sequence that the lines of a CoNLL file hold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "TEXT")
        path.write_text(text + "\n", encoding="utf-8")
        try:
            found = read_all(path, Reading(format="conll", columns=columns))
        except CaesuraError as error:
            place = "--columns" if error.argument == "columns" else "TEXT"
            fields = {"file": "TEXT"} if error.file else {"place": place}
            raise error.changed(**fields) from None
    if len(found) > 1:
        raise InvalidInput(
            place="TEXT",
            got=f"{len(found)} sequences",
            expected="one",
            remedy="leave out the blank lines and the others",
        )
    return found[0] if found else Document(())


def _segment_of(given: str) -> tuple[int, int, str]:
    """Return the segment that an option names."""
    start, _, rest = given.partition(",")
    end, _, label = rest.partition(",")
    if not (start.strip().isdecimal() and end.strip().isdecimal() and label):
        expected = "START,END,LABEL"
        raise InvalidInput(message("--segment", given, expected, "write, for example, 0,2,author"))
    return int(start), int(end), label.strip()


def _explain_one(
    model: Any, document: Document, segment: tuple[int, int, str], reasons: int, json: bool
) -> None:
    """Print why a segment is predicted or not."""
    if model.kind == "neural":
        raise InvalidInput(
            place="--segment", got="a neural model", expected="another", remedy="leave it out"
        )
    try:
        with naming("TEXT"):
            [why] = model.explain(document, segment=segment)
    except CaesuraError as error:
        if error.argument != "segment":
            raise
        raise error.changed(place="--segment") from None
    if json:
        emit({"tokens": document.tokens, "segments": [_plain(why, reasons)]})
        return
    say(" ".join(f"{t}:{token}" for t, token in enumerate(document.tokens)))
    _show(why, reasons)


def _plain(why: Explanation, reasons: int) -> dict[str, Any]:
    return {
        "segment": why.segment,
        "text": why.text,
        "probability": why.probability,
        "runner_up": why.runner_up,
        "margin": why.margin,
        "reasons": [
            one._asdict() | {"difference": one.difference} for one in why.reasons[:reasons]
        ],
    }


def _show(why: Explanation, reasons: int) -> None:
    """Print the explanation of one segment."""
    segment, runner_up = why.heading()
    say(f"\n{segment}", "bold")
    say(runner_up)
    rows, rest = why.rows(reasons)
    table(COLUMNS, rows)
    if rest:
        say(f"and {len(rest)} more, together {sum(reason.difference for reason in rest):+.2f}")
