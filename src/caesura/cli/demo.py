"""``caesura demo``: learn to read references from examples made here, and read new ones."""

from __future__ import annotations

import contextlib
import csv
import json as jsonlib
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from caesura.cli.output import visible
from caesura.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from caesura.demo.database import Stored
    from caesura.demo.trial import Data, Doubt, Learnt
    from caesura.extraction import Records
    from caesura.models.calibration import Confident

__all__ = ["demo"]

SHOWN = 10  # references
MODEL, TRAIN, DEV, TEST = "citations.model", "train.jsonl", "dev.jsonl", "test.jsonl"
TEXTS, ROWS, SETTINGS = "references.txt", "references.csv", "settings.toml"


class Outcome(NamedTuple):
    """All that the demonstration found."""

    made: Data
    semi: Learnt
    chain: Learnt
    found: list[list[Confident]]  # of the unseen styles
    records: Records  # of those that are shown
    doubt: Doubt
    stored: Stored  # all references of the unseen styles

    @property
    def labels(self) -> list[str]:
        """The labels, in the order of columns and colours."""
        from caesura.demo import LABELS

        return list(dict.fromkeys(LABELS.values()))


def demo(
    n: Annotated[int, typer.Option("--n", "-n", help="Train on this many references.")] = 400,
    seed: Annotated[
        int, typer.Option("--seed", help="Set the seed of the random number generator.")
    ] = 0,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Write the data, the model and the rows into this folder."
        ),
    ] = Path("caesura-demo"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the scores.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print only JSON to the standard output.")
    ] = False,
) -> None:
    """Train on references, segment new ones and load them into a database.

    The data is made here, from facts about real publications in seventeen citation styles. The test
    has other publications, and three styles that the training data does not have.
    """
    from caesura.demo.database import store
    from caesura.demo.trial import SURE, data, doubt, learn

    screen = _console(quiet or json)
    _folder(output)
    made = data(n, seed)
    _show_data(screen, made)
    with _waiting(screen, "Learning a token CRF, to compare with ..."):
        chain = learn("chain", made)
    with _waiting(screen, "Learning a semi-CRF ..."):
        semi = learn("semi", made)
    found = semi.model.predict_confident(made.unseen, threshold=SURE)
    records = semi.model.extract(made.unseen[:SHOWN])
    stored = store(semi.model, (one.text or "" for one in made.unseen), output)
    worth = doubt(made.unseen, found)
    outcome = Outcome(made, semi, chain, found, records, worth, stored)
    _write(outcome, output)
    if json:
        sys.stdout.write(jsonlib.dumps(_plain(outcome), ensure_ascii=False) + "\n")
        return
    _show_references(screen, outcome)
    screen.print()
    _show_scores(_console(False), outcome)
    _show_end(screen, outcome, output)


def _folder(output: Path) -> None:
    """Make the folder, or say why not."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{output}: {reason}; give a folder that can be made") from None


def _write(outcome: Outcome, output: Path) -> None:
    """Write the data, the model, and the references that are shown as text and as rows."""
    from caesura.corpora import write_jsonl

    made, shown = outcome.made, outcome.made.unseen[:SHOWN]
    for name, documents in ((TRAIN, made.train), (DEV, made.dev), (TEST, made.unseen)):
        write_jsonl(output / name, documents, form="text")
    for lexicon in made.lexicons:
        entries = "".join(" ".join(entry) + "\n" for entry in lexicon.entries)
        (output / f"{lexicon.name}.txt").write_text(entries, encoding="utf-8")
    (output / SETTINGS).write_text(_settings(outcome), encoding="utf-8")
    outcome.semi.model.set_params(n_threads=None).save(output / MODEL)
    texts = "".join(f"{document.text}\n" for document in shown)
    (output / TEXTS).write_text(texts, encoding="utf-8")
    columns = outcome.records.columns()
    names = ["text", *outcome.labels]
    empty = [None] * len(outcome.records)  # a small n may lack a label
    with open(output / ROWS, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        rows.writerows(zip(*(columns.get(name, empty) for name in names), strict=True))


def _settings(outcome: Outcome) -> str:
    """Return what tells ``caesura train`` to learn such a model, from the preset alone."""
    model = outcome.semi.model
    lists = ", ".join(f'"{lexicon.name}.txt"' for lexicon in outcome.made.lexicons)
    return (
        f'# caesura train {TRAIN} --config {SETTINGS} -o my.model\nmodel = "semi"\n'
        f'preset = "citations"\ngazetteers = [{lists}]\nc1 = {model.c1}\nc2 = {model.c2}\n'
        f"max_iterations = {model.max_iterations}\nsame_label_adjacent = false\n"
    )


def _plain(outcome: Outcome) -> dict[str, Any]:
    """Return what --json prints."""
    from caesura.demo.database import TABLE

    def scores(learnt: Learnt) -> dict[str, float]:
        return {
            "seconds": round(learnt.seconds, 3),
            "weights": learnt.model.n_features_,
            "f1_unseen_records": learnt.records.micro.f1,
            "f1_unseen_styles": learnt.styles.micro.f1,
        }

    return {
        "train": len(outcome.made.train),
        "test": len(outcome.made.test),
        "semi": scores(outcome.semi),
        "chain": scores(outcome.chain),
        "doubt": outcome.doubt._asdict(),
        "database": outcome.stored._asdict() | {"path": str(outcome.stored.path), "table": TABLE},
        "references": [
            {
                "text": record.text,
                "fields": [
                    {
                        "label": label,
                        "text": value.value,
                        "probability": round(one.probability, 6),
                        "review": one.review,
                    }
                    for (label, value), one in zip(record.fields, found, strict=True)
                ],
            }
            for record, found in zip(outcome.records, outcome.found, strict=False)
        ],
    }


# ---- what people see -----------------------------------------------------------------------------


def _console(silent: bool) -> Console:
    """Return where to print: colours and lines that fit only where a person is looking."""
    from rich.console import Console

    seen = sys.stdout.isatty()
    return Console(
        quiet=silent,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not seen,
        no_color=None if seen else True,
    )


def _waiting(screen: Console, doing: str) -> contextlib.AbstractContextManager[object]:
    """Show what is being done while it is, where a person is looking."""
    return screen.status(doing) if screen.is_terminal else contextlib.nullcontext()


def _show_data(screen: Console, made: Data) -> None:
    from caesura.demo import HELD_OUT_STYLES, RECORDS, STYLES

    screen.print(
        f"{len(RECORDS)} publications in {len(STYLES)} citation styles, with slips and gaps as on "
        f"the web.\nLearning from {len(made.train)} references in "
        f"{len(STYLES) - len(HELD_OUT_STYLES)} styles. {', '.join(HELD_OUT_STYLES[:-1])} and "
        f"{HELD_OUT_STYLES[-1]} are kept for the test, and so are {len(made.test)} publications."
    )


def _show_references(screen: Console, outcome: Outcome) -> None:
    from rich.text import Text

    colours = _colours(outcome.labels)
    screen.print(
        f"\n{SHOWN} of those publications in the styles that were not seen. Beside each field is "
        "the probability that it is exactly right, and a ? where a person should look."
    )
    for record, found in zip(outcome.records, outcome.found, strict=False):
        line = Text(record.text)
        for label, value in record.fields:
            line.stylize(colours[label], value.start, value.end)
        screen.print()
        screen.print(line)
        for (label, value), one in zip(record.fields, found, strict=True):
            style = "bold yellow" if one.review else "dim"
            fact = Text.assemble(
                (f"  {'?' if one.review else ' '} {one.probability:4.2f}  ", style),
                (f"{label:13}", colours[label]),
                str(value.value),
            )
            if screen.is_terminal:
                fact.truncate(screen.width, overflow="ellipsis")
            screen.print(fact)


def _colours(labels: Sequence[str]) -> dict[str, str]:
    """Return a colour for each label; those after the palette's last are bold."""
    from caesura.render import PALETTE

    return {
        label: f"color({PALETTE[k % len(PALETTE)][0]})" + (" bold" if k >= len(PALETTE) else "")
        for k, label in enumerate(labels)
    }


def _show_scores(screen: Console, outcome: Outcome) -> None:
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("segment F1")
    for name in ("unseen records", "unseen styles", "weights", "seconds"):
        grid.add_column(name, justify="right")
    for name, one in (("semi-CRF", outcome.semi), ("token CRF (BIO)", outcome.chain)):
        scores = (f"{100 * report.micro.f1:.1f}" for report in (one.records, one.styles))
        grid.add_row(name, *scores, f"{one.model.n_features_:,}", f"{one.seconds:.1f}")
    screen.print(grid)


def _show_database(screen: Console, outcome: Outcome) -> None:
    """Show a query to the database, and its answer."""
    from rich.text import Text

    from caesura.demo.database import QUERY, TABLE, ask

    stored = outcome.stored
    screen.print(
        f"All {stored.rows} references in unseen styles are rows of the table {TABLE} in "
        f"{visible(str(stored.path))}, {stored.review} of them marked for review. A question "
        "to it:"
    )
    if stored.kind == "SQLite":
        screen.print("It is a file of SQLite; with caesura[records] installed it is one of DuckDB.")
    screen.print()
    screen.print(QUERY, style="bold")
    names, rows = ask(stored)
    for line in _columns([names, *rows]):
        screen.print(Text(line, no_wrap=True, overflow="ellipsis"))


def _columns(rows: Sequence[Sequence[object]], most: int = 50) -> list[str]:
    """Return rows as lines of text in columns, with long cells cut.

    Examples
    --------
    >>> _columns([("date", "title"), (2003, "The Google File System")], most=10)
    ['date  title', '2003  The Googl…']
    """
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    short = [[one if len(one) <= most else one[: most - 1] + "…" for one in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*short, strict=True)]
    return [
        "  ".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip()
        for row in short
    ]


def _show_end(screen: Console, outcome: Outcome, output: Path) -> None:
    worth = outcome.doubt
    screen.print(
        f"\nOf all {worth.segments} fields in unseen styles, {worth.flagged} have a ?, and "
        f"{worth.flagged_wrong} of these are wrong. Of the others, "
        f"{100 * worth.passed_right:.1f} % are right.\nThe ten as a table, a column for each "
        f"field: {visible(str(output / ROWS))}"
    )
    _show_database(screen, outcome)
    screen.print("\nTo try next:")

    def path(name: str) -> str:
        return shlex.quote(str(output / name))

    text, label = _doubtful(outcome)
    for line in (
        f"segment {path(MODEL)} {path(TEXTS)} --to text --probabilities",
        f"explain {path(MODEL)} {shlex.quote(text)} --label {label}",
        f"load {path(MODEL)} {path(TEXTS)} --into {path('my.duckdb')}",
        f"train {path(TRAIN)} --dev {path(DEV)} --config {path(SETTINGS)} -o {path('my.model')}",
    ):
        screen.print(visible(f"  {_program()} {line}"), soft_wrap=True, style="bold")


def _doubtful(outcome: Outcome) -> tuple[str, str]:
    """Return the shortest reference with a doubtful field, and the label of the field."""
    shown = zip(outcome.made.unseen[:SHOWN], outcome.found, strict=False)
    asked = [
        (not one.review, len(document.text or ""), one.probability, document.text or "", one)
        for document, found in shown
        for one in found
    ]
    *_, text, one = min(asked, key=lambda fact: fact[:3])
    return text, str(one.segment.label)


def _program() -> str:
    """Return what starts this program from here."""
    if shutil.which("caesura"):
        return "caesura"
    beside, here = Path(sys.executable), Path.cwd()
    script = beside.with_name("caesura")
    program = script if script.exists() else beside
    shown = str(program.relative_to(here)) if program.is_relative_to(here) else str(program)
    return shlex.quote(shown) + ("" if script.exists() else " -m caesura")
