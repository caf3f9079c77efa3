"""What the kinds declare is what the service understands: every path, method and body field is in its OpenAPI document.

The document is the sandbox's own; it knows nothing of the declarations.

What the service's own document refuses is refused when a project is loaded, or is a finding of lint where the set of values may grow.

Every constraint of every body and path of the document becomes values that violate it; each is read as the YAML is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.config.source.nodes import lifted
from reconciler.config.values import INVALID, readers
from reconciler.kinds import load
from reconciler.model import Source
from reconciler.resource import UNSET, Field, FieldRole, Kind, Listing, One, Sighting, Verb
from tests.documents import service
from tests.proofs import costly

KINDS = load()


def shape(path: str) -> str:
    """A path whose placeholders have no names."""
    return re.sub(r"\{[^}]*\}", "{}", path)


@cache
def operations() -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The service's operations by method and shape of path."""
    return {
        (method.upper(), shape(path)): operation for path, methods in service()["paths"].items() for method, operation in methods.items()
    }


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without references at its top."""
    while "$ref" in schema:
        at: Any = service()
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
    paths += [pages.tree] if (pages := KINDS[kind].pages) is not None else []
    assert [path for path in paths if ("GET", shape("/v1" + path)) not in operations()] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_takes_the_fields_it_is_said_to_carry(kind: str) -> None:
    every = [(verb, field) for of, verb, field in carried() if of.name == kind]
    assert [(named(verb), field.name) for verb, field in every if field.wire not in body(verb.method, verb.path)] == []


PART_OF_A_URL = {("installation", "integration")}
"""What an answer shows only inside another text."""
LATER = {(kind, name) for kind in ("section", "site-space") for name in ("draft", "hidden")} | {("group", "draft")}
"""What the service of autumn 2026 shows and the reference does not."""


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
            shown = example(operations()[("GET", shape("/v1" + reading.path))]["responses"]["200"]["content"]["application/json"]["schema"])
            assert shown is not None, f"{reading.path}: the document describes no answer; add a line to operations.tsv"
            yield reading.object(shown["items"][0]) if isinstance(reading, Listing) and not reading.single else shown


@pytest.mark.parametrize("kind", KINDS.values(), ids=named)
def test_every_field_that_is_compared_is_in_an_answer_of_the_service(kind: Kind) -> None:
    read = [field for field in kind.fields.values() if field.readable and (field.compared or field.role is FieldRole.OUTPUT)]
    shown = [field for field in read if field.role is not FieldRole.CHOICE and (kind.name, field.name) not in PART_OF_A_URL | LATER]
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


OTHER_FORM = {
    ("organization", "defaultContent"): "a reference to a site",
    ("team", "members"): "references to members",
    ("site-space", "space"): "a reference to a space",
    ("saml", "defaultTeam"): "a reference to a team",
    ("translation", "source"): "a reference to a space, and a language",
    ("translation", "instructions"): "a text or a document, as agent instructions are",
}
"""Fields whose values are written in another form than the service has them, which other tests check."""

TEXTS = ("_", "a_b", "A", "a b", "-", "a-", "--", "é", ".", "a/b", "https://", "x" * 3, "no such value", "not a url", "http:// x")
OTHERS: tuple[Any, ...] = (12, True, "text", [1], {"a": 1})


def valid(schema: Mapping[str, Any]) -> Any:
    """A value that a schema allows, with what it requires."""
    schema = resolved(schema)
    for word in ("anyOf", "oneOf"):
        if word in schema and "properties" not in schema:
            return valid(next(part for part in schema[word] if resolved(part).get("type") != "null"))
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    properties = schema.get("properties", {})
    required = schema.get("required") or next((part["required"] for part in schema.get("oneOf", ()) if "required" in part), [])
    made: dict[str, Any] = {name: valid(properties[name]) for name in required}
    text = "https://acme.example/x" if schema.get("format") == "uri" else "openapi: 3.1.0"
    return {"array": [], "object": made, "string": text, "boolean": True, "integer": 1, "number": 1}.get(schema.get("type", "string"), text)


def candidates(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Values that may violate a schema, at its top or deeper."""
    schema = resolved(schema)
    yield from OTHERS
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from candidates(part)
    yield from TEXTS
    for name in ("minLength", "maxLength"):
        if name in schema:
            yield from ("x" * max(schema[name] - 1, 0), "x" * (schema[name] + 1))
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if name in schema:
            yield from (schema[name] - 1, schema[name], schema[name] + 1)
    if "items" in schema:
        yield from ([inner] for inner in candidates(schema["items"]))
    if schema.get("type") == "array":
        yield from ([], [valid(schema.get("items", {}))] * 2, [valid(schema.get("items", {}))] * (schema.get("maxItems", 0) + 1))
    if schema.get("type") == "object":
        whole = valid(schema)
        yield from ({name: part for name, part in whole.items() if name != without} for without in whole)
        for name, part in schema.get("properties", {}).items():
            yield from ({**whole, name: inner} for inner in candidates(part))
        if isinstance(schema.get("additionalProperties"), Mapping):
            yield from ({**whole, "k": inner} for inner in candidates(schema["additionalProperties"]))


def violations(schema: Mapping[str, Any]) -> list[Any]:
    """Values that the service's document refuses."""
    check = Draft202012Validator({"components": service()["components"], **schema}, format_checker=Draft202012Validator.FORMAT_CHECKER)
    refused = [value for value in candidates(schema) if not check.is_valid(value)]
    if "uri" in str(resolved(schema)):  # the checker knows this format only with another library
        refused += ["not a url", "/x", "a b"]
    return refused


def accepts(kind: Kind, field: Field, value: Any) -> bool:
    """Whether a value is read without a problem, and lint has nothing to say about it."""
    problems: list[str] = []
    read = readers(kind)[field.name].read(lifted(value, Source("", 0)), lambda at, message, *, id: problems.append(message))
    return read is not INVALID and not problems and not (field.known and value not in field.known)


def schemas(kind: Kind) -> Iterator[tuple[Field, Mapping[str, Any]]]:
    """Each field that users write with its schemas in the document: in bodies, in paths, and where others create such objects."""
    fields = [field for field in kind.fields.values() if field.role is FieldRole.VALUE and field.to is None]
    for verb in kind.api.values():
        operation = operations().get((verb.method, shape("/v1" + verb.path)), {})
        collection = operations().get(("POST", shape("/v1" + verb.path.rpartition("/")[0])), {})
        parts = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "path"]
        for field in fields:
            for source, sent in ((operation, verb.name in field.on), (collection, field.key and not field.on)):
                content = source.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
                properties = resolved(content).get("properties", {})
                if sent and field.wire in properties:
                    yield field, properties[field.wire]
            if field.key and not field.on and "{" + field.name + "}" in verb.path:
                yield from ((field, part["schema"]) for part in parts if field.name.lower() in part["name"].lower())


def forgotten(kind: Kind) -> list[tuple[str, Any]]:
    """What the service's document refuses and a project may contain."""
    return [
        (field.name, value)
        for field, schema in schemas(kind)
        if (kind.name, field.name) not in OTHER_FORM
        for value in violations(schema)
        if value is not None and accepts(kind, field, value) and accepts_as_sent(field, value, schema)
    ]


def accepts_as_sent(field: Field, value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether what would be sent for a written value is refused: some are written in a shorter form."""
    check = Draft202012Validator({"components": service()["components"], **schema})
    sent = field.body(readers_value(field, value))
    return not check.is_valid(sorted(sent) if isinstance(sent, frozenset) else sent)


def readers_value(field: Field, value: Any) -> Any:
    """A written value as the engine has it."""
    owner = next(kind for kind in KINDS.values() if kind.fields.get(field.name) is field)
    return readers(owner)[field.name].read(lifted(value, Source("", 0)), lambda at, message, *, id: None)


@costly
@pytest.mark.parametrize("kind", KINDS.values(), ids=named)
def test_what_the_document_of_the_service_refuses_no_project_may_contain(kind: Kind) -> None:
    assert forgotten(kind) == []


def test_the_walk_sees_constraints_of_every_sort() -> None:
    seen = str([dict(resolved(schema)) for kind in KINDS.values() for _, schema in schemas(kind)])
    assert {
        word for word in ("maxLength", "minLength", "pattern", "format", "enum", "required", "items") if f"'{word}'" not in seen
    } == set()
    assert sum(len(violations(schema)) for kind in KINDS.values() for _, schema in schemas(kind)) > 1_000


@pytest.mark.parametrize(
    "more", [{"pattern": "^x+$"}, {"maxLength": 3}, {"minLength": 5}, {"enum": ["yes"]}, {"type": "integer", "maximum": 3}]
)
def test_a_constraint_that_a_kind_forgets_is_found(more: Mapping[str, Any]) -> None:
    team = KINDS["team"]
    assert [value for value in violations({"type": "string", **more}) if accepts(team, team.fields["title"], value)] != []


@pytest.mark.parametrize("slug", ["payments_v2", "-a", "a-", "a--b", "a.b", "é", "a b", ""])
def test_a_key_that_is_a_slug_has_its_form(slug: str) -> None:
    kind = KINDS["openapi"]
    assert not accepts(kind, kind.fields["slug"], slug)
    assert accepts(kind, kind.fields["slug"], "payments-v2")
    assert accepts(kind, kind.fields["slug"], "Payments-V2")
