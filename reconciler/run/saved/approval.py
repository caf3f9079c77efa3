"""The part of a saved plan that is still valid: the fresh plan, limited to what the file shows. Pure.

In: the document of the file and a fresh plan. Out: a plan all of whose requests, changes and exposures are in the file, unchanged,
and a sentence for everything that does not. The file is only ever compared with: nothing of it is sent.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.address import Address
from reconciler.model import Plan
from reconciler.model.state import ENDS_WORK
from reconciler.run.stages import Planned

GONE = "nothing is left to change there"
OTHER_OBJECT = "the object changed since the plan was saved"
OTHER_CHANGE = "it would now be changed differently"
OTHER_REQUESTS = "it now requires different requests or values"
ALONE = "it cannot be done without the rest"
OTHER_EXPOSURE = "it would now expose something else"
MORE_WORK = "people began more work in it since the plan was saved"


@dataclass
class ApprovedChange:
    """The changes of one address in a plan, in a form that can be compared."""

    change: str | None = None
    seen: str | None = None
    requests: set[tuple[str, ...]] = field(default_factory=set)
    exposures: set[str] = field(default_factory=set)
    consents: set[str] = field(default_factory=set)
    # What people are working on in it: less of it is as well as what was shown.
    work: set[str] = field(default_factory=set, compare=False)

    def covers(self, other: ApprovedChange | None) -> bool:
        """Whether the other is nothing but what this one shows."""
        return self == other and other.work <= self.work


@dataclass(frozen=True)
class ApprovedPlan:
    """A plan that may be applied, and what it leaves out.

    `planned`: nothing in it goes beyond the file. `only`: the addresses it is about, None where it is the fresh plan as it is. `refused`:
    what the file asks for and does not get, with the reason. `new`: addresses that would change although the file does not say so.
    """

    planned: Planned
    only: frozenset[Address] | None
    refused: Mapping[str, str]
    new: tuple[str, ...]


Describe = Callable[["Planned"], Mapping[str, Any]]
Narrow = Callable[["Planned", frozenset[Address]], "Planned"]


def grants(document: Mapping[str, Any]) -> dict[str, ApprovedChange]:
    """What a saved plan says, by address. Positions in the files and reasons are for people, and no part of it."""
    approved_changes: dict[str, ApprovedChange] = defaultdict(ApprovedChange)
    for change in document["changes"]:
        approved_changes[change["address"]].change = _text(change, without=("source", "reason"))
    for entry in document["preconditions"]:
        approved_changes[entry["address"]].seen = _text(entry)
    digests = {entry["step"]: entry["digest"] for entry in document["requests"]}
    for step in document["steps"]:
        what = (step["verb"], step["method"], step["path"], _text(step["fields"]), digests.get(step["id"], ""))
        approved_changes[step["address"]].requests.add(what)
    for entry in document["exposures"]:
        approved_changes[entry["address"]].exposures.add(_text(entry, without=("source", "asked")))
    for entry in document["consents"]:
        ends_work = entry["field"] == ENDS_WORK
        # What is in a container that is transferred has no line of its own.
        at = entry["cause"] if ends_work and entry["address"] not in approved_changes else entry["address"]
        if at in approved_changes:  # else it is about what can be read by a change of something else, which has a line of its own
            (approved_changes[at].work if ends_work else approved_changes[at].consents).add(_text(entry))
    return dict(approved_changes)


def sent_digest(document: Mapping[str, Any]) -> str:
    """A digest of what a saved plan would send and open, and where. What was read, and what values were before, are no part of it."""
    where = [document["service"], document["project"], document["environment"], document["digests"]["lineage"]]
    return hashlib.sha256(json.dumps([where, _sent(document)], sort_keys=True).encode()).hexdigest()


def sent_parts(document: Mapping[str, Any]) -> dict[str, str]:
    """A digest of the same for each address, without where it is sent."""
    return {at: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest() for at, part in _sent(document).items()}


def _sent(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a saved plan would send and open, by address."""
    acts = {change["address"]: [sorted(change["actions"])] for change in document["changes"]}
    objects = {condition["address"]: condition["id"] for condition in document["preconditions"]}
    return {
        address: [
            acts.get(address),
            objects.get(address),
            sorted(grant.requests),
            sorted(grant.exposures),
            sorted(grant.consents | grant.work),
        ]
        for address, grant in grants(document).items()
    }


def approve(document: Mapping[str, Any], fresh: Planned, *, describe: Describe, narrow: Narrow) -> ApprovedPlan:
    """Limit a fresh plan to what the file shows. `describe`: a plan as its document; `narrow`: the same reading, planned for fewer."""
    asked, now = grants(document), grants(describe(fresh))
    whole = fresh.plan
    refused = {at: _why(at, grant, now.get(at), whole) for at, grant in asked.items() if not grant.covers(now.get(at))}
    new = tuple(sorted(at for at in now if at not in asked))
    refused |= _waiting(whole, {*refused, *new}, asked)
    if not refused and not new:
        return ApprovedPlan(fresh, None, {}, ())
    # The fresh plan decides, and the file only limits it: nothing that is read from the file is ever sent.
    planned, only = fresh, frozenset[Address]()
    # What is left out can make more impossible: a child of a container that is not created. Each round narrows the plan by at
    # least one address, so this ends.
    while True:
        only = frozenset(address for address in _addresses(planned.plan) if str(address) in asked and str(address) not in refused)
        planned = narrow(fresh, only)
        narrowed = grants(describe(planned))
        wrong = {at for at, grant in narrowed.items() if at in refused or at not in asked or not asked[at].covers(grant)}
        if not wrong:
            break
        more = {at: _left_alone(at, planned.plan) for at in wrong if at in asked} | _waiting(planned.plan, wrong, asked)
        more = {at: why for at, why in more.items() if at not in refused}
        refused |= more or dict.fromkeys(map(str, only), ALONE)
    refused |= {at: _left_alone(at, planned.plan) for at in asked if at not in narrowed and at not in refused}
    return ApprovedPlan(planned, only, refused, new)


def _why(at: str, asked: ApprovedChange, now: ApprovedChange | None, plan: Plan) -> str:
    """Why the changes of an address in the file are no longer valid."""
    for blocked in plan.blocked:
        if str(blocked.address) == at:
            return f"it is blocked: {blocked.reason}"
    if at in map(str, plan.in_doubt):
        return "a request of an earlier run is in doubt there"
    if at in map(str, plan.deferred):
        return "it now waits for a second run"
    if now is None:
        failed = f"; {plan.unknown[0].kind} could not be read" if plan.unknown else ""
        return GONE + failed
    if asked.seen != now.seen:
        return OTHER_OBJECT
    if asked.change != now.change:
        return OTHER_CHANGE
    if not now.work <= asked.work:
        return MORE_WORK
    return OTHER_EXPOSURE if (asked.exposures, asked.consents) != (now.exposures, now.consents) else OTHER_REQUESTS


def _left_alone(at: str, plan: Plan) -> str:
    """Why what the file asks for cannot be done by itself."""
    return next((f"it {blocked.reason}" for blocked in plan.blocked if str(blocked.address) == at), ALONE)


def _waiting(plan: Plan, bad: Collection[str], asked: Mapping[str, ApprovedChange]) -> dict[str, str]:
    """What the file asks for and cannot have because something else is not done: it requires it, or is deleted with it."""
    left: dict[int, str] = {}
    waiting: dict[str, str] = {}
    for step in plan.steps:  # what is needed stands before what needs it
        at = str(step.address)
        cause = next((left[id] for id in sorted(step.needs) if id in left), None)
        cause = cause or next((str(address) for address in step.takes if str(address) in bad), None)
        # Steps are in the order of their requests, so one pass is enough: whatever is waited for was seen before.
        if at not in bad and at not in waiting and cause is None:
            continue
        left[step.id] = at
        waiting |= {str(child): f"it waits for {at}" for _, _, child in step.brings}
        if cause is not None:
            waiting.setdefault(at, f"it waits for {cause}")
    waiting = {at: why for at, why in waiting.items() if at in asked}
    return {at: why for at, why in waiting.items() if at not in bad}


def _addresses(plan: Plan) -> set[Address]:
    exposed = (exposure.address for exposure in plan.exposures)
    return {*(change.address for change in plan.changes), *(step.address for step in plan.steps), *exposed}


def _text(value: Any, *, without: tuple[str, ...] = ()) -> str:
    kept = {name: part for name, part in value.items() if name not in without} if isinstance(value, dict) else value
    return json.dumps(kept, sort_keys=True)
