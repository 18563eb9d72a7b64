"""The description of the HTTP API in the OpenAPI format."""

from __future__ import annotations

from typing import Any

from caesura.server.limits import Limits

__all__ = ["described"]

Plain = dict[str, Any]


def described(limits: Limits) -> Plain:
    """Return the OpenAPI description with the limits of a server.

    Examples
    --------
    >>> sorted(described(Limits())["paths"])[:3]
    ['/explain', '/extract', '/health']
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Caesura",
            "version": "1",
            "description": "Cut texts into labelled segments. Offsets count characters (Unicode "
            "code points) from 0; ends are exclusive.",
        },
        "paths": _paths(limits),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _paths(limits: Limits) -> Plain:
    ask = {
        "/segment": ("Cut texts into segments, with their probabilities.", "Segmented", {}),
        "/extract": ("Return a record of normalised fields for each text.", "Record", {}),
        "/explain": (
            "Explain each segment, compared with the best answer without it.",
            "Explained",
            {"reasons": _whole("Number of features for each segment.", 12, 0, 1000)},
        ),
        "/n-best": (
            "Return the n best segmentations of each text.",
            "Ranked",
            {"n": _whole("Number of alternatives.", 5, 1, limits.n_best)},
        ),
    }
    paths: Plain = {path: {"post": _question(*rest, limits)} for path, rest in ask.items()}
    paths["/health"] = _get("Report that the server is running.", _object({"status": _string()}))
    paths["/models"] = _get("Return the models and the limits.", {"type": "object"})
    paths["/metrics"] = {
        "get": {
            "summary": "Return counts in the text format of Prometheus.",
            "responses": {"200": {"description": "Counts.", "content": {"text/plain": {}}}},
        }
    }
    paths["/reload"] = {
        "post": {
            "summary": "Load the files of all models again, without a pause.",
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
            "responses": _responses(_object({"reloaded": _list(_string())})) | _error("409"),
        }
    }
    return paths


def _question(summary: str, result: str, more: Plain, limits: Limits) -> Plain:
    texts = _list(_string(maxLength=limits.characters)) | {"maxItems": limits.texts}
    body = _object(
        {
            "texts": texts | {"description": "The texts; or one as text."},
            "text": _string(maxLength=limits.characters),
            "model": _string(description="Name of a model; the first one if it is left out."),
            "constraints": {
                "description": "The constraints on answers: one object for all texts, or a list.",
                "oneOf": [_of("Constraints"), _list(_of("Constraints"))],
            },
            **more,
        },
        required=[],
    ) | {"oneOf": [{"required": ["texts"]}, {"required": ["text"]}]}
    example = {"texts": ["Codd, E. F. (1970). A relational model of data."]}
    answer = _object({"model": _string(), "results": _list(_of(result))})
    line = {"description": "A string, or an object with text, on each line.", "type": "object"}
    return {
        "summary": summary,
        "security": [{}, {"bearer": []}],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": body, "example": example},
                "application/x-ndjson": {"schema": line},
            },
        },
        "responses": _responses(answer) | _error("400", "401", "413", "415", "422", "503"),
    }


def _schemas() -> Plain:
    number = {"type": ["number", "null"]}
    place = {"start": _integer(), "end": _integer(), "label": _string(), "text": _string()}
    segment = place | {"probability": number}
    value = place | {"probability": number, "value": {}}
    del value["label"]
    reason = {"feature": _string(), "for": _string()}
    reason |= {key: {"type": "number"} for key in ("answer", "runner_up", "difference")}
    why = segment | {
        "runner_up": _list(_object(place)),
        "margin": number,
        "reasons": _list(_object(reason)),
        "left_out": _integer(),
    }
    span = {
        "type": "array",
        "prefixItems": [_integer(), _integer(), _string()],
        "minItems": 3,
        "maxItems": 3,
    }
    best = _object({"probability": {"type": "number"}, "segments": _list(_object(place))})
    rules = dict.fromkeys(("required", "forbidden"), _list(span))
    rules |= dict.fromkeys(("boundaries", "no_boundaries"), _list(_integer()))
    rules |= dict.fromkeys(("at_most_once", "exactly_once", "ordered"), _list(_string()))
    fields = {"type": "object", "additionalProperties": _list(_object(value))}
    return {
        "Segmented": _object({"segments": _list(_object(segment))}),
        "Record": _object({"probability": number, "fields": fields}),
        "Explained": _object({"segments": _list(_object(why))}),
        "Ranked": _object({"alternatives": _list(best)}),
        "Constraints": _object(rules, required=[]),
        "Error": _object({"error": _string()}),
    }


def _object(properties: Plain, required: list[str] | None = None) -> Plain:
    needed = list(properties) if required is None else required
    made: Plain = {"type": "object", "properties": properties, "additionalProperties": False}
    return made | ({"required": needed} if needed else {})


def _list(items: Plain) -> Plain:
    return {"type": "array", "items": items}


def _string(**more: Any) -> Plain:
    return {"type": "string", **more}


def _integer() -> Plain:
    return {"type": "integer", "minimum": 0}


def _whole(description: str, default: int, least: int, most: int) -> Plain:
    return {
        "type": "integer",
        "description": description,
        "default": default,
        "minimum": least,
        "maximum": most,
    }


def _of(name: str) -> Plain:
    return {"$ref": f"#/components/schemas/{name}"}


def _get(summary: str, schema: Plain) -> Plain:
    return {"get": {"summary": summary, "responses": _responses(schema)}}


def _responses(schema: Plain) -> Plain:
    return {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}}


def _error(*codes: str) -> Plain:
    body = {"application/json": {"schema": _of("Error")}}
    return {code: {"description": _CODES[code], "content": body} for code in codes}


_CODES = {
    "400": "Something in the request is wrong.",
    "401": "The token is missing or wrong.",
    "409": "A file cannot be loaded; the old models stay.",
    "413": "The request is larger than the limits allow.",
    "415": "The body is of another type.",
    "422": "No segmentation keeps the constraints.",
    "503": "The server is busy; Retry-After says when to try again.",
}
