"""Two versions of the files, planned without a service, say what a plan on the service says.

The record of a service to which the first version was applied is the second opinion: nothing of it is used by `as_declared`.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

import pytest

from reconciler.kinds import load as kinds
from reconciler.model import Desired, Plan
from reconciler.plan.offline import as_declared, without_ids
from reconciler.plan.planner import plan
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import sheet_text
from tests.harness import ORGANIZATION
from tests.plan.book import declared
from tests.plan.edits import Page, Tree
from tests.plan.pages import PAGES
from tests.plan.recording import World, organization
from tests.proofs import costly, spread

PLAIN: Final = Page("plain")
OFFLINE: Final = tuple(
    page
    for page in PAGES
    if page.outside is PLAIN.outside and page.seen is PLAIN.seen and not page.targets and not page.excludes and page.only is None
)
"""The pages that edit the files only."""

SERVICE_KNOWS: Final = {
    "a member who is not there": "an id or a person that the files name may exist",
    "copies of what cannot be found": "an id or a person that the files name may exist",
    "an id of something in another site": "an id or a person that the files name may exist",
    "another address tracks it now": "which address tracks an object is in the state",
    "the last admin's place, by a removal": "the record does not remember prune",
    "an organization goes": "the URL of a specification is the service's choice",
    "two spaces change places": "the level of a copy is that of its source",
    "a section goes, its variant stays": "the first variant of a section moves with its path",
}


def project(tree: Tree, **top: Any) -> Desired:
    project = {
        "version": 1, "project": "test", "service": {"member": "ada@acme.example"}, "protect": [],
        "defaults": {"space": {"duplicateOf": "blank"}}, **top,
    }  # fmt: skip
    return declared(json.dumps({**project, "organizations": {"acme": {"id": ORGANIZATION, **tree}}}, indent=1, ensure_ascii=False))


def says(plan: Plan) -> dict[str, Any]:
    """What people decide by: what happens to what, what opens, which URLs break, and what is blocked. No ids."""
    replaced = {str(change.address) for change in plan.changes if "replace" in {action.value for action in change.actions}}
    return {
        "changes": {str(change.address): sorted(action.value for action in change.actions) for change in plan.changes},
        "fields": {
            str(change.address): sorted(delta.name for delta in change.fields if not delta.note)
            for change in plan.changes
            if str(change.address) not in replaced
        },
        "exposures": len(plan.exposures),
        "broken": sorted(str(url.address) for url in plan.broken),
        "blocked": sorted(str(blocked.address) for blocked in plan.blocked),
    }


@cache
def unedited() -> Desired:
    return project(organization())


EXCUSED: Final = [page for page in OFFLINE if page.name in SERVICE_KNOWS]


@costly
@pytest.mark.parametrize("page", [*EXCUSED, *spread([page for page in OFFLINE if page not in EXCUSED], 20)], ids=lambda page: page.name)
def test_files_alone_say_what_the_service_would_say(page: Page) -> None:
    tree = organization()
    page.edit(tree)
    after = project(tree, **page.top)
    world = World.recorded()
    state = world.remembered()
    real = says(plan(kinds(), after, state, world.read(after, state), allow_replace=page.allow_replace))
    compared = says(plan(kinds(), after, *as_declared(kinds(), unedited(), after), allow_replace=page.allow_replace))
    if page.name in SERVICE_KNOWS:
        assert compared != real, "the exception is needed no more"
    else:
        assert compared == real


def test_what_is_applied_twice_changes_nothing() -> None:
    before = project(organization())
    proposal = plan(kinds(), before, *as_declared(kinds(), before, before))
    assert (proposal.changes, proposal.steps, proposal.exposures, proposal.questions) == ((), (), (), frozenset())


@costly
def test_a_comparison_shows_no_id_that_stands_for_an_object() -> None:
    deleted = 0
    for page in OFFLINE:
        tree = organization()
        page.edit(tree)
        after = project(tree, **page.top)
        state, actual = as_declared(kinds(), unedited(), after)
        compared = plan(kinds(), after, state, actual)
        text = plain(sheet_text(plan_sheet(without_ids(compared, state), full=True)))
        assert not re.search(r"\bnew-[0-9a-f]{16}|\bthe-[a-z]+-", text), f"{page.name}: {text}"
        deleted += any(change.destructive for change in compared.changes)
    assert deleted > 5
