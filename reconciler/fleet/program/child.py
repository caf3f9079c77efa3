"""The runs of a fleet's worker: `python -m reconciler.fleet.program.child SOCKET` imports the program, and forks a process for each
run that the worker asks for, with the arguments `read|rehearse|apply …`. Not a command for people.

`read` reads the service once and writes the results to a folder: `plan.json`, `drift.json` and `reading.json`, with --keep also `plan.txt`
and the digest of the plan, and with --save `saved.json`, which `apply` takes. With --save it finds out first what happened to the requests
of earlier runs: what is in doubt would be unknown. `rehearse` reads it again, and rehearses the plan if plan and
reading are still the same: `rehearsal.json` and `rehearsal.txt`. All send only requests that the worker's gate has counted, and end if the
worker does; `apply` asks it before each step that gives more access or cannot be undone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.address import Address, Glob
from reconciler.apply.recover import STILL_IN_DOUBT, recover
from reconciler.cli import options as shared
from reconciler.cli.commands import apply as _apply  # noqa: F401  imported once, before the runs are forked
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, Program
from reconciler.cli.reports import write_report
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config.source.includes import texts
from reconciler.errors import Locked, ReconcilerError, Refused, StalePlan
from reconciler.features.drift.accepted import accepted_document
from reconciler.features.drift.commands.groups import lines
from reconciler.features.drift.documents import DriftDocument, ProposalDocument
from reconciler.features.drift.model import Drift, DriftBounds
from reconciler.features.drift.report.document import drift_document
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.features.drift.run.accepted import accepted_drift
from reconciler.features.drift.run.reading import DriftReading, drift_commands
from reconciler.features.health.model import CHECKS
from reconciler.features.health.plan import HealthInputs, health
from reconciler.features.health.read import checked
from reconciler.features.health.run import health_inputs
from reconciler.features.rehearsal.performing import rehearse
from reconciler.features.rehearsal.report import rehearsal_document, rehearsal_sheet
from reconciler.features.work.model import OPEN_WORK, WorkEffect
from reconciler.fleet import health as healths
from reconciler.fleet.declared import claims
from reconciler.fleet.model import ChangeClass
from reconciler.fleet.runs.forks import forked
from reconciler.fleet.runs.gate import BEGIN, RULES, VARIABLE, GateClient
from reconciler.kinds import load as load_kinds
from reconciler.model import Actual, Plan
from reconciler.report.documents import plan_document
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.saved import saved_plan
from reconciler.report.sheet import sheet_text
from reconciler.run.loading import keyed, now
from reconciler.run.opened import Run
from reconciler.run.rules import JudgedProject
from reconciler.run.saved import plan_file
from reconciler.run.saved.approval import sent_digest, sent_parts
from reconciler.run.stages import Planned
from reconciler.run.supervision import Supervision
from reconciler.seams import fill
from reconciler.state import Store
from reconciler.state.history import RECOVER
from reconciler.state.lease import Condition
from reconciler.text.escape import as_json

fill()  # once, before the runs are forked, as all imports above

CLASSES: Final = {
    WorkEffect.DELETE: ChangeClass.DELETE,
    WorkEffect.REPLACE: ChangeClass.REPLACE,
    WorkEffect.TRANSFER: ChangeClass.REPLACE,
    WorkEffect.MOVE: ChangeClass.UPDATE,
    WorkEffect.LOCK: ChangeClass.UPDATE,
}
"""The class of change that ends or interrupts work."""


@click.command("read")
@shared.project_argument()
@shared.of_child()
@click.option("--allowed-project", "allowed", required=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--path", type=click.Path(path_type=Path), required=True)
@click.option("--keep", is_flag=True)
@click.option("--save", is_flag=True)
@click.option("--known-checks", type=click.Path(path_type=Path))
@click.option("--approved", multiple=True)
@click.option("--began", default="")
@click.option("--unapproved", multiple=True)
@click.option("--expose", is_flag=True)
@shared.output()
@click.pass_obj
def read_command(
    screen: Screen, /, allowed: str, folder: Path, path: Path, keep: bool, save: bool, known_checks: Path | None,
    approved: tuple[str, ...], began: str, unapproved: tuple[str, ...], expose: bool, **parameters: Any,
) -> int:  # fmt: skip
    """Read the service once, and write what a plan and a drift of that reading say. `path`: of the project in its repository, where people
    run commands. `began`: the digest of the saved plan of an apply that did not end, "" for none. `unapproved`: with --hold, the addresses
    that are held too; `expose`: nobody must approve an exposure, so that none is held."""
    options = Options.of(screen, parameters)
    asked = replace(options.operation, unapproved=frozenset(map(Address.parse, unapproved)))
    asked = replace(asked, limits=asked.limits.with_exposures) if expose else asked
    with Run.open(asked, TerminalVoice(screen), admit=_allowing(allowed, folder)) as run:
        judged_project, project, service = run.judged, run.project, run.service
        recovered, locked = _recovered(run) if save else ((), None)
        with run.store() as store:
            recorded = store.recorded_by(began) if began else None
            undone, verified = [_undone(store, id) for id in store.undos()], store.verified()
        # What an earlier run was allowed to open does not count here: in a fleet, approvals do.
        kinds, state, new = run.kinds, replace(run.state, consents=frozenset()), run.seen.new.project if run.seen.new is not None else ""
        planned = run.plan(state=state, everything=True)
        made_at = now()
        given = health_inputs(run, planned, between=DriftBounds(verified, planned.actual.date or made_at))
        changed, checks = given.drift, _checks(run, given, known_checks)
    options = _covered(options, planned.plan, approved).with_held(planned.excluded)
    planned = replace(planned, plan=replace(planned.plan, notes=(*judged_project.notes, *planned.plan.notes)))
    refused = ""
    try:
        planned.check(options.operation.limits.with_exposures)
    except Refused as error:
        refused = f"{error.message}; {error.hint}" if error.hint else error.message
    concerns, unread = health(given, unseen=f"its state has never seen {new}" if new else "")
    plan, outside = screen.masked_data(planned.plan), screen.masked_data(changed)
    commands = drift_commands(
        run, DriftReading(planned, changed, changed), *lines(replace(options, project=path, rules_from=None, directories=()))
    )
    inputs = plan_file.plan_inputs(options.recorded, project, state, service.identity, rules=judged_project.origin)
    digests = plan_file.digests_of(run.voice, state.lineage, run.seen.key)
    about: dict[str, Any] = {
        "project": project.settings.project,
        "environment": options.env,
        "service": service.identity,
        "newState": new,
        "lineage": state.lineage,
        "refused": screen.masked(refused),
        "reading": _reading_digest(planned.actual),
        "health": healths.as_data(healths.HealthReading(concerns, unread, checks=checks)),
        "digest": None,
        "undone": undone,
        "pending": planned.plan.pending,
        "held": sorted(map(str, planned.excluded)),
        "inDoubt": [screen.masked(note) for note in recovered if STILL_IN_DOUBT in note],
        "locked": locked,
        "recorded": sorted(recorded) if recorded is not None else None,
    }
    if keep and not new:
        whole = saved_plan(planned.plan, kinds, planned.actual, created_at=made_at, inputs=inputs, digests=digests)
        about["digest"], about["parts"] = sent_digest(whole), sent_parts(whole)
    documents: dict[str, Any] = {
        "plan": plan_document(plan, created_at=made_at, forecast=planned.forecast),
        "drift": drift_document(outside, commands),
        "reading": about,
    }
    if changed.resources and not new:
        documents |= _proposal(run, planned, changed, documents["drift"])
    if save and not refused and not new:
        plan_file.write(run.voice, folder / "saved.json", planned, inputs=inputs, digests=digests, created_at=made_at)
        about["saved"] = plan_file.read(folder / "saved.json").digest
    if keep:
        write_report(folder / "plan.txt", screen.masked(plain(sheet_text(plan_sheet(plan)))))
    for name, document in documents.items():
        write_report(folder / f"{name}.json", screen.masked(as_json(document)))
    return exits.DONE


def _covered(options: Options, plan: Plan, approved: Collection[str]) -> Options:
    """The options with consent to end the work that approved changes end: whoever approves a change of a class is shown it, and the digest
    that they approve contains it. `approved`: the classes of changes that people approve."""
    shown = [work.address for work in plan.feature(OPEN_WORK).works if CLASSES[work.effect] in approved]
    return replace(options, allow_open_work=tuple(Glob.parse(str(address)) for address in shown))


def _recovered(run: Run) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """Find out what happened to the requests of earlier runs that are in doubt: a sentence for each; and who holds the state, if another
    run does. Sends GET requests only."""
    with run.store() as store:
        condition, doubtful = store.condition(), store.read().intents
    if not doubtful or condition.held:
        return (), _holder(condition)

    async def wait(seconds: float, why: str) -> None:
        run.voice.waiting(seconds, why)
        await asyncio.sleep(seconds)

    try:
        with run.leased(RECOVER) as (store, journal):
            kinds = keyed(run.plain, store.digest_key(), run.project)
            lasting = run.service.effect_seconds(run.project)
            notes = run.ask(lambda reader: recover(reader, kinds, run.project.desired, journal, settle=lasting, wait=wait))
            journal.finish(exit_code=exits.DONE, summary={})
    except Locked:
        with run.store() as store:
            return (), _holder(store.condition())
    return notes, None


def _holder(condition: Condition) -> dict[str, Any] | None:
    """Who holds the state, as JSON: `seconds`: until the lease expires unless it is renewed, None where nobody knows. None if nobody
    does."""
    if not condition.held:
        return None
    holder = condition.holder
    by = f"{holder.who} has been running `{holder.command}`" if holder is not None else "somebody"
    return {"by": by, "seconds": condition.seconds}


def _proposal(run: Run, planned: Planned, changed: Drift, document: DriftDocument) -> dict[str, ProposalDocument]:
    """What was changed outside Reconciler as files, by the name of the document; empty where no file can have it, and where a file contains
    a secret in plain text, which must not be stored."""
    masks = run.voice.masks
    try:
        sheet = drift_sheet(masks.data(changed))
        accepted = accepted_drift(run, planned, changed, sheet)
    except ReconcilerError as error:
        run.voice.warn(f"what was changed outside Reconciler cannot be proposed: {error.message}", id=error.id)
        return {}
    if not accepted.files or any(masks.text(text) != text for text in accepted.files.values()):
        return {}
    return {"proposal": accepted_document(accepted, texts(run.operation.project, run.kinds)[1], document)}


def _checks(run: Run, inputs: HealthInputs, file: Path | None) -> tuple[healths.TimedCheck, ...]:
    """The checks that cost requests, made again where that is due. `file`: those of the last run."""
    checks = CHECKS.of(run.project.desired.features)
    digest, every = hashlib.sha256(repr(checks).encode()).hexdigest(), checks.every * 3_600
    before = healths.checks_of(json.loads(file.read_text(encoding="utf-8"))) if file is not None else ()
    fresh = {check.result.name: check.result for check in before if not check.is_due(inputs.now, digest)}
    results = run.ask(lambda reader: checked(reader, inputs, checks, fresh))
    return tuple(healths.TimedCheck(result, every, digest) for result in results if result.on)


def _allowing(allowed: str, folder: Path) -> Callable[[JudgedProject], None]:
    """Raises `Refused` if the files have a name that the fleet file does not allow them, which is in `claimed.json` then."""

    def admit(judged_project: JudgedProject) -> None:
        name = judged_project.project.settings.project
        if not claims.is_allowed(allowed, name):  # before the state is opened: it may be another tenant's
            write_report(folder / "claimed.json", as_json(name))
            raise Refused(
                f"the files are of project {name}, and the fleet file allows {allowed or 'none'}",
                id="RC-fleet-project-not-allowed",
                hint=f"If this project may use that state, write project: {name} for it in the fleet file.",
            )

    return admit


@click.command("rehearse")
@shared.project_argument()
@shared.of_child()
@click.option("--allowed-project", "allowed", required=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--sent", required=True)
@click.option("--reading", required=True)
@click.option("--approved", multiple=True)
@shared.output()
@click.pass_obj
def rehearse_command(
    screen: Screen, /, allowed: str, folder: Path, sent: str, reading: str, approved: tuple[str, ...], **parameters: Any
) -> int:
    """Rehearse the plan that would send what has this digest, if the reading is still the one with that digest."""
    options = Options.of(screen, parameters)
    with Run.open(options.operation, TerminalVoice(screen), admit=_allowing(allowed, folder)) as run:

        def limited(planned: Planned) -> Planned:
            inputs = plan_file.plan_inputs(options.recorded, run.project, planned.state, run.service.identity, rules=run.judged.origin)
            digests = plan_file.digests_of(run.voice, planned.state.lineage, run.seen.key)
            whole = saved_plan(planned.plan, run.kinds, planned.actual, created_at=now(), inputs=inputs, digests=digests)
            if (sent_digest(whole), _reading_digest(planned.actual)) != (sent, reading):
                raise StalePlan(
                    "the service or the state changed while the plan was rehearsed",
                    id="RC-fleet-plan-moved",
                    hint="Rehearse the plan that follows from it.",
                )
            # In a fleet, the approval of an exposure is the consent to it.
            limits = _covered(options, planned.plan, approved).operation.limits.with_exposures
            return replace(planned, operation=replace(planned.operation, limits=limits))

        rehearsal = screen.masked_data(rehearse(run, everything=True, limited=limited))
    document = rehearsal_document(rehearsal)
    write_report(folder / "rehearsal.json", screen.masked(as_json(document)))
    write_report(folder / "rehearsal.txt", screen.masked(plain(sheet_text(rehearsal_sheet(document)))))
    return exits.DONE


def _undone(store: Store, run: str) -> dict[str, Any]:
    """A run of `undo`, and the addresses that it changed."""
    addresses = {
        str(address)
        for state_change in store.state_changes(run)
        for address in (state_change.address, state_change.old)
        if address is not None
    }
    for entry in store.entries(run):
        if entry.status not in ("failed", "not-sent"):
            addresses |= {str(address) for address in (entry.intent.address, *entry.bound, *entry.forgotten)}
    return {"run": run, "addresses": sorted(addresses)}


def _reading_digest(actual: Actual) -> str:
    """A digest of what the service contained, as far as a plan can depend on it: the values and the places of all objects of the
    organization, managed or not, and what could not be read. Texts of pages and what the service counts or derives are no part of it."""
    objects = {
        kind: {id: [seen.values, seen.within, seen.flags, seen.rank, seen.deleted_at is not None] for id, seen in by_id.items()}
        for kind, by_id in actual.objects.items()
    }
    unread = sorted(f"{unknown.what}: {unknown.reason}" for unknown in actual.unknown)
    return hashlib.sha256(json.dumps([objects, unread], sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A value in a form that JSON has."""
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(map(repr, value)) if isinstance(value, (set, frozenset)) else repr(value)


child = Program(
    name="fleet_child",
    commands_by_name={
        "read": Lazy("reconciler.fleet.program.child:read_command", "Read."),
        "rehearse": Lazy("reconciler.fleet.program.child:rehearse_command", "Rehearse."),
        "apply": Lazy("reconciler.cli.commands.apply", "Apply."),
    },
)


def main() -> None:
    """Import what runs need, and be the process of each run behind the gate of the worker."""
    load_kinds()
    sys.argv[1:] = forked(socket.socket(fileno=int(sys.argv[1])))
    gate_client = GateClient(os.environ[VARIABLE])
    rules: tuple[str, Path] | None = None
    if RULES in os.environ:
        commit, _, folder = os.environ[RULES].partition(":")
        rules = commit, Path(folder)
    applies = sys.argv[1:2] == ["apply"]
    begin = partial(gate_client.refusal, BEGIN) if applies else None
    permission = gate_client.refusal if applies else None
    child.main(obj=Screen(Supervision(budget=gate_client, permission=permission, rules=rules, begin=begin, writes=False)))


if __name__ == "__main__":
    main()
