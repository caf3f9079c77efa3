"""Conversations as they come in, the issue of each, and the clusters of issues with their pulse."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from reconciler.sandbox.file import iso
from tests.sandbox.box import ADA_READS, BASE, BOB, CARA, DAY, RITA, ZOE, Box

ACME = "/orgs/org_a"
CONVERSATIONS, ISSUES, CLUSTERS = f"{ACME}/conversations", f"{ACME}/conversations-issues", f"{ACME}/conversations-clusters"
NOON = "2031-06-02T12:00:00.000Z"


def told(id: str = "con_1", subject: str = "No login", *said: str, **metadata: Any) -> Any:
    parts = [{"type": "message", "role": "user", "body": body} for body in said or ("I cannot log in.",)]
    return {"id": id, "subject": subject, "parts": parts, "metadata": metadata}


def ingest(box: Box, body: Any, path: str = CONVERSATIONS, **more: Any) -> None:
    answer = box.send("POST", path, body, **more)
    assert (answer.status_code, answer.content) == (204, b"")


def before(**ago: float) -> str:
    return iso(datetime.fromisoformat(NOON) - timedelta(**ago))


@pytest.fixture
def noon(box: Box) -> Box:
    """A box whose clock stands still."""
    box.clock(NOON)
    return box


# -- ingesting ---------------------------------------------------------------------------------------------------------------------


def test_a_conversation_is_read_as_it_came(noon: Box) -> None:
    metadata = {"url": "https://help.example/7", "attributes": {"plan": "pro"}, "createdAt": "2031-06-01T10:00:00.000Z"}
    body = told("con_1", "No login", "I cannot log in.", "Try again.", **metadata)
    ingest(noon, body)
    one = noon.get(f"{CONVERSATIONS}/con_1")
    assert one == {
        "conversation": {
            "object": "conversation",
            "id": "con_1",
            "subject": "No login",
            "createdAt": metadata["createdAt"],
            "processedAt": NOON,
            "source": "integration:help.example:org_a",
            "urls": {"location": f"{BASE}/v1{CONVERSATIONS}/con_1", "source": metadata["url"]},
        },
        "parts": body["parts"],
        "metadata": metadata,
    }
    assert noon.items(CONVERSATIONS) == [one["conversation"]]


def test_only_the_id_and_the_parts_are_needed(noon: Box) -> None:
    ingest(noon, {"id": "con_1", "parts": []})
    one = noon.get(f"{CONVERSATIONS}/con_1")
    assert (one["conversation"]["subject"], one["conversation"]["createdAt"], one["conversation"]["source"]) == (
        "",
        NOON,
        "integration:api:org_a",
    )
    assert "source" not in one["conversation"]["urls"]
    assert (one["parts"], one["metadata"]["createdAt"]) == ([], NOON)
    assert noon.items(ISSUES)[0]["issue"]["title"]
    assert noon.items(CLUSTERS)[0]["label"]


@pytest.mark.parametrize("wrap", [list, lambda many: {"conversations": many}], ids=["a list", "an object"])
def test_many_come_at_once_in_a_list_or_in_an_object(box: Box, wrap: Any) -> None:
    ingest(box, wrap([told("con_1"), told("con_2"), told("con_3")]))
    assert box.ids(CONVERSATIONS) == ["con_3", "con_2", "con_1"]
    ingest(box, wrap([]))
    assert box.refused("POST", CONVERSATIONS, wrap([told("con_4"), told("con_5") | {"parts": None}])).startswith("conversations.1.parts")
    assert len(box.ids(CONVERSATIONS)) == 3


def test_a_known_id_replaces_what_was_there_where_it_stands(noon: Box) -> None:
    ingest(noon, [told("con_1", "No login", url="https://help.example/1", attributes={"plan": "pro"}), told("con_2")])
    issue = noon.items(ISSUES, conversation="con_1")[0]["issue"]["id"]
    now = noon.clock(advance=60)
    ingest(noon, told("con_1", "No invoice", "Where is it?"))
    one = noon.get(f"{CONVERSATIONS}/con_1")
    assert noon.ids(CONVERSATIONS) == ["con_2", "con_1"]
    assert (one["conversation"]["subject"], one["conversation"]["processedAt"], one["conversation"]["createdAt"]) == (
        "No invoice",
        now,
        NOON,
    )
    assert [part["body"] for part in one["parts"]] == ["Where is it?"]
    assert one["metadata"] == {"createdAt": NOON}
    assert "source" not in one["conversation"]["urls"]
    assert noon.items(ISSUES, conversation="con_1")[0]["issue"]["id"] == issue
    assert sorted(item["label"] for item in noon.items(CLUSTERS)) == ["No invoice", "No login"]
    ingest(noon, [told("con_3", "First"), told("con_3", "Second")])
    assert noon.get(f"{CONVERSATIONS}/con_3")["conversation"]["subject"] == "Second"


def test_an_address_or_a_time_that_is_null_counts_as_left_out(noon: Box) -> None:
    ingest(noon, told("con_1", url=None, createdAt=None))
    one = noon.get(f"{CONVERSATIONS}/con_1")
    assert (one["metadata"], one["conversation"]["createdAt"]) == ({"createdAt": NOON}, NOON)


def test_the_same_id_in_another_organization_is_another_conversation(box: Box) -> None:
    ingest(box, told("con_1", "Ours"))
    ingest(box, told("con_1", "Theirs"), "/orgs/org_b/conversations", token=BOB)
    assert box.get(f"{CONVERSATIONS}/con_1")["conversation"]["subject"] == "Ours"
    theirs = box.send("GET", "/orgs/org_b/conversations-issues", token=ZOE).json()["items"]
    assert [one["conversation"]["subject"] for one in theirs] == ["Theirs"]
    ours = box.items(ISSUES)[0]["issue"]
    assert (ours["id"], ours["cluster"]) != (theirs[0]["issue"]["id"], theirs[0]["issue"]["cluster"])
    box.refused("GET", f"{ISSUES}/{theirs[0]['issue']['id']}", status=404)


def test_ids_are_what_the_source_calls_them(box: Box) -> None:
    for id in ("a b", "ü?#%", "x:y", "1"):
        ingest(box, told(id))
        location = next(item["urls"]["location"] for item in box.items(CONVERSATIONS) if item["id"] == id)
        assert box.get(location.removeprefix(f"{BASE}/v1"))["conversation"]["id"] == id


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"id": None}, "id"),
        ({"id": ""}, "id"),
        ({"id": "a/b"}, "id"),
        ({"id": 7}, "id"),
        ({"subject": 7}, "subject"),
        ({"subject": None}, "subject"),
        ({"parts": {}}, "parts"),
        ({"parts": ["Hello"]}, "parts.0"),
        ({"parts": [{"role": "user", "body": "Hello"}]}, "parts.0.type"),
        ({"parts": [{"type": "message", "body": "Hello"}]}, "parts.0.role"),
        ({"parts": [{"type": "message", "role": "user"}]}, "parts.0.body"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"url": 7}}, "metadata.url"),
        ({"metadata": {"attributes": {"plan": 7}}}, "metadata.attributes.plan"),
        ({"metadata": {"createdAt": "yesterday"}}, "metadata.createdAt"),
        ({"metadata": {"createdAt": "0001-01-01T00:00:00+14:00"}}, "metadata.createdAt"),
        ({"metadata": {"createdAt": 1}}, "metadata.createdAt"),
    ],
)
def test_a_wrong_conversation_is_refused_by_its_field_and_not_kept(box: Box, wrong: Any, field: str) -> None:
    assert box.refused("POST", CONVERSATIONS, told() | wrong).startswith(field)
    assert box.refused("POST", CONVERSATIONS, {"conversations": [told() | wrong]}).startswith(f"conversations.0.{field}")
    assert box.items(CONVERSATIONS) == []


@pytest.mark.parametrize("body", [{}, 7, "con_1", {"conversations": None}, {"conversations": {}}, [7], [[told()]]])
def test_an_invalid_conversation_is_refused(box: Box, body: Any) -> None:
    box.refused("POST", CONVERSATIONS, body)
    assert box.items(CONVERSATIONS) == []


def test_creators_ingest_members_read_and_others_find_nothing(box: Box) -> None:
    ingest(box, told(), token=CARA)
    box.refused("POST", CONVERSATIONS, told("con_2"), status=403, token=RITA)
    box.refused("POST", CONVERSATIONS, told("con_2"), status=403, token=ADA_READS)
    box.refused("POST", CONVERSATIONS, told("con_2"), status=404, token=BOB)
    for path in [CONVERSATIONS, f"{CONVERSATIONS}/con_1", ISSUES, f"{ISSUES}/{box.items(ISSUES)[0]['issue']['id']}", CLUSTERS]:
        assert box.send("GET", path, token=RITA).json() == box.get(path)
        box.refused("GET", path, status=404, token=BOB)
    for path in (f"{CONVERSATIONS}/con_2", f"{ISSUES}/none"):
        box.refused("GET", path, status=404)


# -- sources -----------------------------------------------------------------------------------------------------------------------


def test_the_source_is_said_else_the_host_of_the_address(box: Box) -> None:
    ingest(box, told("said", url="https://help.example/1", attributes={"source": "zendesk"}))
    ingest(box, told("host", url="https://help.example/1"))
    ingest(box, [told("none"), told("odd", url="http://[")])
    ingest(box, [told("mail", attributes={"source": "email"}), told("whole", attributes={"source": "integration:slack:inst_1"})])
    found = {item["id"]: item["source"] for item in box.items(CONVERSATIONS)}
    api, zendesk = "integration:api:org_a", "integration:zendesk:org_a"
    assert {"said": zendesk, "host": "integration:help.example:org_a", "none": api, "odd": api}.items() <= found.items()
    assert (found["mail"], found["whole"]) == ("email", "integration:slack:inst_1")
    assert box.ids(CONVERSATIONS, source=zendesk) == ["said"]
    assert box.ids(CONVERSATIONS, source=api) == ["odd", "none"]
    assert box.ids(CONVERSATIONS, source="zen") == []


# -- issues ------------------------------------------------------------------------------------------------------------------------


def test_an_issue_has_the_documented_fields_and_its_conversation(noon: Box) -> None:
    ingest(noon, told("con_1", "No login", "  I cannot log in.\nSince Monday.", "Try again.", createdAt=before(days=1)))
    (one,) = noon.items(ISSUES)
    (cluster,) = noon.items(CLUSTERS)
    id = one["issue"]["id"]
    assert one["issue"] == {
        "object": "conversation-issue",
        "id": id,
        "title": "No login",
        "summary": "I cannot log in.\nSince Monday.",
        "createdAt": before(days=1),
        "ingestedAt": NOON,
        "conversation": "con_1",
        "cluster": cluster["id"],
        "urls": {"location": f"{BASE}/v1{ISSUES}/{id}"},
    }
    assert one["conversation"] == noon.get(f"{CONVERSATIONS}/con_1")["conversation"]
    assert noon.get(f"{ISSUES}/{id}") == one


def test_issues_are_found_by_their_cluster_and_their_conversation(box: Box) -> None:
    ingest(box, [told("con_1", "No login"), told("con_2", "No invoice"), told("con_3", "no login!")])
    clusters = {item["label"]: item["id"] for item in box.items(CLUSTERS)}

    def found(**query: str) -> list[str]:
        return [item["issue"]["conversation"] for item in box.items(ISSUES, **query)]

    assert (found(), found(cluster=clusters["No login"])) == (["con_3", "con_2", "con_1"], ["con_3", "con_1"])
    assert found(conversation="con_2") == ["con_2"]
    assert found(cluster=clusters["No invoice"], conversation="con_1") == []
    assert found(cluster="none") == found(conversation="none") == []
    page = box.get(ISSUES, cluster=clusters["No login"], limit=1)
    assert (page["count"], len(page["items"])) == (2, 1)


# -- clusters ----------------------------------------------------------------------------------------------------------------------


def test_a_cluster_has_the_documented_fields(noon: Box) -> None:
    ingest(noon, [told("con_1", createdAt=before(weeks=1)), told("con_2", attributes={"source": "zendesk"})])
    (one,) = noon.items(CLUSTERS)
    named = "object id label createdAt updatedAt icon summary weeklyPulse sources stats urls"
    assert set(one) == set(named.split())
    assert (one["object"], one["label"], one["createdAt"], one["updatedAt"]) == ("issues-cluster", "No login", before(weeks=1), NOON)
    assert (one["sources"], one["stats"]) == (
        {"integration:api:org_a": 1, "integration:zendesk:org_a": 1},
        {"issues": 2, "conversations": 2},
    )
    assert one["urls"] == {"location": f"{BASE}/v1{CLUSTERS}/{one['id']}"}


@pytest.mark.parametrize("subject", ["no LOGIN", "Re: No login", "FWD: re: No login", "No login?!", "no-login", " No  login "])
def test_subjects_are_one_cluster_whatever_their_case_and_marks(box: Box, subject: str) -> None:
    ingest(box, [told("con_1", "No login"), told("con_2", subject), told("con_3", "No logins")])
    assert sorted(item["stats"]["issues"] for item in box.items(CLUSTERS)) == [1, 2]


def test_without_a_subject_the_first_line_that_was_said_stands_for_it(box: Box) -> None:
    ingest(box, [told("con_1", "", " ", "No login\nat all"), told("con_2", "No login")])
    (one,) = box.items(CLUSTERS)
    assert (one["label"], one["stats"]["issues"]) == ("No login", 2)


def test_the_pulse_counts_the_issues_of_thirteen_weeks_up_to_now(noon: Box) -> None:
    weeks = {"now": {}, "six_days": {"days": 6}, "a_week": {"weeks": 1}, "thirteenth": {"weeks": 12, "days": 6}, "too_old": {"weeks": 13}}
    ingest(noon, [told(id, createdAt=before(**ago)) for id, ago in weeks.items()])
    ingest(noon, told("to_come", createdAt=before(days=-1)))

    def pulse() -> Any:
        return noon.items(CLUSTERS)[0]["weeklyPulse"]

    assert pulse() == [1, *[0] * 10, 1, 2]
    noon.clock(advance=DAY)
    assert pulse() == [0, *[0] * 10, 2, 2]
    noon.clock(advance=7 * DAY)
    assert pulse() == [0, *[0] * 9, 2, 2, 0]
    noon.clock(advance=20 * 7 * DAY)
    assert pulse() == [0] * 13


def test_clusters_come_in_the_order_that_was_asked_for(noon: Box) -> None:
    ingest(noon, told("con_1", "Beta", createdAt=before(days=3)))
    noon.clock(advance=60)
    ingest(noon, told("con_2", "alpha", createdAt=before(days=1)))
    noon.clock(advance=60)
    ingest(noon, told("con_3", "Gamma", createdAt=before(days=2)))

    def labels(**query: str) -> list[str]:
        return [item["label"] for item in noon.items(CLUSTERS, **query)]

    assert labels() == labels(order="desc") == labels(orderBy="updatedAt") == ["Gamma", "alpha", "Beta"]
    assert (labels(order="asc"), labels(orderBy="createdAt", order="asc")) == (["Beta", "alpha", "Gamma"], ["Beta", "Gamma", "alpha"])
    assert labels(orderBy="label", order="asc") == ["alpha", "Beta", "Gamma"]
    noon.clock(advance=60)
    ingest(noon, told("con_4", "Beta"))
    assert labels() == ["Beta", "Gamma", "alpha"]
    first = noon.get(CLUSTERS, limit=2)
    assert [one["label"] for one in noon.items(CLUSTERS, limit=2, page=first["next"]["page"])] == ["alpha"]
    for wrong in ("order", "orderBy"):
        assert noon.refused("GET", CLUSTERS, params={wrong: "luck"}).startswith(wrong)
