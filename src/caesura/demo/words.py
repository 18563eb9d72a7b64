"""Formatting of names, titles and venues: initials, et al., capitals, abbreviations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from caesura.demo.records import Name

__all__ = ["Names", "abbreviated", "capitalised"]

_SMALL = frozenset(
    (
        *("a", "an", "and", "as", "at", "by", "for", "from", "in", "into"),
        *("like", "of", "on", "or", "the", "to", "via", "with"),
    )
)
_SHORT = {
    "Academy": "Acad.",
    "Advances": "Adv.",
    "American": "Am.",
    "Analysis": "Anal.",
    "Analytical": "Anal.",
    "Annals": "Ann.",
    "Annual": "Annu.",
    "Approximate": "Approx.",
    "Artificial": "Artif.",
    "Association": "Assoc.",
    "Astronomical": "Astron.",
    "Astrophysical": "Astrophys.",
    "Atmospheric": "Atmos.",
    "Behavioral": "Behav.",
    "Biochemistry": "Biochem.",
    "Biological": "Biol.",
    "Biology": "Biol.",
    "British": "Br.",
    "Bulletin": "Bull.",
    "Canadian": "Can.",
    "Chemical": "Chem.",
    "Chemistry": "Chem.",
    "Cognitive": "Cogn.",
    "Communications": "Commun.",
    "Computation": "Comput.",
    "Computational": "Comput.",
    "Computer": "Comput.",
    "Computers": "Comput.",
    "Computing": "Comput.",
    "Conference": "Conf.",
    "Cybernetics": "Cybern.",
    "Economics": "Econ.",
    "Empirical": "Empir.",
    "Engineering": "Eng.",
    "European": "Eur.",
    "Evolution": "Evol.",
    "Experimental": "Exp.",
    "Information": "Inf.",
    "Intelligence": "Intell.",
    "International": "Int.",
    "Journal": "J.",
    "Knowledge": "Knowl.",
    "Language": "Lang.",
    "Languages": "Lang.",
    "Learning": "Learn.",
    "Letters": "Lett.",
    "Linguistics": "Linguist.",
    "Machine": "Mach.",
    "Mathematical": "Math.",
    "Mathematics": "Math.",
    "Medical": "Med.",
    "Medicine": "Med.",
    "Meeting": "Meet.",
    "Methods": "Methods",
    "Molecular": "Mol.",
    "Monthly": "Mon.",
    "National": "Natl.",
    "Natural": "Nat.",
    "Neural": "Neural",
    "Numerische": "Numer.",
    "Philosophical": "Philos.",
    "Physical": "Phys.",
    "Physics": "Phys.",
    "Physiology": "Physiol.",
    "Political": "Polit.",
    "Proceedings": "Proc.",
    "Processing": "Process.",
    "Programming": "Program.",
    "Psychological": "Psychol.",
    "Psychology": "Psychol.",
    "Quarterly": "Q.",
    "Recognition": "Recognit.",
    "Research": "Res.",
    "Review": "Rev.",
    "Royal": "R.",
    "Science": "Sci.",
    "Sciences": "Sci.",
    "Series": "Ser.",
    "Society": "Soc.",
    "Sociology": "Sociol.",
    "Statistical": "Stat.",
    "Statistics": "Stat.",
    "Symposium": "Symp.",
    "System": "Syst.",
    "Systems": "Syst.",
    "Technical": "Tech.",
    "Technology": "Technol.",
    "Theory": "Theory",
    "Transactions": "Trans.",
    "University": "Univ.",
    "Workshop": "Workshop",
}


def capitalised(title: str) -> str:
    """Capitalise all words of a title except small ones.

    Examples
    --------
    >>> capitalised("On the criteria to be used in decomposing systems into modules")
    'On the Criteria to Be Used in Decomposing Systems into Modules'
    """
    words = title.split(" ")
    raised = [
        word if i and word in _SMALL and not words[i - 1].endswith((":", "?")) else _raised(word)
        for i, word in enumerate(words)
    ]
    return " ".join(raised)


def _raised(word: str) -> str:
    return "-".join(part[:1].upper() + part[1:] for part in word.split("-"))


def abbreviated(venue: str, dots: bool = True) -> str:
    """Abbreviate the name of a journal or a conference.

    Examples
    --------
    >>> abbreviated("Journal of Machine Learning Research")
    'J. Mach. Learn. Res.'
    >>> abbreviated("Proceedings of the National Academy of Sciences", dots=False)
    'Proc Natl Acad Sci'
    >>> abbreviated("Nature")
    'Nature'
    """
    words = venue.split(" ")
    if len(words) < 2:
        return venue
    small = {"of", "the", "and", "in", "on", "for", "The", "&"}
    short = [_one_short(word) for word in words if word not in small]
    text = " ".join(short)
    return text if dots else text.replace(".", "")


def _one_short(word: str) -> str:
    bare = word.rstrip(",:")
    return _SHORT.get(bare, bare) + word[len(bare) :]


class Names(NamedTuple):
    """The formatting of author and editor names in a style."""

    order: str  # "family" first, "given" first, or "mixed": family first for the first person only
    given: str  # "full", or initials as "J. A.", "J.A." or "JA"
    comma: str = ", "  # between family and given
    between: str = ", "
    two: str = " and "  # between two names
    last: str = ", and "  # before the last of three or more
    most: int = 99  # longer lists are cut
    kept: int = 1  # to this number of names
    others: str = " et al."

    def write(self, names: Sequence[Name], more: bool = False) -> str:
        """Format names as one string.

        Examples
        --------
        >>> names = [Name("Boyer", "Robert S."), Name("Moore", "J Strother")]
        >>> Names("family", "J. A.", two=", & ").write(names)
        'Boyer, R. S., & Moore, J. S.'
        >>> Names("given", "full", most=1).write(names)
        'Robert S. Boyer et al.'
        """
        if len(names) > self.most:
            names, more = names[: self.kept], True
        written = [self._one(name, i == 0) for i, name in enumerate(names)]
        if more:
            return self.between.join(written) + self.others
        if len(written) < 3:
            return self.two.join(written)
        return self.between.join(written[:-1]) + self.last + written[-1]

    def _one(self, name: Name, leads: bool) -> str:
        given = name.given if self.given == "full" else self._initials(name.given)
        if not given:
            return name.family
        if self.order == "family" or (self.order == "mixed" and leads):
            return f"{name.family}{self.comma}{given}"
        return f"{given} {name.family}"

    def _initials(self, given: str) -> str:
        dot = "" if self.given == "JA" else "."
        parts = [
            "-".join(f"{piece[0]}{dot}" for piece in part.split("-") if piece)
            for part in re.split(r"[ .]+", given)
            if part
        ]
        if self.given == "JA":
            return "".join(parts).replace("-", "")
        return (" " if self.given == "J. A." else "").join(parts)
