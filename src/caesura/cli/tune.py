"""``caesura tune``: search for the best settings by cross-validation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caesura.cli.command import command
from caesura.cli.executor_options import TrialWorkers, check_alone, engine
from caesura.cli.model_settings import Choices, chosen, estimator, kind_of
from caesura.cli.naming import naming
from caesura.cli.output import (
    Json,
    check_apart,
    emit,
    note,
    say,
    table,
    warn,
    written,
)
from caesura.cli.prediction_formats import check_written
from caesura.cli.progress import Quiet, Ticker, hush
from caesura.cli.reading import Reading
from caesura.cli.remedies import with_options
from caesura.cli.search_space import candidates, parse, toml
from caesura.cli.setting_files import files_of, naming_config
from caesura.cli.settings import Settings
from caesura.cli.tokeniser_choice import Tokens
from caesura.corpora.files import writing
from caesura.documents import Document
from caesura.errors import CaesuraError, InvalidInput, message
from caesura.evaluation import Score, segment_counts
from caesura.executors import Executor, opened
from caesura.executors.software import check_software, software
from caesura.learning.learners import LEARNERS

__all__ = ["tune"]

DEFAULT = ["c2=0.001,0.01,0.1,1.0"]
NEURAL = ["rate=0.0003,0.001,0.003"]  # default for networks
SHOWN = {"features": "preset"}  # parameter -> option, where they differ


class Search(NamedTuple):
    """Options of the search."""

    attempts: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            "-t",
            metavar="NAME=VALUES",
            help="Try these values of a setting: c2=0.1,1,10 or preset=ner,generic or "
            "c1=0.001..1. A..B is a range, on a logarithmic scale if A is above 0. Can be "
            "repeated.",
            show_default=f"{DEFAULT[0]}, and for neural {NEURAL[0]}",
        ),
    ] = None
    random: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Try this many combinations at random instead of the whole grid. Default: the "
            "whole grid.",
        ),
    ] = None
    folds: Annotated[
        int, typer.Option(min=2, help="Split the data into this many parts for cross-validation.")
    ] = 5
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the best settings to this TOML file, for train --config. Default: none.",
        ),
    ] = None
    quiet: Quiet = False


class Result(NamedTuple):
    """One combination of settings and its scores."""

    choices: Choices
    total: Score  # counts over all folds
    folds: list[float]  # F1 of each fold

    @property
    def deviation(self) -> float:
        """The standard deviation of F1 over the folds."""
        mean = sum(self.folds) / len(self.folds)
        squares = sum((one - mean) ** 2 for one in self.folds)
        return float((squares / max(1, len(self.folds) - 1)) ** 0.5)


@command(
    "caesura tune train.jsonl --try c2=0.01,0.1,1 --try preset=citations,generic -o best.toml\n"
    "caesura tune train.jsonl --random 20 --try c1=0.001..1 --try c2=0.001..1 --folds 3\n"
    "caesura tune train.jsonl --try c2=0.01,0.1,1 --executor 4"
)
def tune(
    train: Annotated[
        str, typer.Argument(metavar="TRAIN", help="Read labelled sequences from this file.")
    ],
    search: Search = Search(),  # noqa: B008 - a frozen tuple
    settings: Settings = Settings(),  # noqa: B008
    reading: Reading = Reading(),  # noqa: B008
    workers: TrialWorkers = TrialWorkers(),  # noqa: B008
    json: Json = False,
) -> None:
    """Search for the best settings by cross-validation.

    Other options are those of train and apply to every trial. Settings that cannot be trained are
    reported and skipped. Ctrl-C ends the search and reports the best settings found so far.
    """
    hush(search.quiet)
    base = chosen(settings, reading.tokeniser)
    seed = int(base.get("random_state", 0))
    usual = NEURAL if kind_of(base) == "neural" else DEFAULT
    tried = list(candidates(parse(search.attempts or usual), search.random, seed))
    for one in tried:
        with naming_config(settings, one):
            estimator(base | one)  # reports invalid settings at once
    if search.output is not None:
        check_apart((search.output,), (train, *files_of(settings, base)))
        check_written(search.output, "settings", ".toml")
    tokens = Tokens(reading, base)
    documents = tokens.read(train, reading)
    tokens.settle(base)
    documents = tokens.settled(documents)
    if len(documents) < search.folds:
        expected = f"at most {len(documents)}, one for each sequence"
        raise InvalidInput(message("--folds", search.folds, expected, "take fewer"))
    if workers.executor is None:
        check_alone(workers)
    trial = _Trial(train, base, documents, search.folds, seed, workers.executor is not None)
    chosen_engine = nullcontext() if workers.executor is None else engine(workers)
    with chosen_engine as named, opened(named) as executor:
        results, failed, interrupted = _search(trial, tried, executor)
    if not results and failed:
        raise failed[0]
    if results:
        _report(results, base, search.output, json)
    for problem in failed:
        warn(f"a trial failed: {problem}")
    if interrupted:
        note(f"interrupted after {len(results)} of {len(tried)}")
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


def _folds(
    documents: Sequence[Document], count: int, seed: int
) -> Iterator[tuple[list[Document], list[Document]]]:
    """Yield training and test data; each sequence is tested once."""
    order = list(range(len(documents)))
    random.Random(seed).shuffle(order)
    for k in range(count):
        held_out = set(order[k::count])
        rest = [document for i, document in enumerate(documents) if i not in held_out]
        yield rest, [documents[i] for i in sorted(held_out)]


class _Trial:
    """Train and evaluate one combination of settings, locally or in a worker."""

    def __init__(
        self,
        name: str,
        base: Choices,
        documents: Sequence[Document],
        folds: int,
        seed: int,
        apart: bool,
    ) -> None:
        self.name, self.documents, self.folds, self.seed = name, documents, folds, seed
        self.base = {"n_threads": 1} | base if apart else base  # workers share the cores
        self.software = software()

    def __call__(self, asked: tuple[Choices, int]) -> Score | CaesuraError:
        """Return the score of settings on a fold, or the error that they cause."""
        check_software(self.software)
        choices, fold = asked
        rest, held_out = next(islice(_folds(self.documents, self.folds, self.seed), fold, None))
        try:
            return _score(self.name, self.base | choices, rest, held_out)
        except CaesuraError as error:
            return error
        except Exception as error:
            return CaesuraError(
                f"{type(error).__name__}: {error} (with {_shown(choices)})",
                remedy="try other values",
            )


def _search(
    trial: _Trial, tried: Sequence[Choices], executor: Executor
) -> tuple[list[Result], list[CaesuraError], bool]:
    """Return the results, the failures, and whether the search was interrupted."""
    results: list[Result] = []
    failed: list[CaesuraError] = []
    asked = [(choices, fold) for choices in tried for fold in range(trial.folds)]
    found, done = iter(executor.map(trial, asked)), 0
    try:
        with Ticker(what="fits", total=len(asked)) as ticker:
            for choices in tried:
                scores: list[Any] = []
                for _ in range(trial.folds):
                    scores.append(next(found))
                    done += 1
                    best = max((one.total.f1 for one in results), default=0.0)
                    ticker(done, f"best F1 so far {best:.4f}")
                wrong = [score for score in scores if isinstance(score, CaesuraError)]
                if wrong:
                    failed.append(wrong[0])
                else:
                    results.append(_result(choices, scores))
    except KeyboardInterrupt:
        return results, failed, True
    return results, failed, False


def _result(choices: Choices, scores: Sequence[Score]) -> Result:
    total = Score(*map(sum, zip(*scores, strict=True)))
    return Result(choices, total, [score.f1 for score in scores])


def _shown(choices: Choices) -> str:
    return ", ".join(f"{key} = {choices[key]!r}" for key in choices if key != "n_threads")


def _score(name: str, choices: Choices, train: list[Document], test: list[Document]) -> Score:
    """Return the score of a model with the given settings."""
    try:
        with naming(f"{name} (a part of it)"):
            model = estimator(choices).fit(train)
    except CaesuraError as error:
        own = with_options(error)
        remedy = f"{own.remedy or 'try other values'} (with {_shown(choices)})"
        raise own.changed(remedy=remedy) from None
    gold = [document.segments or () for document in test]
    return segment_counts(gold, model.predict(test), model.outside)


def _report(results: Sequence[Result], base: Choices, output: Path | None, json: bool) -> None:
    """Print all results, best first, and write the best settings."""
    ranked = sorted(results, key=lambda one: -one.total.f1)
    best = base | ranked[0].choices
    passing = _passing(ranked[0], best)
    kept = {name: value for name, value in best.items() if name not in passing}
    if output is not None:
        with written(output), writing(output) as file:
            about = f"# F1 {ranked[0].total.f1:.4f} by {len(ranked[0].folds)}-fold cross-validation"
            file.write(f"{about}\n{toml(kept, output)}\n")
    if json:
        emit(
            {
                "best": _plain(ranked[0]) | {"settings": best},
                "candidates": [_plain(one) for one in ranked],
                "output": None if output is None else str(output),
            }
        )
        return
    names = list(ranked[0].choices)
    rows = [
        [
            *(_cell(one.choices[name]) for name in names),
            f"{one.total.f1:.4f}",
            f"{one.deviation:.4f}",
            f"{one.total.precision:.4f}",
            f"{one.total.recall:.4f}",
        ]
        for one in ranked
    ]
    table([*(SHOWN.get(name, name) for name in names), "F1", "±", "precision", "recall"], rows)
    _edges(ranked, names)
    say("\nbest settings")
    for line in toml(kept).splitlines():
        say(f"  {line}")
    where = "best.toml" if output is None else str(output)
    hint = "" if output is not None else " (give -o best.toml to keep them)"
    say(f"\ncaesura train TRAIN --config {where} -o MODEL{hint}")


def _passing(best: Result, settings: Choices) -> tuple[str, ...]:
    """Return the settings that apply to the search only.

    Few iterations make a search quick, and most learners end by themselves.
    """
    learner = LEARNERS[str(settings.get("learner", "lbfgs"))]
    own = learner.full_batch and "max_iterations" not in best.choices
    return ("n_threads", "max_iterations") if own else ("n_threads",)


def _edges(ranked: Sequence[Result], names: Sequence[str]) -> None:
    """Warn if the best value is the smallest or largest that was tried."""
    for name in names:
        best = ranked[0].choices[name]
        values = sorted({n for one in ranked if isinstance(n := one.choices[name], int | float)})
        tie = any(one.total == ranked[0].total for one in ranked[1:])
        if len(values) > 2 and best and best in (values[0], values[-1]) and not tie:
            way = "smaller" if best == values[0] else "larger"
            warn(
                f"the best {name}, {best:g}, is at the edge of what was tried; try {way} values too"
            )


def _plain(result: Result) -> dict[str, Any]:
    score = result.total
    return {
        "choices": result.choices,
        "f1": score.f1,
        "precision": score.precision,
        "recall": score.recall,
        "deviation": result.deviation,
        "folds": result.folds,
    }


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
