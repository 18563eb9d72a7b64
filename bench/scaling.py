"""The overlapping algorithm against sums over all lengths, as the sequence grows.

    python bench/scaling.py [--plot docs/pictures/scaling.png]

Both compute ln Z and all marginals of the same potentials, with no bound on the length of a
segment; ln Z and the token marginals are compared while timing.  m is the width of the widest
potential.
"""

from __future__ import annotations

import argparse

import numpy as np
from plots import BLUE, ORANGE, figure, save
from timing import best_seconds, table

import caesura

Y = 8
LENGTHS = [50, 100, 200, 500, 1000, 2000, 5000]
WIDTHS = [1, 2, 4, 8]


def potentials(T: int, m: int, patterns: bool, seed: int) -> caesura.Potentials:
    """Emissions, transitions, and two potentials a token, of all four kinds and widths up to m."""
    rng = np.random.default_rng(seed)
    p = caesura.Potentials(T, Y)
    p.emission = rng.normal(size=(T, Y))
    p.transition = rng.normal(size=(Y, Y))
    n = 2 * T
    widths = rng.integers(1, m + 1, n)
    starts = rng.integers(0, T - widths + 1)
    opens = rng.integers(0, 2, (2, n)).astype(bool)
    p.add_many(starts, starts + widths, rng.integers(0, Y, n), rng.normal(size=n), *opens)
    if patterns:
        for _ in range(20):
            p.add_pattern([int(y) for y in rng.integers(0, Y, 3)], float(rng.normal()))
    return p


def exponent(lengths: list[int], seconds: list[float]) -> float:
    """Slope of log time over log length from T = 500 on."""
    long = [i for i, T in enumerate(lengths) if T >= 500]
    x, y = np.log([lengths[i] for i in long]), np.log([seconds[i] for i in long])
    return float(np.polyfit(x, y, 1)[0])


def measure(
    m: int, patterns: bool, longest_bounded: int
) -> tuple[list[list[str]], dict[str, list[float]]]:
    rows, times = [], {"overlapping": [], "bounded": []}  # type: ignore[var-annotated]
    for T in LENGTHS:
        p = potentials(T, m, patterns, seed=T + m)
        times["overlapping"].append(best_seconds(lambda p=p: caesura.marginals(p)))  # type: ignore[misc]
        row = [f"{T:,}", f"{times['overlapping'][-1] * 1e3:.3f}"]
        if longest_bounded >= T:
            times["bounded"].append(
                best_seconds(lambda p=p: caesura.marginals(p, method="bounded"), 0.1)  # type: ignore[misc]
            )
            a, b = caesura.marginals(p), caesura.marginals(p, method="bounded")
            assert abs(a.log_partition - b.log_partition) <= 1e-9 * abs(b.log_partition)
            assert np.abs(a.tokens - b.tokens).max() <= 1e-9
            seconds = times["bounded"][-1]
            row += [f"{seconds * 1e3:.3f}", f"{seconds / times['overlapping'][-1]:.0f}"]
        else:
            row += ["-", "-"]
        rows.append(row)
    return rows, times


def plot(path: str, results: dict[tuple[int, bool], dict[str, list[float]]]) -> None:
    made, axes = figure(10.0, 3.6, sharey=True)
    shades = np.linspace(0.35, 1, len(WIDTHS))
    for axis, patterns in zip(axes, (False, True), strict=True):
        for shade, m in zip(shades, WIDTHS, strict=True):
            times = results[m, patterns]
            axis.loglog(LENGTHS, np.array(times["overlapping"]) * 1e3, "o-", ms=4,
                        color=BLUE, alpha=shade, label=f"overlapping, m = {m}")  # fmt: skip
            done = LENGTHS[: len(times["bounded"])]
            axis.loglog(done, np.array(times["bounded"]) * 1e3, "s--", ms=4,
                        color=ORANGE, alpha=shade, label=f"bounded, m = {m}")  # fmt: skip
        axis.set_title("with 20 patterns of three labels" if patterns else "first order")
        axis.set_xlabel("tokens")
    axes[0].set_ylabel("ms, ln Z and marginals")
    axes[0].legend(fontsize=8)
    save(made, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--longest-bounded", type=int, default=5000, metavar="T")
    arguments = parser.parse_args()
    results = {}
    for patterns in (False, True):
        for m in WIDTHS:
            rows, times = measure(m, patterns, arguments.longest_bounded)
            results[m, patterns] = times
            kind = "20 patterns" if patterns else "first order"
            print(f"\n{kind}, {Y} labels, m = {m}; ms for ln Z and all marginals")
            print(table(["T", "overlapping", "bounded", "ratio"], rows))
            print(f"overlapping grows as T^{exponent(LENGTHS, times['overlapping']):.2f}")
    if arguments.plot:
        plot(arguments.plot, results)


if __name__ == "__main__":
    main()
