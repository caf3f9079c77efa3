"""Work that people begin between the plan and the request that would end it: the request is not sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.model import StepStatus
from tests.meddling import Meddled
from tests.proofs import costly
from tests.small import applied, small

LEGACY = "acme/space/legacy"


def living(root: Path) -> tuple[Meddled, str]:
    """A project with one space too many, whose delete is declared."""
    org = Meddled(root, fresh=-1.0)
    tree = small()
    tree["content"].append({"space": "legacy", "title": "Legacy", "duplicateOf": "blank"})
    applied(org, tree)
    return org, org.id(LEGACY)


async def _comment(org: Meddled) -> None:
    await org.other("POST", f"/spaces/{org.ids['legacy']}/comments", {"body": {"markdown": "wait"}})


@costly
@pytest.mark.parametrize(("level", "sent"), [(None, False), ("warn", False), ("ignore", True)])
def test_a_delete_is_not_sent_if_somebody_began_something_since_the_plan(tmp_path: Path, level: str | None, sent: bool) -> None:
    org, legacy = living(tmp_path)
    org.ids["legacy"] = legacy
    guards = {"guards": {"openWork": level}} if level is not None else {}
    org.write(small(), removed=[{"address": LEGACY, "action": "delete"}], **guards)
    org.requests.clear()
    org.plan()
    outcome = org.meddled(len(org.requests) + 1, _comment)
    (result,) = [result for result in outcome.results if str(result.step.address) == LEGACY]
    assert org.acted is not None
    assert (result.status is StepStatus.DONE) is sent
    if not sent:
        assert result.status is StepStatus.STALE
        assert "open comments were 0 and are now 1" in str(result.error)
