"""Deletions along with a node is gone with it, also while a list may lag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from reconciler.address import Address
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Binding, Declared, Desired, Observed, Origin, Position, Source, State
from reconciler.plan.matching.match import match

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SITE = Address.parse("acme/site/docs")
SECTION, SPACE = SITE.child("section", "guides"), SITE.child("site-space", "start")
LINE = Source("reconciler.yaml", 1, 1)


@pytest.mark.parametrize(("recent", "gone"), [({SPACE}, {SECTION, SPACE}), ({SECTION, SPACE}, set())])
def test_a_new_site_space_is_deleted_with_its_section(recent: set[Address], gone: set[Address]) -> None:
    declared = {at: Declared(at, at.kind or "organization", {}, LINE, at.container, "sites", 0) for at in (SITE.root, SITE)}
    bindings = {
        at: Binding(at, at.kind or "organization", f"id-{at.key}", Origin.CREATED, place=Position(parent, 0) if parent else None)
        for at, parent in ((SITE.root, None), (SITE, None), (SECTION, SITE), (SPACE, SECTION))
    }
    objects = {
        "organization": {"id-acme": Observed("organization", "id-acme", {}, {}, {})},
        "site": {"id-docs": Observed("site", "id-docs", {}, {"organization": "id-acme"}, {})},
    }
    whole = frozenset({("site", "id-acme"), ("section", "id-docs"), ("site-space", "id-docs")})
    state = State("lineage", 1, bindings, recent=dict.fromkeys(recent, NOW + timedelta(seconds=60)))
    matches = match(kinds(), Desired("p", None, declared, {}, frozenset()), state, Actual(objects, complete=whole, date=NOW))
    assert {*matches.where(lambda match: match.gone)} == gone
