"""Models as files: round trips, golden files of every version, and every way to be wrong."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import close
from toys import addresses, bags_of, numbers_of

import caesura
from caesura import CaesuraError, ChainCRF, Document, InvalidInput, SemiCRF, persistence
from caesura.features import (
    Dictionary,
    Length,
    Lexicon,
    Pattern,
    SegmentFunction,
    Similar,
    Text,
    dense,
    edge,
    first,
    function,
    history,
    in_lexicon,
    lower,
    ngrams,
    shape,
    within,
    word,
)

GOLDEN = Path(__file__).parent / "golden"
X, Y = addresses(30, seed=1)
X_NEW, Y_NEW = addresses(30, seed=2)
KINDS = [SemiCRF, ChainCRF]


def size(document: Document, t: int) -> dict[str, float]:
    return {"size": len(document.tokens[t]) / 4}


def initials(document: Document, start: int, end: int) -> str:
    return "".join(token[:1] for token in document.tokens[start:end])


def everything(kind: Any) -> list[Any]:
    towns = Lexicon("towns", ["Leeds", "New Mill", "\ud800 \0"])
    shared = [
        *(lower[0], lower[-1] & shape[0], ngrams(2, 3)[0], in_lexicon(towns)[1]),
        *(edge(shape[0]), edge(lower[-1] & lower[0]), function(size)[0]),
        *(history(shape[0], 1), history(edge(shape[0]), 2)),
    ]
    segments = [
        *(first(word[0]), within(word[0] & word[1]), Length(at_least=2), Dictionary(towns)),
        *(Text(), Pattern("[A-Z].*", 3), SegmentFunction(initials, 3), Similar(towns)),
        *(history(first(shape[0]), 2), history(Text(), 1)),
    ]
    return [*shared, *segments] if kind is SemiCRF else shared


def saved(model: Any, path: Path) -> Any:
    model.save(path)
    return caesura.load(path)


# -- round trips -----------------------------------------------------------------------------------


@pytest.mark.parametrize("c1", [0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_predicts_the_same_after_it_was_saved(kind: Any, c1: float, tmp_path: Path) -> None:
    model = kind(everything(kind), c1=c1, c2=0.1, outside_bias=0.2).fit(X, Y)
    model.calibrate(X_NEW, Y_NEW)
    again = saved(model, tmp_path / "model")
    assert type(again) is kind
    assert again.labels_ == model.labels_
    assert again.features_ == model.features_
    assert again.status_ == "loaded"
    assert again.predict(X_NEW) == model.predict(X_NEW)
    for x in X_NEW[:5]:
        p, q = model.potentials(x), again.potentials(x)
        assert close(q.emission, p.emission, 1e-12)
        assert close(q.transition, p.transition, 0)
        assert close(caesura.log_partition(q), caesura.log_partition(p), 1e-12)
    for a, b in zip(again.predict_confident(X_NEW), model.predict_confident(X_NEW), strict=True):
        assert close([one.probability for one in a], [one.probability for one in b])
        assert all(one.calibrated for one in a)
    assert str(again.explain(X_NEW[0])[0]) == str(model.explain(X_NEW[0])[0])
    twice = saved(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert np.array_equal(twice._known.w, again._known.w)


@pytest.mark.parametrize("form", ["dense", "bags", "texts"])
@pytest.mark.parametrize("kind", KINDS)
def test_other_forms_of_x(kind: Any, form: str, tmp_path: Path) -> None:
    make: Any = {"dense": numbers_of, "bags": bags_of, "texts": " ".join}[form]
    xs = [make(x) for x in X]
    model = kind(c1=0.1, c2=0.1, tokeniser={"regex": r"\S+"}).fit(xs, Y)
    again = saved(model, tmp_path / "model")
    assert again.predict(xs) == model.predict(xs)
    assert again.features is None


def test_dense_columns_keep_their_places(tmp_path: Path) -> None:
    """Columns without a weight are not there, but those after them do not move up."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(5, 4)) for _ in range(30)]
    ys = [[(t, t + 1, "A") for t in range(5) if a[t, 2] > 0] for a in arrays]
    model = SemiCRF([dense[0]], c1=3.0, c2=0.0).fit(arrays, ys)
    again = saved(model, tmp_path / "model")
    assert 0 < len(again._known.encoder) < 4
    assert again.predict(arrays) == model.predict(arrays)
    with pytest.raises(InvalidInput, match=r"X\[0\].dense: .* expected \(5, 4\)"):
        again.predict([np.ones((5, 3))])


def test_weights_of_zero_are_left_out(tmp_path: Path) -> None:
    dense_one = SemiCRF(everything(SemiCRF), c2=0.1).fit(X, Y)
    sparse = SemiCRF(everything(SemiCRF), c1=0.5, c2=0.0).fit(X, Y)
    dense_one.save(tmp_path / "dense")
    again = saved(sparse, tmp_path / "sparse")
    sizes = {name: (tmp_path / name).stat().st_size for name in ("dense", "sparse")}
    assert sizes["sparse"] < sizes["dense"] / 3
    assert again.n_features_ < sparse.n_features_ / 4
    kept = again._known.w[: len(again._known.parameters.attribute)]
    assert (kept != 0).all()


def test_options_survive(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "max_length": {"town": 3},
        "penalties": {"lower[0]": 0.5, shape[0]: (0.1, 0.2), "transitions": 0.01},
        "class_weight": {"town": np.float64(2.0)},
        "c2": np.float32(0.5).item(),
        "tokeniser": {"regex": r"\w+"},
        "outside_bias": -0.5,
        "n_threads": 2,
        "max_iterations": 7,
        "warm_start": True,
    }
    model = SemiCRF([lower[0], shape[0]], **options).fit(X, Y)
    again = saved(model, tmp_path / "model")
    expected = model.get_params()
    expected["penalties"] = {"lower[0]": 0.5, "shape[0]": [0.1, 0.2], "transitions": 0.01}
    assert again.get_params() == expected
    before = again.history_
    assert len(again.fit(X, Y).history_) > len(before)
    named = saved(ChainCRF("addresses").fit(X, Y), tmp_path / "named")
    assert named.features == "addresses"
    numbers: dict[str, Any] = {"max_iterations": np.int64(3), "random_state": np.int32(4)}
    scalar = SemiCRF([lower[0]], **numbers)
    assert saved(scalar.fit(X, Y), tmp_path / "scalar").random_state == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_goes_on_learning(kind: Any, tmp_path: Path) -> None:
    model = kind([lower[0], shape[0]], c2=0.1, warm_start=True).fit(X, Y)
    again = saved(model, tmp_path / "model")
    again.fit([*X, ["Mars"]], [*Y, [(0, 1, "planet")]])
    assert again.labels_ == ["number", "planet", "street", "town"]
    assert again.score(X, Y) > 0.9


# -- golden files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.model")), ids=lambda file: file.stem)
def test_golden_files(file: Path) -> None:
    assert file.stat().st_size < 50_000
    model = caesura.load(file)
    rows = json.loads(file.with_suffix(".json").read_text())
    xs = [{"tokens": row["tokens"], "dense": numbers_of(row["tokens"])} for row in rows]
    for row, sure, best in zip(
        rows, model.predict_confident(xs), model.predict_n_best(xs, 2), strict=True
    ):
        assert [[*one.segment] for one in sure] == [segment[:3] for segment in row["segments"]]
        assert close([one.probability for one in sure], [s[3] for s in row["segments"]])
        assert [[list(s) for s in segments] for segments, _ in best] == [s for s, _ in row["best"]]
        assert close([p for _, p in best], [p for _, p in row["best"]])


def test_there_is_a_golden_file_of_each_kind_and_version() -> None:
    versions = range(1, persistence.VERSION + 1)
    names = {f"{kind}-{version}.model" for kind in ("semi", "chain") for version in versions}
    assert {file.name for file in GOLDEN.glob("*.model")} == names


# -- functions -------------------------------------------------------------------------------------


def test_a_function_is_found_by_its_name(tmp_path: Path) -> None:
    """Another process has it if it can import it, and says so if it cannot."""
    (tmp_path / "mine.py").write_text("def size(document, t):\n    return str(t)\n")
    make = (
        "import caesura, mine\nfrom caesura.features import function\n"
        "m = caesura.SemiCRF([function(mine.size)[0]]).fit([['a', 'b']], [[(0, 1, 'x')]])\n"
        "m.save('model')\n"
    )
    ask = "import caesura; print(caesura.load('model', trust=True).predict([['a', 'b']]))"
    used = "import mine; from caesura.features import function; function(mine.size); "
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(code: str) -> Any:
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    assert run(make).returncode == 0
    assert "label='x'" in run(ask).stdout
    assert "label='x'" in run(used + ask.replace("trust=True", "trust=False")).stdout
    (tmp_path / "mine.py").unlink()
    missing = run(ask)
    assert missing.returncode == 1
    assert "model: function: got 'mine:size', expected a function that can be imported here" in (
        missing.stderr
    )
    assert "install or write the module that has it" in missing.stderr


def test_no_module_is_imported_without_trust(tmp_path: Path) -> None:
    """Neither by load nor by a command; both say which function it is, and how to allow it."""
    (tmp_path / "evil.py").write_text(
        "open('imported', 'w').close()\ndef size(document, t):\n    return str(t)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    make = (
        "import caesura, evil, os\nfrom caesura.features import function\n"
        "m = caesura.SemiCRF([function(evil.size)[0]]).fit([['a', 'b']], [[(0, 1, 'x')]])\n"
        "m.save('model')\nos.remove('imported')\n"
    )
    (tmp_path / "gold.conll").write_text("a B-x\nb O\n")

    def run(*words: str) -> Any:
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    assert run("-c", make).returncode == 0
    commands = [
        ["inspect", "model"],
        ["explain", "model", "a b"],
        ["segment", "model", "gold.conll", "-o", "out.jsonl"],
        ["evaluate", "model", "gold.conll"],
        ["compare", "gold.conll", "model", "model"],
        ["train", "gold.conll", "-o", "new.model", "--warm-start", "model", "-q"],
    ]
    for words in [["-c", "import caesura; caesura.load('model')"]] + [
        ["-m", "caesura", *words] for words in commands
    ]:
        refused = run(*words)
        assert refused.returncode != 0, words
        assert "function: got 'evil:size'" in refused.stderr
        assert "--trust" in refused.stderr
        assert not (tmp_path / "imported").exists(), words
        if words[0] == "-m":
            assert run(*words, "--trust").returncode == 0, words
            (tmp_path / "imported").unlink()


def test_functions_without_a_name_cannot_be_saved(tmp_path: Path) -> None:
    model = SemiCRF([function(lambda document, t: "x", "mine")[0]]).fit(X, Y)
    with pytest.raises(InvalidInput, match="expected a function that can be imported by its name"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["os:system", "json:codecs.open", "builtins:eval", "no.such:f", "x"]
)
def test_files_name_only_functions_of_their_own_module(name: str, tmp_path: Path) -> None:
    model = SemiCRF([function(size)[0]]).fit(X, Y)
    model.save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model", "model")
    text = json.dumps(persistence.unpack(arrays["features"]))
    assert "test_model_files:size" in text
    arrays["features"] = persistence.pack(json.loads(text.replace("test_model_files:size", name)))
    persistence.write(tmp_path / "model", "model", header, arrays)
    with pytest.raises(InvalidInput, match=r"function: got .*trust=True"):
        caesura.load(tmp_path / "model")
    if name in ("os:system", "builtins:eval"):  # they are called by other names, or refuse to work
        with pytest.raises((InvalidInput, TypeError)):
            caesura.load(tmp_path / "model", trust=True).predict(X)
        return
    with pytest.raises(InvalidInput, match="function: got"):
        caesura.load(tmp_path / "model", trust=True)


# -- files that are wrong --------------------------------------------------------------------------


@pytest.fixture(scope="module", params=KINDS)
def content(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], dict[str, Any]]:
    kind = request.param
    model = kind(everything(kind), order=3, c1=0.3, c2=0.1).fit(X[:12], Y[:12])
    model.calibrate(X_NEW, Y_NEW)
    path = tmp_path_factory.mktemp("files") / "model"
    model.save(path)
    return persistence.read(path, "model")


def test_truncated_foreign_newer_and_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "model"
    SemiCRF([lower[0]]).fit(X, Y).save(path)
    whole = path.read_bytes()

    def refused(data: bytes, text: str) -> None:
        path.write_bytes(data)
        with pytest.raises(InvalidInput) as error:
            caesura.load(path)
        assert text in str(error.value)
        assert str(path) in str(error.value)

    for count in (0, 7, 100, 500, len(whole) // 2, len(whole) - 1):
        refused(whole[:count], "got a file that is cut off" if count > 8 else "got a")
    refused(b"PK\3\4" + whole, "got another kind of file")
    refused(b"lCRF" + bytes(200), "got another kind of file")
    refused(whole[:-3] + b"\0" + whole[-2:], "got a damaged file")
    persistence.write(path, "training", {}, {})
    refused(path.read_bytes(), "got a file of kind 'training', expected 'model'")
    with pytest.raises(FileNotFoundError):
        caesura.load(tmp_path / "nothing")


def test_newer_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr(persistence, "VERSION", 99)
        SemiCRF([lower[0]]).fit(X, Y).save(path)
    with pytest.raises(InvalidInput, match=r"got version 99 of the format, .*update this one"):
        caesura.load(path)


def test_saving_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    model = SemiCRF([lower[0]]).fit(X, Y)
    model.save(path)
    before = path.read_bytes()

    def full(*arguments: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        SemiCRF([lower[0]], c2=5.0).fit(X, Y).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


def use(path: Path) -> None:
    """Ask everything of a model that could be loaded."""
    model = caesura.load(path)
    model.predict_confident(X_NEW[:1])
    model.predict_n_best(X_NEW[:1], 2)
    model.explain(X_NEW[0])
    model.top_features(n=3)


def damages(rng: np.random.Generator, array: Any) -> list[Any]:
    """Ways in which an array can be wrong."""
    flat = array.ravel()
    out = [array[:-1], np.concatenate([flat, flat]), array.astype(np.float32), array[None]]
    out += [np.zeros(0, array.dtype), array.astype(np.int16), np.full_like(array, 1)]
    if array.dtype.kind == "f":
        values: list[Any] = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0]
    else:
        info = np.iinfo(array.dtype)
        values = [info.min, info.max, 0, 1, 2, max(info.min, -1), max(info.min, -3), 7]
    for value in values:
        if array.size:
            changed = flat.copy()
            changed[rng.integers(array.size)] = value
            out.append(changed.reshape(array.shape))
            out.append(np.full_like(array, value))
    if array.size > 1:
        swapped = flat.copy()
        swapped[:2] = swapped[1::-1]
        repeated = flat.copy()
        repeated[0] = repeated[1]
        out += [swapped.reshape(array.shape), repeated.reshape(array.shape)]
        out.append(rng.permutation(flat).reshape(array.shape))
    return out


@pytest.mark.usefixtures("quick_disk")
def test_damaged_arrays_are_refused_or_harmless(
    content: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    """A file that is wrong in spite of its checksum never ends in anything but our own errors."""
    header, arrays = content
    path, rng = tmp_path / "model", np.random.default_rng(0)
    refused = tried = 0
    for name, array in arrays.items():
        ways = damages(rng, array)
        changes = [None, *(ways[k] for k in rng.permutation(len(ways))[:8])]
        for changed in changes:
            some = {key: value for key, value in arrays.items() if key != name}
            persistence.write(
                path, "model", header, some if changed is None else some | {name: changed}
            )
            tried += 1
            try:
                use(path)
            except CaesuraError:
                refused += 1
    assert tried > 150
    assert refused > 0.6 * tried


def leaves(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values in plain data."""
    if not isinstance(value, dict | list):
        return [at]
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)
    return [at, *(leaf for key, one in items for leaf in leaves(one, (*at, key)))]


def replaced(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """Return plain data with one value replaced."""
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = replaced(value[at[0]], at[1:], new)
    return copy


WRONG: list[Any] = [None, -1, 0, 10**12, 2.5, "", "x", [], {}, [[]], True, {"type": "Length"}]


@pytest.mark.usefixtures("quick_disk")
@pytest.mark.parametrize("part", ["header", "features", "lexicon.towns"])
def test_damaged_plain_data_is_refused_or_harmless(
    content: tuple[dict[str, Any], dict[str, Any]], part: str, tmp_path: Path
) -> None:
    header, arrays = content
    whole = header if part == "header" else persistence.unpack(arrays[part])
    path, rng = tmp_path / "model", np.random.default_rng(1)
    places = [leaf for leaf in leaves(whole) if leaf]
    for at in places:
        for new in rng.choice(len(WRONG), 1 if part == "features" else 2, replace=False):
            changed = replaced(whole, at, WRONG[new])
            if part == "header":
                persistence.write(path, "model", changed, arrays)
            else:
                persistence.write(path, "model", header, arrays | {part: persistence.pack(changed)})
            with contextlib.suppress(CaesuraError):
                use(path)


def test_envelopes_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    dumps: Callable[..., str] = json.dumps
    wrongs: list[dict[str, Any]] = [{"version": "1"}, {"kind": None}, {"header": []}]
    for wrong in wrongs:
        with monkeypatch.context() as patch:
            patch.setattr(json, "dumps", lambda value, w=wrong, **k: dumps({**value, **w}, **k))
            persistence.write(path, "model", {}, {})
        with pytest.raises(InvalidInput, match="got a damaged file"):
            caesura.load(path)


def test_functions_of_the_main_module_cause_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def height(document: caesura.Document, start: int, end: int) -> str:
        return "tall" if end - start > 1 else "small"

    height.__module__, height.__qualname__ = "__main__", "height"
    monkeypatch.setattr(sys.modules["__main__"], "height", height, raising=False)
    model = caesura.SemiCRF([SegmentFunction(height, 2)]).fit(["a b"], [[(0, 1, "x")]])
    with pytest.warns(UserWarning, match="height is defined in __main__, from which no other"):
        model.save(tmp_path / "model")
