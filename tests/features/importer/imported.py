"""Import in process: what the command does, against a sandbox over ASGI; and what must hold after it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reconciler.client.service import Reader
from reconciler.config import load
from reconciler.config.keys import TOP
from reconciler.config.source.files import Files
from reconciler.config.source.nodes import plain
from reconciler.config.source.problems import Problems
from reconciler.features.importer.additions import into
from reconciler.features.importer.project import LIMITS, FileSizes, ImportedProject, NewFiles, project
from reconciler.model import Actual, Plan
from reconciler.observe import observe
from reconciler.observe.everything import read_all
from reconciler.plan.changes import journal_changes
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.state import StateScope, Store
from reconciler.yamltext.format import document, layout
from tests.documents import configuration
from tests.harness import ORGANIZATION, Org, kinds

SHAPE = document(kinds(), TOP)


def everything(org: Org, *organizations: str, failing: tuple[str, ...] = ()) -> Actual:
    """The whole organization as a token sees it, or several."""

    async def run() -> Actual:
        async with org.client(Reader, failing=failing) as reader:
            return await read_all(reader, kinds(), [*organizations] or [ORGANIZATION])

    return asyncio.run(run())


def written(actual: Actual, limits: FileSizes = LIMITS) -> ImportedProject:
    return project(kinds(), actual, NewFiles("config.schema.json", limits), service={"member": "ada@acme.example"})


def imported(org: Org, folder: Path, limits: FileSizes = LIMITS) -> tuple[ImportedProject, Plan]:
    """Write the organization into a folder, bind it, and plan anew from fresh readings."""
    actual = everything(org)
    return bound(org, folder, actual, written(actual, limits))


def added(org: Org, folder: Path) -> tuple[ImportedProject, Plan]:
    """Write into a folder what its project lacks, bind it, and plan anew from fresh readings."""
    actual = everything(org)
    project = load(folder, kinds())
    with store(folder, project.desired.project) as opened:
        state = opened.read()
    texts = {
        path.relative_to(folder.resolve()).as_posix(): path.read_text() for path in map(folder.resolve().joinpath, project.settings.files)
    }
    return bound(org, folder, actual, into(kinds(), actual, project.desired, state, texts, NewFiles("config.schema.json")))


def store(folder: Path, name: str) -> Store:
    return Store.open(f"sqlite:///{folder}/state.db", StateScope(name, None, "sandbox"), clock=lambda: datetime.now(UTC), create=True)


def bound(org: Org, folder: Path, actual: Actual, found: ImportedProject) -> tuple[ImportedProject, Plan]:
    """What the command does once it knows what to write."""
    for path, text in found.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")
    desired = load(folder, kinds()).desired
    with store(folder, desired.project) as opened:
        with opened.lease(who="test", command="import") as journal:
            made = prove(World(kinds(), desired, journal.state(), actual), plan(kinds(), desired, journal.state(), actual))
            assert troubles(made) == [], troubles(made)
            journal.remember(**journal_changes(made.state_update))
            journal.remember(places=made.places)
        state = opened.read()

    async def look() -> Actual:
        async with org.client(Reader) as reader:
            return await observe(reader, kinds(), desired, state)

    again = asyncio.run(look())
    return found, prove(World(kinds(), desired, state, again), plan(kinds(), desired, state, again))


def troubles(made: Plan) -> list[str]:
    """What an import must never leave to do."""
    steps = [f"{step.verb} {step.address} {dict(step.writes)}" for step in made.steps]
    return [*steps, *(f"{refusal.address}: {refusal.reason}" for refusal in made.blocked), *map(repr, made.unknown)]


def fits(folder: Path) -> list[str]:
    """Where the YAML of a folder does not fit the schema, or does not stand as `fmt` would have it."""
    validator = configuration()
    found: list[str] = []
    for file in sorted(folder.rglob("*.yaml")):
        problems = Problems([])
        node = Files(folder, problems).read(file.relative_to(folder).as_posix())
        data: Any = plain(node) if node is not None else problems.found
        found += [f"{file.name}: {error.json_path}: {error.message}" for error in validator.iter_errors(data)]
        text = file.read_text(encoding="utf-8")
        if layout(text, SHAPE) != text:
            found.append(f"{file.name}: fmt would change it")
    return found
