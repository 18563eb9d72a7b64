"""Semi-CRFs with no bound on length against a chain over B-C-E-U tags, and against a bound.

    python bench/segments.py [--data ../shared/data] [--quick]

One objective with its gradient, time of this thread on the processor, the best of several runs that
take turns.  The same token features for all:

- tokens: the semi-CRF looks at each token of a segment; the chain, at each token of each tag.
- equal: the semi-CRF also looks at first, last and single tokens, and the chain has all four tags
  of each label, seen or not, so that both are one model; the log-likelihoods are compared at
  weights that are mapped from one to the other.  By position: the same with the places begin,
  inside, end and single.
- bounded: segments up to the longest of the training data, summed one length after the other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from chunking import TEMPLATES, Parts, alone, bags
from timing import table

import caesura
from caesura.corpora import read_conll
from caesura.features import (
    Template,
    attributes,
    begin,
    end,
    first,
    inside,
    last,
    shape,
    single,
    token,
)
from caesura.models.training import Training

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
WORDS: tuple[Parts, ...] = (
    *[(("w", k),) for k in (-2, -1, 0, 1, 2)],
    *[(("shape", k),) for k in (-1, 0, 1)],
    *[((name, 0),) for name in ("prefix2", "prefix3", "suffix2", "suffix3")],
)


class Task(NamedTuple):
    """A corpus, with the attributes of each token."""

    name: str
    documents: list[caesura.Document]

    @property
    def longest(self) -> int:
        """The longest segment."""
        return max(s.length for document in self.documents for s in document.segments or ())

    def part(self, n: int) -> Task:
        """The same with fewer documents."""
        return self._replace(documents=self.documents[:n])


def given(document: caesura.Document) -> caesura.Document:
    """Return a document that carries its attributes, so that looking around costs all the same."""
    tokens = document.tokens
    if "pos" in document.columns:
        made = bags({"w": tokens, "pos": document.columns["pos"]}, TEMPLATES)
    else:
        columns: dict[str, Sequence[str]] = {"w": tokens, "shape": [*map(shape_of, tokens)]}
        columns |= {f"prefix{k}": [token[:k] for token in tokens] for k in (2, 3)}
        columns |= {f"suffix{k}": [token[-k:] for token in tokens] for k in (2, 3)}
        made = bags(columns, WORDS)
    return caesura.Document(tokens, attributes=made, segments=document.segments)


@cache
def shape_of(token: str) -> str:
    return shape.of_word(token)[0]


def tasks(
    data: Path, most: int | None, make: Callable[[caesura.Document], caesura.Document] = given
) -> list[Task]:
    """Read the corpora; `make` gives documents their attributes."""
    cora = {"scheme": "plain", "encoding": "latin-1", "comment": None}
    corpora = {
        "CoNLL-2000": read_conll(data / "conll2000" / "train.txt", ["token", "pos", "tag"]),
        "Cora": read_conll(data / "cora_ie" / "hosemicrf_ref.train", **cora),  # type: ignore[arg-type]
        "NCBI disease": read_conll(data / "ncbi_disease" / "train.tsv", comment=None),
    }
    return [Task(name, [make(one) for one in islice(c, most)]) for name, c in corpora.items()]


# -- models ----------------------------------------------------------------------------------------


class AllTags(caesura.ChainCRF):
    """A chain with all tags of each label, also those that the training data does not have."""

    @property
    def coding(self) -> Any:
        from caesura.models.tag_coding import TagCoding

        class Coding(TagCoding):
            def labelling(self, targets: Any, lengths: Any, before: Any) -> Any:
                labels = {segment.label for target in targets for segment in target}
                known = caesura.Partial(tokens={0: labels})
                return super().labelling([*targets, known], [*lengths, 1], before)

        return Coding(self.outside, self.scheme, self.forbid_invalid)


def chain(kind: type = caesura.ChainCRF, **options: Any) -> caesura.ChainCRF:
    return kind(  # type: ignore[no-any-return]
        features=[attributes[0]], scheme="BCEU", forbid_invalid="always", n_threads=1, **options
    )


TOKENS = [attributes[0]]
PLACES = [place(attributes[0]) for place in (token, first, last, single)]
POSITIONS = [place(attributes[0]) for place in (begin, inside, end, single)]


def semi(features: Sequence[Any] = TOKENS, **options: Any) -> caesura.SemiCRF:
    return caesura.SemiCRF(features=features, n_threads=1, **options)


def compiled(model: Any, task: Task) -> Training:
    """Return the encoded data with an objective over it."""
    return model._training(model._read(task.documents, None, None), None, None)  # type: ignore[no-any-return]


def evaluation(training: Training, w: Floats) -> Callable[[], tuple[float, Floats]]:
    return lambda: training.objective.evaluate(w, None, False, 1)


def random_weights(training: Training) -> Floats:
    return np.random.default_rng(0).normal(scale=0.1, size=len(training.parameters))


def by_turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the best processor time of each call; they take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds + 1):
        for name, call in calls.items():
            began = time.thread_time()
            call()
            best[name] = min(best[name], time.thread_time() - began)
    return best


# -- equal weights in both models ------------------------------------------------------------------

B, C, E, U = range(4)  # positions of a token in its segment
SEEN_AT = {  # feature place -> positions at which it fires
    "token": (B, C, E, U),
    "first": (B, U),
    "last": (E, U),
    "single": (U,),
    "begin": (B,),
    "inside": (C,),
    "end": (E,),
}


def tag_parts(tags: Sequence[str], labels: Sequence[str]) -> tuple[Longs, Longs]:
    """Return the label and the position that each tag stands for; outside is single."""
    label = [labels.index(tag if tag in labels else tag.partition("-")[2]) for tag in tags]
    position = [U if tag in labels else "BCEU".index(tag[0]) for tag in tags]
    return np.array(label), np.array(position)


def mapped(chain: Training, semi: Training) -> tuple[Floats, Floats, float]:
    """Return weights for both that make one model, and the share of the semi-CRF's that are not 0.

    The weight of a tag with an attribute is the sum of the semi-CRF's that apply there; one that
    would need a weight which the chain does not have (the pair was not seen) is 0.
    """
    rng = np.random.default_rng(1)
    labels = list(semi.structure.states)
    Y = len(labels)
    sources, _, semi_id = semi.encoder._extractor.keys()  # both saw the values in the same order
    chain_id = chain.encoder._extractor.keys()[2].astype(np.int64)
    semi_id = semi_id.astype(np.int64)
    label, position = tag_parts(chain.structure.states, labels)
    p, q = chain.parameters, semi.parameters
    keys = (chain_id[p.attribute] * Y + label[p.label]) * 4 + position[p.label]
    order = np.argsort(keys)
    short = np.array(semi.structure.bounds) == 1  # labels whose segments all have one token
    base = (semi_id[q.attribute] * Y + q.label) * 4
    place, one = sources[q.attribute], short[q.label]

    def found(wanted: Longs) -> Longs:
        """Return where the chain has these, -1 if nowhere."""
        at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        return np.where(keys[order][at] == wanted, order[at], -1)

    targets = {k: found(base + k) for k in (B, C, E, U)}
    w = rng.normal(scale=0.3, size=len(q))
    there = np.ones(len(base), bool)
    names = [feature.place for feature in semi.encoder.features if isinstance(feature, Template)]
    applies = {}
    for k in (B, C, E, U):
        at_place = np.array([k in SEEN_AT[name] for name in names])
        applies[k] = at_place[place] & (~one | (k == U))
        there &= ~applies[k] | (targets[k] >= 0)
    w[: len(base)] *= there
    v = np.zeros(len(p))
    for k in (B, C, E, U):
        np.add.at(v, targets[k][applies[k] & there], w[: len(base)][applies[k] & there])
    _tie(chain, semi, label, position, v, w)
    return v, w, float(there.mean())


def _tie(
    chain: Training, semi: Training, label: Longs, position: Longs, v: Floats, w: Floats
) -> None:
    """Set the chain's transitions, starts and ends to those of the semi-CRF; none inside."""
    p, q = chain.parameters, semi.parameters
    Y, K = len(semi.structure.states), len(chain.structure.states)
    at = len(q.attribute)
    pairs = np.zeros(Y * Y)
    pairs[q.transition] = w[at : at + len(q.transition)]
    at += len(q.transition)
    starts, ends = np.zeros(Y), np.zeros(Y)
    starts[q.start] = w[at : at + len(q.start)]
    ends[q.end] = w[at + len(q.start) :]
    a, b = p.transition // K, p.transition % K
    inner = np.isin(position[b], (C, E))
    at = len(p.attribute)
    v[at : at + len(a)] = np.where(inner, 0.0, pairs[label[a] * Y + label[b]])
    at += len(a)
    v[at : at + len(p.start)] = starts[label[p.start]]
    v[at + len(p.start) :] = ends[label[p.end]]


# -- measurements ----------------------------------------------------------------------------------


def measure(task: Task, rounds: int) -> list[list[str]]:
    """Time one objective with its gradient in all models of a task."""
    L = task.longest
    tagged, all_tags = compiled(chain(), task), compiled(chain(AllTags), task)
    models = {
        "tokens": compiled(semi(), task),
        "equal": compiled(semi(PLACES), task),
        "equal, by position": compiled(semi(POSITIONS), task),
        "tokens, bounded": compiled(semi(max_length=L), task),
        "equal, bounded": compiled(semi(PLACES, max_length=L), task),
    }
    calls = {"chain": evaluation(tagged, random_weights(tagged))}
    calls |= {name: evaluation(model, random_weights(model)) for name, model in models.items()}
    print(
        f"{task.name}: {len(task.documents)} sequences, {len(models['tokens'].structure.states)} "
        f"labels, {len(tagged.structure.states)} tags of {len(all_tags.structure.states)}, longest "
        f"segment {L}"
    )
    for name in ("equal", "equal, by position"):
        v, w, share = mapped(all_tags, models[name])
        calls["chain, all tags"], calls[name] = evaluation(all_tags, v), evaluation(models[name], w)
        a, b = calls["chain, all tags"]()[0], calls[name]()[0]
        print(f"  {name}: {a:.10g} and {b:.10g} nats; {share:.0%} of {len(w)} weights mapped")
        assert abs(a - b) <= 1e-9 * abs(a), (task.name, name, a, b)
    check_unbounded(task.part(20))
    check_equal(task.part(20))
    best = by_turns(calls, rounds)
    return [
        line(task.name, best, "tokens", "chain", 1.0),
        line(task.name, best, "equal", "chain, all tags", 1.2),
        line(task.name, best, "equal, by position", "chain, all tags", None),
        line(task.name, best, "tokens", "tokens, bounded", None),
        line(task.name, best, "equal", "equal, bounded", None),
    ]


def line(task: str, best: dict[str, float], a: str, b: str, target: float | None) -> list[str]:
    ratio = best[a] / best[b]
    wanted = ["", ""] if target is None else [f"<= {target}", "yes" if ratio <= target else "NO"]
    return [task, a, b, *(f"{best[x] * 1e3:.1f}" for x in (a, b)), f"{ratio:.2f}", *wanted]


def check_unbounded(task: Task) -> None:
    """No bound, and a bound that binds nothing, must give the same."""
    longest = max(map(len, task.documents))
    free, bound = (compiled(semi(max_length=one), task) for one in (None, longest))
    w = random_weights(free)
    a, b = (one.objective.evaluate(w, None, False, 1) for one in (free, bound))
    assert abs(a[0] - b[0]) <= 1e-9 * abs(a[0])
    assert np.abs(a[1] - b[1]).max() <= 1e-8


def check_equal(task: Task) -> None:
    """Where all pairs have weights, all weights can be mapped."""
    tags = compiled(chain(AllTags, all_possible_states=True), task)
    for features in (PLACES, POSITIONS):
        segments = compiled(semi(features, all_possible_states=True), task)
        v, w, share = mapped(tags, segments)
        a, b = evaluation(tags, v)()[0], evaluation(segments, w)()[0]
        assert share == 1.0
        assert abs(a - b) <= 1e-9 * abs(a)


def main() -> None:
    alone()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="100 sequences, to try it")
    parser.add_argument("--rounds", type=int, default=10, help="evaluations of each")
    arguments = parser.parse_args()
    if not (arguments.data / "conll2000").is_dir():
        print(f"no corpora in {arguments.data}: skipped; name their folder with --data")
        return
    read = tasks(arguments.data, 100 if arguments.quick else None)
    rows = [row for task in read for row in measure(task, arguments.rounds)]
    head = ["", "semi-CRF", "against", "ms", "ms", "ratio", "target", "met"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
