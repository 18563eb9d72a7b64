"""Generated news sentences with names of people, places and organisations."""

from __future__ import annotations

import random

from caesura.demo.templates import check, filled, labelled
from caesura.documents import Document

__all__ = ["PLACES", "names"]

PLACES: tuple[str, ...] = (
    *("Accra", "Addis Ababa", "Amman", "Ankara", "Antwerp", "Athens", "Baku", "Bergen", "Bogota"),
    *("Bratislava", "Buenos Aires", "Cairo", "Cape Town", "Cork", "Dakar", "Dar es Salaam"),
    *("Dublin", "Faroe Islands", "Geneva", "Ghent", "Guatemala City", "Hanoi", "Havana"),
    *("Helsinki", "Hong Kong", "Istanbul", "Jakarta", "Kathmandu", "Kuala Lumpur", "Kyoto", "Lima"),
    *("Lisbon", "Los Angeles", "Luxembourg", "Madrid", "Manila", "Montevideo", "Nairobi"),
    *("New Zealand", "North Macedonia", "Oslo", "Panama", "Phnom Penh", "Porto", "Prague"),
    *("Quito", "Rabat", "Reykjavik", "Rio de Janeiro", "Riga", "San Marino", "Sao Paulo"),
    *("Sierra Leone", "Singapore", "Sofia", "South Korea", "Sri Lanka", "Tallinn", "Tel Aviv"),
    *("Tirana", "Toronto", "Tunis", "Uppsala", "Valencia", "Vienna", "Vilnius", "Warsaw"),
    *("West Bengal", "Yerevan", "Zagreb", "Zurich"),
)
"""The places of the sentences, for a gazetteer."""

_LISTS = {
    "sentence": (
        "{per} of {org} arrived in {loc} on {day}.",
        "{org} said on {day} that it would close its office in {loc}.",
        "{per} told reporters in {loc} that talks with {org} had failed.",
        "Shares of {org} fell {count} percent after {per} resigned.",
        "The mayor of {loc}, {per}, opened a {thing} near the river.",
        "{per} and {per} won the doubles in {loc}.",
        "In {loc}, the {thing} will cost {count} million, according to {org}.",
        "{org} and {org} are to build a {thing} between {loc} and {loc}.",
        "“We will be back in {loc},” said {per}, who leads {org}.",
        "Heavy rain stopped the {thing} in {loc} for {count} hours.",
        "The new director of {org}, {per}, was born in {loc}.",
        "No one was hurt when the {thing} failed on {day}.",
        "The court in {loc} fined {org} {count} million.",
        "{day}'s match in {loc} ended in a draw, and {per} was sent off.",
        "{role} {per} leaves {loc} for {loc} on {day}.",
        "Prices rose by {count} percent in {month}, more than {org} had expected.",
        "{role} {per} of {loc} met {per} at the {thing}.",
        "Researchers at {org} read the {thing} with a lamp.",
    ),
    "per": ("[PER {given} {family}]",) * 3 + ("[PER {given} {letter}. {family}]", "[PER {family}]"),
    "org": ("[ORG {company}]",),
    "loc": ("[LOC {place}]",),
    "place": PLACES,
    "company": (
        "{family} {business}",
        "{family} & {family}",
        "University of {place}",
        "{place} {club}",
        "Bank of {place}",
        "{field} {body}",
        "{family}, {family} and Co",
        "{short}",
    ),
    "business": ("Motors", "Steel", "Airlines", "Foods", "Group", "Pharma", "Shipping", "Energy"),
    "club": ("United", "Rovers", "City Council", "Opera", "Institute of Technology", "Post"),
    "field": ("European", "Global", "Northern", "Federal", "National", "Royal"),
    "body": ("Weather Service", "Farmers Union", "Space Council", "Railways", "Health Fund"),
    "short": ("NORDEX", "UTC", "Velora", "Brightwell", "KLB", "Samara", "Ostara", "MTV4"),
    "role": ("President", "Minister", "Professor", "Captain", "Dr.", "Judge"),
    "given": (
        *("Amara", "Anton", "Beatriz", "Chen", "Clara", "David", "Elena", "Farid", "Georgia"),
        *("Hassan", "Ingrid", "Jorge", "Kofi", "Leila", "Marek", "Nadia", "Olga", "Paul", "Rosa"),
        *("Sofia", "Tomas", "Uma", "Victor", "Wanda", "Yusuf", "Zoe", "Florence", "Sydney"),
    ),
    "family": (
        *("Adeyemi", "Bauer", "Castillo", "Dvorak", "Eriksen", "Fontaine", "Gupta", "Horvat"),
        *("Ivanova", "Jensen", "Kaplan", "Lindqvist", "Moreau", "Nakamura", "Okafor", "Petrov"),
        *("Quispe", "Rossi", "Sato", "Tanaka", "Ueda", "Valencia", "Weber", "Yilmaz", "Zhang"),
        *("London", "Holland", "Rice", "Marsh", "Cole", "Young", "Park"),
    ),
    "letter": tuple("ABCDEFGHJKLMRST"),
    "thing": (
        *("bridge", "tunnel", "festival", "summit", "railway", "museum", "old harbour wall"),
        *("marathon", "clinic", "dam", "trial", "power station", "Winter Games", "Green Line"),
    ),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": ("January", "March", "April", "May", "June", "August", "October"),
    "count": ("two", "three", "five", "12", "3.5", "40", "seven", "1.2"),
}


def names(n: int, seed: int = 0) -> list[Document]:
    """Generate news sentences, each with its text, its tokens and the names in it.

    Parameters
    ----------
    n : int
        Number of documents.
    seed : int
        The same seed gives the same sentences.

    Returns
    -------
    list of Document
        Their labels are PER, LOC and ORG; the rest is outside.

    Examples
    --------
    >>> document = names(1, seed=1)[0]
    >>> document.text
    'Heavy rain stopped the clinic in South Korea for three hours.'
    >>> [" ".join(document.tokens[start:end]) for start, end, _ in document.segments]
    ['South Korea']
    """
    check(n, seed)
    draw = random.Random(f"names {seed}")
    return [labelled(filled("{sentence}", _LISTS, draw)) for _ in range(n)]
