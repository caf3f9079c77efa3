"""What is gone: looked for a second time, believed within limits, and never at the cost of a request where nothing is missing."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import Refused
from reconciler.model import Action
from tests.features.drift.outside import plan_and_drift
from tests.harness import Org, Still
from tests.small import applied, small
from tests.storms import Record, Recorded, record


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Record:
    org = Org(tmp_path_factory.mktemp("small"))
    applied(org, small())
    return record(org)


def id_of(record: Record, address: str) -> str:
    return next(binding.id for at, binding in record.state.bindings.items() if str(at) == address)


def _without(item: dict[str, Any], ids: Collection[str]) -> dict[str, Any]:
    """An item of a list without these objects among those that it contains."""
    return {
        key: [part for part in value if not (isinstance(part, dict) and part.get("id") in ids)] if isinstance(value, list) else value
        for key, value in item.items()
    }


def without(record: Record, *ids: str) -> Recorded:
    """The service without these objects: no list shows them, and by their ids they are not found."""
    answers = {}
    for path, (status, body) in record.answers.items():
        document = json.loads(body)
        if isinstance(document.get("items"), list):
            items = [_without(item, ids) for item in document["items"] if item.get("id") not in ids]
            document = {**document, "items": items, **({"count": len(items)} if "count" in document else {})}
        if path.rsplit("/", 1)[-1] not in ids:
            answers[path] = (status, json.dumps(document).encode())
    return Recorded(answers, hidden=ids)


def test_what_is_not_in_the_list_is_asked_for_by_its_id_twice_and_somebody_vouches(acme: Record) -> None:
    team = id_of(acme, "acme/team/writers")
    transport = without(acme, team)
    made, drift = plan_and_drift(acme, transport)
    assert [str(one.address) for one in drift.resources if one.status == "deleted"] == ["acme/team/writers"]
    assert [change.actions for change in made.changes if str(change.address) == "acme/team/writers"] == [(Action.CREATE,)]
    assert transport.seen.count(f"/orgs/org_acme/teams/{team}") == 2
    assert transport.seen.count("/orgs/org_acme") == 2
    assert len(transport.seen) <= len(acme.answers) + 4


def test_where_nothing_is_missing_nothing_is_read_twice(acme: Record) -> None:
    transport = Recorded(acme.answers)
    plan_and_drift(acme, transport)
    assert sorted(transport.seen) == sorted(acme.answers)


def test_what_the_list_lacks_and_its_id_shows_is_there_and_the_list_is_doubted(acme: Record) -> None:
    team = id_of(acme, "acme/team/writers")
    transport = without(acme, team)
    transport.answers = {**transport.answers, f"/orgs/org_acme/teams/{team}": (200, json.dumps(found(acme, team)).encode())}
    made, drift = plan_and_drift(acme, transport)
    assert drift.resources == ()
    assert made.changes == ()
    assert [gap.reason for gap in made.unknown] == [f"GET /orgs/org_acme/teams lacks {team}, which exists"]


def found(record: Record, id: str) -> object:
    return next(one for _, body in record.answers.values() for one in json.loads(body).get("items", []) if one.get("id") == id)


def test_an_object_without_a_read_by_id_is_absent_if_two_listings_a_second_apart_lack_it(acme: Record) -> None:
    transport, clock = without(acme, id_of(acme, "acme/site/docs/share-link/partners")), Still()
    _, drift = plan_and_drift(acme, transport, clock=clock)
    assert clock.slept >= 0.9
    assert [str(one.address) for one in drift.resources] == ["acme/site/docs/share-link/partners"]
    path = f"/orgs/org_acme/sites/{id_of(acme, 'acme/site/docs')}/share-links"
    assert transport.seen.count(path) == 2


def test_a_list_that_shows_it_the_second_time_lagged(acme: Record) -> None:
    path = f"/orgs/org_acme/sites/{id_of(acme, 'acme/site/docs')}/share-links"
    transport = Recorded(acme.answers, lambda request, status, body: (200, b'{"items": []}'), lambda asked, number: asked == path)
    transport.strikes = lambda asked, number: asked == path and transport.seen.count(path) == 1
    made, drift = plan_and_drift(acme, transport)
    assert drift.resources == ()
    assert made.empty


def test_a_missing_witness_makes_it_unknown(acme: Record) -> None:
    transport = without(acme, id_of(acme, "acme/team/writers"))
    transport.storm = lambda request, status, body: (404, b"{}")
    transport.strikes = lambda asked, number: asked == "/orgs/org_acme" and transport.seen.count(asked) > 1
    made, drift = plan_and_drift(acme, transport)
    assert drift.resources == ()
    assert made.changes == ()
    assert any("does not answer either" in gap.reason for gap in made.unknown)


def test_without_another_tracked_object_that_answers_by_id_it_is_unknown(acme: Record) -> None:
    transport = without(acme, id_of(acme, "acme/team/writers"))
    transport.storm = lambda request, status, body: (404, b"{}")
    transport.strikes = lambda asked, number: asked not in acme.answers
    made, drift = plan_and_drift(acme, transport)
    assert drift.resources == ()
    assert made.changes == ()
    (reason,) = {gap.reason for gap in made.unknown}
    assert reason.startswith("acme/team/writers was not found twice, but acme/")


def test_more_than_three_and_a_tenth_at_once_is_refused_and_can_be_accepted(acme: Record) -> None:
    variants = [str(address) for address in acme.state.bindings if str(address).startswith("acme/site/docs/site-space/")]
    ids = [id_of(acme, address) for address in ("acme/site/docs/share-link/partners", *variants)]
    limit = max(3, len(acme.state.bindings) // 10)
    plan_and_drift(acme, without(acme, *ids[:limit]))
    with pytest.raises(Refused) as caught:
        plan_and_drift(acme, without(acme, *ids[: limit + 1]))
    assert (caught.value.exit_code, caught.value.hint) == (4, f"if they were deleted: --accept-gone {limit + 1}")
    plan_and_drift(acme, without(acme, *ids[: limit + 1]), accept=limit + 1)


def test_a_deleted_site_counts_once_however_much_went_with_it(acme: Record) -> None:
    made, _ = plan_and_drift(acme, without(acme, id_of(acme, "acme/site/docs")))
    assert any(str(change.address) == "acme/site/docs" for change in made.changes)


def test_the_option_is_where_the_hint_says(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from reconciler.assembled import main

    for command in ("plan", "apply", "drift"):
        assert "--accept-gone" in CliRunner().invoke(main, [command, "--help"]).stdout


def test_what_the_sections_lack_is_looked_for_in_the_list_of_site_spaces(acme: Record) -> None:
    variant, site = (id_of(acme, f"acme/site/docs{rest}") for rest in ("/site-space/one", ""))
    path = f"/orgs/org_acme/sites/{site}/site-spaces"
    lacking, whole = without(acme, variant), Recorded(acme.answers)._calm(path)
    made, drift = plan_and_drift(acme, Recorded({**lacking.answers, path: whole}))
    assert not made.changes
    assert not drift.resources


def test_the_site_spaces_of_a_site_without_sections_are_read_by_their_own_list(acme: Record) -> None:
    docs, flat = (id_of(acme, f"acme/site/{key}") for key in ("docs", "flat"))
    transport = Recorded(acme.answers)
    plan_and_drift(acme, transport)
    assert f"/orgs/org_acme/sites/{flat}/site-spaces" in transport.seen
    assert f"/orgs/org_acme/sites/{docs}/site-spaces" not in transport.seen
