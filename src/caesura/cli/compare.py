"""``caesura compare``: test whether one system is significantly better than another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from caesura.cli.command import command
from caesura.cli.gold_and_predicted import System, answered, gold_of
from caesura.cli.model_files import Trust, is_model
from caesura.cli.output import Json, emit, say, table
from caesura.cli.reading import Reading
from caesura.errors import InvalidInput

if TYPE_CHECKING:
    from caesura.evaluation.significance import Comparison

__all__ = ["compare"]

LEVEL = 0.05  # p-value below which one system counts as better
PREDICTED = "Read predicted segments from this file, or a model that predicts them."


@command(
    "caesura compare test.jsonl chain.model semi.model\n"
    "caesura compare gold.conll old.conll new.conll --rounds 99999 --json"
)
def compare(
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="Read labelled sequences from this file.")
    ],
    a: Annotated[str, typer.Argument(metavar="A", help=PREDICTED)],
    b: Annotated[str, typer.Argument(metavar="B", help=PREDICTED)],
    rounds: Annotated[
        int, typer.Option(min=1, help="Set the number of randomisation rounds.")
    ] = 9999,
    seed: Annotated[int, typer.Option(min=0, help="Set the random seed.")] = 0,
    reading: Reading = Reading(),  # noqa: B008 - a frozen tuple
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Test whether two systems differ in F1, by approximate randomisation.

    The p-value is the chance of a difference in F1 at least as large, if the systems were equally
    good: (c + 1) / (rounds + 1), where c is the number of randomisation rounds with a difference at
    least as large.
    """
    from caesura.evaluation import compare as compared

    if is_model(gold):
        order = " ".join(sorted((gold, a, b), key=is_model))
        raise InvalidInput(
            place="GOLD",
            got=f"the model {gold}",
            expected="labelled sequences, which come first",
            remedy=f"try caesura compare {order}",
        )
    systems = [System(path, trust=trust) for path in (a, b)]
    documents = gold_of(gold, reading, *systems)
    said = [system.segments(documents, gold, reading) for system in systems]
    kept, (of_a, of_b) = answered(documents.documents, *said)
    truth = [document.segments or () for document in kept]
    result = compared(truth, of_a, of_b, rounds=rounds, seed=seed)
    if json:
        scores = {
            name: score._asdict()
            | {"precision": score.precision, "recall": score.recall, "f1": score.f1}
            for name, score in (("a", result.a), ("b", result.b))
        }
        rest = {"difference": result.difference, "p_value": result.p_value, "rounds": rounds}
        emit({**scores, **rest})
        return
    table(
        ["system", "precision", "recall", "F1", "gold", "predicted", "correct"],
        [
            (name, f"{s.precision:.3f}", f"{s.recall:.3f}", f"{s.f1:.3f}", *s)
            for name, s in ((a, result.a), (b, result.b))
        ],
    )
    say(f"\n{_verdict(result, a, b)}\nby approximate randomisation, {rounds} rounds")


def _verdict(result: Comparison, a: str, b: str) -> str:
    """Return which system is better, and how sure that is."""
    first, second = (a, b) if result.difference >= 0 else (b, a)
    one, two = (result.a, result.b) if result.difference >= 0 else (result.b, result.a)
    shares = f"F1 {one.f1:.3f} and {two.f1:.3f}"
    chance = f"p = {result.p_value:.3g}"
    if result.p_value < LEVEL:
        return f"{first} is better than {second}: {shares}, {chance} (below {LEVEL})"
    return f"the difference between {a} and {b} may well be chance: {chance} (not below {LEVEL})"
