"""``caesura demo``: train on generated references and segment new ones."""

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
    from caesura.demo.trial import Answer, Data, Doubt, Learnt

__all__ = ["demo"]

SHOWN = 5  # references shown of each kind
MODEL, TRAIN, DEV = "citations.model", "train.jsonl", "dev.jsonl"
TEST, UNSEEN = "test.jsonl", "unseen-styles.jsonl"
TEXTS, ROWS, SETTINGS = "references.txt", "references.csv", "settings.toml"


class Outcome(NamedTuple):
    """All results of the demonstration."""

    made: Data
    semi: Learnt
    chain: Learnt
    known: list[Answer]  # new records in the styles of the training data, most certain first
    unseen: list[Answer]  # the same in other styles
    doubt_known: Doubt
    doubt_unseen: Doubt
    stored: Stored  # all new records in the styles of the training data

    @property
    def shown(self) -> list[Answer]:
        """The answers to print, in order."""
        return self.known + self.unseen

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

    The references are generated from facts about real publications in seventeen citation styles.
    The test data has other publications, in the styles of the training data and in three others.
    """
    from caesura.demo.database import store
    from caesura.demo.trial import answers, data, doubt, learn

    screen = _console(quiet or json)
    _folder(output)
    made = data(n, seed)
    _show_data(screen, made)
    with _waiting(screen, "Training a token CRF for comparison ..."):
        chain = learn("chain", made)
    with _waiting(screen, "Training a semi-CRF ..."):
        semi = learn("semi", made)
    outcome = Outcome(
        made,
        semi,
        chain,
        answers(semi.model, made.test[:SHOWN]),
        answers(semi.model, made.unseen[:SHOWN]),
        doubt(semi.model, made.test),
        doubt(semi.model, made.unseen),
        store(semi.model, (one.text or "" for one in made.test), output),
    )
    _write(outcome, output)
    if json:
        sys.stdout.write(jsonlib.dumps(_plain(outcome), ensure_ascii=False) + "\n")
        return
    _show_references(screen, outcome)
    screen.print()
    _show_scores(_console(False), outcome)
    _show_end(screen, outcome, output)


def _folder(output: Path) -> None:
    """Create the output folder, or raise if that is not possible."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(reason, place=output, remedy="give a folder that can be made") from None


def _write(outcome: Outcome, output: Path) -> None:
    """Write the data, the model, and the displayed references as text and as rows."""
    from caesura.corpora import write_jsonl

    made = outcome.made
    for name, documents in (
        (TRAIN, made.train),
        (DEV, made.dev),
        (TEST, made.test),
        (UNSEEN, made.unseen),
    ):
        write_jsonl(output / name, documents, form="text")
    for lexicon in made.lexicons:
        entries = "".join(" ".join(entry) + "\n" for entry in lexicon.entries)
        (output / f"{lexicon.name}.txt").write_text(entries, encoding="utf-8")
    (output / SETTINGS).write_text(_settings(outcome), encoding="utf-8")
    outcome.semi.model.set_params(n_threads=None).save(output / MODEL)
    texts = [one.record.text for one in outcome.shown]
    (output / TEXTS).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    columns = outcome.semi.model.extract(texts).columns()
    names = ["text", *outcome.labels]
    empty = [None] * len(texts)  # with few references, labels may be missing
    with open(output / ROWS, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        rows.writerows(zip(*(columns.get(name, empty) for name in names), strict=True))


def _settings(outcome: Outcome) -> str:
    """Return the settings with which ``caesura train`` learns such a model."""
    model = outcome.semi.model
    lists = ", ".join(f'"{lexicon.name}.txt"' for lexicon in outcome.made.lexicons)
    return (
        f'# caesura train {TRAIN} --config {SETTINGS} -o my.model\nmodel = "semi"\n'
        f'preset = "citations"\ngazetteers = [{lists}]\nc1 = {model.c1}\nc2 = {model.c2}\n'
        f"max_iterations = {model.max_iterations}\nsame_label_adjacent = false\n"
    )


def _plain(outcome: Outcome) -> dict[str, Any]:
    """Return the JSON output."""
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
        "doubt_known_styles": outcome.doubt_known._asdict(),
        "doubt_unseen_styles": outcome.doubt_unseen._asdict(),
        "database": outcome.stored._asdict() | {"path": str(outcome.stored.path), "table": TABLE},
        "references": [
            {
                "text": one.record.text,
                "fields": [
                    {
                        "label": field.label,
                        "text": field.value,
                        "probability": round(field.probability, 6),
                        "review": field.review,
                        "error": field.error,
                    }
                    for field in one.fields
                ],
            }
            for one in outcome.shown
        ],
    }


# ---- displayed output ----------------------------------------------------------------------------


def _console(silent: bool) -> Console:
    """Return the console; colours and line wrapping only on a terminal."""
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
    """Show the current step on a terminal."""
    return screen.status(doing) if screen.is_terminal else contextlib.nullcontext()


def _show_data(screen: Console, made: Data) -> None:
    from caesura.demo import HELD_OUT_STYLES, RECORDS, STYLES

    held_out = f"{', '.join(HELD_OUT_STYLES[:-1])} and {HELD_OUT_STYLES[-1]}"
    screen.print(
        f"{len(RECORDS)} publications in {len(STYLES)} citation styles, with typical errors of "
        f"references on the web.\nTraining on {len(made.train)} references in "
        f"{len(STYLES) - len(HELD_OUT_STYLES)} styles. The styles {held_out} and "
        f"{len(made.test)} publications are held out."
    )


def _show_references(screen: Console, outcome: Outcome) -> None:
    from caesura.demo.trial import SURE

    colours = _colours(outcome.labels)
    screen.print(
        f"\n{len(outcome.known)} of these publications in the styles of the training data. Each "
        f"field has the probability that it is exactly right,\nand a ? if it is below {SURE}."
    )
    for one in outcome.known:
        _show_answer(screen, one, colours)
    screen.print(
        f"\nThe limits: {len(outcome.unseen)} references in citation styles that are not in the "
        "training data."
    )
    for one in outcome.unseen:
        _show_answer(screen, one, colours)


def _show_answer(screen: Console, answer: Answer, colours: dict[str, str]) -> None:
    from rich.text import Text

    line = Text(answer.record.text)
    for label, value in answer.record.fields:
        line.stylize(colours[label], value.start, value.end)
    screen.print()
    screen.print(line)
    for field in answer.fields:
        fact = Text.assemble(
            (
                f"  {'?' if field.review else ' '} {field.probability:4.2f}  ",
                "bold yellow" if field.review else "dim",
            ),
            (f"{field.label:13}", colours[field.label]),
            field.value,
        )
        wrong = f"  <- {field.error}" if field.error else ""
        if screen.is_terminal:
            fact.truncate(screen.width - len(wrong), overflow="ellipsis")
        screen.print(fact.append(wrong, "bold red"))


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
    for name in ("known styles", "unseen styles", "weights", "seconds"):
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
        f"All {stored.rows} references in known styles are now rows of the table {TABLE} in "
        f"{visible(str(stored.path))}; {stored.review} are marked for review. A query:"
    )
    if stored.kind == "SQLite":
        screen.print("This is an SQLite file; with caesura[records] installed it is a DuckDB file.")
    screen.print()
    screen.print(QUERY, style="bold")
    names, rows = ask(stored)
    for line in _columns([names, *rows]):
        screen.print(Text(line, no_wrap=True, overflow="ellipsis"))


def _columns(rows: Sequence[Sequence[object]], most: int = 50) -> list[str]:
    """Format rows as text in columns; long cells are truncated.

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
    screen.print()
    for where, one in (("known", outcome.doubt_known), ("unseen", outcome.doubt_unseen)):
        screen.print(
            f"In {where} styles, {one.flagged} of {one.segments} fields have a ?, and "
            f"{one.flagged_wrong} of these are wrong. Of the others, "
            f"{100 * one.passed_right:.1f} % are right."
        )
    screen.print(
        f"The references above as a table with a column for each field: "
        f"{visible(str(output / ROWS))}"
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
    """Return the shortest reference with a field flagged for review, and its label."""
    asked = [
        (not field.review, len(one.record.text), field.probability, one.record.text, field.label)
        for one in outcome.shown
        for field in one.fields
    ]
    *_, text, label = min(asked)
    return text, label


def _program() -> str:
    """Return the command with which the user started this program."""
    if shutil.which("caesura"):
        return "caesura"
    beside, here = Path(sys.executable), Path.cwd()
    script = beside.with_name("caesura")
    program = script if script.exists() else beside
    shown = str(program.relative_to(here)) if program.is_relative_to(here) else str(program)
    return shlex.quote(shown) + ("" if script.exists() else " -m caesura")
