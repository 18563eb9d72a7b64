"""Where seqeval's strict mode finds fewer entities than the tags write."""

from collections.abc import Sequence
from itertools import pairwise


def missed_by_seqeval(tags: Sequence[str], scheme: str) -> bool:
    """Say whether tags have what seqeval's patterns for IOB1 and IOE1 lack.

    In IOB1, the end of B-X before B-Y. In IOE1, the beginning of a segment of one token before
    another with its label (its source says that "IOE1 hasn't yet been able to handle some cases").
    """
    around = zip(["O", *tags], tags, [*tags[1:], "O"], strict=False)
    if scheme == "IOB1":
        return any(a[0] == b[0] == "B" and a != b for a, b in pairwise(tags))
    starts = ((b[0] == "E" and b[1:] not in (a[1:], "") and b[1:] == c[1:]) for a, b, c in around)
    return scheme == "IOE1" and any(starts)
