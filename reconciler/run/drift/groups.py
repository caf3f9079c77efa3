"""Groups of drift on the command line: since when they exist, the options that name classes and groups, and the plan that reverts some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Final

import click

from reconciler.address import Address, Glob, bare
from reconciler.cli.option_table import ROWS
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.client import encode
from reconciler.config import Project
from reconciler.errors import Refused, UsageError
from reconciler.model import Action, Cause, Plan, Unmanaged
from reconciler.model.drift import Drift, DriftBounds, DriftClass, DriftGroup
from reconciler.report.drift_groups import group_text
from reconciler.report.plan import plan_sheet
from reconciler.report.saved import Digests
from reconciler.report.schemas.plan import RulesFromData
from reconciler.report.sheet import sheet_text
from reconciler.report.words import listed
from reconciler.resource import Kinds
from reconciler.run.connecting import ConnectedService, current_user, open_store
from reconciler.run.loading import now
from reconciler.run.saved import plan_file
from reconciler.run.saved.origin import origin
from reconciler.run.stages import Planned, narrowed
from reconciler.text.names import HERE, did_you_mean, one_of

SEPARATORS: Final = re.compile(r"[,\s]+")


def classes(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> frozenset[DriftClass]:
    """The classes of a list with commas. Raises `BadParameter` for another word."""
    words = [word for value in values for word in SEPARATORS.split(value) if word]
    if values and not words:
        raise click.BadParameter(f"no class is named: {one_of(DriftClass)}", ctx=ctx, param=param)
    for word in words:
        if word not in list(DriftClass):
            raise click.BadParameter(
                f"{word!r} is not a class of drift{did_you_mean(word, DriftClass) or f': {one_of(DriftClass)}'}", ctx=ctx, param=param
            )
    return frozenset(map(DriftClass, words))


def bounds(screen: Screen, options: Options, project: Project, service: ConnectedService, planned: Planned) -> DriftBounds:
    """When drift began that this run sees: after the newest run that left everything as declared, and before this reading."""
    with open_store(screen, options, project, service, create=False) as store:
        return DriftBounds(store.verified(), planned.actual.date or now())


NAMED: Final = 5  # addresses of a refusal


def chosen(drift: Drift, id: str | None) -> tuple[DriftGroup, ...]:
    """The group with an id, or with one that begins so; without an id, all. Raises `UsageError` for an unknown one, with a list."""
    if id is None:
        return drift.groups
    named = [group for group in drift.groups if group.id == id] or [group for group in drift.groups if id and group.id.startswith(id)]
    if len(named) == 1:
        return tuple(named)
    known = [group.id for group in drift.groups]
    listing = "\n".join(f"  {group.id}  {group.drift_class}  {group_text(group)}" for group in drift.groups)
    wrong = f"{len(named)} groups begin with {id!r}" if named else f"no group has the id {id!r}{did_you_mean(id, known)}"
    hint = f"These are the groups:\n{listing}" if known else "Nothing was changed outside Reconciler."
    raise UsageError(wrong, id="RC-no-such-group", hint=hint)


@dataclass(frozen=True)
class RevertInputs:
    """What a saved plan records. `service`: its identity. `rules`: the commit whose rules judge it, None for those of its own files."""

    service: str
    digests: Digests
    rules: RulesFromData | None


def save_revert(
    screen: Screen, path: Path, options: Options, project: Project, kinds: Kinds, planned: Planned, groups: Sequence[DriftGroup],
    saved: RevertInputs,
) -> None:  # fmt: skip
    """Save the plan that puts these groups back, and nothing else. `kinds`: with the key of the state. Raises `Refused` where no plan does
    only that, with another way."""
    managed = [group for group in groups if group.unmanaged is None]
    by_hand = list(_by_hand(options, kinds, planned, groups))
    addresses = tuple(dict.fromkeys(address for group in managed for address in group.addresses))
    if not addresses:
        wrong = "no plan can put this back: a plan is about what the project declares"
        raise Refused(wrong, id="RC-not-reverted", hint="\n".join(by_hand) or "Nothing was changed outside Reconciler.")
    for line in by_hand:
        screen.say(line)
    targeted = replace(options, target=tuple(Glob.parse(str(address)) for address in addresses), exclude=())
    reverting = narrowed(kinds, project.desired, planned, targeted.operation)
    _check_only(targeted, reverting.plan, addresses)
    changed = {change.address for change in reverting.plan.changes}
    left = [str(address) for address in addresses if address not in changed and address in reverting.plan.differing]
    if left:
        screen.say(f"this plan does not put back {listed(left, NAMED)}. Plan it and decide: {options.command_line('plan')}")
    screen.spans(sheet_text(plan_sheet(screen.masked_data(reverting.plan), zone=HERE), width=screen.width))
    inputs = plan_file.plan_inputs(targeted, project, planned.state, saved.service, origin(project, current_user()), saved.rules)
    plan_file.write(screen, path, reverting, kinds, inputs=inputs, digests=saved.digests, created_at=now())
    screen.out(f"Apply it with: {targeted.saved_line(path)}\n")


def _check_only(options: Options, plan: Plan, addresses: Sequence[Address]) -> None:
    """Raise `Refused` where the plan does something else too, or nothing."""
    by_hand = f"Plan it and decide: {options.command_line('plan')}"
    others = sorted({change.address for change in plan.changes} - set(addresses))
    if others:
        names = listed(list(map(str, others)), NAMED)
        raise Refused(f"what puts this back also changes {names}", id="RC-not-reverted", hint=by_hand)
    created = {Action.CREATE, Action.RESTORE, Action.REPLACE, Action.ADOPT}  # all values of such an object are declared again
    existing = [change for change in plan.changes if created.isdisjoint(change.actions)]
    yours = [(change.address, delta) for change in existing for delta in change.fields if delta.cause is Cause.YOURS]
    declared = [f"{address}.{delta.name}" for address, delta in yours if delta.note is None]
    if declared:
        names = listed(declared, NAMED)
        raise Refused(f"the same requests would also apply changes of your files: {names}", id="RC-not-reverted", hint=by_hand)
    if not plan.steps and not plan.changes:
        raise Refused("no request puts this back", id="RC-not-reverted", hint=f"See why: {options.command_line('plan')}")


def instead_of_plans(options: Options, kinds: Kinds, planned: Planned, groups: Sequence[DriftGroup]) -> dict[str, str]:
    """For each group that no plan puts back, by its id, a sentence about it, with the command that does where there is such a command."""
    changed = {change.address for change in planned.plan.changes}
    blocked = {item.address: item.reason for item in planned.plan.blocked}
    sentences = {}
    for group in groups:
        if group.unmanaged is not None:
            line = _delete_line(options, kinds, planned, group.unmanaged)
            no_request = f"No request deletes {group.addresses[0]}."
            sentences[group.id] = f"Revert {group.addresses[0]}: {line}" if line is not None else no_request
        elif changed.isdisjoint(group.addresses) and all(resource.place is None for resource in group.resources):
            why = next((f": {blocked[address]}" for address in group.addresses if address in blocked), "")
            sentences[group.id] = f"No request puts {group.addresses[0]} back{why}."
    return sentences


def _by_hand(options: Options, kinds: Kinds, planned: Planned, groups: Sequence[DriftGroup]) -> Iterator[str]:
    """For each unmanaged object, the command that deletes it."""
    for group in groups:
        if group.unmanaged is None:
            continue
        line = _delete_line(options, kinds, planned, group.unmanaged)
        if line is None:
            yield f"{group.addresses[0]}: it is unmanaged, and no request deletes it."
        else:
            yield f"{group.addresses[0]}: it is unmanaged, so no plan deletes it. Delete it with: {line}"


def _delete_line(options: Options, kinds: Kinds, planned: Planned, unmanaged: Unmanaged) -> str | None:
    """The command that deletes an unmanaged object; None where no request does."""
    kind = kinds[unmanaged.kind]
    observed = planned.actual.find(kind.name, unmanaged.id)
    verb = kind.api.get("delete")
    if observed is None or verb is None:
        return None
    holes = {**{name: bare(id) for name, id in observed.within.items()}, "id": bare(observed.id), "slug": bare(observed.id)}
    path = encode(verb.path, holes)
    reading = {row.field: getattr(options, row.field) for row in ROWS if row.group in ("reading", "service")}
    line = Options(**reading, directories=options.directories).command_line(f"api {verb.method} {path}")
    return line + (f" --project {quote(str(options.project))}" if options.project != Path() else "")
