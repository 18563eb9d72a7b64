"""Linking and grouping records, from strings that a model has segmented.

    python bench/linking.py [--data FOLDER] [--task dblp_acm|cora|all] [--folds 2] [--splink]
        [--recordlinkage]

Fields of each record are joined into one string, as a list of references would print them.  The
strings are segmented and matched by models that were learnt from other records: entities are dealt
into folds, two by default, and each fold is asked with what was learnt on the others.  Pair F1
counts all pairs of records of the fold that is asked about; the folds are added up.  *fields*
starts from the given fields, *pipeline* from the best segmentation, *joint* from the n best, which
are scored by their match with the records of the other side too.  ``--splink`` and
``--recordlinkage`` add these linkers, which learn without known matches, on the given fields at
several thresholds: among the records of each fold, and among all records at once.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import caesura
from caesura.records import Link, Linker
from caesura.records.alternatives import alternatives
from caesura.records.blocking import folded
from caesura.records.pairs import merged, one_to_one_links

Row = dict[str, str]


class Data(NamedTuple):
    """Records of one or two sources, with the entity of each."""

    fields: list[str]
    mine: list[Row]
    mine_of: list[int]
    theirs: list[Row] | None
    theirs_of: list[int]


def dblp_acm(folder: Path) -> Data:
    def read(name: str) -> tuple[list[str], list[Row]]:
        with open(folder / name, encoding="latin-1", newline="") as file:
            rows = list(csv.DictReader(file))
        return [row["id"] for row in rows], rows

    fields = ["title", "authors", "venue", "year"]
    ids, mine = read("DBLP2.csv")
    other_ids, theirs = read("ACM.csv")
    place = {key: i for i, key in enumerate(ids)}
    entity = {key: len(ids) + j for j, key in enumerate(other_ids)}
    with open(folder / "DBLP-ACM_perfectMapping.csv", encoding="latin-1", newline="") as file:
        for row in csv.DictReader(file):
            entity[row["idACM"]] = place[row["idDBLP"]]
    strip = (
        [{f: row[f] for f in fields} for row in mine],
        [{f: r[f] for f in fields} for r in theirs],
    )
    return Data(fields, strip[0], list(range(len(ids))), strip[1], [entity[k] for k in other_ids])


def cora(folder: Path) -> Data:
    with open(folder / "cora.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="|"))
    fields = ["author", "title", "venue", "year", "pages", "publisher", "address", "volume"]
    mine = [{f: row[f] or "" for f in fields} for row in rows]
    entity = list(range(len(rows)))
    with open(folder / "cora_gt.csv", encoding="utf-8") as file:
        pairs = [tuple(map(int, line.split("|")[:2])) for line in file if line.strip()]

    def root(i: int) -> int:
        while entity[i] != i:
            i = entity[i]
        return i

    for i, j in pairs:
        a, b = sorted((root(i), root(j)))
        entity[b] = a
    return Data(fields, mine, [root(i) for i in range(len(rows))], None, [])


# ---- strings -------------------------------------------------------------------------------------


def joined(
    row: Row, fields: Sequence[str], rng: random.Random
) -> tuple[str, list[tuple[int, int, str]]]:
    """Return a record as a string, with the characters of its fields."""
    text, spans = "", []
    for field in fields:
        if not row[field]:
            continue
        value = " ".join(row[field].split())
        text += " " if text else ""
        spans.append((len(text), len(text) + len(value), field))
        text += value
        if value[-1].isalnum():
            text += rng.choice([".", ",", "."])
    return text, spans


def document(text: str, spans: Sequence[tuple[int, int, str]]) -> caesura.Document:
    made = caesura.Document.from_text(text)
    offsets = made.offsets or ()
    segments = []
    for start, end, label in spans:
        inside = [t for t, (a, b) in enumerate(offsets) if start <= a and b <= end]
        segments.append(caesura.Segment(inside[0], inside[-1] + 1, label))
    return replace(made, segments=tuple(segments))


# ---- measurement ---------------------------------------------------------------------------------


def folds(entities: Sequence[int], count: int, seed: int) -> list[set[int]]:
    found = sorted(set(entities))
    random.Random(seed).shuffle(found)
    return [set(found[k::count]) for k in range(count)]


def chosen(rows: Sequence[Row], of: Sequence[int], some: set[int]) -> tuple[list[Row], list[int]]:
    kept = [i for i, entity in enumerate(of) if entity in some]
    return [rows[i] for i in kept], [of[i] for i in kept]


def true_pairs(mine: Sequence[int], theirs: Sequence[int] | None) -> set[tuple[int, int]]:
    where: dict[int, list[int]] = defaultdict(list)
    for j, entity in enumerate(mine if theirs is None else theirs):
        where[entity].append(j)
    return {
        (i, j)
        for i, entity in enumerate(mine)
        for j in where[entity]
        if theirs is not None or i < j
    }


class Counts:
    """Pairs that are right, found and true."""

    def __init__(self) -> None:
        self.right = self.found = self.true = 0

    def add(self, found: set[tuple[int, int]], true: set[tuple[int, int]]) -> None:
        self.right += len(found & true)
        self.found += len(found)
        self.true += len(true)

    def __str__(self) -> str:
        precision, recall = self.right / max(self.found, 1), self.right / max(self.true, 1)
        f1 = 2 * self.right / max(self.found + self.true, 1)
        return f"precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}"


def segmenter(rows: Sequence[Row], fields: Sequence[str], most: int, seed: int) -> Any:
    """Return a model learnt from strings of records."""
    rng = random.Random(seed)
    some = rng.sample(list(rows), min(most, len(rows)))
    texts = [document(*joined(row, fields, rng)) for row in some]
    model = caesura.SemiCRF("citations", c1=0.05, c2=0.01, max_iterations=60, n_threads=1)
    return model.fit(texts)


def first_of(model: Any, texts: Sequence[str]) -> list[Row]:
    return [ranked[0][0] for ranked in alternatives(model, texts, 1)]


def run(data: Data, links: Callable[..., set[tuple[int, int]]], args: argparse.Namespace) -> None:
    counts = {name: Counts() for name in ("fields", "pipeline", "joint")}
    f1s: list[float] = []
    parts = folds([*data.mine_of, *data.theirs_of], args.folds, args.seed)
    for ask in parts:
        learn = set.union(*parts) - ask
        mine, mine_of = chosen(data.mine, data.mine_of, learn)
        theirs, theirs_of = chosen(data.theirs or [], data.theirs_of, learn)
        model = segmenter([*mine, *theirs], data.fields, args.examples, args.seed)
        linker = Linker(data.fields, candidates=args.candidates)
        one = data.theirs is None
        true = true_pairs(mine_of, None if one else theirs_of)
        linker.fit(mine, None if one else theirs, matches=true, tune=one and not args.plain)
        mine, mine_of = chosen(data.mine, data.mine_of, ask)
        theirs, theirs_of = chosen(data.theirs or [], data.theirs_of, ask)
        true = true_pairs(mine_of, None if one else theirs_of)
        rng = random.Random(args.seed + 1)
        strings = [[joined(row, data.fields, rng) for row in some] for some in (mine, theirs)]
        gold = [document(*made) for some in strings for made in some]
        f1s.append(model.score(gold))
        counts["fields"].add(links(linker, mine, None if one else theirs), true)
        texts = [[text for text, _ in some] for some in strings]
        read, other = (first_of(model, some) for some in texts)
        counts["pipeline"].add(links(linker, read, None if one else other), true)
        known = read if one else other
        again = [found.fields for found in linker.read(model, texts[0], known, args.n, reread=one)]
        counts["joint"].add(links(linker, again, None if one else other), true)
    print(f"segment F1 of the strings: {100 * sum(f1s) / len(f1s):.1f}")
    for name, some in counts.items():
        print(f"{name:9} {some}")
    peers = {"splink": splink_links} if args.splink else {}
    peers |= {"recordlinkage": recordlinkage_links} if args.recordlinkage else {}
    for peer, links_of in peers.items():
        alone = links_of(data)
        for least in (0.2, 0.5, 0.8, 0.95, 0.99):
            each, whole = Counts(), Counts()
            for part in parts:
                each.add(*peer_pairs(data, alone, least, part))
            whole.add(*peer_pairs(data, alone, least, set.union(*parts)))
            print(f"{peer:9} {each}  from {least}; all records at once: {whole}")


def peer_pairs(
    data: Data, links: list[Link], least: float, entities: set[int]
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the pairs of another linker among the records of some entities, and the true ones."""
    theirs_of = data.mine_of if data.theirs is None else data.theirs_of
    some = [
        link
        for link in links
        if data.mine_of[link.record] in entities and theirs_of[link.other] in entities
    ]
    true = {
        (a, b)
        for a, b in true_pairs(data.mine_of, None if data.theirs is None else theirs_of)
        if data.mine_of[a] in entities
    }
    some = [link for link in some if link.probability >= least]
    if data.theirs is not None:
        return {(a, b) for a, b, _ in one_to_one_links(some)}, true
    above = math.log(least / (1.0 - least))
    scores = {(min(a, b), max(a, b)): math.log(p / (1.0000001 - p)) - above for a, b, p in some}
    return true_pairs(merged(len(data.mine), scores), None), true


def splink_links(data: Data) -> list[Link]:
    """Return the pairs that splink finds among the given fields, learnt without known matches."""
    import pandas
    import splink.comparison_library as compare
    from splink import DuckDBAPI, SettingsCreator, block_on
    from splink import Linker as Splink

    people = "authors" if data.theirs else "author"
    numbers = [name for name in data.fields if name in ("year", "pages", "volume")]
    texts = [name for name in data.fields if name not in ("title", people, *numbers)]
    settings = SettingsCreator(
        link_type="link_only" if data.theirs else "dedupe_only",
        comparisons=[
            compare.JaroWinklerAtThresholds("title", [0.97, 0.9, 0.8]),
            compare.JaccardAtThresholds(people, [0.9, 0.7, 0.5]),
            *(compare.JaroWinklerAtThresholds(name, [0.92, 0.8]) for name in texts),
            *(compare.ExactMatch(name) for name in numbers),
        ],
        blocking_rules_to_generate_predictions=[
            block_on("substr(title, 1, 8)"),
            block_on("substr(title, -8, 8)"),
            block_on("year", f"substr({people}, 1, 4)"),
            *([block_on("pages")] if "pages" in numbers else []),
        ],
    )
    api = DuckDBAPI()
    frames = []
    for rows in (data.mine, data.theirs):
        if rows is not None:
            frame = pandas.DataFrame([{k: folded(v) or None for k, v in r.items()} for r in rows])
            frames.append(api.register(frame.assign(unique_id=range(len(frame)))))
    linker = Splink(frames, settings, log_level="ERROR")
    training = linker.training
    training.estimate_probability_two_random_records_match([block_on("title")], recall=0.8)
    training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    training.estimate_parameters_using_expectation_maximisation(block_on("year"))
    training.estimate_parameters_using_expectation_maximisation(block_on("substr(title, 1, 10)"))
    found = linker.inference.predict(threshold_match_probability=0.1).as_pandas_dataframe()
    pairs = zip(found.unique_id_l, found.unique_id_r, found.match_probability, strict=True)
    return [Link(int(a), int(b), float(p)) for a, b, p in pairs]


def recordlinkage_links(data: Data) -> list[Link]:
    """Return the pairs that recordlinkage finds among the given fields, without known matches."""
    import pandas
    import recordlinkage

    people = "authors" if data.theirs else "author"
    frames = [
        pandas.DataFrame([{name: folded(row[name]) for name in data.fields} for row in rows])
        for rows in (data.mine, data.theirs)
        if rows is not None
    ]
    index = recordlinkage.Index()
    for frame in frames:
        frame["begins"], frame["ends"] = frame["title"].str[:8], frame["title"].str[-8:]
        frame["begun"] = frame["year"] + frame[people].str[:4]
    for column in ("begins", "ends", "begun"):
        index.block(column)
    pairs = index.index(*frames)
    compare = recordlinkage.Compare()
    for name in data.fields:
        compare.string(name, name, method="jarowinkler", threshold=0.9, label=name)
    vectors = compare.compute(pairs, *frames)
    classifier = recordlinkage.ECMClassifier(binarize=0.5)
    classifier.fit(vectors)
    shares = classifier.prob(vectors)
    return [Link(int(a), int(b), float(p)) for (a, b), p in shares.items() if p > 0.1]


def linked(linker: Linker, mine: list[Row], theirs: list[Row] | None) -> set[tuple[int, int]]:
    return {(a, b) for a, b, _ in linker.link(mine, theirs, one_to_one=True)}


def grouped(linker: Linker, mine: list[Row], theirs: list[Row] | None) -> set[tuple[int, int]]:
    return true_pairs(linker.entities(mine), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--task", choices=["dblp_acm", "cora", "all"], default="all")
    parser.add_argument("--examples", type=int, default=200, help="strings to learn segments from")
    parser.add_argument("--n", type=int, default=5, help="segmentations in the joint search")
    for peer in ("splink", "recordlinkage"):
        parser.add_argument(f"--{peer}", action="store_true", help="on the given fields, too")
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument(
        "--folds", type=int, default=2, help="parts that the entities are dealt into"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="Cora without tuned settings")
    args = parser.parse_args()
    if args.task in ("dblp_acm", "all"):
        began = time.process_time()
        print("DBLP and ACM")
        run(dblp_acm(args.data / "er_dblp_acm"), linked, args)
        print(f"{time.process_time() - began:.0f} s of CPU")
    if args.task in ("cora", "all"):
        began = time.process_time()
        print("Cora")
        args.candidates = max(args.candidates, 100)  # an entity has up to 64 mentions
        run(cora(args.data / "er_cora"), grouped, args)
        print(f"{time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main()
