"""Cut citations into fields, with scores from a few rules and no training.

Each rule adds potentials, and a potential scores every segment that it applies to.  The
probabilities are exact: sums over all segmentations, not a sample and not the best few.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator

import caesura
from caesura import Potentials, Segment, render

FIELDS = ["author", "year", "title", "venue", "pages"]
LONGEST = [None, 4, None, 8, 6]  # tokens in a field; None is no bound
VENUES = ["ACL", "Machine Learning", "NIPS", "Secker and Warburg"]
MARKS = ".,;:)"  # a field ends with its mark

# What a field contains: pattern of one or two tokens, field, score.
INSIDE = [
    (r"[A-Z]", "author", 1.5),  # an initial
    (r"[A-Z][a-z]+", "author", 0.5),
    (r"(?!and|pp)[a-z]+", "author", -2.0),
    (r"(?!and|pp)[a-z]+", "title", 1.0),
    (r"\d[\d-]*", "author", -4.0),
    (r"\d[\d-]*", "title", -1.0),
    (r"\d[\d-]*", "venue", -2.0),
    (r"\d+", "pages", -2.0),  # not a range
    (r"[A-Za-z]+", "year", -3.0),
    (r"(?!pp)[A-Za-z]+", "pages", -3.0),
    (r"\. .+", "title", -2.0),  # it goes on after a full stop
    (r"\. .+", "venue", -2.0),
]
# What it starts with.
FIRST = [(r"pp", "pages", 3.0), (r"In", "venue", 2.0)]
FIRST += [(f"[{MARKS}]", field, -4.0) for field in FIELDS]
# What it is.
WHOLE = [
    (r"(\( )?(19|20)\d\d( \))?( [.,])?", "year", 4.0),
    (r"(pp \. )?\d+-\d+( \.)?", "pages", 2.0),
    (rf"(In )?({'|'.join(VENUES)})( [.,])?", "venue", 4.0),
]
# Labels of adjacent fields, the last of which is scored.
HISTORIES = [
    (["author", "year", "title"], 1.5),
    (["author", "title", "venue"], 1.5),
    (["year", "title", "venue"], 1.0),
    (["title", "venue", "year"], 1.0),
    (["venue", "pages"], 1.5),
]


def potentials(citation: str) -> Potentials:
    """Apply the rules to a citation."""
    tokens = re.findall(r"\w+(?:-\w+)*|[^\w\s]", citation)
    T = len(tokens)
    p = Potentials(T, FIELDS, max_length=LONGEST, tokens=tokens)
    for pattern, field, score in INSIDE:  # open at both ends: the field contains it
        for start, end in matches(pattern, tokens, longest=2):
            p.add(start, end, field, score, open_start=True, open_end=True)
    for pattern, field, score in FIRST:  # open at the end: the field starts with it
        for start, end in matches(pattern, tokens, longest=1):
            p.add(start, end, field, score, open_end=True)
    for field in FIELDS:  # open at the start: the field ends with a mark, or should have
        closing = [0.0 if token in MARKS else -3.0 for token in tokens]
        p.add_many(range(T), range(1, T + 1), field, closing, open_start=True)
    for start in range(T - 3):  # open at the end: a title has four tokens or more
        p.add(start, start + 4, "title", 1.0, open_end=True)
    for pattern, field, score in WHOLE:  # closed: exactly this field
        for start, end in matches(pattern, tokens, longest=6):
            p.add(start, end, field, score)

    p.start[:] = [1.0, -1.0, 0.0, -1.0, -3.0]  # a citation starts with its authors
    p.transition[:] = -2.0  # few fields are better than many
    p.transition[range(5), range(5)] = -6.0  # and none is cut in two
    for fields, score in HISTORIES:
        p.add_pattern(fields, score)
    return p


def matches(pattern: str, tokens: list[str], longest: int) -> Iterator[tuple[int, int]]:
    """Find every span of up to `longest` tokens that a pattern matches as a whole."""
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + longest, len(tokens)) + 1):
            if re.fullmatch(pattern, " ".join(tokens[start:end])):
                yield start, end


def show(title: str, p: Potentials) -> None:
    """Print the best segmentation and the exact probability of each of its fields."""
    print(f"\n{title}\n")
    print(textwrap.indent(render.table(caesura.viterbi(p)), "  "))


def segment() -> None:
    p = potentials(
        "Sarawagi, S. and Cohen, W. W. (2004). Semi-Markov conditional random fields for "
        "information extraction. In NIPS, pp. 1185-1192."
    )
    print("1. A citation, cut by a few rules\n")
    print(render.text(caesura.viterbi(p)))
    show("The probability of each field, summed over all segmentations:", p)

    print("\nThe five best segmentations:")
    log_z = caesura.log_partition(p)
    for path in caesura.n_best(p, 5):
        cut = render.text(path.segments, p.tokens, labels=FIELDS, width=72)
        print(f"\n  probability {math.exp(path.score - log_z):.3f}\n{textwrap.indent(cut, '  ')}")


def constrain() -> None:
    p = potentials("Orwell, G. 1984. Secker and Warburg, 1949.")
    print("\n\n2. A field that would be used twice")
    show("1984 and 1949 both look like a year, so the rules alone say:", p)
    once = p.copy().constrain(at_most_once=FIELDS)
    show("With each field at most once:", once)
    free, held = caesura.log_partition(p), caesura.log_partition(once)
    print(
        f"\nln Z falls from {free:.3f} to {held:.3f}.  The difference is the probability that the "
        f"rules\nalone give to not using a field twice: exp({held - free:.3f}) = "
        f"{math.exp(held - free):.3f}."
    )


def correct() -> None:
    p = potentials("Mitchell, T. M. (1997). Machine Learning. McGraw Hill.")
    p.constrain(at_most_once=FIELDS)
    print("\n\n3. A correction")
    show("Machine Learning is a known journal, so the publisher is taken for the title:", p)
    fixed = p.copy().constrain(required=[Segment(10, 13, "title")])
    show("Someone says that it is the title.  Only that is forced; the rest follows:", fixed)
    before, after = (caesura.marginals(one).segment(13, 16, "venue") for one in (p, fixed))
    print(f"\nThe probability that McGraw Hill is the venue goes from {before:.3f} to {after:.3f}.")


if __name__ == "__main__":
    segment()
    constrain()
    correct()
    print(
        "\n\nTo try next:\n"
        "  - put your own citation into segment(), or a venue into VENUES\n"
        "  - in constrain(), ask for exactly_once=['title'] or ordered=FIELDS instead\n"
        "  - ask marginals(p).segments(0.05): every field that has a chance, also those that lost"
    )
