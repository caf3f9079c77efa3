"""Groups of plans that do the same, apart from the names of their projects. Pure.

    document of a plan + own names -> PlanForm: its texts -> PlanGroup

Two texts are the same if every own name in one is, in the other one, the same word or the own name with the same role, such as the title.
What says only where something is written (files, lines, ids) is left out.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from reconciler.config import Project
from reconciler.fleet.model import FleetProject
from reconciler.report.schemas.plan import PlanDocument
from reconciler.resource import Kinds

NAME_MIN: Final = 2  # characters of the value of a variable; shorter ones are in too many other texts
TRUTH: Final = frozenset({"true", "false", "null", "yes", "no"})  # values of variables that are never names
LONG: Final = 10_000  # characters of a text in which names are not looked for any more
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


def own_names(kinds: Kinds, projects: Iterable[FleetProject], versions: Iterable[Project]) -> Names:
    """The names of a project with their roles, and what the service or a person derives from them.

    `projects`: the project as the fleet file has it, before and afterwards. `versions`: its files. What the first version calls something
    is its name: another name afterwards is a change.
    """
    words, forms = language(kinds)
    keys: dict[str, str] = {}
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    for project in projects:
        keys.setdefault("name", project.name)
        if project.origin.endswith("(directories)"):
            keys.setdefault("folder", PurePosixPath(project.source.path).name)
        values.setdefault("environment", project.environment or "")
        for key, text in project.vars.items():
            values.setdefault(f"vars.{key}", text)
    # Several organizations of one project stay different from each other: what moves from one to the other would look like nothing.
    numbers: dict[str, int] = {}
    for version in versions:
        keys.setdefault("project", version.settings.project)
        for key, text in version.variable_texts.items():
            values.setdefault(f"vars.{key}", text)
        for address, declared in version.desired.resources.items():
            if address.container is None:
                number = numbers.setdefault(str(address), len(numbers) + 1)
                keys.setdefault(f"organization {number}", str(address))
                for key, value in {"id": declared.id, **declared.values}.items():
                    if isinstance(value, str):
                        names.setdefault(f"organization {number}.{key}", value)
    by_role = [*keys.items(), *names.items()]
    by_role += [
        (role, text)
        for role, text in values.items()
        if text not in words and text.lower() not in TRUTH and (len(text) >= NAME_MIN or _is_number(text))
    ]
    by_role += [
        (f"{role} as {by.__name__}", by(re.sub(r"[-_.]", " ", text))) for role, text in keys.items() for by in (str.title, str.upper)
    ]
    by_role += [(f"{role}, its beginning", text) for role, title in names.items() for text in _beginnings(title)]
    roles: dict[str, set[str]] = {}
    for role, text in by_role:
        for derived, suffix in ((text, ""), *((str(form(text)), f", {number}") for number, form in enumerate(forms))):
            if derived:
                roles.setdefault(derived, set()).add(f"{role}{suffix}")
    return {text: frozenset(some) for text, some in roles.items()}


def _beginnings(title: str) -> Iterator[str]:
    """What people call `Acme Docs, Inc.` for short: `Acme`, `Acme Docs`."""
    for match in re.finditer(r"(?:(?<![,;:.])[,;:.]++)?(?:\s|\Z)", title):
        if match.start() >= NAME_MIN:
            yield title[: match.start()]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+.,:\d]+", text) is not None


class Rule(Enum):
    """Where in a text own names are looked for."""

    NOWHERE = auto()  # it is a word of the language, or no text
    ANYWHERE = auto()
    NO_COUNTS = auto()  # a number that is a word by itself counts something


class PlanText(NamedTuple):
    """A text of a plan. `parts`: literal ones and, between two of them, what an own name is."""

    text: str
    rule: Rule
    parts: tuple[str | frozenset[str], ...]


class PlanForm(NamedTuple):
    """What a plan does, as a list of texts."""

    texts: tuple[PlanText, ...]
    names: Names


def plan_form(kinds: Kinds, plan: PlanDocument, names: Names, *, besides: str) -> PlanForm:
    """`besides`: the beginning of the sentences that say which versions were compared."""
    words, _ = language(kinds)
    patterns = {Rule.ANYWHERE: _pattern(names), Rule.NO_COUNTS: _pattern(name for name in names if not _is_number(name))}
    texts: list[PlanText] = []

    def put(text: str, rule: Rule) -> None:
        parts = patterns[rule].split(text) if rule in patterns else [text]
        texts.append(PlanText(text, rule, tuple(names[part] if number % 2 else part for number, part in enumerate(parts))))

    def add(value: Any, key: str, *, within: bool = False) -> None:
        if isinstance(value, str):
            literal = value in words if within else key in _WORDS
            put(value, Rule.NOWHERE if literal else Rule.ANYWHERE if within or key in _NAMING else Rule.NO_COUNTS)
        elif isinstance(value, Mapping):
            put(f"a map of {len(value)}", Rule.NOWHERE)
            for name, part in sorted(value.items()):
                if within or name not in _ELSEWHERE:
                    put(name, Rule.ANYWHERE if within else Rule.NOWHERE)
                    add(part, name, within=within or name in _VALUES)
        elif isinstance(value, list):
            put(f"a list of {len(value)}", Rule.NOWHERE)
            for part in value:
                add(part, key, within=within)
        else:
            put(f"the value {json.dumps(value)}", Rule.NOWHERE)

    notes = [note for note in plan["notes"] if not note.startswith(besides)]
    # The path of a request contains ids, which are its own; the address and the verb say the same.
    steps = [{key: value for key, value in step.items() if key != "path"} for step in plan["steps"]]
    add({**plan, "notes": notes, "steps": steps}, "")
    return PlanForm(tuple(texts), names)


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    by_length = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)({'|'.join(map(re.escape, by_length))})(?!\w)")


def alike(form: PlanForm, other: PlanForm) -> bool:
    """Whether the same happens in two plans."""
    if len(form.texts) != len(other.texts):
        return False
    pairs = zip(form.texts, other.texts, strict=True)
    return all(text.parts == another.parts or _same(text, form.names, another, other.names) for text, another in pairs)


def _same(text: PlanText, names: Names, other: PlanText, others: Names) -> bool:
    """Whether two texts are the same, if each name in one is the same word in the other, or a name there with a role of it."""
    if text.text == other.text:
        return True
    # A value that is a word of the language in one plan, and none in the other, is of a field that takes any text, such as a title.
    rule = other.rule if text.rule is Rule.NOWHERE else text.rule
    if rule is Rule.NOWHERE or max(len(text.text), len(other.text)) > LONG:
        return False
    places, others_at = _places(text.text, names, rule), _places(other.text, others, rule)
    if not places or not others_at:
        return False
    ends, reached = [(0, 0)], {(0, 0)}
    while ends:
        at, there = ends.pop()
        if at == len(text.text) and there == len(other.text):
            return True
        following = [(at + 1, there + 1)] if text.text[at : at + 1] == other.text[there : there + 1] else []
        following += [(end, end_there) for end, roles in places[at] for end_there, known in others_at[there] if roles & known]
        ends += set(following) - reached
        reached |= set(following)
    return False


def _places(text: str, names: Names, rule: Rule) -> Mapping[int, list[tuple[int, frozenset[str]]]]:
    """Where own names begin in a text, with their ends; also names within longer ones."""
    places: defaultdict[int, list[tuple[int, frozenset[str]]]] = defaultdict(list)
    for name, roles in names.items():
        start = text.find(name)
        while start >= 0:
            end = start + len(name)
            before, after = text[:start][-1:], text[end : end + 1]
            alone = before in ("", " ", "(") and after not in ("-", "/", "@") and name != text
            if not (_in_word(before) or _in_word(after) or (alone and rule is Rule.NO_COUNTS and _is_number(name))):
                places[start].append((end, roles))
            start = text.find(name, start + 1)
    return places


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


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
    _by_parts: dict[tuple[object, ...], PlanGroup] = field(default_factory=dict)

    def add(self, project: str, moment: str, plan: PlanDocument, form: PlanForm) -> None:
        """Put the plan of a project into its group."""
        key = (moment, *(text.parts for text in form.texts))
        group = self._by_parts.get(key) or next((some for some in self.groups if some.moment == moment and alike(some.form, form)), None)
        if group is None:
            group = PlanGroup(moment, form, plan)
            self.groups.append(group)
        self._by_parts[key] = group
        group.projects.append(project)
