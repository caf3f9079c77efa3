"""An entry with one value is written as that value: a share link as its name, a member as their role.

`adaptiveSchema`: `validate` takes what the sandbox takes, with the place in the schema of what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter, ValidationError

from reconciler.address import Address
from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from reconciler.kinds._shapes import VisitorSchema
from reconciler.sandbox.service import Fault
from reconciler.sandbox.sites import visitor_schema
from tests.documents import configuration
from tests.harness import Org
from tests.small import applied, described, small

LINK = "acme/site/docs/share-link/partners"


def short() -> dict[str, Any]:
    tree = small()
    tree["sites"]["docs"]["shareLinks"] = {"partners": "Partners"}
    return tree


def test_a_share_link_is_its_name_and_differs_in_nothing_from_the_long_form(org: Org) -> None:
    long = small()
    long["sites"]["docs"]["shareLinks"] = {"partners": {"name": "Partners"}}
    applied(org, long)
    org.write(short())
    assert org.load().desired.resources[Address.parse(LINK)].values["name"] == "Partners"
    assert described(org.plan()) == []


def test_the_schema_takes_the_short_form() -> None:
    tree = {"version": 1, "project": "test", "organizations": {"acme": {"id": "org_acme", **short()}}}
    configuration().validate(tree)


def test_a_patch_adds_a_field_to_a_short_form(org: Org) -> None:
    org.write(short())
    (org.project / "environments").mkdir()
    (org.project / "environments" / "staging.yaml").write_text(f"patch:\n  - {{match: {LINK}, set: {{active: false}}}}\n", encoding="utf-8")
    values = load(org.project, kinds(), environment="staging").desired.resources[Address.parse(LINK)].values
    assert (values["name"], values["active"]) == ("Partners", False)


CHECK: TypeAdapter[dict[str, Any]] = TypeAdapter(VisitorSchema)
TEXTS = st.sampled_from(["free", "pro", "é"])
WORDS = st.one_of(st.none(), st.booleans(), st.integers(0, 2), TEXTS, st.lists(TEXTS, max_size=3))


def schemas() -> st.SearchStrategy[Any]:
    """Schemas of one attribute, most of them right, some with a wrong word."""
    simple = st.fixed_dictionaries({"type": st.sampled_from(["boolean", "string", "number", "null"])}, optional={"enum": WORDS})
    return st.recursive(
        st.one_of(simple, simple, WORDS),
        lambda inner: st.one_of(
            st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner, "title": TEXTS, "description": WORDS}),
            st.fixed_dictionaries(
                {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(["a", "unsigned"]), inner, max_size=2)},
                optional={
                    "additionalProperties": st.sampled_from([False, True]),
                    "required": WORDS,
                    "$schema": TEXTS,
                    "description": WORDS,
                },
            ),
        ),
        max_leaves=4,
    )


@given(schemas())
def test_the_check_takes_what_the_sandbox_takes(schema: Any) -> None:
    whole = schema if isinstance(schema, dict) else {"type": "object", "properties": {"a": schema}}
    assert _taken(whole, CHECK.validate_python, ValidationError) == _taken(whole, visitor_schema.check, Fault), whole


def _taken(schema: Any, check: Any, refusal: type[Exception]) -> bool:
    try:
        check(schema)
    except refusal:
        return False
    return True


def tree(schema: dict[str, Any]) -> dict[str, Any]:
    structure = [{"section": "pros", "title": "Pros", "condition": 'visitor.claims.plan == "pro"', "spaces": ["guides"]}]
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "guides", "title": "Guides", "duplicateOf": "blank"}]
    site = {"title": "Docs", "adaptiveContent": {"enabled": True}, "adaptiveSchema": schema, "structure": structure}
    return {"content": content, "sites": {"docs": site}}


PLAN = {"type": "string", "enum": ["free", "pro"], "description": "The plan"}
PRO = [{"as": {"claims": {"plan": "pro"}}, "sees": ["acme/space/guides"]}]


def test_a_site_can_know_the_plan_of_its_visitors(org: Org) -> None:
    schema = {"type": "object", "properties": {"plan": PLAN, "isBeta": {"type": "boolean"}}, "additionalProperties": False}
    public = tree(schema)
    public["sites"]["docs"] |= {"visibility": "public", "published": True}
    applied(org, public, access=PRO)
    assert org.call("GET", f"/orgs/org_acme/sites/{org.id('acme/site/docs')}/adaptive-schema")["jsonSchema"] == schema


@pytest.mark.parametrize(
    ("attribute", "says"),
    [
        ({"type": "null"}, "properties.plan: expected a type: boolean, string, number, array, object"),
        ({"type": "string", "enum": "pro"}, "properties.plan: enum must be a list of different texts"),
        ({"type": "object", "properties": {"a": {}}}, "properties.plan.properties.a: expected a type: boolean"),
        ({"type": "array", "items": PLAN | {"enum": []}}, "properties.plan.items: enum must be"),
    ],
)
def test_a_schema_that_the_service_refuses_is_an_error_at_its_line(tmp_path: Path, attribute: Any, says: str) -> None:
    org = Org(tmp_path)
    org.write(tree({"type": "object", "properties": {"plan": attribute}}))
    with pytest.raises(ConfigError, match=re.escape(says)) as refused:
        org.load()
    assert "acme/site/docs/adaptive-schema" in str(refused.value)


def test_a_claim_of_another_type_than_its_schema_is_an_error(org: Org) -> None:
    org.write(tree({"type": "object", "properties": {"plan": {"type": "boolean"}}}), access=PRO)
    with pytest.raises(ConfigError, match="which no schema of a site allows; one of true, false"):
        org.load()
    org.write(tree({"type": "object", "properties": {"plan": {"type": "number"}}}), access=PRO)
    with pytest.raises(ConfigError, match="which no schema of a site allows"):
        org.load()
