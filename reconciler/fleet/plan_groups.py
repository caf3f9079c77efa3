"""Groups of plans that do the same, apart from the names of their projects. Pure.

    document of a plan + own names -> PlanForm: its texts, in each of which literal parts and own names alternate -> PlanGroup

Two texts are the same if every own name of one is, in the other one, the name with the same role or the same word. What says only where
something is written (files, lines, ids) is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from reconciler.fleet.model import FleetProject
from reconciler.model import Desired
from reconciler.report.schemas.plan import PlanDocument
from reconciler.resource import Kinds

NAME_MIN: Final = 2  # characters of the value of a variable; shorter ones are in too many other texts
_ELSEWHERE: Final = frozenset({"format", "project", "environment", "createdAt", "forecast", "source", "declared", "unmanaged"})
"""Keys that say whose plan it is, or where something is written."""
_WORDS: Final = frozenset({"kind", "actions", "verb", "method", "name", "field", "fields", "level", "sort", "rule", "id", "flag", "effect"})
"""Keys whose texts are words of the language, and never names."""
_VALUES: Final = frozenset({"before", "after"})
"""Keys of values of fields, in which a key means what the field says."""

_NAMING: Final = frozenset({"title", "path"})
"""Keys of texts that name objects, and count nothing."""

Names = Mapping[str, frozenset[str]]
"""The own names of a project, and what each of them is: `title`, `vars.brand`."""


@lru_cache(maxsize=1)  # walking every type takes longer than planning a small project
def language(kinds: Kinds) -> tuple[frozenset[str], tuple[Callable[[str], str], ...]]:
    """The words that values of fields can be, such as `public`, which are never names; and how the service derives values from others."""
    fields = [field for kind in kinds.values() for field in kind.fields.values()]
    forms = dict.fromkeys(field.derived.form for field in fields if field.derived is not None)
    return frozenset(word for field in fields for word in _literals(field.type)), tuple(forms)


def _literals(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from map(str, get_args(hint))
    elif is_typeddict(hint):
        for inner in get_type_hints(hint, include_extras=True).values():
            yield from _literals(inner)
    else:
        for inner in get_args(hint):
            yield from _literals(inner)


def own_names(kinds: Kinds, projects: Iterable[FleetProject], versions: Iterable[tuple[str, Desired]]) -> Names:
    """The names of a project with their roles, and what the service derives from them.

    `projects`: the project as the fleet file has it, before and afterwards. `versions`: the name and the resources of each version of its
    files. What the first version calls something is its name: another name afterwards is a change.
    """
    words, forms = language(kinds)
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    for project in projects:
        names.setdefault("name", project.name)
        if project.origin.endswith("(directories)"):
            names.setdefault("folder", PurePosixPath(project.source.path).name)
        values.setdefault("environment", project.environment or "")
        for key, text in project.vars.items():
            values.setdefault(f"vars.{key}", text)
    # Several organizations of one project stay different from each other: what moves from one to the other would look like nothing.
    numbers: dict[str, int] = {}
    for name, desired in versions:
        names.setdefault("project", name)
        for address, declared in desired.resources.items():
            if address.container is None:
                number = numbers.setdefault(str(address), len(numbers) + 1)
                names.setdefault(f"organization {number}", str(address))
                for key, value in {"id": declared.id, **declared.values}.items():
                    if isinstance(value, str):
                        names.setdefault(f"organization {number}.{key}", value)
    names |= {
        role: text
        for role, text in values.items()
        if len(text) >= NAME_MIN and text not in words and (not _is_value(text) or text in re.split(r"[\W_]", names["name"]))
    }
    roles: dict[str, set[str]] = {}
    for role, text in names.items():
        for derived, by in ((text, ""), *((str(form(text)), f" as {number}") for number, form in enumerate(forms))):
            if derived:
                roles.setdefault(derived, set()).add(f"{role}{by}")
    return {text: frozenset(some) for text, some in roles.items()}


def _is_value(text: str) -> bool:
    """Whether a text is a truth value or a number, and so seldom a name."""
    return text.lower() in ("true", "false", "null", "yes", "no") or _is_number(text)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+.,:\d]+", text) is not None


class PlanForm(NamedTuple):
    """What a plan does, as a list of texts, in each of which literal parts and own names alternate, beginning with a literal part.

    `texts`: with the names themselves. `roles`: with what they are instead. A pair of the two is a mark that is no text.
    """

    texts: tuple[tuple[str, ...], ...]
    roles: tuple[tuple[str | frozenset[str], ...], ...]
    names: Names


def plan_form(kinds: Kinds, plan: PlanDocument, names: Names, *, besides: str) -> PlanForm:
    """`besides`: the beginning of the sentences that say which versions were compared."""
    words, _ = language(kinds)
    in_values, in_sentences = _patterns(names)
    texts: list[tuple[str, ...]] = []

    def add(value: Any, key: str, *, within: bool = False) -> None:
        if isinstance(value, str):
            literal = value in words if within else key in _WORDS
            pattern = in_values if within or key in _NAMING else in_sentences
            texts.append((value,) if literal else tuple(pattern.split(value)))
        elif isinstance(value, Mapping):
            texts.append(("{", str(len(value))))
            for name, part in sorted(value.items()):
                if within or name not in _ELSEWHERE:
                    add(name, "" if within else "name", within=within)
                    add(part, name, within=within or name in _VALUES)
        elif isinstance(value, list):
            texts.append(("[", str(len(value))))
            for part in value:
                add(part, key, within=within)
        else:
            texts.append(("", json.dumps(value)))

    notes = [note for note in plan["notes"] if not note.startswith(besides)]
    # The path of a request contains ids, which are its own; the address and the verb say the same.
    steps = [{key: value for key, value in step.items() if key != "path"} for step in plan["steps"]]
    add({**plan, "notes": notes, "steps": steps}, "")
    roles = [tuple(names[part] if number % 2 and len(text) > 2 else part for number, part in enumerate(text)) for text in texts]
    return PlanForm(tuple(texts), tuple(roles), names)


def _patterns(names: Iterable[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds own names in values, and in the sentences and addresses of a plan, where a number that is a word of
    its own is a count."""
    by_length = [re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name))]
    careful = [rf"{name}(?=[-/@])|(?<=[^\s(]){name}|\A{name}\Z" if _is_number(name.replace("\\", "")) else name for name in by_length]
    in_values, in_sentences = (re.compile(rf"(?<!\w)({'|'.join(some)})(?!\w)") for some in (by_length, careful))
    return in_values, in_sentences


def alike(form: PlanForm, other: PlanForm) -> bool:
    """Whether the same happens in two plans."""
    if len(form.texts) != len(other.texts):
        return False
    rows = zip(form.roles, other.roles, form.texts, other.texts, strict=True)
    return all(roles == others or _matches(text, "".join(another), form.names, other.names) for roles, others, text, another in rows)


def _matches(text: tuple[str, ...], other: str, names: Names, others: Names) -> bool:
    """Whether a text is another one, if each of its names is the same word there, or the name of the other project with a role of it."""
    if len(text) == 2:
        return False
    ends = {0}
    for number, part in enumerate(text):
        forms = [part] if number % 2 == 0 else [part, *(name for name, roles in others.items() if roles & names[part])]
        ends = {end + len(form) for end in ends for form in forms if other.startswith(form, end)}
    return len(other) in ends


# -- groups ---------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlanGroup:
    """Projects to which the same happens, and the plan of the first. `moment`: what brings it about."""

    moment: str
    form: PlanForm
    plan: PlanDocument
    projects: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PlanGroups:
    """Groups, in the order of their first projects."""

    groups: list[PlanGroup] = field(default_factory=list)
    _by_roles: dict[tuple[str, tuple[tuple[str | frozenset[str], ...], ...]], PlanGroup] = field(default_factory=dict)

    def add(self, project: str, moment: str, plan: PlanDocument, form: PlanForm) -> None:
        """Put the plan of a project into its group."""
        key = (moment, form.roles)
        group = self._by_roles.get(key) or next((some for some in self.groups if some.moment == moment and alike(some.form, form)), None)
        if group is None:
            group = PlanGroup(moment, form, plan)
            self.groups.append(group)
        self._by_roles[key] = group
        group.projects.append(project)
