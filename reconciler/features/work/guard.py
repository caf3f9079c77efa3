"""The guard of work in progress: a run that ends work of people is refused without consent. Pure."""

from __future__ import annotations

from typing import Final

from reconciler.errors import Refused
from reconciler.features.work.model import OPEN_WORK, OpenWork
from reconciler.model import Desired, Plan
from reconciler.run.guards import WAYS, ConsentGuard, below
from reconciler.run.operation import Limits


def _open_work(plan: Plan, desired: Desired, limits: Limits) -> Refused | None:
    ending = [
        work
        for work in plan.feature(OPEN_WORK).works
        if work.asked and not any(glob.matches(at) for glob in limits.open_work for at in work.names)
    ]
    if not ending:
        return None
    lines = [f"{work.address} ({work.effect}): {listed_sorts(work)}" for work in ending]
    more = " and so on (patterns are allowed: --allow-open-work 'acme/space/**')" if len(ending) > WAYS else ""
    way = " ".join(f"--allow-open-work {work.address:sh}" for work in ending[:WAYS]) + more
    wrong = f"the plan ends work in progress, which requires consent{below(lines)}"
    about = {address for work in ending for address in work.names}
    return Refused(wrong, id="RC-open-work", hint=f"finish or close it, or if this is intended: {way}", about=about)


GUARD: Final = ConsentGuard("RC-open-work", _open_work)


def listed_sorts(work: OpenWork) -> str:
    """`1 draft change request and 2 open comments`."""
    texts = [sort.text for sort in work.sorts]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
