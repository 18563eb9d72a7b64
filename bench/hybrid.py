"""Andrew's hybrid (2006): a semi-CRF with features of segments and of what joins two tokens.

    python bench/hybrid.py [--data ../shared/data] [--quick]

Words of PKU, from every twelfth line of the first nine tenths of the training file; F1 on every
third line of the last tenth.  The features of characters are those of the preset words:

- chain: they go with the tags begin and inside.
- semi-CRF: they go with the begin of a segment alone, beside its text, length and ends.
- hybrid: the semi-CRF, in which they go with the other characters of a segment too, so that places
  that are no boundary are looked at as in the chain.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from accuracy import f1, words
from timing import table

import caesura
from caesura.features import Template, end, first, inside, preset

PENALTIES = (0.01, 0.1, 1.0)


def models(c2: float) -> dict[str, Any]:
    tokens = [one for one in preset("words") if isinstance(one, Template)]
    options: dict[str, Any] = {"c2": c2, "precision": "mixed", "delta": 1e-4}
    beyond = [one for one in preset("words", segments=True) if one not in tokens]
    begins = [first(one) for one in tokens]
    others = [place(one) for one in tokens for place in (inside, end)]
    segments = list(dict.fromkeys([*begins, *beyond]))
    return {
        "chain": caesura.ChainCRF(tokens, scheme="BIO", **options),
        "semi-CRF": caesura.SemiCRF(segments, **options),
        "hybrid": caesura.SemiCRF([*segments, *others], **options),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="a tenth of it, and one penalty")
    arguments = parser.parse_args()
    if not (arguments.data / "pku").is_dir():
        print(f"no PKU in {arguments.data}: skipped; name its folder with --data")
        return
    lines = list(words(arguments.data / "pku" / "199801.txt"))
    cut, step = len(lines) * 9 // 10, 10 if arguments.quick else 1
    train, held = lines[: cut : 12 * step], lines[cut :: 3 * step]
    gold = [list(one.segments or ()) for one in held]
    rows = []
    for c2 in PENALTIES[1:2] if arguments.quick else PENALTIES:
        found = {name: model.fit(train).predict(held) for name, model in models(c2).items()}
        scores = [f"{f1(held, predicted):.2f}" for predicted in found.values()]
        p = [
            f"{caesura.compare(gold, found[name], found['hybrid'], rounds=999).p_value:.3f}"
            for name in ("chain", "semi-CRF")
        ]
        rows.append([f"{c2:g}", *scores, *p])
        print(*rows[-1], flush=True)
    print(f"{len(train)} lines to learn from, {len(held)} held out; p: against the hybrid")
    print(table(["c2", "chain", "semi-CRF", "hybrid", "p, chain", "p, semi-CRF"], rows))


if __name__ == "__main__":
    main()
