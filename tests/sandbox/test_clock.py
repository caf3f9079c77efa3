"""One clock: everything that has to do with time, processing of documents included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.sandbox.box import CONTROL, Box

SPEC = {"source": {"url": "https://example.com/api.json"}}


def test_the_date_header_is_the_services_clock(box: Box) -> None:
    box.clock("2031-05-06T07:08:09Z")
    for path, token in (("/orgs", "token-ada"), ("/orgs", None), ("/nowhere", "token-ada")):
        assert box.send("GET", path, token=token).headers.get_list("Date") == ["Tue, 06 May 2031 07:08:09 GMT"]


def test_a_clock_in_another_zone_is_the_same_moment(box: Box) -> None:
    assert box.clock("2031-05-06T09:08:09+02:00") == "2031-05-06T07:08:09.000Z"
    assert box.send("GET", "/orgs").headers["Date"] == "Tue, 06 May 2031 07:08:09 GMT"


def test_created_and_updated_come_from_the_clock(box: Box) -> None:
    now = box.clock("2031-05-06T07:08:09Z")
    site = box.post("/orgs/org_a/sites", {})
    assert site["createdAt"] == now
    assert box.post(f"/orgs/org_a/sites/{site['id']}/share-links", {"name": "x"})["createdAt"] == now
    assert box.put("/orgs/org_a/teams", {"title": "x"}, status=201)["createdAt"] == now
    assert box.patch("/spaces/spc_one", {"title": "New"})["updatedAt"] == now
    later = box.clock(advance=90)
    assert box.move("/spaces/spc_one")["updatedAt"] == later == "2031-05-06T07:09:39.000Z"


def test_a_running_clock_that_is_advanced_keeps_running(box: Box) -> None:
    box.clock(advance=3600)
    assert box.send("GET", "/_sandbox/clock", token=CONTROL).json()["still"] is False
    now = datetime.fromisoformat(box.post("/orgs/org_a/sites", {})["createdAt"])
    assert timedelta(minutes=59) < now - datetime.now(UTC) < timedelta(minutes=61)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"now": "yesterday"}, "now"),
        ({"now": "0001-01-01T00:00:00+14:00"}, "now"),
        ({"now": "9999-12-31T23:59:59Z"}, "now"),
        ({"advance": 1e300}, "advance"),
        ({"advance": -1e12}, "advance"),
        ({"advance": "60"}, "advance"),
    ],
)
def test_a_moment_that_cannot_be_answers_400_and_leaves_the_clock(box: Box, body: object, field: str) -> None:
    before = box.clock("2031-01-01T00:00:00Z")
    assert box.refused("PUT", "/_sandbox/clock", body, token=CONTROL).startswith(f"{field}")
    assert box.clock() == before


def test_the_clock_survives_reopening_the_file(box: Box) -> None:
    now = box.clock("2031-05-06T07:08:09Z")
    box.close()
    box.open()
    assert box.clock() == now


def test_changing_a_specification_is_not_processing_it(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    box.put("/orgs/org_a/openapi/api", SPEC, status=201)
    box.clock(advance=60)
    found = box.patch("/orgs/org_a/openapi/api", {"visibility": "public"})
    assert found == box.get("/orgs/org_a/openapi/api")
    assert (found["visibility"], found["updatedAt"]) == ("public", "2031-01-01T00:01:00.000Z")
    assert (found["processingState"], found["lastProcessedAt"]) == ("complete", "2031-01-01T00:00:02.000Z")
