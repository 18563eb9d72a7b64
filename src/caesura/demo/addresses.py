"""Generated postal addresses in real cities."""

from __future__ import annotations

import random

from caesura.demo.templates import check, filled, labelled
from caesura.documents import Document

__all__ = ["CITIES", "addresses"]

CITIES: tuple[str, ...] = (
    *("Albany", "Ann Arbor", "Aurora", "Austin", "Bakersfield", "Baton Rouge", "Bellingham"),
    *("Boise", "Boulder", "Cedar Rapids", "Chapel Hill", "Charlotte", "Cheyenne", "Columbus"),
    *("Corpus Christi", "Dayton", "Des Moines", "Duluth", "El Paso", "Erie", "Eugene", "Fargo"),
    *("Fort Collins", "Fort Wayne", "Fresno", "Grand Junction", "Grand Rapids", "Green Bay"),
    *("Hartford", "Helena", "Idaho Falls", "Iowa City", "Ithaca", "Jefferson City", "Juneau"),
    *("Kansas City", "Lake Charles", "Laramie", "Las Cruces", "Lincoln", "Little Rock", "Madison"),
    *("Mobile", "New Haven", "New Orleans", "Oak Park", "Omaha", "Palm Springs", "Pasadena"),
    *("Peoria", "Pittsburgh", "Portland", "Providence", "Reno", "Rochester", "Saint Paul", "Salem"),
    *("Salt Lake City", "San Antonio", "Santa Fe", "Savannah", "Sioux Falls", "South Bend"),
    *("Spokane", "Springfield", "Tacoma", "Terre Haute", "Toledo", "Topeka", "Tulsa", "Union City"),
    *("Walla Walla", "West Palm Beach", "Wichita Falls", "Worcester", "Yakima"),
)
"""The cities of the addresses, for a dictionary."""

_LISTS = {
    "city": CITIES,
    "address": (
        "{line}, {place}",
        *("{line} {place}",) * 4,
        "[name {name}], {line} {place}",
        "{box}, {place}",
        "{line}, [city {city}]",
        "{line} [city {city}]",
    ),
    "place": (
        "[city {city}], [state {state}] [zip {zip}]",
        "[city {city}] [state {state}] [zip {zip}]",
        "[city {city}], [state {state}]",
        "[city {city}] [state {state}], [zip {zip}]",
    ),
    "line": (
        *("[number {number}] [street {street}]",) * 3,
        "[number {number}] [street {street}], [unit {unit}]",
        "[number {number}] [street {street}] [unit {unit}]",
    ),
    "box": ("[box P.O. Box {number}]", "[box PO Box {number}]", "[box Box {number}]"),
    "number": ("{digit}", "{digit}{any}", "{digit}{any}{any}", "{digit}{any}{any}{any}"),
    "digit": tuple("123456789"),
    "any": tuple("0123456789"),
    "zip": ("{digit}{any}{any}{any}{any}",),
    "street": (
        *("{title} {kind}",) * 4,
        *("{title}",) * 2,
        "{side} {title}",
        "{side} {title} {kind}",
        "{title} {title} {kind}",
        "{side} {ordinal} {kind}",
        "{ordinal} {kind}",
        "Highway {number}",
        "Broadway",
    ),
    "side": ("North", "South", "East", "West", "N.", "S.", "E", "W"),
    "kind": (
        *("Street", "St", "St.", "Avenue", "Ave", "Ave.", "Road", "Rd", "Lane", "Ln", "Drive"),
        *("Dr.", "Court", "Ct", "Boulevard", "Blvd", "Way", "Place", "Terrace"),
    ),
    "title": (
        *("Oak", "Maple", "Elm", "Cedar", "Pine", "Lake", "Hill", "Park", "River", "Spring"),
        *(
            "Mill",
            "Church",
            "Main",
            "High",
            "Union",
            "Washington",
            "Lincoln",
            "Madison",
            "Franklin",
        ),
        *("Portland", "Salem", "Albany", "College", "Garden", "Orchard", "Quarry", "Sunset", "Bay"),
        *("Juniper", "Harbor", "Valley", "Prospect", "Station", "Meadow", "Willow", "Fort"),
    ),
    "ordinal": ("1st", "2nd", "3rd", "4th", "5th", "8th", "11th", "19th", "23rd", "42nd", "101st"),
    "unit": ("Apt {small}", "Apt. {small}", "Suite {number}", "Unit {small}", "Floor {digit}"),
    "small": ("{digit}", "{digit}{letter}", "{letter}", "{digit}{any}"),
    "letter": tuple("ABCDEFGH"),
    "name": (
        *("{given} {family}", "{family} {firm}", "{title} {shop}", "{family} & {family} {firm}"),
        "{city} {shop}",
    ),
    "given": ("Ada", "Ben", "Carla", "Dmitri", "Elif", "Frank", "Grace", "Hugo", "Ines", "Jamal"),
    "family": ("Abbott", "Brandt", "Chavez", "Dunn", "Ekberg", "Foley", "Garza", "Holt", "Imai"),
    "firm": ("Inc.", "Ltd", "Brothers", "Partners"),
    "shop": ("Bakery", "Books", "Public Library", "Hardware", "Coffee House", "Dental Clinic"),
    "state": (
        *("AL", "AK", "CA", "CO", "CT", "FL", "GA", "ID", "IL", "IN", "IA", "KS", "LA", "MA", "ME"),
        *("MI", "MN", "MO", "MT", "NC", "ND", "NE", "NM", "NV", "NY", "OH", "OK", "OR", "PA", "RI"),
        *("SD", "TX", "UT", "WA", "WI", "WY"),
    ),
}


def addresses(n: int, seed: int = 0) -> list[Document]:
    """Generate postal addresses, each with its text, its tokens and its exact segments.

    Parameters
    ----------
    n : int
        Number of documents.
    seed : int
        The same seed gives the same addresses.

    Returns
    -------
    list of Document
        Their labels are name, number, street, unit, box, city, state and zip; commas between
        fields are outside.

    Examples
    --------
    >>> document = addresses(1, seed=3)[0]
    >>> document.text
    '9 Broadway Helena, UT 65868'
    >>> [segment.label for segment in document.segments]
    ['number', 'street', 'city', 'state', 'zip']
    """
    check(n, seed)
    draw = random.Random(f"addresses {seed}")
    return [labelled(filled("{address}", _LISTS, draw)) for _ in range(n)]
