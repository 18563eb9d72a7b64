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
            "stop if there is one.",
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
            "--near", help="Stay near the weights of --warm-start, for new data without the old."
        ),
    ] = False
    trust: Trust = False
    calibrate: Annotated[
        Path | None,
        typer.Option(
            help="Calibrate probabilities on these labelled sequences, which must not be "
            "training data. Default: none."
        ),
    ] = None
    quiet: Quiet = False
