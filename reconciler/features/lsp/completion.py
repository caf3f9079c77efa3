"""What can be written at a cursor: keys, values, references, addresses and patterns, variables, functions, names of files.

Reads the names of files in the project; otherwise pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from lsprotocol import types

from reconciler.address import Address
from reconciler.config.key import Key
from reconciler.config.keys import ENVIRONMENT, EVERYWHERE, PROJECT
from reconciler.config.language.functions import FILTERS, TESTS
from reconciler.config.source.includes import INCLUDE
from reconciler.features.edits.names import FUNCTIONS
from reconciler.features.lsp.checks import CheckedProject
from reconciler.features.lsp.language import Form, KeyOption, Language, referred
from reconciler.features.lsp.place import Place, place_at
from reconciler.features.lsp.text import Text
from reconciler.features.policies.section.keys import ready
from reconciler.model import Declared
from reconciler.report.types import in_words
from reconciler.resource import Kinds
from reconciler.text.escape import terminal

CANDIDATES_MAX: Final = 1_000
FILES_MAX: Final = 2_000  # below a project that are looked at
WRITTEN_MAX: Final = 1_000  # characters of an expression before the cursor
EACH: Final = {
    "key": "The key of the element.",
    "value": "The element.",
    "index": "Its number, from 0.",
    "parent": "The forEach around this one.",
}
_MEMBER: Final = re.compile(r"\b(?:(vars|each|env)|(secrets(?:\.\w+)*))\.(\w*)\Z")
_FILTER: Final = re.compile(r"[^|]\|\s*(\w*)\Z")
_TEST: Final = re.compile(r"\bis\s+(?:not\s+)?(\w*)\Z")
_FILE: Final = re.compile(r"""\bfile\(\s*["']([^"']*)\Z""")
_NAME: Final = re.compile(r"(?:\A|[^\w.\"'])([A-Za-z_]*)\Z")

Item = types.CompletionItem
ItemKind = types.CompletionItemKind


def naming(keys: Iterable[Key] = (*PROJECT, *EVERYWHERE, *ENVIRONMENT)) -> dict[str, set[str]]:
    """What the texts of each key of the table name, by the name of the key."""
    names: dict[str, set[str]] = {}
    for key in keys:
        if key.names:
            names.setdefault(key.name, set()).add(key.names)
        for name, inner in naming(key.keys).items() if key.keys else ():
            names.setdefault(name, set()).update(inner)
    return names


NAMING: Final = naming()


def completions(language: Language, project: CheckedProject, name: str, text: Text, offset: int) -> types.CompletionList:
    """What can be written at an offset of a file of a project."""
    if not project.has(name):
        return types.CompletionList(False, [])
    place = place_at(text, offset)
    items = list(islice(_items(language, project, name, place), CANDIDATES_MAX + 1))
    span = text.span(place.start, place.end)
    for item in items:
        if item.text_edit is None:
            item.text_edit = types.TextEdit(span, item.insert_text or item.label)
        item.insert_text = None
    return types.CompletionList(is_incomplete=len(items) > CANDIDATES_MAX, items=items[:CANDIDATES_MAX])


def _items(language: Language, project: CheckedProject, name: str, place: Place) -> Iterator[Item]:
    if place.expression is not None:
        yield from _expression(project, place)
        return
    file = language.file(name, project.sections.get(name))
    if place.role != "value":
        for option in language.keys(language.around(file, place.path, place.beside)).values():
            if option.name not in place.beside:
                yield _key(option, place, language.kinds)
    if place.role != "key":
        forms = language.values(file, place)
        yield from _unique([*_values(forms), *_references(language, project, forms), *_named(language, project, place, forms)])


def _unique(items: Iterable[Item]) -> Iterator[Item]:
    yield from {item.label: item for item in reversed(list(items))}.values()


def _key(option: KeyOption, place: Place, kinds: Kinds) -> Item:
    forms = [form.schema for form in option.forms]
    nested = any("properties" in form or form.get("type") in ("object", "array") for form in forms)
    return Item(
        option.name,
        kind=ItemKind.Struct if nested else ItemKind.Field,
        detail=option.kind.name if option.kind is not None else None,
        documentation=option.doc or None,
        insert_text=option.name if place.colon else f"{option.name}: ",
        sort_text=f"{0 if option.required else 1}{option.name}",
    )


def _values(forms: Iterable[Form]) -> Iterator[Item]:
    for form in forms:
        values = form.schema.get("enum", [form.schema["const"]] if "const" in form.schema else [])
        if form.schema.get("type") == "boolean":
            values = [True, False]
        for value in (*values, *(form.field.known if form.field is not None and not form.path else ())):
            if value is not None:
                label = ("true" if value else "false") if isinstance(value, bool) else str(value)
                yield Item(
                    label, kind=ItemKind.EnumMember, detail=in_words(form.field.type) if form.field is not None and not form.path else None
                )


def _references(language: Language, project: CheckedProject, forms: Iterable[Form]) -> Iterator[Item]:
    kinds = {kind for form in forms if (kind := referred(form)) is not None}
    for declared in project.resources.values() if kinds else ():
        if declared.kind in kinds:
            yield _resource(declared, declared.address.key)


def _resource(declared: Declared, label: str) -> Item:
    title = next((text for name in ("title", "name", "label") if isinstance(text := declared.values.get(name), str)), "")
    at = f"{declared.source}"
    return Item(label, kind=ItemKind.Reference, detail=terminal(title) or None, documentation=f"{declared.address} ({at})")


def _named(language: Language, project: CheckedProject, place: Place, forms: Iterable[Form]) -> Iterator[Item]:
    """What the key table says that texts here name."""
    key = place.key or next(iter(reversed(place.keys)), "")
    if key == INCLUDE:
        yield from _files(project.root, (".yaml", ".yml"), ItemKind.File)
    if any(form.field is not None for form in forms):
        return
    for names in sorted(NAMING.get(key, ())):
        if names in ("pattern", "kind or pattern"):
            yield from (
                Item(pattern, kind=ItemKind.Value, detail=f"matches {count:,}") for pattern, count in patterns(project.resources).items()
            )
        if names in ("address", "former", "pattern", "kind or pattern"):
            yield from (_resource(declared, str(declared.address)) for declared in project.resources.values())
        if names == "kind or pattern":
            yield from (Item(kind.name, kind=ItemKind.Class, documentation=kind.doc) for kind in language.kinds.values())
        if names == "policy":
            yield from (Item(policy, kind=ItemKind.Event) for policy in ready())


def patterns(resources: Mapping[Address, Declared]) -> dict[str, int]:
    """The patterns for everything of a kind in a container, and how many resources each matches."""
    counts: dict[str, int] = {}
    for address in resources:
        parts = str(address).split("/")
        if len(parts) > 1:
            pattern = "/".join([*parts[:-1], "*"])
            counts[pattern] = counts.get(pattern, 0) + 1
    return {pattern: count for pattern, count in counts.items() if count > 1}


def _expression(project: CheckedProject, place: Place) -> Iterator[Item]:
    """What an expression can contain where it ends."""
    written = (place.expression or "")[-WRITTEN_MAX:]
    member, file = _MEMBER.search(written), _FILE.search(written)
    if file is not None:
        yield from _files(project.root, (), ItemKind.File, within=place, typed=file[1])
        return
    if member is not None:
        names: Mapping[str, str] = {
            "vars": dict.fromkeys(project.variables, ""),
            "each": EACH,
            "env": {"name": "The name of the environment."},
            None: dict.fromkeys(_secrets(project, member[2] or ""), ""),
        }[member[1]]
        for name, doc in names.items():
            # The word at the cursor includes what is before the dot.
            yield Item(
                name,
                kind=ItemKind.Property,
                documentation=doc or None,
                insert_text=f"{place.word[: len(place.word) - len(member[3])]}{name}",
            )
        return
    if _FILTER.search(written) is not None:
        yield from (Item(name, kind=ItemKind.Function) for name in FILTERS)
    elif _TEST.search(written) is not None:
        yield from (Item(name, kind=ItemKind.Function) for name in TESTS)
    elif _NAME.search(written) is not None:
        prefix = place.word[: len(place.word) - len(_NAME.search(written)[1])]  # type: ignore[index]
        for name in ("vars", "each", "env", "secrets"):
            yield Item(name, kind=ItemKind.Variable, insert_text=f"{prefix}{name}.")
        for name in FUNCTIONS:
            yield Item(name, kind=ItemKind.Function, insert_text=f"{prefix}{name}(")


def _secrets(project: CheckedProject, path: str) -> Iterator[str]:
    """The names of the secrets below `secrets` or `secrets.NAME`."""
    values: Any = project.secrets
    for name in path.split(".")[1:]:
        values = values.get(name) if isinstance(values, Mapping) else None
    yield from map(str, values) if isinstance(values, Mapping) else ()


def _files(root: Path, endings: tuple[str, ...], kind: ItemKind, *, within: Place | None = None, typed: str = "") -> Iterator[Item]:
    """Files of the project by name; hidden ones are not read by it either."""
    try:
        for path in islice(
            (path for path in root.rglob("*") if not any(part.startswith(".") for part in path.relative_to(root).parts)), FILES_MAX
        ):
            name = path.relative_to(root).as_posix()
            if path.is_file() and (not endings or path.suffix in endings):
                prefix = within.word[: len(within.word) - len(typed)] if within is not None and within.word.endswith(typed) else ""
                yield Item(name, kind=kind, insert_text=f"{prefix}{name}")
    except OSError:
        return
