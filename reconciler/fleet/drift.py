"""What was changed outside Reconciler in one project, and what people decided on it: revert it, or ignore it until a day. Pure.

A decision is about exactly one difference: another value, or a deletion, has another digest and alarms again. Accepting a change is not a
decision here: it is a commit, because a fleet writes to no repository.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reconciler.fleet.approvals import ApprovalTerms, Continuation, Decision
from reconciler.fleet.model import FleetProject
from reconciler.report.drift_groups import revert_line

KEPT_MAX: Final = 100  # resources kept of one reading; the others are counted, and follow when these are decided on
SAYS_MAX: Final = 160  # characters of a value
FIELDS_MAX: Final = 12
DELETED: Final = "deleted"
PREFIX: Final = "drift:"
"""The digests of drift begin so; those of plans do not."""
NOT_REVERTED: Final = "changes made outside Reconciler are not reverted without a decision (revertDrift is false)"


@dataclass(frozen=True)
class DriftedResource:
    """A resource that was changed outside Reconciler. `word`: changed, moved or deleted. `says`: what differs, a line for each field.
    `digest`: of this difference. `exposes`: somebody can read or do more because of it."""

    address: str
    word: str
    says: tuple[str, ...]
    digest: str
    exposes: bool = False


def of_document(drift: Mapping[str, Any]) -> tuple[DriftedResource, ...]:
    """The resources in the document of a drift; what exposes something comes first."""
    exposing = {address for exposure in drift.get("exposures", ()) for address in (exposure["address"], exposure["cause"])}
    drifted = [_resource(entry, exposes=entry["address"] in exposing) for entry in drift["resources"]]
    return tuple(sorted(drifted, key=lambda resource: not resource.exposes))


def _resource(entry: Mapping[str, Any], *, exposes: bool) -> DriftedResource:
    fields = [(field["name"], field["lastApplied"], field["now"]) for field in entry["fields"]]
    now = entry["place"]["now"] if entry["place"] is not None else None
    difference = [
        entry["address"],
        entry["status"],
        sorted(([name, value] for name, _, value in fields), key=lambda pair: str(pair[0])),
        now,
    ]
    digest = hashlib.sha256(json.dumps(difference, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
    says = [f"{name}: {_text(last)} -> {_text(value)}" for name, last, value in fields[:FIELDS_MAX]]
    says += [f"and {len(fields) - FIELDS_MAX} more fields"] if len(fields) > FIELDS_MAX else []
    if not says:
        says = ["it was deleted" if entry["status"] == DELETED else "its location changed"]
    return DriftedResource(entry["address"], entry["status"], tuple(says), f"{PREFIX}{digest}", exposes)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SAYS_MAX else f"{text[:SAYS_MAX]}…"


def digest(drifted: Iterable[DriftedResource]) -> str:
    """The digest of what people read before they decide: of all resources."""
    return PREFIX + hashlib.sha256("\n".join(sorted(resource.digest for resource in drifted)).encode()).hexdigest()


def decided(
    drifted: Iterable[DriftedResource],
    decisions: Mapping[str, Sequence[Decision]],
    terms: ApprovalTerms,
    *,
    continues: Continuation | None = None,
) -> dict[str, Decision]:
    """The decision in effect on each resource, by address. `decisions`: by digest, oldest first. `continues`: the apply that is continued.

    The last one counts, as long as its person may decide. A revert expires as approvals do and is good for one apply; to ignore something
    ends at its time.
    """
    effective = {}
    for resource in drifted:
        current: Decision | None = None
        for decision in decisions.get(resource.digest, ()):
            if not decision.person:
                left = continues is not None and continues.used(decision) and resource.address in continues.reverts
                current = current if left else None
            elif terms.directory.may_approve(decision.who, terms.tenant):
                over = decision.until <= terms.now if decision.until is not None else terms.is_over(decision)
                current = None if over else decision
        if current is not None:
            effective[resource.address] = current
    return effective


def of_data(data: Iterable[Mapping[str, Any]]) -> tuple[DriftedResource, ...]:
    return tuple(DriftedResource(**{**entry, "says": tuple(entry["says"])}) for entry in data)


def as_data(drifted: Iterable[DriftedResource]) -> list[dict[str, Any]]:
    """The JSON form, in the database."""
    return [{**vars(resource), "says": list(resource.says)} for resource in drifted]


def reverts(effective: Mapping[str, Decision]) -> set[str]:
    """The addresses that somebody decided to revert."""
    return {address for address, decision in effective.items() if decision.until is None}


def ignores(effective: Mapping[str, Decision]) -> set[str]:
    """The addresses that somebody decided to ignore until a time."""
    return {address for address, decision in effective.items() if decision.until is not None}


def accept_command(project: FleetProject, drifted: Sequence[DriftedResource]) -> str:
    """The command that writes the changes into the files, in a clone of the repository; "" if all are deletions, which no file can have."""
    kept = [resource for resource in drifted if resource.word != DELETED]
    words = [f"--accept {shlex.quote(resource.address)}" for resource in kept]
    words += [f"--allow-exposure {shlex.quote(resource.address)}" for resource in kept if resource.exposes]
    return " ".join(["reconciler drift", _where(project), *words]) if kept else ""


def revert_command(project: FleetProject) -> str:
    """The commands that take all changes back and nothing else, in a clone of the repository, where the fleet may not."""
    return revert_line(lambda name: f"reconciler {name} {_where(project)}")


def apply_command(project: FleetProject) -> str:
    """The command that applies the files in a clone of the repository."""
    return f"reconciler apply {_where(project)}"


def _where(project: FleetProject) -> str:
    return shlex.join([project.source.path, *project.selecting])


def state_of(project: FleetProject) -> str:
    """What the variable RECONCILER_STATE of those commands contains."""
    if project.state is None:
        return "the URL of the fleet's database"
    return f"the value of {project.state.name}" if project.state.kind == "env" else f"the content of {project.state.name}"
