"""The last plan of a project, and the decisions on it. Decisions refer to the digest of what the plan would send, so they outlive the row
of the plan, and never apply to a plan that would send something else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, case, func, insert, null, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from reconciler.fleet import continuation
from reconciler.fleet.approvals import COMMIT, Continuation, Decision, changes_of, used_up
from reconciler.fleet.continuation import BegunApply
from reconciler.fleet.model import ChangeClass
from reconciler.fleet.people import Identity
from reconciler.fleet.store.schema import approvals, plans


@dataclass(frozen=True)
class StoredPlan:
    """A stored plan. `document`: as JSON; `text`: as `plan` shows it; `authors`: e-mail addresses of the commits' authors. `digest`:
    None if nothing of it can be applied, or an older version stored it. `since`: the last commit that was applied completely. `made_at`:
    None if it is not stored yet. `reading`: a digest of what the service contained, None for a plan of an older version. `continues`:
    the apply that it is the rest of."""

    commit: str
    document: Mapping[str, Any]
    digest: str | None
    changes: frozenset[ChangeClass] = frozenset()
    authors: tuple[str, ...] = ()
    text: str = ""
    since: str | None = None
    made_at: datetime | None = field(default=None, compare=False)
    reading: str | None = field(default=None, compare=False)
    continues: Continuation | None = field(default=None, compare=False)

    @property
    def digests(self) -> tuple[str, ...]:
        """Of the plans whose decisions count for this one: its own, and that of the apply which it continues."""
        digests = (self.digest, self.continues.digest if self.continues is not None else None)
        return tuple(dict.fromkeys(digest for digest in digests if digest))


def addresses(plan: StoredPlan) -> set[str]:
    """The resources that a plan changes, or would if they were not blocked."""
    return {entry["address"] for entry in (*plan.document["changes"], *plan.document.get("blocked", ()))}


def keep_plan(connection: Connection, project: int, plan: StoredPlan) -> None:
    """Replace the last plan of a project. Decisions on it are kept, by its digest; an apply that began is forgotten with its commit."""
    values = {
        "commit": plan.commit,
        "document": dict(plan.document),
        "digest": plan.digest,
        "classes": sorted(change.value for change in plan.changes),
        "authors": list(plan.authors),
        "text": plan.text,
        "since": plan.since,
        "made_at": func.now(),
        "reading": plan.reading,
        "continues": _continuation_data(plan.continues) if plan.continues is not None else null(),
    }
    statement = upsert(plans).values(project=project, **values)
    begun = case((plans.c.begun["commit"].astext == plan.commit, plans.c.begun), else_=null())
    connection.execute(statement.on_conflict_do_update(index_elements=[plans.c.project], set_={**values, "begun": begun}))


def plan_of(connection: Connection, project: int) -> StoredPlan | None:
    """The last plan of a project."""
    row = connection.execute(select(plans).where(plans.c.project == project)).first()
    if row is None:
        return None
    return _plan(row, row.document, row.text or "")


def begin(connection: Connection, project: int, plan: StoredPlan, begun: BegunApply) -> None:
    """Store that an apply of a plan begins, and use up the decisions on it."""
    keep_plan(connection, project, plan)
    connection.execute(update(plans).where(plans.c.project == project).values(begun=continuation.as_data(begun)))
    for digest in dict.fromkeys((begun.digest, *plan.digests, *begun.reverts.values())):
        decide(connection, project, used_up(digest, begun.runs[-1]))


def begun_apply(connection: Connection, project: int) -> BegunApply | None:
    """The last apply that began, and that is neither done nor forgotten."""
    data = connection.execute(select(plans.c.begun).where(plans.c.project == project)).scalar()
    return continuation.of_data(data) if data is not None else None


def finish(connection: Connection, project: int) -> None:
    """Store that nothing of the apply that began is left."""
    connection.execute(update(plans).where(plans.c.project == project).values(begun=null(), continues=null()))


def continued(connection: Connection, project: int) -> Continuation | None:
    """The apply that the last plan of a project continues."""
    data = connection.execute(select(plans.c.continues).where(plans.c.project == project)).scalar()
    return _continuation(data) if data is not None else None


def heads(connection: Connection, projects: Sequence[int]) -> dict[int, StoredPlan]:
    """The last plans of projects that contain changes, without their documents and texts."""
    columns = [column for column in plans.c if column.name not in ("document", "text", "begun")]
    query = select(*columns).where(plans.c.project.in_(list(projects)), plans.c.digest.is_not(None), plans.c.classes != text("'[]'"))
    return {row.project: _plan(row, {}, "") for row in connection.execute(query)}


def _plan(row: Row[Any], document: Mapping[str, Any], shown: str) -> StoredPlan:
    authors = tuple(row.authors or ())
    continues = _continuation(row.continues) if row.continues is not None else None
    return StoredPlan(
        row.commit, document, row.digest, _changes(row.classes), authors, shown, row.since, row.made_at, row.reading, continues
    )


def _continuation_data(continues: Continuation) -> dict[str, Any]:
    return {"digest": continues.digest, "runs": list(continues.runs), "reverts": sorted(continues.reverts)}


def _continuation(data: Mapping[str, Any]) -> Continuation:
    return Continuation(data["digest"], tuple(data["runs"]), frozenset(data["reverts"]))


def _changes(names: Sequence[str] | None) -> frozenset[ChangeClass]:
    return frozenset(ChangeClass(name) for name in names or ())


def decide(connection: Connection, project: int, decision: Decision) -> None:
    """Add a decision; decisions are never changed."""
    connection.execute(
        insert(approvals).values(
            project=project,
            digest=decision.digest,
            classes=sorted(change.value for change in decision.changes),
            person=decision.person,
            approves=decision.approves,
            reason=decision.reason,
            issuer=decision.identity.issuer if decision.identity is not None else None,
            subject=decision.identity.subject if decision.identity is not None else None,
            addresses=sorted(decision.identity.addresses) if decision.identity is not None else None,
            until=decision.until,
            rehearsal=decision.rehearsal,
        )
    )


def decisions(connection: Connection, plans_of: Sequence[tuple[int, str]]) -> dict[int, list[Decision]]:
    """What people decided on plans with the same changes, of whichever commits, oldest first. `plans_of`: projects with the digests of
    their plans."""
    changes = func.split_part(approvals.c.digest, COMMIT, 1)
    same = tuple_(approvals.c.project, changes).in_([(project, changes_of(digest)) for project, digest in plans_of])
    query = select(approvals).where(same).order_by(approvals.c.id)
    decisions_made: dict[int, list[Decision]] = {}
    rows = connection.execute(query).mappings() if plans_of else ()
    for row in rows:
        decisions_made.setdefault(row["project"], []).append(decision_of({**row}))
    return decisions_made


def decisions_on_drift(connection: Connection, project: int, digests: Collection[str]) -> dict[str, list[Decision]]:
    """What people decided on differences, by digest, oldest first."""
    query = select(approvals).where(approvals.c.project == project, approvals.c.digest.in_(list(digests))).order_by(approvals.c.id)
    decisions_made: dict[str, list[Decision]] = {}
    for row in connection.execute(query).mappings() if digests else ():
        decisions_made.setdefault(row["digest"], []).append(decision_of({**row}))
    return decisions_made


def decision_of(row: Mapping[str, Any]) -> Decision:
    """The decision in a row."""
    identity = Identity(row["issuer"], row["subject"], frozenset(row["addresses"] or ())) if row["issuer"] is not None else None
    return Decision(
        row["person"],
        row["digest"],
        _changes(row["classes"]),
        row["approves"],
        row["reason"],
        identity,
        row["at"],
        row["until"],
        row["rehearsal"],
    )
