"""Write the golden files of this version of the format; those of earlier versions stay.

Run it once for each version: ``python tests/golden/make.py``. A file that is there is never
changed: models of every version must be read for good.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from toys import addresses, numbers_of  # noqa: E402

from caesura import ChainCRF, SemiCRF  # noqa: E402
from caesura.features import (  # noqa: E402
    Dictionary,
    Length,
    Lexicon,
    Text,
    dense,
    edge,
    first,
    history,
    in_lexicon,
    lower,
    shape,
    word,
)
from caesura.persistence import VERSION  # noqa: E402


def models() -> dict[str, Any]:
    """Return a model of each kind, with something of everything."""
    towns = Lexicon("towns", ["Leeds", "New Mill", "Zürich"])
    shared = [lower[0], lower[-1] & shape[0], dense[0], in_lexicon(towns)[0], edge(shape[0])]
    segments = [first(word[0]), Length(at_least=2), Dictionary(towns), Text()]
    shared += [history(shape[0], 1), history(edge(shape[0]), 2)]
    segments += [history(first(shape[0]), 2), history(Length(exact=2), 1)]
    options: dict[str, Any] = {"order": 3, "c1": 0.1, "c2": 0.1, "n_threads": 1}
    return {
        "semi": SemiCRF([*shared, *segments], max_length="observed", **options),
        "chain": ChainCRF(shared, scheme="BIOES", **options),
    }


def sequences(n: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Return labelled sequences with numbers."""
    X, Y = addresses(n, seed)
    return [{"tokens": x, "dense": numbers_of(x)} for x in X], Y


def expected(model: Any) -> list[Any]:
    """Return what a model says about some sequences."""
    X, _ = sequences(8, 7)
    both = zip(X, model.predict_confident(X), model.predict_n_best(X, 2), strict=True)
    return [
        {
            "tokens": x["tokens"],
            "segments": [[*one.segment, one.probability] for one in sure],
            "best": [[[*map(list, segments)], probability] for segments, probability in best],
        }
        for x, sure, best in both
    ]


def main() -> None:
    """Write what is not there yet."""
    for name, model in models().items():
        file = HERE / f"{name}-{VERSION}.model"
        if file.exists():
            continue
        model.fit(*sequences(9, 1)).calibrate(*sequences(30, 2))
        model.save(file)
        file.with_suffix(".json").write_text(
            json.dumps(expected(model), indent=1, ensure_ascii=False) + "\n"
        )


if __name__ == "__main__":
    main()
