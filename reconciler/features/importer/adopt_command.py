"""`reconciler adopt`: track one object at an address; resolves requests in doubt about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.address import Address, Glob, Selection, bare
from reconciler.cli import completion, options as shared
from reconciler.cli.opening import confirm_new_state, opened
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused, UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import Binding, Desired, Plan, State
from reconciler.model.codec import path_ids
from reconciler.resource import Kinds
from reconciler.run.opened import Run
from reconciler.run.operation import Operation
from reconciler.run.rules import JudgedProject
from reconciler.state import IntentEnding


@click.command("adopt", short_help="Track an existing object at an address.")
@click.argument("address", callback=shared.address, shell_complete=completion.addresses)
@click.argument("id", required=False)
@shared.project()
@shared.service()
@shared.state()
@shared.lease()
@shared.creating()
@shared.output()
@click.pass_obj
def command(screen: Screen, /, address: Address, id: str | None, **parameters: Any) -> None:
    """Track the object with this id at a declared address. Sends no writes; resolves a create in doubt at that address.

    Omit ID if the address has no key, because its container has only one such object.

    \b
    Example:
      reconciler adopt acme/team/writers team_9f2 examples/acme --sandbox .reconciler/acme.db
    """
    kinds = load_kinds()
    if address.kind in kinds and kinds.of(address).one_per:  # it has no id: the argument after the address is the project
        parameters, id = (
            {**parameters, "project": Path(id) if id is not None and parameters["project"] == Path() else parameters["project"]},
            None,
        )
    elif id is None:
        raise UsageError(
            f"the id of the object for {address} is missing", id="RC-missing-argument", hint="Run `reconciler adopt ADDRESS ID`."
        )
    options = Options.of(screen, parameters)
    meant: list[tuple[str | None, Desired]] = []

    def admit(judged_project: JudgedProject) -> None:
        identity = _identity(kinds, judged_project.project.desired, address, id)
        meant.append((identity, _as_if_written(judged_project.project.desired, address, identity)))

    with opened(screen, options, admit=admit) as run:
        confirm_new_state(screen, options, run.project, run.service)
        binding = _adopted(run, address, *meant[0])
    screen.out(f"{address} now tracks {bare(binding.id)}.\n")


def _adopted(run: Run, address: Address, id: str | None, desired: Desired) -> Binding:
    """The binding, recorded in the state."""
    with run.leased("adopt") as (_, journal):
        state = journal.state()
        _check_free(state, address, id, desired.resources[address].kind)
        settled = replace(state, intents=tuple(intent for intent in state.intents if intent.address != address))
        operation = Operation(selection=Selection((Glob.parse(str(address)),)))
        with run.reading(bare(id) if id is not None else str(address)):
            planned = run.ask(lambda reader: run.make(reader, desired=desired, state=settled, operation=operation, pages=False))
        binding = _planned_binding(planned.plan, settled, address, id)
        doubtful = [intent for intent in state.intents if intent.address == address]
        intents = [intent for intent in doubtful if intent.verb == "create"]
        again = [IntentEnding(intent.id, "not-sent", "resolved by hand: planned again") for intent in doubtful if intent not in intents]
        journal.settle([*again, *(IntentEnding(intent.id, "recovered", None, bind=(binding,)) for intent in intents)])
        if not intents:
            journal.remember(bind=[binding])
        journal.finish(exit_code=exits.DONE, summary={})
    return binding


def _identity(kinds: Kinds, desired: Desired, address: Address, id: str | None) -> str | None:
    """The engine's form of an object's id at this address; None for an object without an id."""
    if id is None:
        return None
    ids = {at: declared.id for at, declared in desired.resources.items()}
    kind = kinds.of(address)
    return kind.identity(bare(id), path_ids(kinds, address.container, ids.get)) if kind.local_ids else id


def _as_if_written(desired: Desired, address: Address, id: str | None) -> Desired:
    """The project as if the YAML contained the object's id, if it has one."""
    declared = desired.resources.get(address)
    if declared is None or declared.implied:
        raise UsageError(
            f"{address} is not declared", id="RC-not-declared", hint="Declare it in the YAML first; adopt only tracks declared resources."
        )
    if declared.id is not None and id is not None and declared.id != id:
        wrong = f"the YAML names {bare(declared.id)} for {address}"
        raise UsageError(wrong, id="RC-another-id-declared", hint=f"Write id: {bare(id)} there, or remove the id.")
    return replace(desired, resources={**desired.resources, address: replace(declared, id=id, adopt=True)})


def _check_free(state: State, address: Address, id: str | None, kind: str) -> None:
    held = state.bindings.get(address)
    if id is None:
        return
    if held is not None and held.id != id:
        wrong = f"{address} already tracks {bare(held.id)}"
        raise Refused(wrong, id="RC-already-tracked", hint="Stop managing that object first: reconciler state forget ADDRESS.")
    other = next(
        (binding.address for binding in state.bindings.values() if binding.key == (kind, id) and binding.address != address),
        None,
    )
    if other is not None:
        wrong = f"{bare(id)} is already tracked as {other}"
        raise Refused(wrong, id="RC-already-tracked", hint=f"If its key changed, write previously: on {address}.")


def _planned_binding(plan: Plan, state: State, address: Address, id: str | None) -> Binding:
    """The binding that the planner would store. Raises `Refused` if it would not adopt the object."""
    blocked = next((blocking for blocking in plan.blocked if blocking.address == address), None)
    binding = plan.state_update.bind.get(address) or state.bindings.get(address)
    if binding is None or (id is not None and binding.id != id):
        what = f"no such object as {bare(id)} for {address}" if id is not None else f"no {address.kind} in {address.container}"
        reason = f"{address}: {blocked.reason}" if blocked is not None else f"there is {what}"
        raise Refused(
            reason, id=blocked.id if blocked is not None else "RC-no-such-object", hint=blocked.remedy if blocked is not None else None
        )
    return binding
