"""The states of a chain as segments."""

from hypothesis import given, settings
from hypothesis import strategies as st

from caesura import from_tags, to_tags
from caesura.models.schemes import TagSet
from caesura.segments import TAG_SCHEMES


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(TAG_SCHEMES)), st.data())
def test_segments_are_those_of_tags(scheme: str, data: st.DataObject) -> None:
    """Whatever the tags, well-formed or not."""
    every = [(0, 1, "A"), (2, 5, "A"), (6, 7, "B"), (8, 11, "B")]
    every += [] if scheme in ("plain", "IO") else [(5, 6, "A"), (7, 8, "B")]
    states = tuple(sorted({*to_tags(sorted(every), scheme, 12)}))
    path = data.draw(st.lists(st.integers(0, len(states) - 1), max_size=8))
    tags = [states[k] for k in path]
    assert TagSet(states, scheme, "O").segments(path) == from_tags(tags, scheme, repair="repair")
