"""`reconciler import`: write an existing organization as a project, and track every object in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.commands.init import IGNORED
from reconciler.cli.loading import loaded
from reconciler.cli.opening import confirm_hosts, confirm_new_state, connected, leased_state, store_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.config.keys import BASE_URL, MEMBER, READ_PEOPLE, SANDBOX
from reconciler.config.schemas.document import dumped
from reconciler.errors import UsageError, os_reason
from reconciler.features.importer.project import LIMITS, PROJECT_FILE, SPLIT, ImportedProject, NewFiles, project as project_of
from reconciler.features.importer.reading import SCHEMA, additions_of, certificates, declared, objects_text, read_organization, with_reader
from reconciler.files import path_from_here
from reconciler.kinds import load as load_kinds
from reconciler.links import read_file
from reconciler.model import Actual, Observed, Plan, State
from reconciler.observe.everything import roots
from reconciler.observe.readers import people as members, reaching
from reconciler.plan.changes import journal_changes
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.connection import trust
from reconciler.run.connection.connecting import ConnectedService
from reconciler.run.connection.unseen import origin
from reconciler.run.loading import keyed
from reconciler.text.escape import terminal
from reconciler.writing import FolderChange

FOUND_MAX = 20  # sentences about what is missing; the files hold all of them


@click.command("import", short_help="Import an existing organization as a project.")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", required=False)
@click.option("--org", metavar="ID", help="The id of the organization to import. Without it, list the available organizations.")
@click.option("--dry-run", is_flag=True, allow_from_autoenv=False, help="Print the files without writing or tracking anything.")
@click.option("--into", is_flag=True, allow_from_autoenv=False, help="Add to the project in DIR what it does not declare yet.")
@click.option("--split", is_flag=True, help="Write a file for each collection and each site, also of a small organization.")
@click.option(
    "--member", metavar="EMAIL", help="The owner of the token, written as service.member. Default: a member with access to everything."
)
@click.option("--people", is_flag=True, help="Also read who is in each team, and what single people were given: 1 or 2 requests a member.")
@click.option("--access-tests", is_flag=True, help="Also write who can read what today as tests that keep it; with --people also by name.")
@shared.reading()
@shared.service()
@shared.state()
@shared.lease()
@shared.creating()
@shared.output()
@click.pass_obj
def command(
    screen: Screen,
    /,
    directory: Path | None,
    org: str | None,
    dry_run: bool,
    into: bool,
    split: bool,
    member: str | None,
    people: bool,
    access_tests: bool,
    **parameters: Any,
) -> int:
    """Import an existing organization: write it as a project, and track every object in it. Sends only GET requests.

    The environment names the service and the token: RECONCILER_BASE_URL (or --base-url) and RECONCILER_TOKEN. If anything fails, nothing is
    written, and the command can be repeated.

    \b
    Example:
      reconciler import acme --org org_acme --sandbox .reconciler/acme.db
      reconciler import acme --org org_acme --split --people
      reconciler import acme --org org_acme --people --access-tests
      reconciler import acme --into --env staging
    """
    options = Options.of(screen, {**parameters, "project": directory or Path()})
    kinds = load_kinds()
    narration = TerminalVoice(screen)
    if org is not None and directory is None:
        raise UsageError("no directory was given", id="RC-missing-argument", hint=f"Name a directory: reconciler import DIR --org {org}")
    if into and directory is None:
        raise UsageError("no project was given", id="RC-missing-argument", hint="Name its directory: reconciler import DIR --into")
    if into and member is not None:
        raise UsageError("--member only applies to a new project", id="RC-options-conflict", hint="Set service.member in reconciler.yaml.")
    if into and access_tests:
        hint = "reconciler access shows what is true; write entries of access for what must stay so."
        raise UsageError("--access-tests only applies to a new project", id="RC-options-conflict", hint=hint)
    limits = SPLIT if split else LIMITS
    project = loaded(screen, options, kinds) if into else None
    with connected(screen, options, project, kinds if into else None) as service:
        org = org if project is None else declared(project, org)
        if org is None or directory is None:
            _list(screen, narration, service, kinds)
            return 0
        if project is None:
            _check_empty(directory)
        actual = read_organization(narration, service, kinds, org, people=people)
        importing = Importing(narration, options, service, kinds, actual)
        if project is not None:
            if not dry_run:
                confirm_new_state(screen, options, project, service)
            confirm_hosts(screen, options, project)
            imported = additions_of(options.operation, narration, kinds, (service, actual), project, limits)
        else:
            owner = _owner(screen, kinds, actual, member)
            with narration.lasting(f"Describing {objects_text(actual)} in YAML"):
                new = NewFiles(SCHEMA, limits, certificates(directory), access_tests)
                settings = _service(service, options, directory, owner) | ({READ_PEOPLE: True} if people else {})
                imported = project_of(kinds, actual, new, service=settings)
        if dry_run:
            for path, text in imported.files.items():
                screen.out("\n".join(map(terminal, [f"--- {path}", *text.split("\n"), ""])))
            _tell_missing(screen, imported)
            return exits.PARTLY if actual.unknown or imported.unwritable else exits.DONE
        return _import(importing, imported, project)


@dataclass(frozen=True)
class Importing:
    """What an import reads, and what was asked for."""

    narration: TerminalVoice
    options: Options
    service: ConnectedService
    kinds: Kinds
    actual: Actual


def _import(importing: Importing, imported: ImportedProject, project: Project | None) -> int:
    """Write the files and track the objects, or change nothing. `project`: the one that exists, None for a new one."""
    options, service, kinds, actual = importing.options, importing.service, importing.kinds, importing.actual
    screen = importing.narration.screen
    phase = f"Checking {count(len(imported.files), 'written file')}"
    with _changed(options.project) as change:
        with _writing():
            _write(change, imported.files, kinds, project)
        written = loaded(screen, replace(options, project=change.root), kinds, phase=phase)
        if project is None:
            _check_untracked(screen, options, written, service)
        # A state in a new folder appears together with it. Any other state would track what no file declares, if the folder came later.
        together = change.is_hidden and origin(options.operation, written) is None
        if change.is_hidden and not together:
            with _writing():
                change.complete()
            written = loaded(screen, options, kinds, phase=phase)
        new_plan, before = _adopt(importing, written, keep=None if together else change.keep)
        with _writing():
            change.complete()
    _tell(screen, options.project, new_plan, imported, before=before)
    if project is None and not service.embedded:
        _confirm_host(screen, options.project, service)
    return exits.PARTLY if _differing(new_plan) or actual.unknown or imported.unwritable else exits.DONE


@contextmanager
def _changed(directory: Path) -> Iterator[FolderChange]:
    """The files of a directory that this block writes; if it fails, they are as before."""
    with _writing():
        change = FolderChange(directory)
    try:
        yield change
    except BaseException:
        change.take_back()
        raise


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        at = f": {error.filename}" if error.filename else ""
        raise UsageError(f"the project cannot be written: {os_reason(error)}{at}", id="RC-file-not-written") from error


def _confirm_host(screen: Screen, directory: Path, service: ConnectedService) -> None:
    """Record that the new project may use the host that the user named for its import."""
    try:
        trust.remember(directory, service.settings.base_url)
    except UsageError as error:
        screen.say(f"{error}. So the first command in a terminal asks whether to trust {service.where}.")


def _list(screen: Screen, narration: TerminalVoice, service: ConnectedService, kinds: Kinds) -> None:
    """The organizations within reach, one a line."""
    with narration.phase(f"Asking {service.where} for organizations"):
        candidates = asyncio.run(with_reader(narration, service, lambda reader: roots(reader, kinds)))
    for root in candidates:
        screen.out(f"{terminal(str(root.get('id', '')))}  {terminal(str(root.get('title', '')))}\n")
    screen.say("Next: reconciler import DIR --org ID" if candidates else "This token has no access to any organization.")


def _service(service: ConnectedService, options: Options, directory: Path, owner: str | None) -> dict[str, object]:
    """The words by which the project finds this service again."""
    if options.sandbox is not None:
        settings: dict[str, object] = {SANDBOX: Path(os.path.relpath(options.sandbox, directory)).as_posix()}
    else:
        settings = {BASE_URL: service.settings.base_url}
    return settings if owner is None else {**settings, MEMBER: owner}


def _owner(screen: Screen, kinds: Kinds, actual: Actual, named: str | None) -> str | None:
    """The key of the member who owns the token: the named one, else the first of those who reach most, which is said; None without any."""

    def keys(objects: Iterable[Observed]) -> list[str]:
        values = (observed.values.get(kinds[observed.kind].place.key_is or "") for observed in objects)
        return [value for value in values if isinstance(value, str)]

    if named is not None:
        owner = next((key for key in keys(members(kinds, actual.objects)) if key.casefold() == named.casefold()), None)
        if owner is None:
            wrong = f"{named} is not a member of the organization"
            raise UsageError(wrong, id="RC-not-a-member", hint="Pass the e-mail of a member: --member ada@acme.example")
        return owner
    able = keys(sorted(reaching(kinds, actual.objects), key=lambda observed: observed.id))
    if len(able) > 1:
        choice = f"Took {terminal(able[0])}, one of {len(able)} with access to everything, as the owner of the token."
        screen.say(f"{choice} If that is wrong, correct service.member.")
    return able[0] if able else None


def _check_empty(directory: Path) -> None:
    file = directory / "reconciler.yaml"
    if file.exists() or file.is_symlink():
        hint = "Add what is missing with --into, or name another directory."
        raise UsageError(f"{path_from_here(directory)} already contains a project", id="RC-project-exists", hint=hint)


def _check_untracked(screen: Screen, options: Options, project: Project, service: ConnectedService) -> None:
    """Raises `UsageError` where a shared state tracks a project of that name, whose plan would delete what only these files declare."""
    source = origin(options.operation, project)
    if source is None:
        return
    with store_of(screen, options, project, service) as store:
        if not store.read().bindings:
            return
        where = store.condition().where
    raise UsageError(
        f"{where} already tracks project {project.settings.project} on {service.where}",
        id="RC-project-exists",
        hint=f"Add to its files with --into. If it is another project, or its files are lost, choose an empty state with {source}.",
    )


def _adopt(importing: Importing, project: Project, *, keep: Callable[[], None] | None) -> tuple[Plan, State]:
    """Track what the planner finds in what was read; the plan, and the state before it. The project was loaded as any is. `keep`: called
    once the state depends on the files; None where both disappear together."""
    actual, screen = importing.actual, importing.narration.screen
    with leased_state(screen, importing.options, project, importing.service, command="import") as (store, journal):
        with importing.narration.lasting(f"Tracking {objects_text(actual)}"):
            state, kinds = journal.state(), keyed(importing.kinds, store.digest_key(), project)
            new_plan = prove(World(kinds, project.desired, state, actual), plan(kinds, project.desired, state, actual))
            with importing.options.supervision.signals.uninterrupted():
                journal.remember(**journal_changes(new_plan.state_update))
                if keep is not None:
                    keep()
            journal.remember(places=new_plan.places)
        journal.finish(exit_code=exits.PARTLY if _differing(new_plan) else exits.DONE, summary={})
    return new_plan, state


def _differing(plan: Plan) -> list[str]:
    """What differs from what was read, as parts of a sentence."""
    return [str(step.address) for step in plan.steps] + [f"{blocked.address}: {blocked.reason}" for blocked in plan.blocked]


def _write(change: FolderChange, files: Mapping[str, str], kinds: Kinds, project: Project | None) -> None:
    """Write the files, and what editors need. Raises `UsageError` and OSError; of what exists only the files of the project are touched."""
    mine = [] if project is None else [path.resolve() for path in map(project.settings.root.joinpath, project.settings.files)]
    existing = [path for path, text in files.items() if (change.root / path).resolve() not in mine and _differs(change.root / path, text)]
    if existing:
        raise UsageError(
            f"{path_from_here(change.target / existing[0])} already exists",
            id="RC-project-exists",
            hint="Name another directory, or move it away.",
        )
    beside = {".gitignore": IGNORED, SCHEMA: dumped(kinds)}
    change.create_folder(".reconciler", mode=0o700)
    new = {path: text for path, text in beside.items() if not (change.root / path).exists()}
    # The project file comes last: if this program is killed before, there is no project yet, and the import can be repeated.
    for path, text in sorted({**new, **files}.items(), key=lambda file: file[0] == PROJECT_FILE):
        place = (change.root / path).resolve()
        # A link to a file of the project stays one.
        change.write(path, text, place=place if place in mine else None)


def _differs(file: Path, text: str) -> bool:
    """Whether a file exists and contains something else."""
    return os.path.lexists(file) and not (file.is_file() and read_file(file, len(text.encode())) == text.encode())


def _tell(screen: Screen, directory: Path, plan: Plan, imported: ImportedProject, *, before: State) -> None:
    """Say what was done. `before`: what the state tracked until then."""
    files, objects = count(len(imported.files), "file"), count(len(plan.state_update.bind.keys() - before.bindings.keys()), "object")
    screen.out(f"Wrote {files} to {path_from_here(directory)} and tracked {objects}.\n")
    _tell_missing(screen, imported)
    differing = _differing(plan)
    if differing:
        screen.say("These differ from what was read: " + "; ".join(dict.fromkeys(differing)))
    screen.say(f"Next: reconciler plan {path_from_here(directory)}")


def _tell_missing(screen: Screen, imported: ImportedProject) -> None:
    for missing in imported.missing[:FOUND_MAX]:
        screen.say(missing)
    if len(imported.missing) > FOUND_MAX:
        screen.say(f"… and {len(imported.missing) - FOUND_MAX} more; the files list all of them.")
