"""The options of the commands that train models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from caesura.cli.setting_texts import TEXTS
from caesura.learning.learners import LEARNERS

__all__ = ["Settings"]

MODEL, LEARNING, WEIGHTS, NETWORK = "Model", "Learning", "Weights", "Networks (--model neural)"
Switch = Literal["yes", "no"]
if TYPE_CHECKING:
    LearnerName = str
else:
    LearnerName = Literal[tuple(LEARNERS)]


def _presets() -> list[str]:
    from caesura.features import PRESETS

    return list(PRESETS)


def _option(panel: str, *names: str, **more: Any) -> Any:
    more = {"help": TEXTS.get(names[0])} | more
    return typer.Option(*names, rich_help_panel=panel, show_default=False, **more)


class Settings(NamedTuple):
    """All settings of a model and its training; None stands for the default."""

    config: Annotated[Path | None, _option(MODEL, "--config", "-c")] = None
    model: Annotated[
        Literal["semi", "chain", "neural"] | None,
        _option(MODEL, "--model", "-m"),
    ] = None
    preset: Annotated[
        str | None,
        _option(
            MODEL,
            "--preset",
            "-p",
            autocompletion=_presets,
        ),
    ] = None
    gazetteer: Annotated[
        list[Path] | None,
        _option(
            MODEL,
            "--gazetteer",
            "-g",
            metavar="FILE",
        ),
    ] = None
    order: Annotated[
        int | None,
        _option(MODEL, "--order"),
    ] = None
    patterns: Annotated[
        list[str] | None,
        _option(
            MODEL,
            "--patterns",
            metavar="grow or A>B>C",
        ),
    ] = None
    pattern_min_freq: Annotated[float | None, _option(WEIGHTS, "--pattern-min-freq")] = None
    max_length: Annotated[
        list[str] | None,
        _option(
            MODEL,
            "--max-length",
            metavar="N or LABEL=N",
        ),
    ] = None
    same_label_adjacent: Annotated[
        Switch | None,
        _option(
            MODEL,
            "--same-label-adjacent",
        ),
    ] = None
    outside: Annotated[str | None, _option(MODEL, "--outside")] = None
    outside_length: Annotated[
        Literal["1", "none"] | None,
        _option(MODEL, "--outside-length"),
    ] = None
    outside_bias: Annotated[
        float | None,
        _option(MODEL, "--outside-bias"),
    ] = None
    scheme: Annotated[str | None, _option(MODEL, "--scheme")] = None
    forbid_invalid: Annotated[
        Literal["predict", "always", "never"] | None,
        _option(MODEL, "--forbid-invalid"),
    ] = None
    learner: Annotated[
        LearnerName | None,
        _option(
            LEARNING,
            "--learner",
            help="Choose how weights are learnt. "
            + "; ".join(f"{name}: {one.summary}" for name, one in LEARNERS.items())
            + ". Default: lbfgs.",
        ),
    ] = None
    loss: Annotated[
        Literal["hamming", "segments", "zero-one", "log"] | None,
        _option(
            LEARNING,
            "--loss",
        ),
    ] = None
    pa_type: Annotated[
        int | None,
        _option(
            LEARNING,
            "--pa-type",
            min=0,
            max=2,
        ),
    ] = None
    pa_c: Annotated[float | None, _option(LEARNING, "--pa-c")] = None
    pa_error_sensitive: Annotated[
        Switch | None,
        _option(
            LEARNING,
            "--pa-error-sensitive",
        ),
    ] = None
    average: Annotated[
        Switch | None,
        _option(
            LEARNING,
            "--average",
        ),
    ] = None
    arow_variance: Annotated[
        float | None,
        _option(LEARNING, "--arow-variance"),
    ] = None
    arow_r: Annotated[float | None, _option(LEARNING, "--arow-r")] = None
    beam: Annotated[
        int | None,
        _option(
            LEARNING,
            "--beam",
        ),
    ] = None
    update: Annotated[
        Literal["early", "max-violation", "standard"] | None,
        _option(
            LEARNING,
            "--update",
        ),
    ] = None
    c1: Annotated[float | None, _option(LEARNING, "--c1")] = None
    c2: Annotated[float | None, _option(LEARNING, "--c2")] = None
    penalty: Annotated[
        list[str] | None,
        _option(LEARNING, "--penalty", metavar="NAME=C2"),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        _option(
            LEARNING,
            "--class-weight",
            metavar="LABEL=N",
        ),
    ] = None
    max_iterations: Annotated[int | None, _option(LEARNING, "--max-iterations")] = None
    patience: Annotated[
        int | None,
        _option(LEARNING, "--patience"),
    ] = None
    precision: Annotated[
        Literal["auto", "double", "mixed"] | None,
        _option(
            LEARNING,
            "--precision",
        ),
    ] = None
    memory: Annotated[int | None, _option(LEARNING, "--memory")] = None
    epsilon: Annotated[float | None, _option(LEARNING, "--epsilon")] = None
    period: Annotated[int | None, _option(LEARNING, "--period")] = None
    delta: Annotated[float | None, _option(LEARNING, "--delta")] = None
    batch_size: Annotated[
        int | None,
        _option(
            LEARNING,
            "--batch-size",
        ),
    ] = None
    stream: Annotated[
        bool | None,
        _option(
            LEARNING,
            "--stream",
        ),
    ] = None
    max_attributes: Annotated[
        int | None,
        _option(
            WEIGHTS,
            "--max-attributes",
        ),
    ] = None
    standardise: Annotated[
        bool | None,
        _option(MODEL, "--standardise"),
    ] = None
    seed: Annotated[int | None, _option(LEARNING, "--seed")] = None
    threads: Annotated[int | None, _option(LEARNING, "--threads")] = None
    min_freq: Annotated[float | None, _option(WEIGHTS, "--min-freq")] = None
    all_possible_states: Annotated[
        Switch | None,
        _option(
            WEIGHTS,
            "--all-possible-states",
        ),
    ] = None
    all_possible_transitions: Annotated[
        Switch | None,
        _option(
            WEIGHTS,
            "--all-possible-transitions",
        ),
    ] = None
    boundary_weights: Annotated[
        Switch | None,
        _option(
            WEIGHTS,
            "--boundary-weights",
        ),
    ] = None
    network: Annotated[
        Literal["chain", "semi", "overlapping", "filtered"] | None,
        _option(
            NETWORK,
            "--network",
        ),
    ] = None
    transformer: Annotated[
        str | None,
        _option(NETWORK, "--transformer"),
    ] = None
    frozen: Annotated[
        Switch | None,
        _option(NETWORK, "--frozen"),
    ] = None
    vectors: Annotated[
        Path | None,
        _option(NETWORK, "--vectors"),
    ] = None
    context: Annotated[
        Literal["lstm", "cnn", "none"] | None,
        _option(NETWORK, "--context"),
    ] = None
    hidden: Annotated[
        int | None,
        _option(NETWORK, "--hidden"),
    ] = None
    word_size: Annotated[
        int | None,
        _option(NETWORK, "--word-size"),
    ] = None
    characters: Annotated[
        Literal["cnn", "lstm", "none"] | None,
        _option(NETWORK, "--characters"),
    ] = None
    character_size: Annotated[
        int | None,
        _option(NETWORK, "--character-size"),
    ] = None
    shape_size: Annotated[
        int | None,
        _option(NETWORK, "--shape-size"),
    ] = None
    dropout: Annotated[
        float | None,
        _option(NETWORK, "--dropout"),
    ] = None
    representation: Annotated[
        str | None,
        _option(
            NETWORK,
            "--representation",
        ),
    ] = None
    hybrid: Annotated[
        float | None,
        _option(NETWORK, "--hybrid"),
    ] = None
    transitions: Annotated[
        Switch | None,
        _option(NETWORK, "--transitions"),
    ] = None
    null_weight: Annotated[
        float | None,
        _option(
            NETWORK,
            "--null-weight",
        ),
    ] = None
    global_loss: Annotated[
        Switch | None,
        _option(NETWORK, "--global-loss"),
    ] = None
    one_score: Annotated[
        Switch | None,
        _option(NETWORK, "--one-score"),
    ] = None
    decoder: Annotated[
        Literal["global", "greedy", "mean"] | None,
        _option(NETWORK, "--decoder"),
    ] = None
    epochs: Annotated[int | None, _option(NETWORK, "--epochs")] = None
    rate: Annotated[float | None, _option(NETWORK, "--rate")] = None
    encoder_rate: Annotated[
        float | None,
        _option(NETWORK, "--encoder-rate"),
    ] = None
    warm_up: Annotated[
        float | None,
        _option(NETWORK, "--warm-up"),
    ] = None
    clip: Annotated[float | None, _option(NETWORK, "--clip")] = None
    weight_decay: Annotated[float | None, _option(NETWORK, "--weight-decay")] = None
    device: Annotated[str | None, _option(NETWORK, "--device")] = None
