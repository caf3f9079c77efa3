"""What the kinds declare is what the service understands: every path, method and body field is in its OpenAPI document.

The document is the sandbox's own; it knows nothing of the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any

import pytest

from reconciler.kinds import load
from reconciler.resource import UNSET, Field, FieldRole, Kind, Listing, One, Sighting, Verb

KINDS = load()


@cache
def document() -> dict[str, Any]:
    """The service's OpenAPI document."""
    import tempfile
    from pathlib import Path

    from reconciler.sandbox.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = create_app(Path(folder) / "sandbox.db").openapi()
    return found


def shape(path: str) -> str:
    """A path whose placeholders have no names."""
    return re.sub(r"\{[^}]*\}", "{}", path)


@cache
def operations() -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The service's operations by method and shape of path."""
    return {
        (method.upper(), shape(path)): operation for path, methods in document()["paths"].items() for method, operation in methods.items()
    }


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without references at its top."""
    while "$ref" in schema:
        at: Any = document()
        for part in schema["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        schema = at
    return schema


def properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object, through references and alternatives."""
    schema = resolved(schema)
    found = dict(schema.get("properties", {}))
    for word in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(word, ()):
            found |= properties(part)
    return found


def types(schema: Mapping[str, Any]) -> set[str]:
    """What the field `type` of an object may be, through references and alternatives."""
    schema = resolved(schema)
    own = resolved(schema.get("properties", {}).get("type", {}))
    found = {*own.get("enum", ()), *([own["const"]] if "const" in own else ())}
    return found.union(*(types(part) for word in ("allOf", "anyOf", "oneOf") for part in schema.get(word, ())))


def body(method: str, path: str) -> dict[str, Any]:
    """The fields that an operation's body may have."""
    content = operations()[(method, shape("/v1" + path))].get("requestBody", {}).get("content", {})
    return properties(content.get("application/json", {}).get("schema", {}))


def verbs() -> Iterator[tuple[Kind, Verb]]:
    """Every request of every kind, memberships included."""
    for kind in KINDS.values():
        for verb in kind.api.values():
            yield kind, verb
        for field in kind.fields.values():
            for verb in (field.join, field.leave):
                if verb is not None:
                    yield kind, verb


def carried() -> Iterator[tuple[Kind, Verb, Field]]:
    """Every field with every request that is said to carry it in its body."""
    for kind in KINDS.values():
        for verb in kind.api.values():
            for field in kind.sent_by(verb.name):
                if field.role is not FieldRole.SEED and not field.one_way:
                    yield kind, verb, field


def named(value: Any) -> str:
    match value:
        case Kind() | Field():
            return value.name
        case Verb():
            return f"{value.method} {value.path}"
        case _:
            return str(value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_of_a_kind_is_an_operation_of_the_service(kind: str) -> None:
    assert [named(verb) for of, verb in verbs() if of.name == kind if (verb.method, shape("/v1" + verb.path)) not in operations()] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_reading_of_a_kind_is_an_operation_of_the_service(kind: str) -> None:
    paths = [reading.path for reading in KINDS[kind].reads if isinstance(reading, Listing | One)]
    paths += [verb.fingerprint for of, verb in verbs() if of.name == kind if verb.fingerprint is not None]
    assert [path for path in paths if ("GET", shape("/v1" + path)) not in operations()] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_takes_the_fields_it_is_said_to_carry(kind: str) -> None:
    every = [(verb, field) for of, verb, field in carried() if of.name == kind]
    assert [(named(verb), field.name) for verb, field in every if field.wire not in body(verb.method, verb.path)] == []


PART_OF_A_URL = {("installation", "integration")}
"""What an answer shows only inside another text."""


def example(schema: Mapping[str, Any]) -> Any:
    """A value that a schema allows, every field of an object in it."""
    schema = resolved(schema)
    if fields := properties(schema):
        return {name: example(part) for name, part in fields.items()}
    options = [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, ())]
    if options:
        return next((value for part in options if (value := example(part)) is not None), None)
    if schema.get("type") == "array":
        return [example(schema.get("items", {}))]
    return {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "object": {}}.get(schema.get("type", ""))


def answers(kind: Kind) -> Iterator[Mapping[str, Any]]:
    """An object as each reading of its kind shows it, with every field that the document names."""
    for reading in kind.reads:
        if isinstance(reading, Sighting):
            yield from (outer[reading.at] for outer in answers(KINDS[reading.kind]))
        elif isinstance(reading, Listing | One):
            responses = operations()[("GET", shape("/v1" + reading.path))]["responses"]
            shown = example(responses["200"]["content"]["application/json"]["schema"])
            assert shown is not None, f"{reading.path}: the document describes no answer; add a line to operations.tsv"
            yield reading.object(shown["items"][0]) if isinstance(reading, Listing) and not reading.single else shown


@pytest.mark.parametrize("kind", KINDS.values(), ids=named)
def test_every_field_that_is_compared_is_in_an_answer_of_the_service(kind: Kind) -> None:
    read = [field for field in kind.fields.values() if field.readable and (field.compared or field.role is FieldRole.OUTPUT)]
    shown = [field for field in read if field.role is not FieldRole.CHOICE and (kind.name, field.name) not in PART_OF_A_URL]
    assert [field.name for field in shown if all(field.read_from(answer) is UNSET for answer in answers(kind))] == []


@pytest.mark.parametrize(
    ("kind", "field"),
    [(kind, field) for kind in KINDS.values() for field in kind.fields.values() if field.join is not None],
    ids=named,
)
def test_a_membership_is_joined_with_the_field_it_names(kind: Kind, field: Field) -> None:
    assert field.join is not None
    assert field.wire in body(field.join.method, field.join.path)


@pytest.mark.parametrize(("kind", "verb"), [(kind, verb) for kind, verb in verbs() if verb.anchors], ids=named)
def test_a_move_names_its_neighbour_as_the_service_wants_it(kind: Kind, verb: Verb) -> None:
    position = properties(body(verb.method, verb.path)["position"])
    for side, anchor in product(("before", "after"), verb.anchors.values()):
        assert set(anchor) <= set(properties(position[side]))
        assert anchor["type"] in types(position[side])
