"""What an import reads, for a command or a program: an organization, and what a project lacks of it. Sends GET requests; writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.config.source.reader import FILE_MAX
from reconciler.errors import UsageError
from reconciler.features.importer.additions import into
from reconciler.features.importer.entry import CERTIFICATES
from reconciler.features.importer.project import FileSizes, ImportedProject, NewFiles
from reconciler.links import read_file
from reconciler.model import Actual
from reconciler.observe.everything import read_all
from reconciler.observe.readers import with_readers
from reconciler.plan.audience.people import unasked
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.connection.connecting import ConnectedService, open_store
from reconciler.run.connection.unseen import warn_unseen
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice

SCHEMA: Final = ".reconciler/config.schema.json"
T = TypeVar("T")


def read_organization(voice: Voice, service: ConnectedService, kinds: Kinds, org: str, *, people: bool = False) -> Actual:
    """Everything of one organization. `people`: with what each may do. Raises `UsageError` where it is not within reach."""
    with voice.phase(f"Reading {org}", where=service.where):
        actual: Actual = asyncio.run(with_reader(voice, service, lambda reader: read_all(reader, kinds, [org])))
    if not any(actual.find(kind.name, org) for kind in kinds.roots):
        wrong = f"organization {org} does not exist, or the token has no access to it"
        raise UsageError(wrong, id="RC-organization-not-found", hint="To list the available organizations: reconciler import")
    asked = unasked(kinds, actual) if people else frozenset()
    if not asked:
        return actual
    with voice.phase(f"Reading what {count(len(asked), 'person', 'people')} may do", where=service.where):
        return asyncio.run(with_reader(voice, service, lambda reader: with_readers(reader, kinds, actual, asked)))


async def with_reader(voice: Voice, service: ConnectedService, work: Callable[[Reader], Awaitable[T]]) -> T:
    """What `work` returns, with a client that can only read."""
    async with Reader(service.settings, listener=voice.listener) as reader:
        return await work(reader)


def certificates(directory: Path) -> list[str]:
    """The paths that no new certificate may have."""
    return [path.relative_to(directory).as_posix() for path in (directory / CERTIFICATES).glob("*")]


def declared(project: Project, org: str | None) -> str:
    """The organization that is meant, of those the project declares."""
    ids = [resource.id for resource in project.desired.resources.values() if resource.address.container is None and resource.id is not None]
    if org is None and len(ids) == 1:
        return ids[0]
    if org not in ids:
        raise UsageError(
            f"the project does not declare {org}" if org is not None else "the project declares several organizations",
            id="RC-which-organization",
            hint=f"Name one of them: --org {' or '.join(ids)}" if ids else "Declare it first, by its id.",
        )
    return str(org)


def additions_of(
    operation: Operation, voice: Voice, kinds: Kinds, living: tuple[ConnectedService, Actual], project: Project, limits: FileSizes
) -> ImportedProject:
    """What a project lacks of what was read, as changed and new files. Writes nothing."""
    service, actual = living
    with open_store(operation, voice, project, service, create=False) as store:
        warn_unseen(operation, voice, project, service, store, creator="the import")
        state = store.read()
    root = project.settings.root
    paths = map(root.joinpath, project.settings.files)
    files = {path.relative_to(root).as_posix(): read_file(path, FILE_MAX, within=root) for path in paths}
    before = {name: content.decode("utf-8") for name, content in files.items()}
    with voice.lasting(f"Comparing {objects_text(actual)} with the project"):
        new = NewFiles(SCHEMA, limits, certificates(root))
        return into(kinds, actual, project.desired, state, before, new)


def objects_text(actual: Actual) -> str:
    """`10,003 objects`: how many were read."""
    return count(sum(map(len, actual.objects.values())), "object")
