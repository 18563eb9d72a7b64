"""Model settings from options and a TOML file; options take precedence."""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caesura.cli.neural_settings import NEURAL, neural_estimator
from caesura.cli.option_values import SWITCHES, parsed
from caesura.cli.settings import Settings
from caesura.cli.tokeniser_option import tokeniser_of
from caesura.documents import Tokeniser
from caesura.errors import InvalidInput, message

__all__ = [
    "ALIASES",
    "OWN",
    "Choices",
    "changed_settings",
    "chosen",
    "estimator",
    "kind_of",
    "known_choices",
    "options_like",
]

ALIASES = {
    "threads": "n_threads",
    "seed": "random_state",
    "preset": "features",
    "penalty": "penalties",
    "gazetteers": "gazetteer",
}
OWN = ("model", "gazetteer")  # settings that are not parameters of the estimators
NEVER = ("verbose", "warm_start")  # parameters that are set by commands
Choices = dict[str, Any]


def chosen(settings: Settings, tokeniser: str | None = None) -> Choices:
    """Return the chosen settings by parameter name: options first, then the file.

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
    if choices.get("tokeniser") is None:  # "auto": the data decides
        choices.pop("tokeniser", None)
    return choices


def _from_file(path: Path) -> Choices:
    """Return the settings in a TOML file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"not TOML: {error}", place=path, remedy="write lines such as c2 = 0.1"
        ) from None
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
    """Return the names of all settings, of both estimators and of the program itself.

    Examples
    --------
    >>> {"model", "gazetteer", "features", "c2", "scheme"} <= set(known_choices())
    True
    """
    from caesura.models import ChainCRF, SemiCRF

    names = [*OWN]
    for kind in (SemiCRF, ChainCRF):
        names += [name for name in inspect.signature(kind).parameters if name not in NEVER]
    return list(dict.fromkeys([*names, *NEURAL]))


# ---- estimators ----------------------------------------------------------------------------------


def kind_of(choices: Mapping[str, Any]) -> str:
    """Return the kind of model that the settings choose."""
    kind = choices.get("model", "semi")
    if kind not in ("semi", "chain", "neural"):
        raise InvalidInput(message("model", kind, "semi, chain or neural", "pass one of them"))
    return str(kind)


def estimator(choices: Mapping[str, Any], verbose: bool | None = False, **changed: Any) -> Any:
    """Return an unfitted estimator with the given settings.

    Examples
    --------
    >>> estimator({"model": "chain", "c2": 0.1, "features": "ner"})
    ChainCRF(features='ner', c2=0.1)
    >>> estimator({"scheme": "BIO"})
    Traceback (most recent call last):
    caesura.errors.InvalidInput: scheme: got 'BIO' for a semi model, which has no such setting;
    leave it out, or use the model chain
    """
    from caesura.models import ChainCRF, SemiCRF

    kind = kind_of(choices)
    if kind == "neural":
        return neural_estimator({**choices, **changed}, verbose)
    other = "chain" if kind == "semi" else "semi"
    made: Any = SemiCRF if kind == "semi" else ChainCRF
    names = inspect.signature(made).parameters
    other_names = inspect.signature(ChainCRF if kind == "semi" else SemiCRF).parameters
    params = {name: value for name, value in choices.items() if name not in OWN} | changed
    for name, value in params.items():
        if name not in names:
            owner = "neural" if name in NEURAL and name not in other_names else other
            raise InvalidInput(
                place=name,
                got=f"{value!r} for a {kind} model, which has no such setting",
                remedy=f"leave it out, or use the model {owner}",
            )
    _check_preset(params.get("features"))
    if choices.get("gazetteer"):
        params["features"] = _with_gazetteers(choices, kind == "semi")
    model = made(**params, verbose=verbose)
    model.check_parameters()  # reports invalid settings before training begins
    return model


def _check_preset(name: Any) -> None:
    from caesura.features import PRESETS

    if name is not None and name not in PRESETS:
        near = difflib.get_close_matches(str(name), PRESETS, 1)
        remedy = f"did you mean {near[0]}?" if near else "pass one of these names"
        raise InvalidInput(message("preset", name, ", ".join(PRESETS), remedy))


def _with_gazetteers(choices: Mapping[str, Any], segments: bool) -> list[Any]:
    """Return the features of a preset together with features of lexicons."""
    from caesura.features import Dictionary, Lexicon, in_lexicon, matched, preset, window
    from caesura.features.character_features import for_characters
    from caesura.features.presets import OF_TOKENS

    name = choices.get("features", "generic")
    cutter = Tokeniser.of(choices.get("tokeniser", "words"))
    lexicons = [Lexicon.read(path, tokenise=cutter) for path in choices["gazetteer"]]
    try:
        features = list(preset(name, segments=segments, gazetteers=lexicons))
    except InvalidInput:  # the preset takes no gazetteers
        features = list(preset(name, segments=segments))
        for lexicon in lexicons:
            features += window(matched(lexicon, casefold=True, loose=True), -1, 1)
            features.append(in_lexicon(lexicon, casefold=True, part=True)[0])
            if segments:
                features.append(Dictionary(lexicon, casefold=True, loose=True, length=True))
    smaller = cutter.name == "characters" and name not in OF_TOKENS
    return for_characters(features, segments) if smaller else features


# ---- settings of a model -------------------------------------------------------------------------


def changed_settings(model: Any) -> dict[str, Any]:
    """Return the parameters of a model that differ from their defaults."""
    defaults = inspect.signature(type(model)).parameters
    hidden = ("features", "tokeniser", "n_threads", "verbose")
    found = {
        name: value
        for name, value in model.get_params().items()
        if name not in hidden and value != defaults[name].default
    }
    if isinstance(model.features, str):
        found["features"] = model.features
    return found


def options_like(model: Any) -> tuple[list[str], list[str]]:
    """Return the options that train another model like this one, and what no option can express.

    Examples
    --------
    >>> from caesura import ChainCRF
    >>> options_like(ChainCRF("citations", c2=0.1, penalties={"word": 1.0}))
    (['--model', 'chain', '--c2', '0.1', '--preset', 'citations'], ['penalties'])
    """
    kind = getattr(model, "kind", "semi")
    options, others = ([] if kind == "semi" else ["--model", kind]), []
    back = {parameter: option for option, parameter in ALIASES.items()}
    if not isinstance(model.features, str | None):
        others.append("features (--preset, --gazetteer)")
    for name, value in changed_settings(model).items():
        if name in NEVER:
            continue
        option = back.get(name, name)
        arguments = _arguments(option, value) if option in Settings._fields else None
        if arguments is None:
            others.append(name)
        else:
            options += arguments
    return options, others


def _arguments(option: str, value: Any) -> list[str] | None:
    """Return the arguments that give an option a value; None if there are none."""
    flag = "--" + option.replace("_", "-")
    if isinstance(value, bool):
        if option in SWITCHES:
            return [flag, "yes" if value else "no"]
        return [flag] if value else None
    if value is None:
        return [flag, "none"] if option in ("outside_length", "scheme") else None
    if isinstance(value, Mapping) and option in ("max_length", "class_weight"):
        parts = [f"{label}={one}" for label, one in value.items()]
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        parts = value
    elif isinstance(value, int | float | str):
        parts = [str(value)]
    else:
        return None
    return [one for part in parts for one in (flag, part)]
