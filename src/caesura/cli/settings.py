"""The options of the commands that train models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from caesura.learning.learners import LEARNERS, learners_with

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


def _option(panel: str, *names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)


class Settings(NamedTuple):
    """Everything that can be chosen about a model and how it learns; None is the default."""

    config: Annotated[
        Path | None, _option(MODEL, "--config", "-c", help="TOML file with any of these choices.")
    ] = None
    model: Annotated[
        Literal["semi", "chain", "neural"] | None,
        _option(
            MODEL, "--model", "-m", help="Whole segments (semi, the default), tokens or neural."
        ),
    ] = None
    preset: Annotated[
        str | None,
        _option(
            MODEL,
            "--preset",
            "-p",
            help="Features: citations, addresses, ner, chunking, words or generic.",
            autocompletion=_presets,
        ),
    ] = None
    gazetteer: Annotated[
        list[Path] | None,
        _option(
            MODEL,
            "--gazetteer",
            "-g",
            help="List of names, one on a line. Repeatable.",
            metavar="FILE",
        ),
    ] = None
    order: Annotated[
        int | None,
        _option(MODEL, "--order", help="Labels before a segment's own that count, default 1."),
    ] = None
    patterns: Annotated[
        list[str] | None,
        _option(
            MODEL,
            "--patterns",
            help="Label patterns with weights: grow selects them. Repeatable.",
            metavar="grow or A>B>C",
        ),
    ] = None
    pattern_min_freq: Annotated[
        float | None, _option(WEIGHTS, "--pattern-min-freq", help="Rarer patterns have no weight.")
    ] = None
    max_length: Annotated[
        list[str] | None,
        _option(
            MODEL,
            "--max-length",
            help="Longest segment; observed: that of the data. Repeatable.",
            metavar="N or LABEL=N",
        ),
    ] = None
    same_label_adjacent: Annotated[
        Switch | None,
        _option(
            MODEL,
            "--same-label-adjacent",
            help="Whether two adjacent segments may carry one label.",
        ),
    ] = None
    outside: Annotated[
        str | None, _option(MODEL, "--outside", help="Label of text outside segments.")
    ] = None
    outside_length: Annotated[
        Literal["1", "none"] | None,
        _option(MODEL, "--outside-length", help="Text outside: one token each, or whole runs."),
    ] = None
    outside_bias: Annotated[
        float | None,
        _option(MODEL, "--outside-bias", help="Raise for precision, lower for recall."),
    ] = None
    scheme: Annotated[
        str | None, _option(MODEL, "--scheme", help="Tags of a chain: BIO, BIOES, BCEU or none.")
    ] = None
    forbid_invalid: Annotated[
        Literal["predict", "always", "never"] | None,
        _option(MODEL, "--forbid-invalid", help="When a chain rules out impossible tags."),
    ] = None
    learner: Annotated[
        LearnerName | None,
        _option(
            LEARNING,
            "--learner",
            help="; ".join(f"{name}: {one.summary}" for name, one in LEARNERS.items()) + ".",
        ),
    ] = None
    loss: Annotated[
        Literal["hamming", "segments", "zero-one", "log"] | None,
        _option(
            LEARNING,
            "--loss",
            help="Loss of learners with a margin: wrong tokens, wrong segments, or any difference; "
            "log is for eg.",
        ),
    ] = None
    pa_type: Annotated[
        int | None,
        _option(
            LEARNING,
            "--pa-type",
            help="Variant of the learner pa: 0, 1 (default) or 2.",
            min=0,
            max=2,
        ),
    ] = None
    pa_c: Annotated[
        float | None, _option(LEARNING, "--pa-c", help="Largest step of pa, default 1.")
    ] = None
    pa_error_sensitive: Annotated[
        Switch | None,
        _option(
            LEARNING,
            "--pa-error-sensitive",
            help="Whether the margin of pa without --loss is the square root of the number of "
            "wrong tokens (yes, the default) or 1 (no).",
        ),
    ] = None
    average: Annotated[
        Switch | None,
        _option(
            LEARNING,
            "--average",
            help="Whether sgd, perceptron and pa end with the average of their weights (yes, the "
            "default) or with the last ones (no).",
        ),
    ] = None
    arow_variance: Annotated[
        float | None,
        _option(LEARNING, "--arow-variance", help="Initial variance of arow, default 1."),
    ] = None
    arow_r: Annotated[
        float | None, _option(LEARNING, "--arow-r", help="Regularisation of arow, default 1.")
    ] = None
    beam: Annotated[
        int | None,
        _option(
            LEARNING,
            "--beam",
            help="Size of the agenda of beam search, with --learner perceptron; exact without it. "
            "The preset words then looks at whole words and the word before.",
        ),
    ] = None
    update: Annotated[
        Literal["early", "max-violation", "standard"] | None,
        _option(
            LEARNING,
            "--update",
            help="Which prefix a perceptron with a beam learns from: where the right answer is "
            "worst off (max-violation, the default), where it leaves the agenda, or the whole.",
        ),
    ] = None
    c1: Annotated[float | None, _option(LEARNING, "--c1", help="Penalty on |w|, default 0.")] = None
    c2: Annotated[float | None, _option(LEARNING, "--c2", help="Penalty on w², default 0.01.")] = (
        None
    )
    penalty: Annotated[
        list[str] | None,
        _option(
            LEARNING, "--penalty", help="Of one feature, also C1,C2. Repeatable.", metavar="NAME=C2"
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        _option(
            LEARNING,
            "--class-weight",
            help="How much a label counts. Repeatable.",
            metavar="LABEL=N",
        ),
    ] = None
    max_iterations: Annotated[
        int | None, _option(LEARNING, "--max-iterations", help="Most iterations, or passes.")
    ] = None
    patience: Annotated[
        int | None,
        _option(LEARNING, "--patience", help="Iterations without a better dev score to the end."),
    ] = None
    precision: Annotated[
        Literal["auto", "double", "mixed"] | None,
        _option(
            LEARNING,
            "--precision",
            help="mixed begins in single precision, which is faster; auto chooses (the default).",
        ),
    ] = None
    memory: Annotated[
        int | None, _option(LEARNING, "--memory", help="Of L-BFGS: steps it remembers.")
    ] = None
    epsilon: Annotated[
        float | None, _option(LEARNING, "--epsilon", help="Of L-BFGS: gradient at which to end.")
    ] = None
    period: Annotated[
        int | None, _option(LEARNING, "--period", help="Iterations to look back.")
    ] = None
    delta: Annotated[
        float | None, _option(LEARNING, "--delta", help="Gain over them to go on, as a share.")
    ] = None
    batch_size: Annotated[
        int | None,
        _option(
            LEARNING,
            "--batch-size",
            help=f"Sequences in a step of {', '.join(learners_with('mini_batches'))} and neural.",
        ),
    ] = None
    stream: Annotated[
        bool | None,
        _option(
            LEARNING,
            "--stream",
            help="Read the file anew for each pass, and never all of it into memory; with "
            f"{', '.join(learners_with('online'))}.",
        ),
    ] = None
    max_attributes: Annotated[
        int | None,
        _option(
            WEIGHTS,
            "--max-attributes",
            help="Keep only so many attributes, the first that come; later ones are left out.",
        ),
    ] = None
    standardise: Annotated[
        bool | None,
        _option(MODEL, "--standardise", help="Give dense columns mean 0 and standard deviation 1."),
    ] = None
    seed: Annotated[int | None, _option(LEARNING, "--seed", help="Of all that is drawn.")] = None
    threads: Annotated[
        int | None, _option(LEARNING, "--threads", help="Threads; all cores where not given.")
    ] = None
    min_freq: Annotated[
        float | None, _option(WEIGHTS, "--min-freq", help="Rarer pairs have no weight.")
    ] = None
    all_possible_states: Annotated[
        Switch | None,
        _option(
            WEIGHTS,
            "--all-possible-states",
            help="Weights for pairs of attribute and label that are not in the data.",
        ),
    ] = None
    all_possible_transitions: Annotated[
        Switch | None,
        _option(
            WEIGHTS,
            "--all-possible-transitions",
            help="Weights for pairs of labels that are not in the data.",
        ),
    ] = None
    boundary_weights: Annotated[
        Switch | None,
        _option(
            WEIGHTS,
            "--boundary-weights",
            help="Weights for the first and the last label.",
        ),
    ] = None
    network: Annotated[
        Literal["chain", "semi", "overlapping", "filtered"] | None,
        _option(
            NETWORK,
            "--network",
            help="A chain over tags (default), a semi-CRF with vectors of segments, one without a "
            "bound on lengths, or a filtered semi-CRF.",
        ),
    ] = None
    transformer: Annotated[
        str | None,
        _option(NETWORK, "--transformer", help="Name or folder of a Hugging Face transformer."),
    ] = None
    frozen: Annotated[
        Switch | None,
        _option(NETWORK, "--frozen", help="Whether the transformer stays as it is; default no."),
    ] = None
    vectors: Annotated[
        Path | None,
        _option(NETWORK, "--vectors", help="Static vectors: a word and its numbers on each line."),
    ] = None
    context: Annotated[
        Literal["lstm", "cnn", "none"] | None,
        _option(NETWORK, "--context", help="What connects the vectors of tokens, default lstm."),
    ] = None
    hidden: Annotated[
        int | None,
        _option(NETWORK, "--hidden", help="Size of the context in each direction, default 100."),
    ] = None
    word_size: Annotated[
        int | None,
        _option(NETWORK, "--word-size", help="Size of word embeddings, default 50; 0 for none."),
    ] = None
    characters: Annotated[
        Literal["cnn", "lstm", "none"] | None,
        _option(NETWORK, "--characters", help="How characters make a vector, default cnn."),
    ] = None
    character_size: Annotated[
        int | None,
        _option(NETWORK, "--character-size", help="Size of character embeddings, default 25."),
    ] = None
    shape_size: Annotated[
        int | None,
        _option(NETWORK, "--shape-size", help="Size of embeddings of word shapes, default 10."),
    ] = None
    dropout: Annotated[
        float | None,
        _option(NETWORK, "--dropout", help="Probability of dropping an entry, default 0.3."),
    ] = None
    representation: Annotated[
        str | None,
        _option(
            NETWORK,
            "--representation",
            help="Vectors of segments: sum (default), max, endpoints, marker, query, mlp, conv, "
            "conv_share, conv_max, conv_mean or conv_sum.",
        ),
    ] = None
    hybrid: Annotated[
        float | None,
        _option(NETWORK, "--hybrid", help="Weight of the loss of a chain beside it, default 0."),
    ] = None
    transitions: Annotated[
        Switch | None,
        _option(NETWORK, "--transitions", help="Whether label transitions are learned, yes."),
    ] = None
    null_weight: Annotated[
        float | None,
        _option(
            NETWORK,
            "--null-weight",
            help="Weight of spans without a label in the loss of a filter, default 0.4.",
        ),
    ] = None
    global_loss: Annotated[
        Switch | None,
        _option(NETWORK, "--global-loss", help="Whether a filtered model learns paths, yes."),
    ] = None
    one_score: Annotated[
        Switch | None,
        _option(NETWORK, "--one-score", help="Whether a path scores spans without labels, no."),
    ] = None
    decoder: Annotated[
        Literal["global", "greedy", "mean"] | None,
        _option(NETWORK, "--decoder", help="How a filtered model chooses among kept spans."),
    ] = None
    epochs: Annotated[
        int | None, _option(NETWORK, "--epochs", help="Passes over the data, default 20.")
    ] = None
    rate: Annotated[
        float | None, _option(NETWORK, "--rate", help="Learning rate, default 0.001.")
    ] = None
    encoder_rate: Annotated[
        float | None,
        _option(NETWORK, "--encoder-rate", help="Learning rate of the transformer, 2e-5."),
    ] = None
    warm_up: Annotated[
        float | None,
        _option(NETWORK, "--warm-up", help="Share of all steps in which rates rise, 0.1."),
    ] = None
    clip: Annotated[
        float | None, _option(NETWORK, "--clip", help="Largest norm of a gradient, default 5.")
    ] = None
    weight_decay: Annotated[
        float | None, _option(NETWORK, "--weight-decay", help="Weight decay of AdamW, default 0.")
    ] = None
    device: Annotated[
        str | None, _option(NETWORK, "--device", help="Where torch computes, default cpu.")
    ] = None
