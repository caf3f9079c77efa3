"""`hold: true`: a fleet applies what nobody must approve at once, and people see and approve what is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.fleet import acts
from reconciler.fleet.people import Person, Role
from reconciler.fleet.store import connected
from tests.fleet.test_continued import BEFORE, FREE, GONE, Continued, approved
from tests.proofs import costly

pytestmark = [pytest.mark.timeout(600)]
AFTER = ['- {collection: one, title: "First"}', BEFORE[2]]
NEEDS = "the plan needs approvals: delete (2 people)"


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Continued]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    made = Continued(tmp_path, fleet_url)
    with made.stack:
        made.begin(BEFORE)
        yield made


def waiting(fleet: Continued, text: str) -> None:
    fleet.until(lambda: (fleet.status()["a"]["waits"] or "").startswith(text))


def changes(fleet: Continued) -> list[tuple[str, list[str]]]:
    """What approvers see."""
    with connected(fleet.url) as database, database.transaction() as connection:
        plan = acts.plan(connection, Person("linus@acme.example", {"*": Role.ADMIN}), "a").plan
    return [(change["address"], change["actions"]) for change in plan.document["changes"]]


def authors(fleet: Continued) -> tuple[str, ...]:
    with connected(fleet.url) as database, database.transaction() as connection:
        return tuple(acts.plan(connection, Person("linus@acme.example", {"*": Role.ADMIN}), "a").plan.authors)


@costly
def test_what_needs_no_approval_is_applied_and_approvers_see_what_is_held(fleet: Continued) -> None:
    fleet.project(approvals={**FREE, "delete": "two"}, hold=True)
    fleet.content(AFTER, GONE)
    fleet.worker()
    fleet.until(lambda: "First" in fleet.collections())
    waiting(fleet, NEEDS)
    assert "Two" in fleet.collections()
    assert changes(fleet) == [("a/collection/two", ["delete"])]
    assert authors(fleet), "whoever wrote the commit cannot approve a part of it either"
    approved(fleet)
    fleet.synced()
    assert set(fleet.collections()) == {"First"}


@costly
def test_without_the_key_nothing_is_applied_before_all_of_it_may_be(fleet: Continued) -> None:
    fleet.project(approvals={**FREE, "delete": "two"})
    fleet.content(AFTER, GONE)
    fleet.worker()
    waiting(fleet, NEEDS)
    assert set(fleet.collections()) == {"One", "Two"}
    assert len(changes(fleet)) == 2


@costly
def test_what_a_guard_refuses_is_held_and_nobody_can_approve_it(fleet: Continued) -> None:
    fleet.project(hold=True)
    fleet.content(AFTER, f"{GONE}guards: {{maxDelete: {{percent: 0, atLeast: 0}}}}\n")
    fleet.worker()
    fleet.until(lambda: "First" in fleet.collections())
    waiting(fleet, "the plan deletes 1 object")
    assert "Two" in fleet.collections()
