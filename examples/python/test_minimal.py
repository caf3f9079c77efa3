"""A check in pytest: what the project leads to, tried on a service in memory. Run it with: pytest examples/python"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import reconciler

PROJECT = Path(__file__).parents[1] / "minimal"


@pytest.fixture
def project() -> Iterator[reconciler.OpenedProject]:
    with reconciler.open(PROJECT, sandbox=":memory:") as project:
        project.apply(project.plan())
        yield project


def test_the_project_exposes_nothing_and_is_complete_after_one_apply(project: reconciler.OpenedProject) -> None:
    plan = project.plan()
    assert not plan.pending
    assert plan.exposures == ()


def test_nobody_outside_reads_the_documentation_before_it_is_published(project: reconciler.OpenedProject) -> None:
    readers = {str(row.address): row.before for row in project.access(reader="anyone").model.rows}
    assert readers["example/space/guides"] == ()


def test_whoever_undoes_the_first_apply_is_asked_about_the_deletions(project: reconciler.OpenedProject) -> None:
    with pytest.raises(reconciler.Refused) as refused:
        project.undo()
    assert refused.value.reasons[0].id == "RC-delete-limit"
