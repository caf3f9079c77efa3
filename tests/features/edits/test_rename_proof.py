"""Random renames in random projects: the tool's files mean what a rename by hand means, and the plan only renames.

The oracle is data in which every name is an object's (`random_project`): a rename by hand gives the object another name, and the files are
written again. The tool has only texts.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import Address
from reconciler.client.service import Reader
from reconciler.config import load
from reconciler.config.project import FileAccess
from reconciler.errors import Refused
from reconciler.features.edits.rename import renamed
from reconciler.features.edits.texts import ProjectTexts, project_texts
from reconciler.model import Action, Actual, Desired, Plan, Source, State
from reconciler.observe import observe
from reconciler.plan.matching.renames import follow
from reconciler.plan.planner import plan
from tests.features.edits.random_project import Entity, RandomProject, notes, random_project, texts
from tests.harness import Org, kinds
from tests.proofs import costly, spread, tries

PLACE = re.compile(r"[\w./-]+\.yaml:\d+(:\d+)?")
ODD = ("2fa", "true", "null", "007", "1.10", "a.b", "x+y", "on", "-d", "y@z.example")
QUIET = {Action.RENAME}


@dataclass
class Applied:
    """A project that was applied, and what a reading shows."""

    project: RandomProject
    before: ProjectTexts
    environment: str | None
    state: State
    actual: Actual

    def desired(self, files: Mapping[str, str]) -> Desired:
        access = FileAccess(texts=self.before.with_texts(files).texts)
        return load(self.before.path, kinds(), environment=self.environment, access=access).desired

    def plan(self, files: Mapping[str, str]) -> Plan:
        return plan(kinds(), self.desired(files), self.state, self.actual)

    def applied(self, files: Mapping[str, str]) -> State:
        """The state after an apply of files that only rename."""
        made = self.plan(files)
        assert made.steps == ()
        state = follow(kinds(), self.desired(files), self.state).state
        fulfilled = made.state_update.fulfilled
        return replace(state, renamed={}, fulfilled=state.fulfilled if fulfilled is None else fulfilled)

    @property
    def ids(self) -> dict[Address, str]:
        return {address: binding.id for address, binding in self.state.bindings.items()}


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def without_access(top: Mapping[str, Any]) -> dict[str, Any]:
    """A project file whose apply no random test of readers refuses."""
    return {key: value for key, value in top.items() if key != "access"}


def applied(root: Path, chance: random.Random) -> Applied:
    """A random project, applied until nothing is left to do."""
    project = random_project(chance)
    org = Org(root, environment=chance.choice(project.environments))
    files = project.render()
    write(org.project, texts({**files, "reconciler.yaml": without_access(files["reconciler.yaml"])}, chance))
    for _ in range(2):
        org.apply()
    write(org.project, texts(files, chance))

    async def reading() -> tuple[State, Actual]:
        with org.store() as store:
            state = store.read()
        async with org.client(Reader) as reader:
            return state, await observe(reader, kinds(), org.load().desired, state)

    return Applied(project, project_texts(org.project, kinds()), org.environment, *asyncio.run(reading()))


def same_everywhere(value: Any) -> Any:
    """A plan without the lines of files."""
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *(same_everywhere(getattr(value, part.name)) for part in fields(value) if part.compare))
    match value:
        case Source():
            return None
        case str():
            return PLACE.sub("FILE", value)
        case dict() | Mapping():
            return sorted(((repr(key), same_everywhere(part)) for key, part in value.items()), key=repr)
        case list() | tuple():
            return [same_everywhere(part) for part in value]
        case set() | frozenset():
            return sorted(map(repr, value))
    return value


def in_any_order(value: Any) -> Any:
    """Data in which former keys are sorted: their order has no meaning."""
    match value:
        case dict():
            parts = {key: in_any_order(part) for key, part in value.items()}
            return parts | {"previously": sorted(parts["previously"])} if isinstance(parts.get("previously"), list) else parts
        case list():
            return [in_any_order(part) for part in value]
    return value


def check_rename(case: Applied, files: dict[str, str], entity: Entity, key: str, said: Counter[str]) -> dict[str, str] | None:
    """Rename by the tool and by hand; the new files, None if it was refused, as it must be."""
    project, address = case.project, Address.parse(entity.address)
    why = project.refused(entity, key)
    if why is not None:
        with pytest.raises(Refused):
            renamed(case.before.with_texts(files), address, key)
        said[why] += 1
        return None
    changed = renamed(case.before.with_texts(files), address, key)
    project.rename(entity, key)
    after = {**files, **changed}
    by_hand = project.render()
    for name, content in by_hand.items():
        assert in_any_order(yaml.safe_load(after[name])) == in_any_order(content), f"{address} -> {key} in {name}"
        assert sorted(notes(after[name])) == sorted(notes(case.before.texts[name])), f"{address} -> {key}: comments of {name}"
    made = case.plan(after)
    hand = case.plan({name: yaml.safe_dump(content, sort_keys=False, allow_unicode=True) for name, content in by_hand.items()})
    assert same_everywhere(made) == same_everywhere(hand), f"{address} -> {key}"
    assert (made.steps, made.blocked) == ((), ()), f"{address} -> {key}"
    assert {action for change in made.changes for action in change.actions} <= QUIET, f"{address} -> {key}: {made.changes}"
    said["renamed"] += 1
    return after


def new_key(project: RandomProject, entity: Entity, chance: random.Random) -> str:
    siblings = [other.key for other in project.entities if (other.container, other.kind) == (entity.container, entity.kind)]
    choice = chance.random()
    if choice < 0.1:
        return chance.choice([key for key in siblings if key != entity.key] or ["alone"])
    if choice < 0.3 and entity.former:
        return chance.choice(entity.former)
    if choice < 0.5:
        return chance.choice(ODD)
    return f"n{chance.randint(1, 10_000)}"


def run(root: Path, seed: int, renames: int, said: Counter[str]) -> None:
    chance = random.Random(seed)
    case = applied(root, chance)
    first = dict(case.before.texts)
    start = case.plan(first)
    assert (start.steps, start.blocked) == ((), ())
    renamable = list(case.project.entities)
    kept = [(entity, entity.own, entity.follows, entity.former, entity.moved) for entity in renamable]
    begun = case.state
    for _ in range(renames):
        files, done, ids = first, [], case.ids
        for _ in range(chance.choice((1, 1, 2, 3))):
            entity = chance.choice(renamable)
            key, former = new_key(case.project, entity, chance), entity.key
            after = check_rename(case, files, entity, key, said) if key != former else None
            if after is not None:
                files = after
                done.append((entity, former))
                if chance.random() < 0.3:
                    case.state = case.applied(files)
        for entity, former in reversed(done):
            after = check_rename(case, files, entity, former, said)
            if after is None:
                break
            files = after
            if chance.random() < 0.3:
                case.state = case.applied(files)
        else:
            if case.state is begun:
                assert (case.plan(files).changes, case.plan(files).steps) == ((), ())
            case.state = case.applied(files)
            assert case.ids == ids, "an object was lost, or has the address of another one"
            said["back"] += len(done)
        case.state = begun
        for entity, own, follows, old, moved in kept:
            entity.own, entity.follows, entity.former, entity.moved = own, follows, old, moved


@costly
@pytest.mark.parametrize("seed", spread(range(400), 1))
def test_the_plan_after_a_rename_is_that_of_a_rename_by_hand(tmp_path: Path, seed: int) -> None:
    said: Counter[str] = Counter()
    run(tmp_path, seed, tries(25, 6), said)
    assert said["renamed"]
