"""What goes wrong stays small: refused input changes nothing, limits are said early."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from oracle import close, random_model

import caesura
from caesura.inference.reference import Enumeration


def test_a_refused_constraint_changes_nothing() -> None:
    p = caesura.Potentials(4, 2)
    before = caesura.log_partition(p)
    with pytest.raises(caesura.InvalidInput, match="boundaries: got boundary 99"):
        p.constrain(allowed={0: [1]}, at_most_once=[0], boundaries=[2, 99])
    p.add(0, 1, 0, 0.0)  # so that all is read anew
    assert caesura.log_partition(p) == before


def test_a_refused_bound_changes_nothing() -> None:
    p = caesura.Potentials(6, 2, max_length=2)
    p.spans[:] = 1.0
    before = caesura.log_partition(p)
    with pytest.raises(caesura.InvalidInput, match="spans is in use"):
        p.max_length = 6
    assert p.max_length == 2
    p.add(0, 1, 0, 0.0)
    assert caesura.log_partition(p) == before


@pytest.mark.parametrize("score", [1e308, -1e308, 1e11, -1e11])
def test_scores_whose_sum_would_overflow_are_refused(score: float) -> None:
    p = caesura.Potentials(4, 2)
    p.emission[:] = score
    for ask in (caesura.log_partition, caesura.marginals, caesura.viterbi):
        with pytest.raises(caesura.InvalidInput, match=r"emission: .*1e10"):
            ask(p)
    with pytest.raises(caesura.InvalidInput, match=r"score: .*1e10"):
        p.add(0, 1, 0, score)


@pytest.mark.parametrize("method", ["overlapping", "bounded"])
@pytest.mark.parametrize("seed", range(5))
def test_entropy_of_large_scores(method: str, seed: int) -> None:
    """Nearly certain segmentations: the entropy is tiny, and never below 0."""
    rng = np.random.default_rng(seed)
    p = caesura.Potentials(100, 2)
    p.emission = 1e4 * rng.normal(size=(100, 2))
    p.transition = 1e4 * rng.normal(size=(2, 2))
    assert 0.0 <= caesura.entropy(p, method=method) < 1e-9
    twice = caesura.Potentials(100, 4)  # each label twice: two bits more where labels change
    twice.emission = np.repeat(p.emission, 2, axis=1)
    twice.transition = np.repeat(np.repeat(p.transition, 2, axis=0), 2, axis=1)
    segments = len(caesura.viterbi(p).segments)
    assert close(caesura.entropy(twice, method=method), segments * math.log(2))


def test_the_outside_label_by_index_and_by_mistake() -> None:
    p = caesura.Potentials(4, ["name", "O"])
    p.emission[:, 1] = 3.0
    by_name = caesura.minimum_risk(p, "O")
    assert caesura.minimum_risk(p, 1) == by_name
    assert caesura.minimum_risk(p, 1, method="reference").score == pytest.approx(by_name.score)
    with pytest.raises(caesura.InvalidInput, match="outside: got 'zzz'"):
        caesura.minimum_risk(p, "zzz")


def test_potentials_can_be_pickled_and_copied_after_use() -> None:
    p = random_model(3, T=4, Y=2, n_added=3)
    log_z = caesura.log_partition(p)
    for twin in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert caesura.log_partition(twin) == log_z


def test_too_many_states_are_refused_by_name() -> None:
    p = caesura.Potentials(4, 300).constrain(at_most_once=range(16))
    with pytest.raises(caesura.TooLarge, match="arcs"):
        caesura.log_partition(p)


def test_many_small_rules() -> None:
    p = caesura.Potentials(3, 5)
    for k in range(30):
        p.constrain(ordered=[k % 5, (k + 1) % 5] if k % 5 < 4 else [0, 2])
    assert close(caesura.log_partition(p), Enumeration(p).log_partition)


def test_more_than_sixteen_labels_where_few_repeat() -> None:
    """Twenty labels at most once on 40 tokens; three of them are tempting twice."""
    rng = np.random.default_rng(0)
    p = caesura.Potentials(40, 20)
    p.emission = 0.1 * rng.normal(size=(40, 20))
    p.transition[:] = -5.0
    for start, y in [(0, 3), (6, 7), (12, 3), (18, 7), (24, 11), (30, 11)]:
        p.emission[start : start + 6, y] += 4.0
    relaxed = caesura.viterbi(p)
    assert len({s.label for s in relaxed.segments}) < len(relaxed.segments)
    p.constrain(at_most_once=range(20))
    best = caesura.viterbi(p)
    assert len({s.label for s in best.segments}) == len(best.segments)
    few = caesura.Potentials(40, 20)  # the same with only the tempting labels limited
    few.emission, few.transition = p.emission, p.transition
    few.constrain(at_most_once=[3, 7, 11])
    exact = caesura.viterbi(few)
    if len({s.label for s in exact.segments}) == len(exact.segments):
        assert best.score == exact.score
    assert best.score <= exact.score + 1e-9


def test_segments_of_a_long_sequence() -> None:
    m = caesura.marginals(caesura.Potentials(1500, 2))
    found = m.segments(0.1)
    assert found
    assert close(found[0][1], m.segment(*found[0][0]))


def test_work_goes_on_when_the_system_gives_no_threads() -> None:
    """With little address space, most of a hundred threads cannot start."""
    script = """
import resource, caesura
many = [caesura.Potentials(50, 3) for _ in range(400)]
one = caesura.log_partition(many, n_threads=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000, used + 60_000_000))
assert caesura.log_partition(many, n_threads=100) == one
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
