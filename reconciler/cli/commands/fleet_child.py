"""The runs of a fleet's worker: `python -m reconciler.cli.commands.fleet_child SOCKET` imports the program, and forks a process for each
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
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from reconciler.address import Glob
from reconciler.apply.recover import STILL_IN_DOUBT, recover
from reconciler.cli import exits, options as shared
from reconciler.cli.checks.rules_from import JudgedProject, judged
from reconciler.cli.commands import apply as _apply  # noqa: F401  imported once, before the runs are forked
from reconciler.cli.drift.proposals import drift_proposal
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, Program
from reconciler.cli.reports import write_report
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring import plan_file, run
from reconciler.cli.wiring.approval import sent_digest, sent_parts
from reconciler.cli.wiring.connect import ConnectedService, connect, open_store, recording_end
from reconciler.cli.wiring.leases import leased
from reconciler.cli.wiring.loading import load, now
from reconciler.cli.wiring.rehearsal import rehearse
from reconciler.cli.wiring.supervision import Supervision
from reconciler.cli.wiring.unseen import kept_trees, unseen
from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.config.source.includes import texts
from reconciler.errors import Locked, ReconcilerError, Refused, StalePlan
from reconciler.fleet import health as healths
from reconciler.fleet.declared import claims
from reconciler.fleet.model import ChangeClass
from reconciler.fleet.rehearsals import reading_digest
from reconciler.fleet.runs.forks import forked
from reconciler.fleet.runs.gate import BEGIN, RULES, VARIABLE, Turnstile
from reconciler.kinds import load as load_kinds
from reconciler.model import CheckResult, HealthChecks, WorkEffect
from reconciler.model.drift import Drift, DriftBounds
from reconciler.observe.health import checked
from reconciler.plan.drift import drift, grouped
from reconciler.plan.health import HealthInputs, health
from reconciler.report.documents import drift_document, plan_document
from reconciler.report.drift import drift_sheet
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.proposal import proposal_document
from reconciler.report.rehearsal import rehearsal_document, rehearsal_sheet
from reconciler.report.saved import saved_plan
from reconciler.report.schemas.plan import DriftDocument
from reconciler.report.schemas.proposal import ProposalDocument
from reconciler.report.sheet import sheet_text
from reconciler.resource import Kinds
from reconciler.run.guards import check
from reconciler.state import Store
from reconciler.state.history import RECOVER
from reconciler.state.lease import Condition
from reconciler.text.escape import as_json

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
@click.option("--keep", is_flag=True)
@click.option("--save", is_flag=True)
@click.option("--known-checks", type=click.Path(path_type=Path))
@click.option("--approved", multiple=True)
@click.option("--began", default="")
@shared.output()
@click.pass_obj
def read_command(
    screen: Screen, /, allowed: str, folder: Path, keep: bool, save: bool, known_checks: Path | None, approved: tuple[str, ...],
    began: str, **parameters: Any,
) -> int:  # fmt: skip
    """Read the service once, and write what a plan and a drift of that reading say. `began`: the digest of the saved plan of an apply
    that did not end, "" for none."""
    options, kinds = Options.of(screen, parameters), load_kinds()
    by = _allowed(screen, options, kinds, allowed, folder)
    project = by.project
    with connect(screen, options, project, kinds) as service:
        recovered, locked = _recovered(screen, options, project, kinds, service) if save else ((), None)
        with open_store(screen, options, project, service, create=False) as store:
            # What an earlier run was allowed to open does not count here: in a fleet, approvals do.
            state, key = replace(store.read(), consents=frozenset()), store.digest_key()
            recorded = store.recorded_by(began) if began else None
            unknown = unseen(options, project, service, store)
            new = unknown.project if unknown is not None else ""
            undone, verified = [_undone(store, id) for id in store.undos()], store.verified()
        kinds = kinds.with_digest_key(key, project.sensitive)
        narration, kept = Narration(screen), kept_trees(screen, options, project, service)
        planned = run.read_only(narration, service, kinds, project.desired, state, options.operation, everything=True, kept=kept)
        changed = drift(kinds, project.desired, state, planned.actual, planned.plan, selection=options.operation.selection, whole=True)
        made_at = now()
        bounds = DriftBounds(verified, planned.actual.date or made_at)
        changed = grouped(kinds, project.desired, planned.actual, planned.matches, changed, between=bounds)
        given = HealthInputs(kinds, project.desired, state, planned.actual, changed, planned.actual.date or made_at)
        checks = _checks(narration, service, given, project.settings.health, known_checks)
    # Whoever approves a change of a class is shown the work that it ends: the digest that they approve contains it.
    shown = [work.address for work in planned.plan.open_work if CLASSES[work.effect] in approved]
    limits = replace(options.limits.with_exposures, open_work=tuple(Glob.parse(str(address)) for address in shown))
    planned = replace(planned, plan=replace(planned.plan, notes=(*by.notes, *planned.plan.notes)))
    refused = ""
    try:
        check(planned.plan, project.desired, limits)
    except Refused as error:
        refused = f"{error.message}; {error.hint}" if error.hint else error.message
    concerns, unread = health(given, unseen=f"its state has never seen {new}" if new else "")
    plan, outside = screen.masked_data(planned.plan), screen.masked_data(changed)
    inputs = plan_file.plan_inputs(options, project, state, service.identity, rules=by.origin)
    digests = plan_file.digests_of(screen, state.lineage, key)
    about: dict[str, Any] = {
        "project": project.settings.project,
        "environment": options.env,
        "service": service.identity,
        "newState": new,
        "lineage": state.lineage,
        "refused": screen.masked(refused),
        "reading": reading_digest(planned.actual),
        "health": healths.as_data(healths.HealthReading(concerns, unread, checks=checks)),
        "digest": None,
        "undone": undone,
        "pending": planned.plan.pending,
        "inDoubt": [screen.masked(note) for note in recovered if STILL_IN_DOUBT in note],
        "locked": locked,
        "recorded": sorted(recorded) if recorded is not None else None,
    }
    if keep and not new:
        whole = saved_plan(planned.plan, kinds, planned.actual, created_at=made_at, inputs=inputs, digests=digests)
        about["digest"], about["parts"] = sent_digest(whole), sent_parts(whole)
    documents: dict[str, Any] = {
        "plan": plan_document(plan, created_at=made_at, forecast=planned.forecast),
        "drift": drift_document(outside),
        "reading": about,
    }
    if changed.resources and not new:
        documents |= _proposal(screen, options, kinds, project, planned, changed, documents["drift"])
    if save and not refused and not new:
        plan_file.write(screen, folder / "saved.json", planned, kinds, inputs=inputs, digests=digests, created_at=made_at)
        about["saved"] = plan_file.read(folder / "saved.json").digest
    if keep:
        write_report(folder / "plan.txt", screen.masked(plain(sheet_text(plan_sheet(plan)))))
    for name, document in documents.items():
        write_report(folder / f"{name}.json", screen.masked(as_json(document)))
    return exits.DONE


def _recovered(
    screen: Screen, options: Options, project: Project, kinds: Kinds, service: ConnectedService
) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """Find out what happened to the requests of earlier runs that are in doubt: a sentence for each; and who holds the state, if another
    run does. Sends GET requests only."""
    with open_store(screen, options, project, service, create=False) as store:
        condition, doubtful = store.condition(), store.read().intents
    if not doubtful or condition.held:
        return (), _holder(condition)
    narration, lasting = Narration(screen), service.effect_seconds(project)

    async def wait(seconds: float, why: str) -> None:
        narration.waiting(seconds, why)
        await asyncio.sleep(seconds)

    try:
        with (
            open_store(screen, options, project, service, create=True) as store,
            leased(screen, options, store, command=RECOVER) as journal,
            recording_end(journal),
        ):
            keyed = kinds.with_digest_key(store.digest_key(), project.sensitive)

            async def settle() -> tuple[str, ...]:
                async with Reader(service.settings, listener=narration) as reader:
                    return await recover(reader, keyed, project.desired, journal, settle=lasting, wait=wait)

            notes = asyncio.run(settle())
            journal.finish(exit_code=exits.DONE, summary={})
    except Locked:
        with open_store(screen, options, project, service, create=False) as store:
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


def _proposal(
    screen: Screen, options: Options, kinds: Kinds, project: Project, planned: run.Planned, changed: Drift, document: DriftDocument
) -> dict[str, ProposalDocument]:  # fmt: skip
    """What was changed outside Reconciler as files, by the name of the document; empty where no file can have it, and where a file contains
    a secret in plain text, which must not be stored."""
    try:
        proposal = drift_proposal(screen, options, kinds, project, planned, changed, drift_sheet(screen.masked_data(changed)))
    except ReconcilerError as error:
        screen.warn(f"what was changed outside Reconciler cannot be proposed: {error.message}", id=error.id)
        return {}
    if not proposal.files or any(screen.masked(text) != text for text in proposal.files.values()):
        return {}
    return {"proposal": proposal_document(proposal, texts(options.project, kinds)[1], document)}


def _checks(
    narration: Narration, service: ConnectedService, inputs: HealthInputs, checks: HealthChecks, file: Path | None
) -> tuple[healths.TimedCheck, ...]:
    """The checks that cost requests, made again where that is due. `file`: those of the last run."""
    digest, every = hashlib.sha256(repr(checks).encode()).hexdigest(), checks.every * 3_600
    before = healths.checks_of(json.loads(file.read_text(encoding="utf-8"))) if file is not None else ()
    fresh = {check.result.name: check.result for check in before if not check.is_due(inputs.now, digest)}

    async def ask() -> tuple[CheckResult, ...]:
        async with Reader(service.settings, listener=narration) as reader:
            return await checked(reader, inputs, checks, fresh)

    results = asyncio.run(ask())
    return tuple(healths.TimedCheck(result, every, digest) for result in results if result.on)


def _allowed(screen: Screen, options: Options, kinds: Kinds, allowed: str, folder: Path) -> JudgedProject:
    """The project. Raises `Refused` if its files have a name that the fleet file does not allow them; the name is in `claimed.json`
    then."""
    loaded = load(screen, options, kinds)
    if not claims.is_allowed(allowed, loaded.settings.project):  # before the state is opened: it may be another tenant's
        write_report(folder / "claimed.json", as_json(loaded.settings.project))
        raise Refused(
            f"the files are of project {loaded.settings.project}, and the fleet file allows {allowed or 'none'}",
            id="RC-fleet-project-not-allowed",
            hint=f"If this project may use that state, write project: {loaded.settings.project} for it in the fleet file.",
        )
    return judged(screen, options, kinds, loaded)


@click.command("rehearse")
@shared.project_argument()
@shared.of_child()
@click.option("--allowed-project", "allowed", required=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--sent", required=True)
@click.option("--reading", required=True)
@shared.output()
@click.pass_obj
def rehearse_command(screen: Screen, /, allowed: str, folder: Path, sent: str, reading: str, **parameters: Any) -> int:
    """Rehearse the plan that would send what has this digest, if the reading is still the one with that digest."""
    options, kinds = Options.of(screen, parameters), load_kinds()
    by = _allowed(screen, options, kinds, allowed, folder)
    with connect(screen, options, by.project, kinds) as service:
        with open_store(screen, options, by.project, service, create=False) as store:
            key = store.digest_key()
        keyed = kinds.with_digest_key(key, by.project.sensitive)

        def check(planned: run.Planned) -> None:
            inputs = plan_file.plan_inputs(options, by.project, planned.state, service.identity, rules=by.origin)
            digests = plan_file.digests_of(screen, planned.state.lineage, key)
            whole = saved_plan(planned.plan, keyed, planned.actual, created_at=now(), inputs=inputs, digests=digests)
            if (sent_digest(whole), reading_digest(planned.actual)) != (sent, reading):
                raise StalePlan(
                    "the service or the state changed while the plan was rehearsed",
                    id="RC-fleet-plan-moved",
                    hint="Rehearse the plan that follows from it.",
                )

        # In a fleet, the approval of an exposure is the consent to it.
        consenting = replace(options, allow_exposure=(Glob.parse("**"),))
        rehearsal = screen.masked_data(rehearse(screen, consenting, by.project, kinds, service, everything=True, check=check))
    write_report(folder / "rehearsal.json", screen.masked(as_json(rehearsal_document(rehearsal))))
    write_report(folder / "rehearsal.txt", screen.masked(plain(sheet_text(rehearsal_sheet(rehearsal)))))
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


child = Program(
    name="fleet_child",
    commands_by_name={
        "read": Lazy("reconciler.cli.commands.fleet_child:read_command", "Read."),
        "rehearse": Lazy("reconciler.cli.commands.fleet_child:rehearse_command", "Rehearse."),
        "apply": Lazy("reconciler.cli.commands.apply", "Apply."),
    },
)


def main() -> None:
    """Import what runs need, and be the process of each run behind the gate of the worker."""
    load_kinds()
    sys.argv[1:] = forked(socket.socket(fileno=int(sys.argv[1])))
    turnstile = Turnstile(os.environ[VARIABLE])
    rules: tuple[str, Path] | None = None
    if RULES in os.environ:
        commit, _, folder = os.environ[RULES].partition(":")
        rules = commit, Path(folder)
    applies = sys.argv[1:2] == ["apply"]
    begin = partial(turnstile.refusal, BEGIN) if applies else None
    child.main(obj=Screen(Supervision(turnstile, turnstile.refusal if applies else None, rules, begin)))


if __name__ == "__main__":
    main()
