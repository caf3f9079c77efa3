"""What is known of the objects of a project: declared and living, with their readers, URLs and owners. `find` lists them, `show` shows one.

project files --.
the service -----+-- KnownObject: one for each address, managed or not --> find: those with a text; show: everything about one
the state ------'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from reconciler.address import Address, addresses_in, bare
from reconciler.config import Project
from reconciler.features.access.read import reviewed
from reconciler.features.access.report import names as reader_names
from reconciler.features.access.review import Review, ReviewRow
from reconciler.features.mcp.owners import Owners
from reconciler.model import Declared, Observed, RecordedRun, Source
from reconciler.plan.changes import Names, named
from reconciler.report.formats.brief import one_line
from reconciler.report.words import HIDDEN, count, id_and_title, shown
from reconciler.resource import UNSET, Kinds
from reconciler.run.stages import Planned
from reconciler.state import Store
from reconciler.text.names import HERE, clock_time
from reconciler.text.patterns import text_pattern

WILD: Final = "*"
RUNS: Final = 30  # the newest runs, in which the history of an address is looked for
ENTRIES: Final = 10  # requests of a history


@dataclass(frozen=True)
class KnownObject:
    """One object. `declared`: None where it is unmanaged. `living`: None where it does not exist, or the service was not read."""

    address: Address
    kind: str
    title: str
    declared: Declared | None = None
    living: Observed | None = None
    row: ReviewRow | None = None
    readers: str = ""
    readers_after: str = ""
    url: str = ""
    owners: tuple[str, ...] = ()
    is_read: bool = False

    @property
    def source(self) -> Source | None:
        return self.declared.source if self.declared is not None and self.declared.source.line else None

    @property
    def line(self) -> str:
        """`acme/space/guides (content.yaml:11): space spc_1 "Guides"; readers: anyone; https://…`."""
        where = f" ({self.source.file_and_line})" if self.source is not None else ""
        parts = [f"{self.kind} {id_and_title(self.living.id if self.living is not None else None, self.title)}".strip()]
        parts += [] if self.declared is not None else ["unmanaged"]
        parts += ["not created yet"] if self.is_read and self.living is None else []
        parts += [f"readers: {self.readers}"] if self.readers else []
        parts += [self.url] if self.url else []
        parts += [f"owners: {' '.join(self.owners)}"] if self.owners else []
        return f"{self.address}{where}: {'; '.join(map(one_line, parts))}"

    def matches(self, text: str) -> bool:
        """Whether one of its texts contains `text`; with `*`, whether one of them matches the pattern as a whole. Case does not matter."""
        where = self.source.file_and_line if self.source is not None else ""
        texts = (str(self.address), self.title, self.url, self.readers, where, bare(self.living.id) if self.living else "", *self.owners)
        wanted = text.casefold()
        if WILD in text:
            return any(text_pattern(wanted).matches(known.casefold()) for known in texts if known)
        return any(wanted in known.casefold() for known in texts)


def known_objects(kinds: Kinds, project: Project, planned: Planned | None) -> list[KnownObject]:
    """Every object that is declared or was read, by address."""
    owners = Owners.of(project.settings.root)
    declared = {address: resource for address, resource in project.desired.resources.items() if not resource.implied}
    review = reviewed(planned) if planned is not None else Review("", None, (), ())
    rows = {row.address: row for row in review.rows}
    objects = planned.actual.objects if planned is not None else {}
    ids = planned.matches.ids if planned is not None else {}
    known = []
    for address in dict.fromkeys([*declared, *rows]):
        resource, row = declared.get(address), rows.get(address)
        kind = resource.kind if resource is not None else row.kind if row is not None else ""
        living = objects.get(kind, {}).get(ids.get(address, row.id if row is not None else ""))
        titles = [row.title if row is not None else "", *(_title(kinds, kind, values) for values in _values(resource, living))]
        item = KnownObject(address, kind, next(filter(None, titles), ""), resource, living, row, url=_url(kinds, kind, living))
        if row is not None:
            readers = reader_names(row.before, row, review)
            item = replace(item, readers=readers, readers_after=reader_names(row.after, row, review) if row.changed else "")
        known.append(replace(item, owners=owners.of_file(item.source.file) if item.source is not None else (), is_read=planned is not None))
    return sorted(known, key=lambda item: item.address)


def unmanaged(planned: Planned | None, known: Sequence[KnownObject], text: str, kind: str) -> Iterator[str]:
    """The unmanaged objects with a text in their title or id that have no readers of their own, such as teams: they have no address."""
    listed = {(item.kind, item.living.id) for item in known if item.living is not None}
    for item in planned.plan.unmanaged if planned is not None else ():
        if (item.kind, item.id) not in listed and kind in ("", item.kind):
            title = item.title or ""
            if KnownObject(Address((item.kind,)), item.kind, f"{title}\n{bare(item.id)}").matches(text):
                yield f"{item.kind} {one_line(id_and_title(item.id, title))}; unmanaged"


def _values(resource: Declared | None, living: Observed | None) -> Iterator[Mapping[str, Any]]:
    if resource is not None:
        yield resource.values
    if living is not None:
        yield living.values


def _title(kinds: Kinds, kind: str, values: Mapping[str, Any]) -> str:
    """The value of the first field that identifies an object, or of its title."""
    fields = kinds[kind].fields if kind in kinds else {}
    candidates = [values.get("title"), *(values.get(name) for name, field in fields.items() if field.key)]
    return next((value for value in candidates if isinstance(value, str)), "")


def _url(kinds: Kinds, kind: str, living: Observed | None) -> str:
    """The published URL; "" for one that is secret."""
    declared = kinds.get(kind)
    if declared is None or living is None or declared.published is None or declared.published.secret:
        return ""
    return declared.url(living.raw) or ""


# -- one object ------------------------------------------------------------------------------------------------------------------------


def about(kinds: Kinds, project: Project, planned: Planned | None, known: KnownObject) -> Iterator[str]:
    """Everything about one object but its history, a line each."""
    yield known.line
    yield from _field_lines(kinds, planned, known)
    if known.row is not None:
        for line in known.row.before or ():
            doubt = f"; {line.doubt}" if line.doubt else ""
            yield f"reader: {line.reader} ({line.level}) by {' -> '.join(line.path)}{doubt}"
        if known.readers_after:
            yield f"readers after the plan: {known.readers_after}"
    for address, field, source in references(project, known.address):
        yield f"referred to by {address}.{field}" + (f" ({source.file_and_line})" if source is not None and source.line else "")
    if planned is not None:
        for change in planned.plan.changes:
            if change.address == known.address:
                yield f"the plan: {change.action}" + (f"; {change.reason}" if change.reason else "")
        for blocked in planned.plan.blocked:
            if blocked.address == known.address:
                yield f"the plan: blocked, {blocked.reason} [{blocked.id}]; {blocked.remedy}"


def _field_lines(kinds: Kinds, planned: Planned | None, known: KnownObject) -> Iterator[str]:
    """`title: declared Guides (content.yaml:11), living Guide`."""
    fields = kinds[known.kind].fields if known.kind in kinds else {}
    declared: Mapping[str, Any] = known.declared.values if known.declared is not None else {}
    living: Mapping[str, Any] = known.living.values if known.living is not None else {}
    names = Names()
    if planned is not None:
        names |= {binding.id: address for address, binding in planned.state.bindings.items()}
    for name in dict.fromkeys([*declared, *living]):
        want, have = declared.get(name, UNSET), living.get(name, UNSET)
        if want is UNSET and have in (UNSET, None):
            continue
        if name in fields and fields[name].sensitive:
            yield f"{name}: {HIDDEN}"
            continue
        position = known.declared.positions.get(name) if known.declared is not None else None
        where = f" ({position.file_and_line})" if position is not None and position.line else ""
        texts = [f"declared {shown(want)}{where}"] if want is not UNSET else []
        texts += [f"living {shown(named(have, names, known.address))}"] if have is not UNSET else []
        yield f"{name}: {', '.join(texts)}"


def references(project: Project, address: Address) -> Iterator[tuple[Address, str, Source | None]]:
    """The resources whose fields refer to an address, with the field and its position."""
    for other, resource in project.desired.resources.items():
        for name, value in resource.values.items():
            if other != address and address in addresses_in(value):
                yield other, name, resource.positions.get(name)


def history_of(store: Store, address: Address, runs: Sequence[RecordedRun]) -> Iterator[str]:
    """The newest requests about an address."""
    newest = (run for run in runs if run.anything)
    for number, run in enumerate(islice(newest, RUNS)):
        for entry in store.entries(run.id):
            if entry.intent.address == address and number < ENTRIES:
                yield f"history: {clock_time(entry.at, HERE)} {entry.intent.verb}, {entry.status}, by {run.who} in run {run.id[:8]}"


def found_sentence(number: int, text: str) -> str:
    """The first line of a search."""
    return f"{count(number, 'object')} for {one_line(text)}"
