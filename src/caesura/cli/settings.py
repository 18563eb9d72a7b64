"""The choices of the estimators: as options, and in a TOML file, in which options win."""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from caesura.cli.reading import tokeniser_of
from caesura.cli.values import parsed
from caesura.errors import InvalidInput, message
from caesura.learning.learners import LEARNERS, learners_with

__all__ = [
    "ALIASES",
    "Choices",
    "Settings",
    "chosen",
    "estimator",
    "kind_of",
    "known_choices",
]

MODEL, LEARNING, WEIGHTS = "Model", "Learning", "Weights"
ALIASES = {
    "threads": "n_threads",
    "seed": "random_state",
    "preset": "features",
    "penalty": "penalties",
    "gazetteers": "gazetteer",
}
OWN = ("model", "gazetteer")  # choices that are no parameters of the estimators
NEVER = ("verbose", "warm_start")  # parameters that commands decide
Choices = dict[str, Any]
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
        Literal["semi", "chain"] | None,
        _option(MODEL, "--model", "-m", help="Score whole segments (semi, the default) or tokens."),
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
            help="Of learners with a margin: wrong tokens, wrong segments, or any difference; "
            "log is for eg.",
        ),
    ] = None
    pa_type: Annotated[
        int | None,
        _option(LEARNING, "--pa-type", help="Of pa: 0, 1 (the default) or 2.", min=0, max=2),
    ] = None
    pa_c: Annotated[
        float | None, _option(LEARNING, "--pa-c", help="Of pa: how far a step may go, default 1.")
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
        _option(LEARNING, "--arow-variance", help="Of arow: variance to begin with, default 1."),
    ] = None
    arow_r: Annotated[
        float | None, _option(LEARNING, "--arow-r", help="Of arow: regularisation, default 1.")
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
    c2: Annotated[float | None, _option(LEARNING, "--c2", help="Penalty on w², default 1.")] = None
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
            help=f"Sequences in a step of {', '.join(learners_with('mini_batches'))}.",
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


# ---- putting them together -----------------------------------------------------------------------


def chosen(settings: Settings, tokeniser: str | None = None) -> Choices:
    """Return all that was chosen, by the names of the parameters: options, else the file.

    Examples
    --------
    >>> chosen(Settings(c2=0.1, max_length=["author=20"], seed=3))
    {'max_length': {'author': 20}, 'c2': 0.1, 'random_state': 3}
    """
    choices: Choices = {} if settings.config is None else _from_file(settings.config)
    for name, value in settings._asdict().items():
        if name != "config" and value not in (None, []):
            choices[ALIASES.get(name, name)] = parsed(name, value)
    if tokeniser is not None:
        choices["tokeniser"] = tokeniser_of(tokeniser)
    return choices


def _from_file(path: Path) -> Choices:
    """Return the choices in a TOML file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: not TOML: {error}; write lines such as c2 = 0.1") from None
    known = known_choices()
    choices: Choices = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        name = ALIASES.get(name, name)
        if name not in known:
            near = difflib.get_close_matches(key.replace("-", "_"), [*known, *ALIASES], 1)
            expected = f"a choice such as {near[0]}" if near else "a choice"
            raise InvalidInput(message(str(path), key, expected, "see caesura train --help"))
        choices[name] = _of_toml(name, value, path)
    return choices


def _of_toml(name: str, value: Any, path: Path) -> Any:
    if name == "gazetteer":
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise InvalidInput(message(f"{path}: {name}", value, "names of files", "quote them"))
        return [path.parent / one for one in listed]
    if name == "tokeniser" and isinstance(value, str):
        return tokeniser_of(value)
    if name in ("outside_length", "scheme", "max_length", "patterns") and value == "none":
        return None
    if name == "penalties" and isinstance(value, Mapping):
        return {key: tuple(one) if isinstance(one, list) else one for key, one in value.items()}
    return value


def known_choices() -> list[str]:
    """Return the names of all choices: those of both estimators, and of the program itself.

    Examples
    --------
    >>> {"model", "gazetteer", "features", "c2", "scheme"} <= set(known_choices())
    True
    """
    from caesura.models import ChainCRF, SemiCRF

    names = [*OWN]
    for kind in (SemiCRF, ChainCRF):
        names += [name for name in inspect.signature(kind).parameters if name not in NEVER]
    return list(dict.fromkeys(names))


# ---- estimators ----------------------------------------------------------------------------------


def kind_of(choices: Mapping[str, Any]) -> str:
    """Return the kind of model that was chosen."""
    kind = choices.get("model", "semi")
    if kind not in ("semi", "chain"):
        raise InvalidInput(message("model", kind, "semi or chain", "pass one of them"))
    return str(kind)


def estimator(choices: Mapping[str, Any], verbose: bool | None = False, **changed: Any) -> Any:
    """Return the estimator of some choices, not fitted.

    Examples
    --------
    >>> estimator({"model": "chain", "c2": 0.1, "features": "ner"})
    ChainCRF(features='ner', c2=0.1)
    >>> estimator({"scheme": "BIO"})
    Traceback (most recent call last):
    caesura.errors.InvalidInput: scheme: got 'BIO' for a semi model, which has no such choice; leave
    it out, or take the model chain
    """
    from caesura.models import ChainCRF, SemiCRF

    kind = kind_of(choices)
    other = "chain" if kind == "semi" else "semi"
    made: Any = SemiCRF if kind == "semi" else ChainCRF
    names = inspect.signature(made).parameters
    params = {name: value for name, value in choices.items() if name not in OWN} | changed
    for name, value in params.items():
        if name not in names:
            raise InvalidInput(
                f"{name}: got {value!r} for a {kind} model, which has no such choice; leave it "
                f"out, or take the model {other}"
            )
    _check_preset(params.get("features"))
    if choices.get("gazetteer"):
        params["features"] = _with_gazetteers(choices, kind == "semi")
    model = made(**params, verbose=verbose)
    model._check()  # names a wrong choice before time is spent
    return model


def _check_preset(name: Any) -> None:
    from caesura.features import PRESETS

    if name is not None and name not in PRESETS:
        near = difflib.get_close_matches(str(name), PRESETS, 1)
        remedy = f"did you mean {near[0]}?" if near else "pass one of these names"
        raise InvalidInput(message("preset", name, ", ".join(PRESETS), remedy))


def _with_gazetteers(choices: Mapping[str, Any], segments: bool) -> list[Any]:
    """Return the features of a preset and those of lexicons."""
    from caesura.features import Dictionary, Lexicon, in_lexicon, matched, preset, window

    name = choices.get("features", "generic")
    cutter = choices.get("tokeniser", "words")
    lexicons = [Lexicon.read(path, tokenise=cutter) for path in choices["gazetteer"]]
    try:
        return list(preset(name, segments=segments, gazetteers=lexicons))
    except InvalidInput:  # a preset that takes none
        features: list[Any] = list(preset(name, segments=segments))
    for lexicon in lexicons:
        features += window(matched(lexicon, casefold=True, loose=True), -1, 1)
        features.append(in_lexicon(lexicon, casefold=True, part=True)[0])
        if segments:
            features.append(Dictionary(lexicon, casefold=True, loose=True, length=True))
    return features
