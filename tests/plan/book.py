"""The book of plans: for each page an edit of the record, or of what is declared, and all that the plan of it says."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Collection, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final

from reconciler.address import Address, Glob
from reconciler.config import load
from reconciler.errors import ReconcilerError
from reconciler.kinds import load as kinds
from reconciler.model import Binding, Desired, Plan, Source, State
from reconciler.plan import Selection, plan
from reconciler.resource import UNSET
from tests.harness import ORGANIZATION
from tests.plan.edits import Page
from tests.plan.pages import PAGES
from tests.plan.recording import World, organization

BOOK: Final = Path(__file__).with_name("book.txt")


def written() -> str:
    """The whole book."""
    return "\n".join(f"== {page.name}\n{page_text(page)}" for page in PAGES)


def pages_of(text: str) -> dict[str, str]:
    """Each page of a book by its name."""
    parts = ("\n" + text).split("\n== ")[1:]
    return {name: body.rstrip("\n") + "\n" for name, _, body in (part.partition("\n") for part in parts)}


def page_text(page: Page) -> str:
    """What the plan says, one thing a line; what is empty is left out."""
    world, tree = World.recorded(), organization()
    page.outside(world)
    page.edit(tree)
    top = {
        "version": 1, "project": "test", "service": {"member": "ada@acme.example"}, "protect": [],
        "defaults": {"space": {"duplicateOf": "blank"}}, **page.top,
    }  # fmt: skip
    desired = declared(json.dumps({**top, "organizations": {"acme": {"id": ORGANIZATION, **tree}}}, indent=1, ensure_ascii=False))
    state = world.remembered()
    actual = page.seen(world.read(desired, state))
    targets, excludes = (tuple(Glob.parse(text) for text in texts) for texts in (page.targets, page.excludes))
    selection = Selection(targets, excludes, frozenset(map(Address.parse, page.only)) if page.only is not None else None)
    try:
        proposal = plan(kinds(), desired, state, actual, selection=selection, allow_replace=page.allow_replace)
    except ReconcilerError as error:
        return f"error {error.message}; {error.hint}\n"
    return "".join(f"{line}\n" for line in _lines(proposal, state))


@cache
def declared(text: str) -> Desired:
    with tempfile.TemporaryDirectory() as root:
        Path(root, "reconciler.yaml").write_text(text, encoding="utf-8")
        return load(Path(root), kinds()).desired


def _lines(proposal: Plan, state: State) -> list[str]:
    result = []
    exposures = [dataclasses.replace(exposure, consents=()) for exposure in proposal.exposures]  # they say the same again
    proposal = dataclasses.replace(proposal, exposures=tuple(exposures))
    listed = ("changes", "steps", "unmanaged", "unknown", "in_doubt", "blocked", "exposures", "broken", "forbidden", "notes")
    for name in listed:
        result += [f"{name}: {_text_of(member)}" for member in getattr(proposal, name)]
    for name in ("deferred", "differing", "moved_outside"):
        result += [f"{name}: {address}: {_text_of(item)}" for address, item in getattr(proposal, name).items()]
    held = {address: binding.place for address, binding in state.bindings.items()}
    result += [f"place: {address}: {_text_of(place)}" for address, place in proposal.places.items() if held.get(address) != place]
    result += [f"placed: {len(proposal.places)}, managed: {proposal.managed}, bound: {len(proposal.state_update.bind)}"]
    result += [
        f"bind: {_binding(entry, state)}" for entry in proposal.state_update.bind.values() if state.bindings.get(entry.address) != entry
    ]
    result += [f"forget: {address}" for address in sorted(proposal.state_update.forget)]
    result += [f"rename: {old} -> {new}" for old, new in sorted(proposal.state_update.rename.items())]
    result += [f"fulfilled: {old} -> {new}" for old, new in sorted((proposal.state_update.fulfilled or {}).items())]
    return [*result, f"rules: {'changed' if proposal.state_update.rules is not None else 'the same'}"]


def _binding(one: Binding, state: State) -> str:
    """What differs from the binding of the same object, if there was one."""
    old = next((binding for binding in state.bindings.values() if (binding.kind, binding.id) == (one.kind, one.id)), None)
    if old is None:
        return _text_of(one)
    news = []
    for field in dataclasses.fields(one):
        before, after = getattr(old, field.name), getattr(one, field.name)
        if isinstance(after, Mapping):
            news += [
                f"{field.name}.{name}={_text_of(after.get(name, UNSET))}"
                for name in {**before, **after}
                if before.get(name) != after.get(name)
            ]
        elif before != after:
            news.append(f"{field.name}={_text_of(after)}")
    return f"{one.address} {' '.join(news)}"


def _text_of(value: Any) -> str:
    """A value in one line; of a record the parts that are not as they always are."""
    match value:
        case Source():
            return f"line {value.line}"
        case Enum() if value is UNSET:
            return "-"
        case Enum():
            return str(value.value)
        case Address():
            return str(value)
        case _ if dataclasses.is_dataclass(value):
            parts = [(field, getattr(value, field.name)) for field in dataclasses.fields(value)]
            return "(" + " ".join(f"{entry.name}={_text_of(part)}" for entry, part in parts if not _plain(entry, part)) + ")"
        case Mapping():
            return "{" + ", ".join(f"{key}: {_text_of(part)}" for key, part in value.items()) + "}"
        case frozenset() | set():
            return "{" + ", ".join(sorted(_text_of(part) for part in value)) + "}"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Collection():
            return "[" + ", ".join(_text_of(part) for part in value) + "]"
        case _:
            return str(value)


def _plain(each: dataclasses.Field[Any], part: Any) -> bool:
    if each.default is not dataclasses.MISSING:
        return bool(part == each.default)
    return each.default_factory is not dataclasses.MISSING and part == each.default_factory()
