"""The stages of a plan that find out whose work it ends: which objects may lose any, and what is under way in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.features.work.plan import Answers, Loss, losses, with_open_work
from reconciler.features.work.read import open_work
from reconciler.model.desired import IGNORE
from reconciler.model.features import FeatureKey
from reconciler.run.loading import now
from reconciler.run.stages import Planned, PlanSource, Stage

LOST: Final = FeatureKey[tuple[Loss, ...]]("losses", ())
"""The objects that lose work in progress if there is any; none where the project does not look."""
ANSWERS: Final = FeatureKey[Answers]("work", {})
"""The work in progress in them."""


def _lost(planned: Planned) -> Planned:
    looks = planned.pages and planned.desired.guards.open_work != IGNORE
    return planned.with_feature(LOST, losses(planned.kinds, planned.plan, planned.actual, planned.matches.ids) if looks else ())


async def _with_work(source: PlanSource, planned: Planned) -> Planned:
    lost = planned.feature(LOST)
    if not lost:
        return planned
    with source.reader.giving(source.links):  # pages look for links too
        return planned.with_feature(ANSWERS, await open_work(source.reader, planned.kinds, lost, planned.actual))


def _worked(planned: Planned) -> Planned:
    lost = planned.feature(LOST)
    if not lost:
        return planned
    # The service's clock, where it shows one: what people do there has its times.
    at, guards = planned.actual.date or now(), planned.desired.guards
    return replace(planned, plan=with_open_work(planned.plan, lost, planned.feature(ANSWERS), guards, planned.state.consents, at))


STAGES: Final = (
    Stage("losses", _lost),  # from the readers that the plan leaves, so behind what decides them
    Stage("work", _worked, _with_work),  # behind the pages: what ends with them
)
