"""``caesura learning-curve``: estimate how much more training data would help."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caesura.cli.command import command
from caesura.cli.model_settings import OWN, Choices, chosen, estimator
from caesura.cli.naming import naming
from caesura.cli.neural_settings import NEURAL
from caesura.cli.output import Json, check_apart, emit, note, say, table
from caesura.cli.plot import characters, picture
from caesura.cli.prediction_formats import check_written
from caesura.cli.progress import Quiet, Ticker, hush
from caesura.cli.reading import Reading
from caesura.cli.setting_files import files_of, naming_config
from caesura.cli.settings import Settings
from caesura.cli.tokeniser_choice import Tokens
from caesura.documents import Document
from caesura.errors import InvalidInput, counted, message
from caesura.evaluation import segment_counts

__all__ = ["learning_curve"]

HALVINGS = 4  # number of training sizes below the full one
HELD_OUT = 0.2  # share of the data held out if no test data is given
LEAST = 5  # minimum number of training sequences


class Curve(NamedTuple):
    """Options of a learning curve."""

    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            "--dev",
            "-d",
            metavar="FILE",
            help="Score on the labelled sequences in this file. Default: a fifth of TRAIN, which "
            "is held out.",
        ),
    ] = None
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Train on these numbers of sequences, for example 10,50,100. Default: a "
            "sixteenth of the data, an eighth and so on."
        ),
    ] = None
    models: Annotated[
        str,
        typer.Option(
            help="Compare these kinds of model: a comma-separated list of semi, chain and neural; "
            "--model replaces it."
        ),
    ] = "semi,chain"
    repeats: Annotated[
        int, typer.Option(min=1, help="Average over this many random orders of the data.")
    ] = 1
    png: Annotated[
        Path | None,
        typer.Option(help="Draw the curves into this file (needs matplotlib). Default: none."),
    ] = None
    quiet: Quiet = False


class Point(NamedTuple):
    """The score of one kind of model at one training size."""

    model: str
    sequences: int
    segments: float  # in these sequences, averaged over the repeats
    f1: float


@command(
    "caesura learning-curve train.jsonl --test test.jsonl --preset citations --png curve.png\n"
    "caesura learning-curve train.conll --sizes 50,100,500 --models semi --repeats 3 --json"
)
def learning_curve(
    train: Annotated[
        str, typer.Argument(metavar="TRAIN", help="Read labelled sequences from this file.")
    ],
    curve: Curve = Curve(),  # noqa: B008 - a frozen tuple
    settings: Settings = Settings(),  # noqa: B008
    reading: Reading = Reading(),  # noqa: B008
    json: Json = False,
) -> None:
    """Show how the scores grow with the amount of training data.

    A curve that still rises at its end shows that more labelled data would help.
    """
    hush(curve.quiet)
    choices = chosen(settings, reading.tokeniser)
    check_apart((curve.png,), (train, curve.test, *files_of(settings, choices)))
    if curve.png is not None:
        check_written(curve.png, "a picture", ".png", ".pdf", ".svg")
    kinds = _kinds(curve.models, choices)
    tokens = Tokens(reading, choices)
    documents = tokens.read(train, reading)
    test = [] if curve.test is None else tokens.read(curve.test, reading)
    tokens.settle(choices)
    documents, test = tokens.settled(documents), tokens.settled(test)
    seed = int(choices.get("random_state", 0))
    random.Random(seed).shuffle(documents)
    if curve.test is None:
        count = max(1, round(HELD_OUT * len(documents)))
        test, documents = documents[:count], documents[count:]
    sizes = _sizes(curve.sizes, len(documents))
    with naming_config(settings):
        models = {kind: _estimator(choices, kind) for kind in kinds}
    points, interrupted = _measured(models, documents, test, (train, sizes, curve.repeats, seed))
    if points:
        _report(points, curve.png, len(test), json)
    if interrupted:
        note(f"interrupted after {len(points)} of {len(sizes) * len(kinds)} points")
        raise typer.Exit(130)


def _kinds(given: str, choices: Choices) -> list[str]:
    """Return the kinds of model to compare."""
    kinds = [kind.strip() for kind in given.split(",")]
    if "model" in choices:
        kinds = [str(choices["model"])]
    for kind in kinds:
        if kind not in ("semi", "chain", "neural"):
            expected = "semi, chain or neural, separated by commas"
            raise InvalidInput(message("--models", kind, expected, "write semi,chain"))
    return list(dict.fromkeys(kinds))


def _estimator(choices: Mapping[str, Any], kind: str) -> Any:
    """Return an estimator with the settings that its kind supports."""
    from caesura.models import ChainCRF, SemiCRF

    made: Any = SemiCRF if kind == "semi" else ChainCRF
    names = (*inspect.signature(made).parameters, *OWN)
    if kind == "neural":
        names = NEURAL
    return estimator({k: v for k, v in choices.items() if k in names} | {"model": kind})


def _sizes(given: str | None, most: int) -> list[int]:
    """Return the numbers of sequences to train on."""
    if most < 1:
        raise InvalidInput(
            "too few sequences to hold any out for tests", place="TRAIN", remedy="pass --test FILE"
        )
    if given is None:
        sizes = {max(min(LEAST, most), most // 2**k) for k in range(HALVINGS + 1)}
        return sorted(sizes)
    try:
        wanted = sorted({int(size) for size in given.split(",")})
    except ValueError:
        wanted = []
    if not wanted or wanted[0] < 1 or wanted[-1] > most:
        expected = f"numbers from 1 to {most}, which is all of the training data"
        some = ",".join(map(str, sorted({max(1, most // n) for n in (4, 2, 1)})))
        raise InvalidInput(message("--sizes", given, expected, f"write {some}"))
    return wanted


def _measured(
    models: Mapping[str, Any],
    documents: list[Document],
    test: list[Document],
    plan: tuple[str, list[int], int, int],
) -> tuple[list[Point], bool]:
    """Return the points of the curves, and whether the run was interrupted."""
    name, sizes, repeats, seed = plan
    gold = [document.segments or () for document in test]
    orders = []
    for repeat in range(repeats):
        order = list(documents)
        random.Random(seed + repeat).shuffle(order)
        orders.append(order)
    points: list[Point] = []
    done = 0
    try:
        with Ticker(what="fits", total=len(sizes) * len(models) * repeats) as ticker:
            for size in sizes:
                for kind, model in models.items():
                    scores, segments = [], 0
                    for order in orders:
                        some = order[:size]
                        with naming(f"{name} (a part of it)"):
                            found = model.fit(some).predict(test)
                        scores.append(segment_counts(gold, found, model.outside).f1)
                        segments += sum(len(one.segments or ()) for one in some)
                        done += 1
                        ticker(done, f"{kind} {size}: F1 {scores[-1]:.4f}")
                    mean = sum(scores) / repeats
                    points.append(Point(kind, size, segments / repeats, mean))
    except KeyboardInterrupt:
        return points, True
    return points, False


def _report(points: Sequence[Point], png: Path | None, tested: int, json: bool) -> None:
    """Print the curves."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        curves.setdefault(point.model, []).append((point.sequences, point.f1))
    if png is not None:
        title = f"tested on {counted(tested, 'sequence')}"
        picture(png, curves, title, ("training sequences", "segment F1"))
    if json:
        emit({"tested_on": tested, "points": [point._asdict() for point in points]})
        return
    by_size: dict[int, dict[str, Point]] = {}
    for point in points:
        by_size.setdefault(point.sequences, {})[point.model] = point
    rows = []
    for size, found in by_size.items():
        shares = [f"{found[kind].f1:.4f}" if kind in found else "-" for kind in curves]
        rows.append([size, round(next(iter(found.values())).segments), *shares])
    table(["sequences", "segments", *(f"{kind} F1" for kind in curves)], rows)
    say()
    for line in characters(curves):
        say(line)
    say(f"\nsegment F1 on {counted(tested, 'sequence')}; {_advice(curves)}")


def _advice(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return a recommendation based on the curves."""
    best = max(curves.values(), key=lambda curve: curve[-1][1])
    if len(best) < 2:
        return "give more --sizes to see a trend"
    gain = best[-1][1] - best[-2][1]
    if gain > 0.005:
        return f"the last step still brought {gain:+.3f}: more labelled data should help"
    return f"the last step brought {gain:+.3f}: more of the same data will help little"
