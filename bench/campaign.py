"""Randomised campaigns: engine, learned models, damaged model files, killed commands.

    python bench/campaign.py engine  STATE --n 200000 [--seconds 240]
    python bench/campaign.py learned STATE --n 10000
    python bench/campaign.py damaged STATE --n 20000
    python bench/campaign.py kills   STATE --n 500

STATE is a file that keeps how many cases ran and which failed; a later run goes on from there. The
case with number i is always the same.

engine: potentials of every kind with constraints; ln Z, the best, the n best, marginals, entropy
and probabilities are compared with a list of all segmentations that is made and scored here.
learned: models of random data; the objective, predictions, n best and marginals are compared with a
list of all segmentations, before and after saving and pickling.
damaged: model files with bits, bytes and blocks changed, and with the checksum put right again, so
that the damage reaches what reads the contents; they are refused or predict, and never crash.
kills: `train` and `segment` are killed (SIGKILL) at random moments; files are complete or absent, a
model that is trained on from its checkpoint equals one that was not disturbed byte by byte, and
nothing is left behind by the next run.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import caesura
from caesura import persistence
from caesura.corpora import write as write_corpus
from caesura.demo import addresses
from caesura.features import Length, Text, edge, history, lower, shape, word

Path_ = tuple[tuple[int, int, int], ...]  # a segmentation: start, end and label of each segment
FIRST = (caesura.Segment(0, 1, "A"), caesura.Segment(1, 2, "A"))
WORDS = ("Ann", "bob", "12", "St.", ",", "Zoë", "x9")


def close(a: float, b: float) -> bool:
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= 1e-8 * max(1.0, abs(b))


# -- the engine ------------------------------------------------------------------------------------


class Drawn:
    """A random model, as a list of rules for scoring, and as potentials."""

    def __init__(self, rng: random.Random) -> None:
        self.T, self.Y = rng.randint(0, 4), rng.randint(1, 3)
        self.bounds = [rng.choice([None, 1, 2, 3]) for _ in range(self.Y)]
        self.same = rng.random() < 0.7
        size = rng.choice([0.1, 1.0, 1.0, 30.0, 1e4])
        self.p = caesura.Potentials(
            self.T, self.Y, max_length=self.bounds, same_label_adjacent=self.same
        )
        T, Y = self.T, self.Y

        def score() -> float:
            return -math.inf if rng.random() < 0.04 else rng.gauss(0, 1) * size

        self.emission = [[rng.gauss(0, 1) * size for _ in range(Y)] for _ in range(T)]
        self.p.emission[:] = np.array(self.emission).reshape(T, Y)
        self.transition = [[score() for _ in range(Y)] for _ in range(Y)]
        self.start, self.end = ([score() for _ in range(Y)] for _ in range(2))
        self.p.transition[:], self.p.start[:], self.p.end[:] = self.transition, self.start, self.end
        self.spans, self.edges, self.patterns = [], [], []
        for _ in range(rng.randint(0, 4) if T else 0):
            s = rng.randrange(T)
            e = rng.randint(s + 1, T)
            labels = tuple(rng.randrange(Y) for _ in range(rng.choice([1, 1, 1, 2, 3])))
            one = (s, e, labels, score(), rng.random() < 0.5, rng.random() < 0.5)
            self.spans.append(one)
            self.p.add(s, e, labels if len(labels) > 1 else labels[0], *one[3:])
        for _ in range(rng.randint(0, 2) if T > 1 else 0):
            edge_ = (rng.randint(1, T - 1), rng.randrange(Y), rng.randrange(Y), score())
            self.edges.append(edge_)
            self.p.add_transition(*edge_)
        for _ in range(rng.choice([0, 0, 1, 2]) if T else 0):
            labels = tuple(rng.randrange(Y) for _ in range(rng.randint(2, 3)))
            self.patterns.append((labels, value := score()))
            self.p.add_pattern(labels, value)
        self.rules: dict[str, Any] = {}
        self.constrain(rng)

    def constrain(self, rng: random.Random) -> None:
        T, Y = self.T, self.Y
        if T and rng.random() < 0.4:
            kinds = ["at_most_once", "exactly_once", "ordered", "allowed", "forbidden"]
            for kind in rng.sample(kinds + (["boundaries", "no_boundaries"] * (T > 1)), 2):
                if kind in ("at_most_once", "exactly_once"):
                    self.rules[kind] = [rng.randrange(Y)]
                elif kind == "ordered":
                    self.rules[kind] = rng.sample(range(Y), Y)
                elif kind == "allowed":
                    self.rules[kind] = {rng.randrange(T): rng.sample(range(Y), rng.randint(1, Y))}
                elif kind == "forbidden":
                    s = rng.randrange(T)
                    self.rules[kind] = [(s, rng.randint(s + 1, T), rng.randrange(Y))]
                else:
                    self.rules[kind] = [rng.randint(1, T - 1)]
            self.p.constrain(**self.rules)

    def all(self, start: int = 0, before: Path_ = ()) -> Iterator[Path_]:
        """Yield every segmentation that bounds allow."""
        if start == self.T:
            yield before
            return
        for y in range(self.Y):
            if not self.same and before and before[-1][2] == y:
                continue
            longest = self.bounds[y] or self.T
            for end in range(start + 1, min(self.T, start + longest) + 1):
                yield from self.all(end, (*before, (start, end, y)))

    def score(self, path: Path_) -> float:
        """Return the sum of what applies to a segmentation; -inf if it breaks a rule."""
        if not self.keeps(path):
            return -math.inf
        labels = [y for _, _, y in path]
        total = sum(self.emission[t][y] for s, e, y in path for t in range(s, e))
        if path:
            total += self.start[labels[0]] + self.end[labels[-1]]
        total += sum(self.transition[a][b] for a, b in itertools.pairwise(labels))
        for k, (a, b, _) in enumerate(path):
            upto = tuple(labels[: k + 1])
            for s, e, z, value, open_start, open_end in self.spans:
                starts = a <= s if open_start else a == s
                ends = b >= e if open_end else b == e
                if starts and ends and a < e and b > s and upto[-len(z) :] == z:
                    total += value
            total += sum(value for z, value in self.patterns if upto[-len(z) :] == z)
            for position, before, after, value in self.edges:
                if k and position == a and (labels[k - 1], labels[k]) == (before, after):
                    total += value
        return total

    def keeps(self, path: Path_) -> bool:
        labels = [y for _, _, y in path]
        inner = {s for s, _, _ in path[1:]}
        rules = self.rules
        order = [y for y in labels if y in rules.get("ordered", ())]
        return (
            all(labels.count(y) <= 1 for y in rules.get("at_most_once", ()))
            and all(labels.count(y) == 1 for y in rules.get("exactly_once", ()))
            and order == sorted(order, key=rules.get("ordered", []).index)
            and all(
                y in ok
                for s, e, y in path
                for t, ok in rules.get("allowed", {}).items()
                if s <= t < e
            )
            and not set(path) & set(rules.get("forbidden", ()))
            and set(rules.get("boundaries", ())) <= inner
            and not inner & set(rules.get("no_boundaries", ()))
        )


def plain(segments: Any) -> Path_:
    return tuple((s, e, y) for s, e, y in segments)


def engine(i: int, rng: random.Random) -> None:
    drawn = Drawn(rng)
    scored = [(drawn.score(path), path) for path in drawn.all()]
    scored = sorted((one for one in scored if one[0] > -math.inf), key=lambda one: -one[0])
    p = drawn.p
    most = scored[0][0] if scored else 0.0
    total = most + math.log(sum(math.exp(s - most) for s, _ in scored)) if scored else -math.inf
    assert close(caesura.log_partition(p), total), "ln Z"
    if not scored:
        return
    best = caesura.viterbi(p)
    assert close(best.score, most), "best"
    assert close(drawn.score(plain(best.segments)), most), "path of the best"
    n = rng.randint(1, 6)
    found = caesura.n_best(p, n)
    assert len(found) == min(n, len(scored)), "number of the n best"
    assert all(close(a.score, s) for a, (s, _) in zip(found, scored, strict=False)), "n best"
    chances = [math.exp(s - total) for s, _ in scored]
    m = caesura.marginals(p)
    tokens = np.zeros((drawn.T, drawn.Y))
    for chance, (_, path) in zip(chances, scored, strict=True):
        for s, e, y in path:
            tokens[s:e, y] += chance
    assert np.abs(m.tokens - tokens).max(initial=0.0) < 1e-8, "marginals"
    entropy = sum(c * (total - s) for c, (s, _) in zip(chances, scored, strict=True))
    assert abs(caesura.entropy(p) - entropy) <= 1e-7 * max(1.0, entropy), "entropy"
    score, path = rng.choice(scored)
    assert close(caesura.log_probability(p, list(path)), score - total), "probability"
    assert all(drawn.keeps(plain(one)) for one in caesura.sample(p, 2, seed=i)), "sample"


# -- learned models --------------------------------------------------------------------------------


def drawn_document(rng: random.Random, labels: list[str]) -> caesura.Document:
    tokens = tuple(rng.choice(WORDS) for _ in range(rng.randint(1, 5)))
    segments, at = [], 0
    while at < len(tokens):
        end = min(len(tokens), at + rng.randint(1, 3))
        if rng.random() < 0.8:
            segments.append(caesura.Segment(at, end, rng.choice(labels)))
        at = end
    return caesura.Document(tokens, segments=tuple(segments))


def every(p: Any) -> Iterator[list[caesura.Segment]]:
    """Yield every segmentation of potentials, without regard to bounds or rules."""

    def rest(at: int) -> Iterator[list[caesura.Segment]]:
        if at == p.length:
            yield []
        for end in range(at + 1, p.length + 1):
            for label in p.labels:
                for more in rest(end):
                    yield [caesura.Segment(at, end, label), *more]

    return rest(0)


def learned(i: int, rng: random.Random) -> None:
    labels = ["A", "B"][: rng.randint(1, 2)]
    train = [drawn_document(rng, labels) for _ in range(rng.randint(2, 6))]
    train.append(caesura.Document(("Ann", "12"), segments=FIRST))
    features: list[Any] = rng.sample([word[0], shape[0], lower[-1] & shape[0], word[1]], 2)
    options: dict[str, Any] = {
        "c1": rng.choice([0.0, 0.0, 0.1]),
        "c2": rng.choice([1.0, 0.1, 0.01]),
        "max_iterations": rng.choice([1, 5, 40]),
        "all_possible_states": rng.random() < 0.3,
        "precision": rng.choice(["auto", "double", "mixed"]),
        "n_threads": 1,
    }
    if rng.random() < 0.6:
        features += rng.sample([Length(exact=2), Text(), edge(word[0]), history(shape[0], 1)], 2)
        bound = rng.choice([None, "observed", 3])
        model: Any = caesura.SemiCRF(features, max_length=bound, **options)
    else:
        scheme = rng.choice(["BIO", "BIOES", "auto"])
        model = caesura.ChainCRF(features, scheme=scheme, **options)
    model.fit(train)
    asked = [drawn_document(rng, labels).tokens for _ in range(3)]
    said, ranked = model.predict(asked), model.predict_n_best(asked, 3)
    sure = model.predict_confident(asked)
    if model.kind == "semi":
        for tokens, best, some, confident in zip(asked, said, ranked, sure, strict=True):
            agrees(model.potentials(tokens), best, some, confident)
        objective(model, train, options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        for again in (caesura.load(path), pickle.loads(pickle.dumps(model))):
            assert again.predict(asked) == said, "saved model"
            assert again.predict_n_best(asked, 3) == ranked, "saved model, n best"
            assert again.predict_confident(asked) == sure, "saved model, probabilities"


def agrees(p: Any, best: Any, ranked: Any, confident: Any) -> None:
    """Compare the answers of a model with a list of all segmentations."""
    outside = "O"
    whole = [(caesura.score(p, path), path) for path in every(p)]
    whole = sorted((one for one in whole if one[0] > -math.inf), key=lambda one: -one[0])
    total = whole[0][0] + math.log(sum(math.exp(s - whole[0][0]) for s, _ in whole))

    def shown(path: Any) -> list[Any]:
        return [one for one in path if one.label != outside]

    top = [shown(path) for s, path in whole if close(s, whole[0][0])]
    assert list(best) in top, "best of a model"
    for one in confident:
        chance = sum(math.exp(s - total) for s, path in whole if one.segment in path)
        assert abs(one.probability - chance) < 1e-6, "probability of a segment"
    assert list(ranked[0][0]) in top, "first of the n best"


def objective(model: Any, train: list[caesura.Document], options: dict[str, Any]) -> None:
    """Compare the objective at the end with one that is made of probabilities of segmentations."""
    value = 0.0
    for document in train:
        p = model.potentials(document.tokens)
        gold = caesura.fill_gaps(document.segments or (), len(document), "O")
        value -= caesura.log_probability(p, gold) if set(p.labels) >= {s.label for s in gold} else 0
    w = model.weights_
    value += options["c2"] * float(w @ w) + options["c1"] * float(np.abs(w).sum())
    if not model.history_:  # there was nothing to learn: all weights are best at zero
        assert not w.any(), "weights without an iteration"
        return
    final = model.history_[-1].objective
    assert abs(value - final) <= 1e-5 * max(1.0, abs(value)), f"objective {value} {final}"


# -- damaged files ---------------------------------------------------------------------------------


def whole_files() -> list[bytes]:
    """Return model files of several kinds."""
    train = addresses(12, 3)
    made: list[Any] = [
        caesura.SemiCRF([word[0], shape[0], Length(exact=2), Text()], c2=0.1, max_iterations=5),
        caesura.SemiCRF("generic", c1=0.1, order=2, patterns="grow", max_iterations=5),
        caesura.ChainCRF("addresses", c1=0.1, max_iterations=5, tokeniser={"regex": r"\S+"}),
    ]
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for model in made:
            model.fit(train).calibrate(train)
            model.save(Path(folder, "model"))
            files.append(Path(folder, "model").read_bytes())
    return files


FILES: list[bytes] = []
ODD = (b"", b"\0", b"\xff", b"-1", b"9" * 30, b"null", b"[]", b'"', b"{", b"1e999", b"NaN", b"true")


def damaged(i: int, rng: random.Random) -> None:
    if not FILES:
        FILES.extend(whole_files())
    content = bytearray(rng.choice(FILES))
    header = 8 + int.from_bytes(content[:8], "little")
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(min(header, len(content)) if rng.random() < 0.5 else len(content))
        kind = rng.randrange(5)
        if kind == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[at : at + rng.randint(1, 40)] = b""
        elif kind == 2:
            piece = rng.choice(ODD)
            content[at : at + len(piece)] = piece
        elif kind == 3:
            other = rng.randrange(len(content))
            content[at : at + 16] = content[other : other + 16]
        else:
            del content[at:]
        if len(content) < 200:
            break
    place = persistence._CHECKSUM  # so that the damage gets further
    if rng.random() < 0.7 and len(content) > place.stop:
        content[place] = persistence._checksum(bytes(content))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(bytes(content))
        try:
            model = caesura.load(path)
            model.predict(["12 High Street, Leeds 4", ""])
            model.predict_confident(["12 High Street"])
        except caesura.CaesuraError:
            pass


# -- kills -----------------------------------------------------------------------------------------


class Work:
    """A folder with data, and what undisturbed commands make of it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        write_corpus(self.folder / "train.jsonl", addresses(150, 1))
        texts = [str(one.text) for one in addresses(3000, 2)]
        (self.folder / "new.txt").write_text("\n".join(texts) + "\n", "utf-8")
        self.train = ["train", "train.jsonl", "-o", "m.model", "-q", "--preset", "addresses"]
        self.train += ["--c2", "0.001", "--epsilon", "1e-9", "--delta", "0", "--threads", "1"]
        self.train += ["--max-iterations", "300"]
        self.segment = ["segment", "whole.model", "new.txt", "-o", "out.csv", "-q"]
        self.segment += ["--threshold", "0.9", "--review", "check.csv", "--threads", "1"]
        began = time.monotonic()
        self.call(self.train).wait()
        self.seconds = {"train": time.monotonic() - began}
        (self.folder / "m.model").rename(self.folder / "whole.model")
        began = time.monotonic()
        self.call(self.segment).wait()
        self.seconds["segment"] = time.monotonic() - began
        self.expected = {
            name: digest(self.folder / name) for name in ("whole.model", "out.csv", "check.csv")
        }

    def call(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "caesura", *arguments]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self.folder, stdout=quiet, stderr=quiet)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


WORK: list[Work] = []


def killed(work: Work, arguments: list[str], rng: random.Random) -> bool:
    """Start a command and kill it after a while; return whether it had ended before."""
    process = work.call(arguments)
    try:
        process.wait(rng.uniform(0.15, 1.0) * work.seconds[arguments[0]])
        return True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False


def kills(i: int, rng: random.Random) -> None:
    if not WORK:
        WORK.append(Work())
    work = WORK[0]
    if i % 2:
        for name in ("out.csv", "check.csv"):
            (work.folder / name).unlink(missing_ok=True)
        killed(work, work.segment, rng)
        there = [name for name in ("out.csv", "check.csv") if (work.folder / name).exists()]
        assert len(there) in (0, 2), f"only {there}"
        assert all(digest(work.folder / name) == work.expected[name] for name in there), "half"
        if i % 10 == 1:
            work.call(work.segment).wait()
            assert digest(work.folder / "out.csv") == work.expected["out.csv"]
            clean(work)
        return
    model, checkpoint = work.folder / "m.model", work.folder / "m.model.checkpoint"
    going_on = ["--resume"] if checkpoint.exists() else []
    ended = killed(work, work.train + going_on, rng)
    if model.exists():
        assert digest(model) == work.expected["whole.model"], "another model than undisturbed"
        model.unlink()
        checkpoint.unlink(missing_ok=True)  # killed between the two
    else:
        assert not ended, "ended without a model"
    if i % 10 == 0:
        going_on = ["--resume"] if checkpoint.exists() else []
        assert work.call(work.train + going_on).wait() == 0, "cannot go on"
        assert digest(model) == work.expected["whole.model"], "another model after going on"
        model.unlink()
        clean(work)


def clean(work: Work) -> None:
    """Raise if a run that ended has left temporary files of killed ones behind."""
    left = [one.name for one in work.folder.iterdir() if one.name.startswith(".")]
    left = [name for name in left if "model" in name or "out" in name or "check" in name]
    own = [name for name in left if "m.model" in name or "out.csv" in name]
    assert len(own) <= 1, own  # of the command that was not run again


# -- running ---------------------------------------------------------------------------------------

CASES: dict[str, Callable[[int, random.Random], None]] = {
    "engine": engine,
    "learned": learned,
    "damaged": damaged,
    "kills": kills,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=CASES)
    parser.add_argument("state", type=Path, help="JSON: what ran and what failed")
    parser.add_argument("--n", type=int, required=True, help="cases in all, with earlier runs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing later")
    given = parser.parse_args()
    state = {"kind": given.kind, "done": 0, "failed": []}
    if given.state.exists():
        state = json.loads(given.state.read_text("utf-8"))
    end = time.monotonic() + given.seconds
    while state["done"] < given.n and time.monotonic() < end:
        i = state["done"]
        try:
            CASES[given.kind](i, random.Random(f"{given.kind} {i}"))
        except Exception as error:
            state["failed"].append([i, f"{type(error).__name__}: {error}"])
            print(f"case {i}", file=sys.stderr)
            traceback.print_exc()
        state["done"] += 1
        if state["done"] % 100 == 0 or given.kind == "kills":
            save(given.state, state)
    save(given.state, state)
    print(f"{given.kind}: {state['done']:,} cases, {len(state['failed'])} failed")


def save(path: Path, state: dict[str, Any]) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(state), "utf-8")
    os.replace(temporary, path)


if __name__ == "__main__":
    main()
