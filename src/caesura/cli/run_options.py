"""Options of a training run: checkpoints, starting weights and calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from caesura.cli.model_files import Trust
from caesura.cli.progress import Quiet

__all__ = ["Run"]


class Run(NamedTuple):
    """Options of a training run: checkpoints, starting weights and calibration."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Write a checkpoint to this file, from which --resume continues. Default: "
            "MODEL.checkpoint."
        ),
    ] = None
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--restart",
            help="Continue from the checkpoint, or start again although there is one. Default: "
            "report an error if there is a checkpoint.",
            show_default=False,
        ),
    ] = None
    warm_start: Annotated[
        Path | None,
        typer.Option(
            help="Start from the weights of this model and use its settings. Default: weights of"
            " zero."
        ),
    ] = None
    near: Annotated[
        bool,
        typer.Option(
            "--near",
            help="Penalise the distance from the weights of --warm-start instead of the size of "
            "the weights, to train on new data only.",
        ),
    ] = False
    trust: Trust = False
    calibrate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Calibrate probabilities on the labelled sequences in this file, which must not "
            "be training data. Default: none.",
        ),
    ] = None
    quiet: Quiet = False
