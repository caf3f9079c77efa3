"""Installations of integrations: their status, the spaces and sites they reach, the events they leave."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.box import ADA, BASE, BOB, CARA, CONTROL, ZOE, Box

WORDS = "/integrations/words"
INSTALLATIONS, EVENTS = f"{WORDS}/installations", f"{WORDS}/events"
SPACES = ["spc_root", "spc_one", "spc_two", "spc_deep"]


def publish(box: Box, name: str = "words", token: str = ADA, **fields: Any) -> Any:
    body = {"organization": "org_a", "title": "Words", "visibility": "public", **fields}
    return box.post(f"/integrations/{name}", body, status=200, token=token)


def install(box: Box, organization: str = "org_a", token: str = ADA) -> Any:
    return box.post(INSTALLATIONS, {"organization": organization}, token=token)


def account(*required: str, **properties: Any) -> Any:
    return {"account": {"properties": properties, "required": list(required)}}


def items(box: Box, path: str, token: str, **query: Any) -> list[Any]:
    answer = box.send("GET", path, token=token, params=query)
    assert answer.status_code == 200
    found: list[Any] = answer.json()["items"]
    return found


# -- installing --------------------------------------------------------------------------------------------------------------------


def test_an_installation_has_the_documented_fields(box: Box) -> None:
    now = box.clock("2031-01-02T03:04:05Z")
    publish(box)
    made = install(box)
    named = "id status space_selection site_selection spaces configuration createdAt updatedAt urls externalIds target"
    assert set(made) == set(named.split())
    assert (made["status"], made["spaces"], made["configuration"]) == ("active", 4, {})
    assert made["createdAt"] == made["updatedAt"] == now
    assert (made["target"], set(made["urls"])) == ({"organization": "org_a"}, {"location", "app", "publicEndpoint"})
    assert made["urls"]["location"] == f"{BASE}/v1{INSTALLATIONS}/{made['id']}"
    assert box.items(INSTALLATIONS) == [made]


@pytest.mark.parametrize(
    ("configurations", "status", "configuration"),
    [
        ({}, "active", {}),
        (account("key", key={"type": "string"}), "pending", {}),
        (account("key"), "pending", {}),
        (account("key", key={"type": "string", "default": None}), "pending", {}),
        (account("key", key={"type": "string", "default": "k"}), "active", {"key": "k"}),
        (account("key", key={"type": "boolean", "default": False}), "active", {"key": False}),
        (account("a", "b", a={"type": "string", "default": "x"}, b={"type": "number"}), "pending", {"a": "x"}),
        (account(key={"type": "string"}), "active", {}),
        ({"space": {"properties": {}, "required": ["key"]}, "site": {"required": ["key"]}}, "active", {}),
    ],
)
def test_an_installation_is_pending_while_a_required_account_setting_has_no_default(
    box: Box, configurations: Any, status: str, configuration: Any
) -> None:
    publish(box, configurations=configurations)
    made = install(box)
    assert (made["status"], made["configuration"]) == (status, configuration)
    assert [item["payload"]["status"] for item in box.items(EVENTS)] == [status]


def test_installing_twice_is_one_installation_and_one_event(box: Box) -> None:
    publish(box)
    made = install(box)
    publish(box, configurations=account("key"))
    assert install(box) == made
    assert (box.items(INSTALLATIONS), len(box.items(EVENTS))) == ([made], 1)


def test_only_admins_install_and_only_existing_integrations(box: Box) -> None:
    publish(box)
    box.refused("POST", INSTALLATIONS, {"organization": "org_a"}, status=403, token=CARA)
    box.refused("POST", INSTALLATIONS, {"organization": "org_b"}, status=404)
    box.refused("POST", INSTALLATIONS, {"organization": "none"}, status=404)
    box.refused("POST", "/integrations/none/installations", {"organization": "org_a"}, status=404)
    for wrong in ({}, {"organization": ""}, {"organization": None}, {"organization": 1}):
        assert box.refused("POST", INSTALLATIONS, wrong).startswith("organization")
    assert box.items(INSTALLATIONS) == box.items(EVENTS) == []


def test_lists_hold_what_the_callers_own_organizations_installed(box: Box) -> None:
    publish(box)
    ours, theirs = install(box)["id"], install(box, "org_b", BOB)["id"]
    for token, expected in {ADA: [ours], BOB: [theirs], ZOE: [ours, theirs], CONTROL: [ours, theirs], CARA: []}.items():
        assert [one["id"] for one in items(box, INSTALLATIONS, token)] == expected
        assert sorted(one["installationId"] for one in items(box, EVENTS, token)) == sorted(expected)
    theirs_event = next(item["id"] for item in items(box, EVENTS, BOB))
    box.refused("GET", f"{EVENTS}/{theirs_event}", status=404)


def test_the_external_id_filter_finds_one_installation(box: Box) -> None:
    publish(box)
    made, other = install(box), install(box, "org_b", BOB)
    assert len(made["externalIds"]) == 1
    assert made["externalIds"] != other["externalIds"]
    for one in (made, other):
        assert [found["id"] for found in items(box, INSTALLATIONS, ZOE, externalId=one["externalIds"][0])] == [one["id"]]
    assert (box.items(INSTALLATIONS, externalId=other["externalIds"][0]), box.items(INSTALLATIONS, externalId="none")) == ([], [])


# -- spaces and sites --------------------------------------------------------------------------------------------------------------


def test_an_installation_reaches_every_space_by_id_or_whole(box: Box) -> None:
    publish(box)
    made = install(box)
    found = box.items(f"{WORDS}/spaces")
    assert sorted(one["space"] for one in found) == sorted(SPACES)
    named = {"integration", "installation", "status", "configuration", "externalIds", "urls", "space"}
    for one in found:
        assert set(one) == named
        assert (one["integration"], one["installation"], one["status"]) == ("words", made["id"], "active")
        assert one["urls"]["location"] == f"{BASE}/v1{INSTALLATIONS}/{made['id']}/spaces/{one['space']}"
    assert box.items(f"{WORDS}/spaces", extended=False) == found
    assert box.items(f"{WORDS}/spaces", extended=True) == [one | {"space": box.get(f"/spaces/{one['space']}")} for one in found]
    box.delete("/spaces/spc_two")
    assert "spc_two" not in [item["space"] for item in box.items(f"{WORDS}/spaces")]
    assert box.items(INSTALLATIONS)[0]["spaces"] == 3


def test_an_installation_reaches_every_site_by_id_or_whole(box: Box) -> None:
    publish(box)
    made = install(box)
    assert box.items(f"{WORDS}/sites") == []
    sites = [box.site("spc_one", title=title).split("/")[-1] for title in ("First", "Second")]
    found = box.items(f"{WORDS}/sites")
    assert sorted(one["site"] for one in found) == sorted(sites)
    assert {(one["installation"], one["status"]) for one in found} == {(made["id"], "active")}
    assert box.items(f"{WORDS}/sites", extended=True) == [one | {"site": box.get(f"/orgs/org_a/sites/{one['site']}")} for one in found]


@pytest.mark.parametrize("kind", ["space", "site"])
def test_spaces_and_sites_are_found_by_their_external_id(box: Box, kind: str) -> None:
    publish(box)
    install(box)
    box.site("spc_one", title="First")
    box.site("spc_one", title="Second")
    for item in box.items(f"{WORDS}/{kind}s"):
        assert box.items(f"{WORDS}/{kind}s", externalId=item["externalIds"][0]) == [item]
    assert box.items(f"{WORDS}/{kind}s", externalId="none") == []
    assert box.refused("GET", f"{WORDS}/{kind}s", params={"extended": "perhaps"}).startswith("extended")


@pytest.mark.parametrize(("target", "spaces", "sites"), [("all", 4, 1), ("space", 4, 0), ("site", 0, 1)])
def test_an_installation_reaches_what_the_target_allows(box: Box, target: str, spaces: int, sites: int) -> None:
    publish(box, target=target)
    install(box)
    box.site("spc_one")
    assert (len(box.items(f"{WORDS}/spaces")), len(box.items(f"{WORDS}/sites"))) == (spaces, sites)
    assert box.items(INSTALLATIONS)[0]["spaces"] == spaces


def test_pages_go_across_the_installations(box: Box) -> None:
    publish(box)
    install(box)
    install(box, "org_b", BOB)
    whole = items(box, f"{WORDS}/spaces", ZOE)
    assert [one["space"] for one in whole][-1] == "spc_bolt"
    assert len(whole) == 5
    for limit in (1, 2, 3, 4):
        found: list[Any] = []
        query: dict[str, Any] = {"limit": limit}
        while True:
            page = box.send("GET", f"{WORDS}/spaces", token=ZOE, params=query).json()
            assert page["count"] == 5
            found += page["items"]
            if "next" not in page:
                break
            query["page"] = page["next"]["page"]
        assert found == whole


# -- events ------------------------------------------------------------------------------------------------------------------------


def test_an_installation_leaves_an_event_with_its_trace(box: Box) -> None:
    now = box.clock("2031-01-02T03:04:05Z")
    publish(box)
    publish(box)
    made = install(box)
    (event,) = box.items(EVENTS)
    assert set(event) == {"id", "integrationId", "installationId", "createdAt", "payload", "status"}
    assert (event["integrationId"], event["installationId"], event["createdAt"]) == ("words", made["id"], now)
    assert event["payload"] == {
        "eventId": event["id"],
        "type": "installation_setup",
        "installationId": made["id"],
        "status": "active",
        "previous": {"status": "pending", "configuration": {}},
    }
    one = box.get(f"{EVENTS}/{event['id']}")
    assert one["event"] == event
    (log,) = one["trace"]["logs"]
    assert set(log) == {"message", "timestamp", "level"}
    assert (log["message"], log["timestamp"]) == ("installation_setup goes to version 2 of words", now)


def test_events_are_newest_first_and_stand_under_their_own_integration(box: Box) -> None:
    publish(box)
    publish(box, "other")
    first, second = install(box)["id"], install(box, "org_b", ZOE)["id"]
    found = items(box, EVENTS, ZOE)
    assert [one["installationId"] for one in found] == [second, first]
    page = box.send("GET", EVENTS, token=ZOE, params={"limit": 1}).json()
    assert (page["items"], page["count"]) == (found[:1], 2)
    box.refused("GET", f"/integrations/other/events/{found[1]['id']}", status=404)
    box.refused("GET", f"{EVENTS}/none", status=404)
    box.refused("GET", f"{EVENTS}/{found[1]['id']}", status=404, token=CARA)


@pytest.mark.parametrize(("everything", "theirs"), [(False, "version 2"), (True, "the development tunnel")])
def test_events_go_to_the_tunnel_for_the_owner_and_for_all_where_it_says_so(box: Box, everything: bool, theirs: str) -> None:
    publish(box)
    body = {"tunnelUrl": "https://tunnel.example"} | ({"all": True} if everything else {})
    assert box.send("PUT", f"{WORDS}/dev", body).status_code == 204
    publish(box)  # the tunnel outlasts a version
    install(box)
    install(box, "org_b", ZOE)
    for organization, to in (("org_a", "the development tunnel"), ("org_b", theirs)):
        installation = next(item["id"] for item in items(box, INSTALLATIONS, ZOE) if item["target"]["organization"] == organization)
        event = next(one["id"] for one in items(box, EVENTS, ZOE) if one["installationId"] == installation)
        traced = box.send("GET", f"{EVENTS}/{event}", token=ZOE).json()["trace"]["logs"]
        assert [log["message"] for log in traced] == [f"installation_setup goes to {to} of words"]


def test_deleting_takes_installations_and_events_along_and_frees_the_name(box: Box) -> None:
    publish(box, visibility="public")
    box.post(f"{WORDS}/installations", {"organization": "org_a"})
    box.post(f"{WORDS}/installations", {"organization": "org_b"}, token=BOB)
    event = box.ids(f"{WORDS}/events")[0]
    publish(box, "other")
    box.post("/integrations/other/installations", {"organization": "org_a"})
    box.delete(WORDS)
    for part in ("", "/installations", "/events", f"/events/{event}", "/spaces", "/sites"):
        box.refused("GET", f"{WORDS}{part}", status=404)
    box.refused("POST", f"{WORDS}/installations", {"organization": "org_a"}, status=404)
    assert publish(box, "words", ZOE, organization="org_b")["version"] == 1
    for part in ("installations", "events", "spaces", "sites"):
        assert box.send("GET", f"{WORDS}/{part}", token=ZOE).json()["items"] == []
    assert (len(box.items("/integrations/other/installations")), len(box.items("/integrations/other/events"))) == (1, 1)
