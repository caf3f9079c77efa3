"""What a key, a value or a reference at a cursor means: its sentence, its limits, what it exposes, and what lives there. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

from lsprotocol import types

from reconciler.address import Address
from reconciler.config import Project
from reconciler.features.edits.names import NameSort, Occurrence
from reconciler.features.lsp.checks import CheckedProject
from reconciler.features.lsp.language import Language
from reconciler.features.lsp.navigation import NamedTexts, occurrences_at
from reconciler.features.lsp.place import place_at
from reconciler.features.lsp.service_state import ServiceState
from reconciler.features.lsp.text import Text
from reconciler.model import Declared, Source
from reconciler.plan.audience.disclosure import local_values, with_local
from reconciler.plan.audience.readers import Audiences, folded, order
from reconciler.plan.offline import declared_objects
from reconciler.report.explain import facts_of, words
from reconciler.report.words import data, listed
from reconciler.resource import Kind, Kinds
from reconciler.text.escape import terminal
from reconciler.text.names import age

URLS_MAX: Final = 5  # that are listed; the longest list that is still read
VALUE_MAX: Final = 200  # characters of a value of the service
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|!~])")
_KEY: Final = re.compile(r"[\w./@*-]*")

ServiceStateOf = Callable[[Project], ServiceState | None]


def hover(
    language: Language,
    project: CheckedProject,
    name: str,
    text: Text,
    offset: int,
    *,
    named: NamedTexts | None,
    service_state: ServiceStateOf,
    now: datetime,
) -> types.Hover | None:
    """What is at an offset of a file; None if nothing is known about it."""
    begin = offset
    while begin > 0 and _KEY.fullmatch(text.text[begin - 1]):
        begin -= 1
    match = _KEY.match(text.text, begin)
    end = match.end() if match is not None else begin
    place = place_at(text, end)
    position = text.position(begin)
    source = Source(name, position.line + 1, begin - text.starts[position.line] + 1)
    # In an expression only `brand` of `vars.brand` is a name.
    tried = (occurrences_at(named, name, text, at) for at in (offset, begin, max(begin, end - 1))) if named is not None else ()
    occurrences = next((some for some in tried if some), ())
    parts = [part for occurrence in occurrences[:1] for part in _named(language.kinds, project, occurrence, named, service_state, now)]
    file = language.file(name, project.sections.get(name)) if project.has(name) else []
    key = place.key if place.role == "value" else place.word
    beside = {**place.beside, key: place.word if place.role == "value" else ""}
    option = language.keys(language.around(file, place.path, beside)).get(key) if key else None
    if option is not None and place.expression is None:
        parts += _key(language, option.kind, key, option.doc)
        parts += _service_value(language.kinds, project, source, key, service_state, now)
    if not parts:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(parts)), text.span(begin, end))


def _key(language: Language, kind: Kind | None, key: str, doc: str) -> Iterator[str]:
    yield f"**{_plain(f'{kind.name}.{key}' if kind is not None else key)}**" + (f": {_plain(doc)}" if doc else "")
    if kind is not None and key in words(language.kinds, kind):
        field = kind.fields.get(key)
        facts = facts_of(language.kinds, kind, key)
        if field is not None and field.exposes is not None:
            facts.append(("can expose", f"{field.exposes.says}; the plan asks for consent"))
        yield "\n".join(f"- {name}: {_plain(says)}" for name, says in facts)


def _named(
    kinds: Kinds,
    project: CheckedProject,
    occurrence: Occurrence,
    named: NamedTexts | None,
    service_state: ServiceStateOf,
    now: datetime,
) -> Iterator[str]:
    """The resource, variable or secret that is declared or named at a position."""
    if occurrence.sort is NameSort.RESOURCE:
        address = Address.of(occurrence.name)
        declared = project.resources.get(address) if address is not None else None
        if declared is not None:
            yield from _declared(project, declared, service_state, now)
            yield from _readers(kinds, project, declared)
    elif occurrence.sort in (NameSort.VARIABLE, NameSort.SECRET) and named is not None:
        place = next(iter(named.names.definitions(occurrence.sort, occurrence.name)), None)
        at = f", declared at {place.span.source}" if place is not None else ""
        yield f"{occurrence.sort} **{_plain(occurrence.name)}**{at}"


def _declared(project: CheckedProject, declared: Declared, service_state: ServiceStateOf, now: datetime) -> Iterator[str]:
    yield f"{declared.kind} **{_plain(str(declared.address))}**, declared at {declared.source}"
    for environment, loaded in project.projects.items():
        known = service_state(loaded)
        binding = known.state.bindings.get(declared.address) if known is not None else None
        if known is None or binding is None:
            continue
        where = f" in {environment}" if environment else ""
        lines = [f"tracked{where} as `{_code(binding.id)}` ({_age(known, now)})"]
        urls = known.urls.get(str(declared.address), ())
        lines += [f"- {_plain(url)}" for url in urls[:URLS_MAX]]
        lines += [f"- {len(urls) - URLS_MAX:,} more URLs"] if len(urls) > URLS_MAX else []
        yield "\n".join(lines)


def _readers(kinds: Kinds, project: CheckedProject, declared: Declared) -> Iterator[str]:
    """Who can read it as far as the files say, and what the access tests demand of it; alike environments once."""
    told: dict[str, list[str]] = {}
    for environment, loaded in project.projects.items():
        desired = loaded.desired
        if kinds[declared.kind].audience is None or declared.address not in desired.resources:
            continue
        ids, actual = declared_objects(kinds, desired)
        world = Audiences(kinds, with_local(local_values(kinds, desired), ids, actual.objects), complete=actual.complete)
        readers = dict.fromkeys(str(access) for access in sorted(folded(world.of((declared.kind, ids[declared.address]))), key=order))
        lines = [f"as declared, it can be read by {_plain(', '.join(readers) or 'admins only')}"]
        asked = [demand for test in desired.access for demand, address in test.asks if address == declared.address]
        lines += [f"- {_plain(str(demand.reader))}: {'sees it' if demand.sees else 'must not see it'}" for demand in asked]
        told.setdefault("\n".join(lines), []).extend([environment] if environment else [])
    for text, environments in told.items():
        yield (f"in {_plain(listed(environments, len(environments)))}, " if environments else "") + text


def _service_value(
    kinds: Kinds, project: CheckedProject, source: Source, key: str, service_state: ServiceStateOf, now: datetime
) -> Iterator[str]:
    """The value that the service last had, of the field whose line this is."""
    for environment, loaded in project.projects.items():
        declared = next((each for each in loaded.desired.resources.values() if _is_line(each, key, source)), None)
        known = service_state(loaded) if declared is not None else None
        binding = known.state.bindings.get(declared.address) if known is not None and declared is not None else None
        if known is None or binding is None or declared is None or key not in {**binding.sent, **binding.seen}:
            continue
        if kinds[declared.kind].fields[key].sensitive:
            continue  # the state has only a digest of it
        where = f" in {environment}" if environment else ""
        value = binding.seen.get(key, binding.sent.get(key))
        yield f"last seen{where}: `{_code(_shown(value))}` ({_age(known, now)})"


def _is_line(declared: Declared, key: str, source: Source) -> bool:
    place = declared.positions.get(key)
    return place is not None and (place.file, place.line) == (source.file, source.line)


def _shown(value: Any) -> str:
    return str(data(value))


def _age(known: ServiceState, now: datetime) -> str:
    return f"state {age((now - known.at).total_seconds())}" if known.at is not None else "state of a run that did not end"


def _plain(text: str) -> str:
    """A text in which nothing is markup, whoever wrote it."""
    return _MARKDOWN.sub(r"\\\1", terminal(text))


def _code(text: str) -> str:
    text = terminal(text).replace("`", "'").replace("\n", " ")
    return text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 1]}…"
