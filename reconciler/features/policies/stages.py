"""The stages of a plan, and of a comparison of files, that judge it by the policies of its project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.features.policies.judge import as_far_as_files_say, with_violations
from reconciler.model import Plan
from reconciler.run.comparison import FilesCompared
from reconciler.run.loading import now
from reconciler.run.stages import Planned, Stage


def _judged(planned: Planned) -> Planned:
    if not planned.desired.policies:
        return planned
    held = planned.operation.selection.held
    plan = with_violations(planned.kinds, planned.desired, planned.actual, planned.plan, today=now().date(), held=held)
    return replace(planned, plan=plan)


STAGE: Final = Stage("policies", _judged)  # last: they may ask about anything before them


def of_files(files: FilesCompared, plan: Plan) -> tuple[Plan, Sequence[str]]:
    """The plan of a comparison of files, judged as far as files say."""
    return as_far_as_files_say(files.kinds, files.new, files.actual, plan, today=now().date()), ()
