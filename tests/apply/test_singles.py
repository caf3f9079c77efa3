"""What a container has one of, without an id: absent by a 404 or by being empty, created and updated by PUT, deleted with its container."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from reconciler.errors import ConfigError, ReconcilerError
from reconciler.model import Action, Plan, StepStatus
from reconciler.resource import DELETE, PATCH, PUT, Keyed, Kind, One, Resource, SingleValue, Verbs, field, one_per, within
from tests.apply.test_kill import die_and_try_again
from tests.harness import ORGANIZATION, Org
from tests.proofs import costly
from tests.transports import losing

INSTRUCTIONS = f"/orgs/{ORGANIZATION}/agent-instructions"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"isBeta": {"type": "boolean"}}, "additionalProperties": False}
OTHER: dict[str, Any] = {"type": "object", "properties": {"isGamma": {"type": "boolean"}}, "additionalProperties": False}
BOTH: dict[str, Any] = {
    "agentInstructions": "Answer in plain English.",
    "sites": {"docs": {"title": "Docs", "visibility": "public", "adaptiveSchema": SCHEMA}},
}
AGENTS, VISITORS = "acme/agent-instructions", "acme/site/docs/adaptive-schema"


def both(**parts: Any) -> dict[str, Any]:
    """The organization with some of its words replaced; None takes a word out. `schema`: of the site."""
    tree = copy.deepcopy(BOTH)
    if "schema" in parts:
        tree["sites"]["docs"] |= {"adaptiveSchema": parts.pop("schema")}
    tree |= parts
    tree["sites"]["docs"] = {name: value for name, value in tree["sites"]["docs"].items() if value is not None}
    return {name: value for name, value in tree.items() if value is not None}


def path_of(org: Org) -> str:
    return f"/orgs/{ORGANIZATION}/sites/{org.id('acme/site/docs')}/adaptive-schema"


def document(text: str, **block: Any) -> dict[str, Any]:
    """A rich document of one paragraph as the service may show it."""
    leaf = {"object": "leaf", "text": text, "marks": []}
    paragraph = {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": [leaf]}], **block}
    return {"object": "document", "data": {"schemaVersion": 1}, "nodes": [paragraph]}


def applied(org: Org, tree: dict[str, Any]) -> None:
    org.write(tree)
    assert [result.error for result in org.apply().results if result.error] == []
    assert org.plan().empty


def writes(org: Org) -> list[tuple[str, str]]:
    return [(method, path) for method, path in org.requests if method != "GET"]


def actions(plan: Plan) -> dict[str, set[Action]]:
    return {str(change.address): set(change.actions) for change in plan.changes}


# -- plan and apply --------------------------------------------------------------------------------------------------------------------


def test_each_is_created_by_one_put_where_a_404_or_an_empty_document_says_that_there_is_none(org: Org) -> None:
    org.write(BOTH)
    planned = actions(org.plan())
    assert (planned[AGENTS], planned[VISITORS]) == ({Action.CREATE}, {Action.CREATE})
    applied(org, BOTH)
    assert [path for method, path in writes(org) if method == "PUT"] == [INSTRUCTIONS, path_of(org)] or [
        path for method, path in writes(org) if method == "PUT"
    ] == [path_of(org), INSTRUCTIONS]
    assert org.call("GET", path_of(org))["jsonSchema"] == SCHEMA
    assert org.call("GET", INSTRUCTIONS)["instructions"] == document("Answer in plain English.")


def test_a_change_is_one_put_and_nothing_else(org: Org) -> None:
    applied(org, BOTH)
    org.requests.clear()
    applied(org, both(agentInstructions="Be brief.\n\nBe kind.", schema=OTHER))
    assert sorted(writes(org)) == [("PUT", INSTRUCTIONS), ("PUT", path_of(org))]
    assert org.call("GET", path_of(org))["jsonSchema"] == OTHER
    assert len(org.call("GET", INSTRUCTIONS)["instructions"]["nodes"]) == 3


def test_what_exists_is_adopted_and_becomes_what_is_declared(org: Org) -> None:
    applied(org, both(agentInstructions=None, schema=None))
    org.call("PUT", INSTRUCTIONS, {"instructions": document("Answer in plain English.", key="k", isVoid=False)})
    org.call("PUT", path_of(org), {"jsonSchema": OTHER})
    org.write(BOTH)
    planned = actions(org.plan())
    assert (planned[AGENTS], planned[VISITORS]) == ({Action.ADOPT}, {Action.ADOPT, Action.UPDATE})
    org.requests.clear()
    applied(org, BOTH)
    assert writes(org) == [("PUT", path_of(org))]


def test_a_document_of_the_service_is_written_as_the_service_has_it(org: Org) -> None:
    rich = {"object": "document", "nodes": [{"object": "block", "type": "heading-1", "nodes": []}]}
    applied(org, both(agentInstructions=rich))
    assert org.call("GET", INSTRUCTIONS)["instructions"]["nodes"] == rich["nodes"]


def test_a_removed_line_forgets_it_and_says_so(org: Org) -> None:
    applied(org, BOTH)
    org.requests.clear()
    org.write(both(agentInstructions=None, schema=None))
    assert actions(org.plan()) == {AGENTS: {Action.FORGET}, VISITORS: {Action.FORGET}}
    assert {change.reason for change in org.plan().changes} == {"no longer declared; it is left unchanged"}
    applied(org, both(agentInstructions=None, schema=None))
    assert writes(org) == []
    assert org.call("GET", path_of(org))["jsonSchema"] == SCHEMA


def test_it_is_deleted_with_its_container(org: Org) -> None:
    applied(org, BOTH)
    org.requests.clear()
    site = org.id("acme/site/docs")
    org.write({"agentInstructions": BOTH["agentInstructions"]})
    reasons = {str(change.address): change.reason for change in org.plan().changes}
    assert reasons == {"acme/site/docs": "no longer declared", VISITORS: "deleted with acme/site/docs"}
    applied(org, {"agentInstructions": BOTH["agentInstructions"]})
    assert writes(org) == [("DELETE", f"/orgs/{ORGANIZATION}/sites/{site}")]


def test_an_unmanaged_one_keeps_its_container_until_somebody_says_that_it_goes_too(org: Org) -> None:
    applied(org, both(schema=None))
    org.call("PUT", path_of(org), {"jsonSchema": SCHEMA})
    rest = {"agentInstructions": BOTH["agentInstructions"]}
    org.write(rest)
    (blocked,) = org.plan().blocked
    assert blocked.reason == "would be deleted, but it still contains unmanaged adaptive-schema 'adaptive-schema'"
    org.write(rest, removed=[{"address": "acme/site/docs", "action": "delete-all"}])
    assert {str(change.address): change.reason for change in org.plan().changes}[VISITORS] == "unmanaged; deleted with acme/site/docs"


def test_what_could_not_be_read_is_neither_created_nor_written(org: Org) -> None:
    org.write(BOTH)
    made = org.plan(failing=("agent-instructions",))
    assert [str(blocked.address) for blocked in made.blocked] == [AGENTS]
    assert "it could not be read" in made.blocked[0].reason
    assert AGENTS not in {str(step.address) for step in made.steps}


# -- outside ---------------------------------------------------------------------------------------------------------------------------


# -- back, and again -------------------------------------------------------------------------------------------------------------------


@costly
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("first", [True, False], ids=["created", "updated"])
def test_a_run_that_was_killed_at_a_put_is_recovered_by_reading_it_again(tmp_path: Any, when: str, first: bool) -> None:
    for nth in (1, 2):
        org = Org(tmp_path / f"{nth}")
        applied(org, both(agentInstructions=None, schema=None) if first else BOTH)
        org.write(both(agentInstructions="Be brief.", schema=OTHER))
        org.requests.clear()
        die_and_try_again(org, nth, when)
        assert org.call("GET", path_of(org))["jsonSchema"] == OTHER
        assert org.call("GET", INSTRUCTIONS)["instructions"] == document("Be brief.")
        sent = [path for method, path in org.requests if method == "PUT"]
        assert all(sent.count(path) <= 2 for path in sent)


def test_a_put_whose_answers_are_lost_is_in_doubt_and_the_next_apply_finds_it(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, both(agentInstructions=None, schema=None))
    org.write(BOTH)
    org.way = losing("PUT")
    assert {result.status for result in org.apply().results} == {StepStatus.IN_DOUBT}
    org.way = None
    org.requests.clear()
    applied(org, BOTH)
    assert writes(org) == []
    assert org.id(VISITORS) == "adaptive-schema"


# -- what is written -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        (both(agentInstructions=""), "agentInstructions"),
        (
            both(agentInstructions=7),
            "agentInstructions is 7; expected a text, or the service's own document: {object: document, nodes: […]}",
        ),
        (both(agentInstructions={"object": "doc"}), "agentInstructions is a map; expected a text"),
        (both(agentInstructions=[]), "agentInstructions is a list; expected a text"),
        (both(schema={}), "adaptiveSchema"),
        (both(schema="text"), "adaptiveSchema must be a map, not"),
    ],
)
def test_what_cannot_be_a_value_is_refused_by_the_name_it_is_written_under(org: Org, tree: dict[str, Any], says: str) -> None:
    org.write(tree)
    with pytest.raises(ConfigError) as caught:
        org.load()
    assert [says in problem.message for problem in caught.value.problems] == [True], [one.message for one in caught.value.problems]


def test_null_and_nothing_are_refused(org: Org) -> None:
    for value, says in (("null", "agentInstructions cannot be cleared"), ("", "agentInstructions has no value")):
        org.write(f"version: 1\nproject: t\norganizations: {{acme: {{id: org_acme, agentInstructions: {value}}}}}\n")
        with pytest.raises(ConfigError) as caught:
            org.load()
        assert says in caught.value.problems[0].message


def test_one_in_two_files_is_declared_twice(org: Org) -> None:
    org.write("version: 1\nproject: t\ninclude: [more.yaml]\norganizations: {acme: {id: org_acme, agentInstructions: One}}\n")
    (org.project / "more.yaml").write_text("agentInstructions: Two\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="declared twice"):
        org.load()
    org.write("version: 1\nproject: t\ninclude: [more.yaml]\norganizations: {acme: {id: org_acme}}\n")
    assert AGENTS in {str(address) for address in org.load().desired.resources}


# -- declarations ----------------------------------------------------------------------------------------------------------------------


def declare(**parts: Any) -> Kind:
    words = {"kind": "note", "place": SingleValue("note", value_is="text"), **parts.pop("words", {})}
    body = {
        "__doc__": "A note.",
        "__annotations__": {"text": str},
        "reads": (One("/boxes/{box}/note"),),
        "api": Verbs(create=PUT("/boxes/{box}/note", upsert=True), update=PUT("/boxes/{box}/note")),
        "box": one_per("box"),
        "text": field(required=True),
        **parts,
    }
    kind: Kind = type("Note", (Resource,), body, **words).kind  # type: ignore[attr-defined]
    return kind


def test_a_declaration_of_one_per_container_says_its_place_and_its_put() -> None:
    kind = declare()
    assert (kind.one_per, kind.local_ids, kind.by_id, kind.keys) == (True, True, None, ())
    assert [listing.path for listing in kind.whole_listings] == ["/boxes/{box}/note"]
    assert (kind.own_id({}), kind.identity("note", {"box": "b1"})) == ("note", "b1/note")


TOGETHER = "place=SingleValue(…) and one_per(…) are declared together: one without the other means nothing"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"box": within("box")}, TOGETHER),
        ({"words": {"place": Keyed("notes")}}, TOGETHER),
        (
            {"words": {"place": SingleValue("note", value_is="body")}},
            "place has value_is='body', which is not a field that users write",
        ),
        ({"text": field()}, "field text is its whole value in the YAML: add required=True"),
        (
            {"more": field(), "__annotations__": {"text": str, "more": int}},
            "field more cannot be written: the value in the YAML is the field text. Make one field of both",
        ),
        (
            {"api": Verbs(create=PUT("/boxes/{box}/note"), update=PATCH("/boxes/{box}/note"))},
            "with one_per, its create needs upsert=True: sending it twice creates nothing new",
        ),
        (
            {"api": Verbs(create=PUT("/n", upsert=True), update=PUT("/n"), delete=DELETE("/n"))},
            "with one_per it has no delete: it is deleted with its container. Leave the verb out",
        ),
    ],
)
def test_a_contradiction_is_named(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ReconcilerError) as caught:
        declare(**parts)
    assert caught.value.message == f"kind note: {says}"
