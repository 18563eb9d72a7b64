"""Claims of cost, tested by counting what the kernels do, never by time."""

import numpy as np
import pytest

import caesura
from caesura.inference.problems import problem_of

OVERLAPPING, BOUNDED = 0, 1


def random_potentials(T: int, Y: int, width: int, count: int, seed: int) -> caesura.Potentials:
    """Potentials of all four kinds, none wider than `width`, at least one of that width."""
    rng = np.random.default_rng(seed)
    p = caesura.Potentials(T, Y)
    p.emission = rng.normal(size=(T, Y))
    widths = rng.integers(1, width + 1, count)
    widths[0] = width
    starts = rng.integers(0, T - width + 1, count)
    kinds = rng.integers(0, 2, (2, count)).astype(bool)
    labels = rng.integers(0, Y, count)
    p.add_many(starts, starts + widths, labels, rng.normal(size=count), kinds[0], kinds[1])
    return p


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("T", [20, 200])
def test_summed_terms_per_boundary_follow_the_widest_potential(width: int, T: int) -> None:
    p = random_potentials(T, 3, width, 4 * T, seed=T + width)
    tally = problem_of(p).tally(OVERLAPPING)
    assert tally["most_terms"] <= max(width, 2)
    assert tally["terms"] <= T * max(width, 2)


def test_one_wide_potential_costs_only_where_it_is() -> None:
    T = 1000
    p = caesura.Potentials(T, 2)
    p.add(500, 540, 0, 1.0)
    tally = problem_of(p).tally(OVERLAPPING)
    assert tally["most_terms"] <= 40
    assert tally["terms"] <= T + 40 * 40


@pytest.mark.parametrize("count", [100, 1000, 10_000])
def test_each_potential_is_touched_a_fixed_number_of_times(count: int) -> None:
    p = random_potentials(400, 3, 4, count, seed=count)
    assert problem_of(p).tally(OVERLAPPING)["touched"] <= 2 * count
    assert problem_of(p).tally(BOUNDED)["touched"] <= 2 * count


def test_bounded_sums_each_length_once() -> None:
    T, L = 100, 7
    p = caesura.Potentials(T, 3, max_length=L)
    tally = problem_of(p).tally(BOUNDED)
    assert tally["terms"] == sum(min(e, L) for e in range(1, T + 1))


def test_bounded_labels_are_summed_directly_and_the_others_through_the_open_term() -> None:
    p = caesura.Potentials(100, 2, max_length=[None, 5])
    tally = problem_of(p).tally(OVERLAPPING)
    assert tally["most_terms"] == 5


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_arcs_follow_the_patterns_and_not_the_order(order: int) -> None:
    rng = np.random.default_rng(order)
    Y, count = 20, 30
    p = caesura.Potentials(10, Y)
    for _ in range(count):
        p.add_pattern([int(y) for y in rng.integers(0, Y, order + 1)], 1.0)
    tally = problem_of(p).tally(OVERLAPPING)
    assert tally["states"] <= Y + count * order
    assert tally["arcs"] <= tally["states"] * Y


def test_subsets_of_thirteen_labels() -> None:
    p = caesura.Potentials(50, 13).constrain(at_most_once=range(13))
    tally = problem_of(p).tally(OVERLAPPING)
    assert tally["states"] == 13 * 2**12  # the last label, and which of the others were used


@pytest.mark.parametrize("method", [OVERLAPPING, BOUNDED])
def test_log_partition_keeps_only_the_window(method: int) -> None:
    sizes = []
    for T in (1000, 10_000):
        p = caesura.Potentials(T, 10, max_length=None if method == OVERLAPPING else 20)
        sizes.append(problem_of(p).tally(method)["bytes"])
    assert sizes[0] == sizes[1]
