"""The book of plans: for each page an edit of what is declared, or of the service, and what a person has to know of the plan of it."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final

from reconciler.address import Address, Glob, Selection
from reconciler.config import load
from reconciler.errors import ReconcilerError
from reconciler.kinds import load as kinds
from reconciler.model import Action, Actual, Cause, Delta, Desired, Plan, Source, State
from reconciler.plan.planner import plan
from reconciler.resource import UNSET
from tests.harness import ORGANIZATION
from tests.plan.edits import Page
from tests.plan.pages import PAGES
from tests.plan.recording import World, organization

BOOK: Final = Path(__file__).with_name("book.txt")

# A selection that a person can read in ten minutes: together they show each sort of line that any page has but the rarest. What must
# hold of every page is in `test_book`, `test_passes` and `offline/test_as_declared`.
SHOWN: Final = frozenset({
    "many fields of a space", "what cannot be changed", "a site of another type", "a site is no longer published", "a site is published",
    "another basename and no proxy", "the organization", "no default site", "another provider's secret",
    "rules that are no longer written", "another admin", "no admin", "one of two admins goes", "a member who is not there", "a team",
    "a team where another is in doubt", "a site with all", "copies of what cannot be found", "a collection",
    "two providers where none was, and no default site", "a section without a space", "a variant", "a share link",
    "a collection and what stands in it, in doubt", "turned by both", "a collection into another", "a variant shows something else",
    "a team goes that was used", "a protected space goes", "a protected space goes, said", "a collection goes, its spaces stay",
    "a collection goes, one in it is protected", "a collection goes that holds a stranger",
    "a collection goes whose spaces nobody could read", "a section goes that holds a stranger", "a site goes", "a provider goes",
    "a provider goes, a stranger's is left", "a provider goes when single sign-on does", "what goes could not be read",
    "the first section of a site, beside its variants", "what would take its place cannot come", "another organization was declared",
    "a member who is gone", "a member who is no longer declared and gone", "the space that all are copies of is gone",
    "a team has another key", "a chain of former names", "a section has another key", "a section has another key and title",
    "a space has another key", "a variant has another key", "a collection deleted outside", "a space deleted minutes ago",
    "a space deleted too long ago", "strangers are pruned", "strangers of a protected kind", "two could be meant", "five could be meant",
    "what is another project's is left to it", "found by the id of another project", "an id of something in another site",
    "an id of something in another site, that nothing remembers", "no such id", "another id than the one it is bound to",
    "the same name elsewhere", "the same name elsewhere, never adopted", "spaces not read and not remembered", "what came late",
    "written a moment ago", "an unfinished run was allowed another value", "no condition",
    "kinds are no longer protected, one by its line", "looser rules", "what the token may not, of all kinds",
    "a newcomer in a row of which one is meant", "a target without what it needs", "a target that waits brings nothing along",
    "a target that is made anew",
})  # fmt: skip


def written() -> str:
    """The whole book."""
    return "\n".join(f"== {page.name}\n{page_text(page)}" for page in PAGES if page.name in SHOWN)


def pages_of(text: str) -> dict[str, str]:
    """Each page of a book by its name."""
    return {name: body.rstrip("\n") + "\n" for name, _, body in (part.partition("\n") for part in ("\n" + text).split("\n== ")[1:])}


@dataclass(frozen=True)
class Scene:
    """What the plan of a page is made from, and the plan."""

    desired: Desired
    state: State
    actual: Actual
    selection: Selection
    plan: Plan


def scene(page: Page) -> Scene:
    """The scene of a page. Raises what the planner raises."""
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
    result = plan(kinds(), desired, state, actual, selection=selection, allow_replace=page.allow_replace)
    return Scene(desired, state, actual, selection, result)


@cache
def declared(text: str) -> Desired:
    with tempfile.TemporaryDirectory() as root:
        Path(root, "reconciler.yaml").write_text(text, encoding="utf-8")
        return load(Path(root), kinds()).desired


def page_text(page: Page) -> str:
    """What a person has to know of the plan, a line for each change, request, gain of readers, refusal and note."""
    try:
        made = scene(page)
    except ReconcilerError as error:
        return f"error: {error.message}; {error.hint}\n"
    return "".join(f"  {line}\n" for line in _lines(made.plan, made.state))


def _lines(made: Plan, state: State) -> Iterator[str]:
    for change in made.changes:
        actions = " ".join(action.value for action in change.actions)
        yield f"{actions} {change.address}" + "".join(
            f"; {_delta(delta)}" for delta in change.fields if Action.CREATE not in change.actions
        )
    for step in made.steps:
        path = "/".join(f"<{part}>" if isinstance(part, Address) else part for part in step.path)
        yield f"{step.method} {path}" + (f" {_text_of(step.body)}" if step.body else "")
    for blocked in made.blocked:
        yield f"blocked {blocked.address}: {blocked.reason}; {blocked.remedy}"
    for exposure in made.exposures:
        values = f"{_text_of(exposure.before)} -> {_text_of(exposure.after)}"
        yield f"exposes {exposure.address}: {exposure.field} {values}: {exposure.says}; readers: {', '.join(exposure.readers)}"
    for name in ("unmanaged", "unknown", "in_doubt", "broken", "forbidden", "notes"):
        yield from (f"{name}: {_text_of(value)}" for value in getattr(made, name))
    for name in ("deferred", "moved_outside"):
        yield from (f"{name} {address}: {_text_of(value)}" for address, value in getattr(made, name).items())
    yield from (f"bind {address}" for address in made.state_update.bind if address not in state.bindings)
    yield from (f"forget {address}" for address in sorted(made.state_update.forget))
    yield from (f"rename {old} -> {new}" for old, new in sorted(made.state_update.rename.items()))


def _delta(delta: Delta) -> str:
    cause = "" if delta.cause is Cause.YOURS else f" ({delta.cause.value})"
    return f"{delta.name} {_text_of(delta.before)} -> {_text_of(delta.after)}{cause}"


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
