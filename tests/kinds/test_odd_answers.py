"""A service whose answers are other than what it was sent, and mean the same: grown, shuffled, in another case, signed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.model import Cause
from reconciler.resource import HOSTED
from tests.harness import SEED, Org, kinds
from tests.outside import drifted, everything
from tests.small import applied, node

MAPS_OF_USERS = ("properties", "account", "contentSecurityPolicy", "configurations", "urls", "permissions")
SETS = ("emailDomains", "users", "rules", "required", "enum", "scopes", "categories", "blocks", "contentSources", "urlUnfurl")
Change = Callable[[Any], None]


class Odd(httpx2.AsyncBaseTransport):
    """Changes every answer."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, change: Change, bodies: list[Any]) -> None:
        self.inner, self.change, self.bodies = inner, change, bodies

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET":
            self.bodies.append(json.loads(request.content or b"null"))
        answer = await self.inner.handle_async_request(request)
        document = json.loads(await answer.aread() or b"null")
        for item in document.get("items", [document]) if isinstance(document, dict) else ():
            self.change(item)
        headers = {"Date": answer.headers["Date"]} if "Date" in answer.headers else {}
        return httpx2.Response(answer.status_code, json=document, headers=headers, request=request)


class OddOrg(Org):
    change: Change | None = None

    def transport(self) -> httpx2.AsyncBaseTransport:
        inner = super().transport()
        self.bodies: list[Any] = []
        return Odd(inner, self.change, self.bodies) if self.change is not None else inner


def inside(value: Any) -> Iterator[dict[str, Any]]:
    """Every map inside an object whose keys the service chooses."""
    for key, part in value.items():
        if isinstance(part, dict) and key != "urls":
            parts = list(part.values()) if key in MAPS_OF_USERS else [part]
        else:
            parts = part if isinstance(part, list) else []
        for inner in parts:
            if isinstance(inner, dict):
                yield from inside(inner)
                yield inner


def grown(item: Any) -> None:
    for part in list(inside(item)):
        if part.keys() & {"rule", "type", "enabled", "object", "properties", "id", "url", "space"}:
            part["since2027"] = {"strict": False, "steps": []}


def shuffled(item: Any) -> None:
    for part in [*inside(item), item]:
        for key in part.keys() & set(SETS):
            if isinstance(part[key], list):
                part[key].reverse()


def in_capitals(item: Any) -> None:
    if item.get("object") == "organization":
        item["emailDomains"] = [domain.upper() for domain in item["emailDomains"]]
        if "hostname" in item:
            item["hostname"] = item["hostname"].upper()
    for key in ("ssoURL", "sourceURL"):
        if key in item:
            item[key] = item[key].replace("https://", "HTTPS://").replace("acme.example", "ACME.Example")


signatures = itertools.count()


def signed(item: Any) -> None:
    """Each URL that the service makes is another one in every answer: signed, on another host, of an image of another size."""
    for part in [*inside(item), item]:
        for key in part.get("urls", {}):
            if key in ("logo", "icon", "assets"):
                part["urls"][key] = (
                    f"https://cdn{next(signatures)}.files.example/w{next(signatures)}/{key}.png?signature={next(signatures)}"
                )
        for key in ("icon", "previewImages"):
            if isinstance(part.get(key), str) and part[key].startswith("http"):
                part[key] += f"?signature={next(signatures)}"


def full() -> dict[str, Any]:
    """Every field of every kind, its sets with several items."""
    tree = everything()
    tree["emailDomains"] = ["beta.example", "acme.example"]
    tree["mergeRules"] = {"reviewers": ["linus@acme.example", "ada@acme.example"]}
    node(tree, "one")["mergeRules"] = {
        "type": "rules",
        "rules": [{"rule": "require_owner", "count": 2}, {"rule": "require_specific_reviewers", "users": ["usr_linus", "usr_ada"]}],
    }
    tree["integrations"]["acme-charts"] |= {"scopes": ["space:content:read", "site:read"], "categories": ["other", "analytics"]}
    tree["integrations"]["acme-charts"]["blocks"] = [{"id": "table", "title": "Table"}, {"id": "chart", "title": "Chart"}]
    plan = {"type": "string", "description": "The plan", "enum": ["free", "enterprise", "basic"]}
    tree["sites"]["docs"]["adaptiveSchema"]["properties"]["plan"] = plan
    tree["sites"]["docs"]["adaptiveSchema"]["required"] = ["plan", "isBeta"]
    return tree


@pytest.fixture
def org(tmp_path: Path) -> OddOrg:
    return OddOrg(tmp_path, seed=SEED)


@pytest.mark.parametrize("change", [grown, shuffled, in_capitals, signed])
def test_the_service_answers_otherwise_after_an_update_and_nothing_differs(org: OddOrg, change: Change) -> None:
    applied(org, full())
    org.change = change
    for _ in range(2):
        made = org.plan()
        assert (made.steps, made.exposures, made.differing) == ((), (), {})
        assert drifted(org).resources == ()
    org.apply()
    assert org.bodies == []


@pytest.mark.parametrize("change", [grown, shuffled, in_capitals, signed])
def test_the_service_always_answered_so_and_one_apply_is_enough(org: OddOrg, change: Change) -> None:
    org.change = change
    org.write(full())
    outcome = org.apply()
    assert (outcome.edited, outcome.leftover, [note for note in outcome.notes if "keeps" in note]) == ((), (), [])
    made = org.plan()
    assert (made.steps, made.exposures, made.differing) == ((), (), {})


def test_a_lost_state_adopts_what_exists_and_sends_only_what_cannot_be_compared(org: OddOrg) -> None:
    applied(org, full())
    for change in (shuffled, in_capitals):
        org.change = change
        (org.root / "state.db").unlink()
        fields = [kinds()[change.kind].fields.get(delta.name) for change in org.plan().changes for delta in change.fields]
        assert all(field is None or not field.readable or field.hosted for field in fields)


def test_what_a_request_sends_keeps_the_keys_that_the_service_added(org: OddOrg) -> None:
    tree = full()
    applied(org, tree)
    rules = {
        "type": "rules",
        "rules": [{"rule": "require_specific_reviewers", "users": ["usr_ada", "usr_linus"], "minimum": 1}],
        "strict": False,
    }
    org.call("PATCH", "/orgs/org_acme", {"mergeRules": rules})
    assert org.plan().steps == ()
    tree["mergeRules"] = {"reviewers": ["ada@acme.example"]}
    org.change = lambda item: None
    applied(org, tree)
    assert org.call("GET", "/orgs/org_acme")["mergeRules"] == {
        "type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["usr_ada"], "minimum": 1}], "strict": False
    }  # fmt: skip


def test_a_key_that_somebody_wrote_is_managed_and_is_removed_with_its_line(org: OddOrg) -> None:
    tree = full()
    rule = {"rule": "require_specific_reviewers", "users": ["usr_ada"], "minimum": 2}
    tree["mergeRules"] = {"type": "rules", "rules": [rule]}
    applied(org, tree)
    org.call("PATCH", "/orgs/org_acme", {"mergeRules": {"type": "rules", "rules": [{**rule, "minimum": 1}]}})
    (delta,) = org.plan().differing[next(iter(org.plan().differing))]
    assert (delta.name, delta.cause) == ("mergeRules", Cause.DRIFT)
    tree["mergeRules"] = {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["usr_ada"]}]}
    applied(org, tree)
    assert org.call("GET", "/orgs/org_acme")["mergeRules"] == tree["mergeRules"]


def test_what_is_ordered_and_what_users_name_still_differ(org: OddOrg) -> None:
    applied(org, full())
    org.call("PATCH", "/orgs/org_acme", {"emailDomains": ["acme.example", "beta.example", "evil.example"]})
    site = org.id("acme/site/docs")
    schema = org.call("GET", f"/orgs/org_acme/sites/{site}/adaptive-schema")["jsonSchema"]
    schema["properties"]["isStaff"] = {"type": "boolean"}
    org.call("PUT", f"/orgs/org_acme/sites/{site}/adaptive-schema", {"jsonSchema": schema})
    assert {(str(drift.address), delta.name) for drift in drifted(org).resources for delta in drift.fields} == {
        ("acme", "emailDomains"),
        ("acme/site/docs/adaptive-schema", "jsonSchema"),
    }


def test_a_hosted_copy_that_somebody_removes_is_drift_and_is_sent_again(org: OddOrg) -> None:
    org.change = signed
    applied(org, full())
    org.call("PATCH", "/orgs/org_acme", {"logo": None})
    (drift,) = drifted(org).resources
    assert [(delta.name, delta.last, delta.before, delta.after) for delta in drift.fields] == [
        ("logo", HOSTED, None, "https://acme.example/logo.png")
    ]
    org.apply()
    assert drifted(org).resources == ()


def test_a_new_source_of_a_hosted_copy_is_sent_once(org: OddOrg) -> None:
    org.change = signed
    tree = full()
    applied(org, tree)
    tree["logo"] = "https://acme.example/new.png"
    org.write(tree)
    (change,) = [change for change in org.plan().changes if change.address.kind is None]
    assert [(delta.before, delta.after) for delta in change.fields] == [("https://acme.example/logo.png", "https://acme.example/new.png")]
    org.apply()
    assert org.plan().steps == ()
