"""An entry that is written as one value becomes a map where another of its fields is written."""

from __future__ import annotations

from reconciler.features.drift.accept import Acceptance, chosen
from reconciler.features.importer.matched import MatchedProject
from reconciler.kinds import load as kinds
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from tests.features.drift.outside import drifted, observed
from tests.harness import Org
from tests.kinds.test_short_form import LINK, short
from tests.small import applied, described, small


def test_a_short_form_becomes_a_map_where_drift_of_another_field_is_accepted(org: Org) -> None:
    tree = small()
    applied(org, tree)  # with active: true
    org.write(short())
    applied(org, short())
    site, link = org.id("acme/site/docs"), org.id(LINK)
    org.call("PATCH", f"/orgs/org_acme/sites/{site}/share-links/{link}", {"name": "Resellers"})
    desired = org.load().desired
    state, actual = observed(org)
    path = org.project / "reconciler.yaml"
    texts = Acceptance(
        MatchedProject(kinds(), desired, state, actual, identify(kinds(), desired, state, actual).ids),
        {"reconciler.yaml": path.read_text("utf-8")},
    )
    made = plan(kinds(), desired, state, actual)
    for file, text in texts.edited(chosen(drifted(org), [LINK], {}, kinds()), made.moved_outside).items():
        (org.project / file).write_text(text, encoding="utf-8")
    assert "partners: Resellers" in path.read_text("utf-8")
    assert described(org.plan()) == []
