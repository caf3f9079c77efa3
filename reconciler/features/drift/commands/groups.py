"""Groups of drift on the command line: since when they exist, the options that name classes and groups, and the plan that reverts some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Final

import click

from reconciler.address import Address, Glob
from reconciler.cli import reports
from reconciler.cli.option_table import ROWS
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused
from reconciler.features.drift.model import DriftClass, DriftGroup
from reconciler.features.drift.run.groups import CommandLine, delete_line, pending_edits
from reconciler.model import Plan
from reconciler.report.plan import plan_sheet
from reconciler.report.words import listed
from reconciler.run.connection.connecting import current_user
from reconciler.run.loading import now
from reconciler.run.opened import Run
from reconciler.run.saved import plan_file
from reconciler.run.saved.origin import origin
from reconciler.run.saved.use import use_of
from reconciler.run.stages import Planned, narrow
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


MOST_ADDRESSES: Final = 5  # addresses of a refusal


def lines(options: Options, baseline: Path | None = None) -> tuple[CommandLine, CommandLine]:
    """The command lines that reports of drift advise, with the service and the project of these options: of commands, and of a single
    request. A plan that is applied has the scope of these options."""

    def command(name: str) -> str:
        if name == "apply":
            return options.without_saved().command_line(name)
        return options.command_line(name) + (f" --baseline {quote(str(baseline))}" if baseline is not None else "")

    return command, api_line(options)


def api_line(options: Options) -> CommandLine:
    """The command line of a single request, with the service and the project of these options."""
    reading = {row.field: getattr(options, row.field) for row in ROWS if row.group in ("reading", "service")}
    alone = Options(**reading, directories=options.directories)
    project = f" --project {quote(str(options.project))}" if options.project != Path() else ""
    return lambda command: alone.command_line(command) + project


def save_revert(screen: Screen, run: Run, path: Path, options: Options, planned: Planned, groups: Sequence[DriftGroup]) -> None:
    """Save the plan that puts these groups back, and nothing else. Raises `Refused` where no plan does
    only that, with another way."""
    managed = [group for group in groups if group.unmanaged is None]
    by_hand = list(_by_hand(options, planned, groups))
    addresses = tuple(dict.fromkeys(address for group in managed for address in group.addresses))
    if not addresses:
        wrong = "no plan can put this back: a plan is about what the project declares"
        raise Refused(wrong, id="RC-not-reverted", hint="\n".join(by_hand) or "Nothing was changed outside Reconciler.")
    for line in by_hand:
        screen.say(line)
    targeted = replace(options, target=tuple(Glob.parse(str(address)) for address in addresses), exclude=())
    reverting = narrow(planned, targeted.operation)
    _check_only(targeted, reverting.plan, addresses)
    changed = {change.address for change in reverting.plan.changes}
    left = [str(address) for address in addresses if address not in changed and address in reverting.plan.differing]
    if left:
        screen.say(f"this plan does not put back {listed(left, MOST_ADDRESSES)}. Plan it and decide: {options.command_line('plan')}")
    reports.show_sheet(screen, plan_sheet(screen.masked_data(reverting.plan), zone=HERE))
    project, made_by = run.project, origin(run.project, current_user())
    inputs = plan_file.plan_inputs(targeted.recorded, project, planned.state, run.service.identity, made_by, run.judged.origin)
    digests = plan_file.digests_of(run.voice, planned.state.lineage, run.seen.key)
    plan_file.write(run.voice, path, reverting, inputs=inputs, digests=digests, created_at=now())
    screen.out(f"Apply it with: {targeted.saved_line(path)}\n")
    for refused in reverting.refusals(use_of(run.voice, targeted.operation, plan_file.read(path)).limits):
        screen.warn(f"apply would refuse it: {refused.message}; {refused.hint}", id=refused.id)


def _check_only(options: Options, plan: Plan, addresses: Sequence[Address]) -> None:
    """Raise `Refused` where the plan does something else too, or nothing."""
    by_hand = f"Plan it and decide: {options.command_line('plan')}"
    others = sorted({change.address for change in plan.changes} - set(addresses))
    if others:
        names = listed(list(map(str, others)), MOST_ADDRESSES)
        raise Refused(f"what puts this back also changes {names}", id="RC-not-reverted", hint=by_hand)
    if edits := pending_edits(plan, addresses):
        wrong = f"the same requests would also apply changes of your files: {listed(edits, MOST_ADDRESSES)}"
        raise Refused(wrong, id="RC-not-reverted", hint=by_hand)
    if not plan.steps and not plan.changes:
        raise Refused("no request puts this back", id="RC-not-reverted", hint=f"See why: {options.command_line('plan')}")


def _by_hand(options: Options, planned: Planned, groups: Sequence[DriftGroup]) -> Iterator[str]:
    """For each unmanaged object, the command that deletes it."""
    for group in groups:
        if group.unmanaged is None:
            continue
        line = delete_line(api_line(options), planned, group.unmanaged)
        if line is None:
            yield f"{group.addresses[0]}: it is unmanaged, and no request deletes it."
        else:
            yield f"{group.addresses[0]}: it is unmanaged, so no plan deletes it. Delete it with: {line}"
