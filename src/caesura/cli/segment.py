"""``caesura segment``: cut new sequences with a model, in constant memory."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from caesura.cli.answers import confident
from caesura.cli.declare import command
from caesura.cli.output import Json, Ticker, check_apart, check_output, emit, note, warn, written
from caesura.cli.reading import Reading, Trust, load_model, naming, read, report_notes
from caesura.cli.rules import Rules
from caesura.cli.writing import Answer, Style, beside, form_of, line_of, write
from caesura.corpora.files import writing
from caesura.documents import Document
from caesura.errors import CaesuraError, Impossible, InvalidInput
from caesura.render import colour_wanted
from caesura.segments import to_tags

__all__ = ["segment"]

Scheme = Annotated[str, typer.Option(help="Tags in CoNLL columns: BIO, BIOES, BCEU, BMES ...")]


class Asking(NamedTuple):
    """What is asked of the model."""

    to: Annotated[
        Literal["jsonl", "conll", "csv", "text", "html"] | None,
        typer.Option("--to", "-t", help="Form of the output; else the name of the file tells."),
    ] = None
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="Write the probability of each segment.")
    ] = False
    n_best: Annotated[
        int | None, typer.Option("--n-best", "-n", help="Write the N best answers to each.")
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(help="Sequences with a segment below this probability go to the review file."),
    ] = None
    review: Annotated[
        Path | None,
        typer.Option(help="The review file, JSON lines; default OUTPUT with .review in its name."),
    ] = None
    constraints: Annotated[
        Path | None,
        typer.Option(help="What answers must keep: JSON or TOML for all, JSON lines for each."),
    ] = None
    outside_bias: Annotated[
        float | None, typer.Option(help="Raise for precision, lower for recall.")
    ] = None
    scheme: Scheme = "BIO"
    batch: Annotated[
        int, typer.Option("--batch", min=1, help="Sequences to hold in memory at a time.")
    ] = 1000
    threads: Annotated[int | None, typer.Option(help="Threads; all cores where not given.")] = None
    trust: Trust = False


@command(
    "caesura segment citations.model new.txt -o new.csv\n"
    "cat new.txt | caesura segment citations.model - --probabilities --to jsonl | head\n"
    "caesura segment citations.model new.txt -o good.jsonl --threshold 0.9 --review check.jsonl"
)
def segment(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What caesura train wrote.")],
    input: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="Text, a sequence on each line, or any corpus."),
    ] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write; - is the standard output.")
    ] = "-",
    asking: Asking = Asking(),  # noqa: B008 - a frozen tuple
    reading: Reading = Reading(),  # noqa: B008
    json: Json = False,
) -> None:
    """Cut sequences into labelled segments.

    Reads and writes as it goes, so that files may be larger than memory; a file is put in its place
    once it is complete. JSON lines, CoNLL and CSV are forms that caesura train reads.
    """
    form, review = _checked(asking, output, json)
    check_apart((output, review), (model, input, asking.constraints))
    loaded = load_model(model, asking.threads, trust=asking.trust, outside_bias=asking.outside_bias)
    corpus = read(input, reading, tokeniser=loaded.tokeniser, format="text")
    run = _Run(loaded, asking, input, reading.skip_errors)
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        stack.enter_context(written(output))
        aside = None if review is None else stack.enter_context(writing(review))
        quiet = output == "-" and sys.stdout.isatty()
        ticker = stack.enter_context(Ticker(show=False if quiet else None))
        batches = run.batches(iter(corpus), aside, ticker)
        run.written = write(output, form, batches, _style(loaded, asking, output))
    seconds = time.perf_counter() - began
    skipped = run.skipped + report_notes(corpus, input)
    _report(run, seconds, skipped, (output, review), json)


def _checked(asking: Asking, output: str, json: bool) -> tuple[str, str | None]:
    """Return the form of the output and the review file, or say what does not go together."""
    check_output(output)
    try:
        to_tags([], asking.scheme, 0)
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint="--scheme") from None
    default = "text" if output == "-" and sys.stdout.isatty() else "jsonl"
    form = asking.to or form_of(output, default)
    if json and output == "-":
        wrong = "it prints counts, and segments go to stdout too; give -o FILE, or --to jsonl"
        raise typer.BadParameter(wrong, param_hint="--json")
    if asking.n_best is not None and form in ("conll", "csv"):
        wrong = f"{form} has no place for several answers; take --to jsonl, text or html"
        raise typer.BadParameter(wrong, param_hint="--n-best")
    if asking.n_best is not None and asking.n_best < 1:
        raise typer.BadParameter("ask for at least one", param_hint="--n-best")
    if asking.n_best is not None and asking.probabilities and form in ("text", "html"):
        warn(f"--probabilities: with --n-best, {form} has that of each answer; jsonl has all")
    if asking.threshold is None:
        if asking.review is not None:
            wrong = "needs --threshold, below which sequences go to the review file"
            raise typer.BadParameter(wrong, param_hint="--review")
        return form, None
    if not 0 <= asking.threshold <= 1:
        raise typer.BadParameter("a probability is 0 to 1", param_hint="--threshold")
    if asking.review is None and output == "-":
        wrong = "give --review FILE for sequences below it, or -o FILE"
        raise typer.BadParameter(wrong, param_hint="--threshold")
    review = str(asking.review or beside(output, "review"))
    check_output(review)
    if review == "-" or os.path.realpath(review) == os.path.realpath(output):
        wrong = f"the review file must be another than {output}"
        raise typer.BadParameter(wrong, param_hint="--review")
    return form, review


def _style(model: Any, asking: Asking, output: str) -> Style:
    colour = output == "-" and colour_wanted()
    terminal = output == "-" and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else 10**9
    return Style(model.labels_, asking.scheme, asking.probabilities, colour, width)


class _Run:
    """A model that answers batch by batch, and counts."""

    def __init__(self, model: Any, asking: Asking, name: str, skip: bool) -> None:
        self.model, self.asking, self.name, self.skip = model, asking, name, skip
        self.rules = None if asking.constraints is None else Rules(asking.constraints)
        self.sequences = self.reviewed = self.skipped = 0
        self.segments = self.written = 0  # that are in the output

    def batches(
        self, documents: Iterator[Document], aside: Any, ticker: Ticker
    ) -> Iterator[Sequence[Answer]]:
        """Yield answers, without those that go aside for review."""
        while some := list(itertools.islice(documents, self.asking.batch)):
            rules = None if self.rules is None else self.rules.take(len(some))
            answers = self._answers(some, rules)
            self.sequences += len(some)
            ticker(self.sequences)
            kept = [answer for answer in answers if not self._doubtful(answer, aside)]
            self.segments += sum(len(answer.segments) for answer in kept)
            yield kept
        if self.rules is not None:
            self.rules.end()

    def _doubtful(self, answer: Answer, aside: Any) -> bool:
        """Write an answer to the review file if a segment of it is below the threshold."""
        if aside is None or min(answer.probabilities or [1.0]) >= (self.asking.threshold or 0.0):
            return False
        aside.write(f"{line_of(answer)}\n")
        self.reviewed += 1
        return True

    def _answers(self, documents: list[Document], rules: Any) -> list[Answer]:
        """Return the answers to some documents; one by one if one of them has none."""
        try:
            return self._named(documents, rules)
        except CaesuraError as error:
            if not self.skip:
                raise
            if len(documents) == 1:
                self.skipped += 1
                if self.skipped <= 5:
                    warn(f"left out: {error}")
                return []
        found = []
        before = self.sequences
        for i, document in enumerate(documents):
            self.sequences = before + i
            found += self._answers(
                [document], rules[i : i + 1] if isinstance(rules, list) else rules
            )
        self.sequences = before
        return found

    def _named(self, documents: list[Document], rules: Any) -> list[Answer]:
        """Ask the model; errors name the file and the sequence, and the file of constraints."""
        try:
            with naming(self.name, first=self.sequences):
                return self._asked(documents, rules)
        except CaesuraError as error:
            if self.asking.constraints is None:
                raise
            place = error.argument or ""
            if isinstance(rules, Mapping) and place.startswith("constraints"):
                return self._named(documents, [rules] * len(documents))  # says which sequence
            if isinstance(error, Impossible):
                problem = f"{error.problem} in {self.asking.constraints}"
                raise error.changed(problem=problem) from None
            if place.endswith(": constraints"):
                place = f"{place.removesuffix('constraints')}{self.asking.constraints}: constraints"
            raise error.changed(argument=place or None) from None

    def _asked(self, documents: list[Document], rules: Any) -> list[Answer]:
        """Ask the model."""
        asking, model = self.asking, self.model
        if not (asking.probabilities or asking.threshold is not None or asking.n_best):
            found = model.predict(documents, constraints=rules)
            return [Answer(*pair) for pair in zip(documents, found, strict=True)]
        ranked: list[Any] = [None] * len(documents)
        if asking.n_best:
            ranked = model.predict_n_best(documents, asking.n_best, constraints=rules)
        answers = []
        sure = confident(model, documents, constraints=rules)
        for document, some, others in zip(documents, sure, ranked, strict=True):
            answers.append(
                Answer(
                    document,
                    [one.segment for one in some],
                    [one.probability for one in some],
                    any(one.calibrated for one in some),
                    others,
                )
            )
        return answers


def _report(
    run: _Run, seconds: float, skipped: int, files: tuple[str, str | None], json: bool
) -> None:
    """Say how much was done."""
    output, review = files
    if json:
        emit(
            {
                "output": output,
                "sequences": run.sequences,
                "written": run.written,
                "segments": run.segments,
                "review": review,
                "for_review": run.reviewed,
                "skipped": skipped,
                "seconds": round(seconds, 3),
            }
        )
        return
    if output != "-":
        pace = f" ({run.sequences / seconds:,.0f} in a second)" if seconds > 1 else ""
        note(f"{run.written:,} sequences, {run.segments:,} segments{pace}: {output}")
    if review is not None:
        note(f"{run.reviewed:,} more sequences are for review, and only in {review}")
    if not run.sequences:
        name = "standard input" if run.name == "-" else run.name
        warn(f"{name}: got no sequences; is the input empty?")
