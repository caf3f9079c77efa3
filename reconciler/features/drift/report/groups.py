"""Groups of drift in words: what happened, since when, what it means for readers and URLs, and the two ways on. Pure.

exposing       acme/site/docs: visibility share-link -> public
               New access for anyone: 2 spaces (acme/space/six and acme/space/two).
commands       Revert it: reconciler drift docs --revert-plan revert.plan.json --group 5f0c && reconciler apply docs --plan revert.plan.json
               Accept it: reconciler drift docs --accept acme/site/docs.visibility --allow-exposure acme/site/docs
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field as item
from datetime import tzinfo
from shlex import quote
from typing import Final

from reconciler.address import Address
from reconciler.features.drift.model import Drift, DriftBounds, DriftClass, Drifted, DriftGroup, DriftWord
from reconciler.model import Delta
from reconciler.report.layout import Span, Style
from reconciler.report.words import HIDDEN, count, difference_lines, id_and_title, listed

MOST_ADDRESSES: Final = 3  # addresses in a sentence
VALUES_MAX: Final = 160  # characters of what differs, in a sentence
SENTENCES: Final = 6  # above the list
ACCEPTED_MAX: Final = 8  # resources that one command line accepts
PLAN_FILE: Final = "revert.plan.json"


def group_text(group: DriftGroup) -> str:
    """What happened, as a sentence without its end: `acme/site/docs: visibility share-link -> public`."""
    if group.unmanaged is not None:
        what = id_and_title(group.unmanaged.id, group.unmanaged.title)
        lets = f": {'; '.join(group.effects)}" if group.effects else ""
        return f"{group.unmanaged.kind} {what} is unmanaged{lets}"
    effects = f" ({'; '.join(group.effects)})" if group.effects else ""
    deleted = [resource for resource in group.resources if resource.status is DriftWord.DELETED]
    if deleted:
        inside, others = len(deleted) - 1, len(group.resources) - len(deleted)
        with_it = f", and {count(inside, 'more resource')} with it" if inside else ""
        because = f"; {count(others, 'resource')} changed because of it" if others else ""
        return f"{group.addresses[0]} was deleted{with_it}{because}{effects}"
    what = differences(group.resources[0]) if group.resources else "changed"
    return f"{listed(list(map(str, group.addresses)), MOST_ADDRESSES)}: {what}{effects}"


def differences(resource: Drifted) -> str:
    """What differs in one resource: `title Docs -> Handbook; path docs -> handbook`."""
    texts = ["; ".join(" ".join(pair) for pair in _pairs(delta)) for delta in resource.fields]
    text = "; ".join(texts) or "its location changed"
    return text if len(text) <= VALUES_MAX else f"{text[:VALUES_MAX]}…"


def _pairs(delta: Delta) -> list[tuple[str, str]]:
    return [(delta.name, HIDDEN)] if delta.sensitive else difference_lines(delta.name, delta.last, delta.before)


def overview(groups: Sequence[DriftGroup], zone: tzinfo | None) -> Iterator[Span]:
    """What happened and since when, then who can read more or less and which URLs ended, the worst first."""
    if not groups:
        return
    numbers = Counter(group.drift_class for group in groups)
    calm = numbers.keys() == {DriftClass.COSMETIC}
    counted = listed([f"{number:,} {name}" for name in DriftClass if (number := numbers[name])], len(numbers))
    what = f"{count(len(groups), 'change')}: {counted}"
    if len(numbers) == 1:
        (only,) = numbers
        what = count(len(groups), f"{only} change")
    since = common_bounds(groups).text(zone)
    yield Span(Style.PLAIN if calm else Style.DELETE, f"{what}{f', {since}' if since else ''}.")
    sentences = [sentence for group in groups for sentence in consequences_of(group)]
    yield from (Span(Style.DELETE, sentence) for sentence in sentences[:SENTENCES])
    if len(sentences) > SENTENCES:
        yield Span(Style.DELETE, f"{count(len(sentences) - SENTENCES, 'more consequence')} below.")


def common_bounds(groups: Sequence[DriftGroup]) -> DriftBounds:
    """When the changes were made, if that is the same for all of which the service does not show the moment; else nothing."""
    bounds = {group.between for group in groups if not _is_exact(group)}
    return next(iter(bounds)) if len(bounds) == 1 else DriftBounds()


def _is_exact(group: DriftGroup) -> bool:
    return group.between.after is not None and group.between.after == group.between.before


def consequences_of(group: DriftGroup) -> Iterator[str]:
    """What a group means for readers and URLs, as sentences."""
    for gains, who, addresses in reader_lines(group):
        yield f"{'New access' if gains else 'Access ends'} for {who}: {_objects(addresses)}."
    if group.unmanaged is not None and group.effects:
        yield f"{group_text(group)} ({group.addresses[0]})."
    elif group.effects:
        deleted = any(resource.status is DriftWord.DELETED for resource in group.resources)
        names = group.addresses[:1] if deleted else group.addresses
        yield f"{listed(list(map(str, names)), MOST_ADDRESSES)}: {'; '.join(group.effects)}."
    if group.urls:
        moved = sum(url.after is not None for url in group.urls)
        elsewhere = f"; the content of {moved:,} answers elsewhere" if moved else ""
        below = count(len(group.urls), "published URL")
        yield f"{below} {'stops' if len(group.urls) == 1 else 'stop'} working, with everything below{elsewhere} ({group.urls[0].before})."
    elif group.drift_class is DriftClass.BREAKING_URLS:
        yield f"{listed(list(map(str, group.addresses)), MOST_ADDRESSES)}: published URLs that begin with the former address stop working."


def reader_lines(group: DriftGroup) -> Iterator[tuple[bool, str, tuple[Address, ...]]]:
    """Who gains (or loses) which objects: readers of the same objects together."""
    together: dict[tuple[bool, tuple[Address, ...]], list[str]] = {}
    for change in group.readers:
        together.setdefault((change.gains, change.addresses), []).append(change.who)
    for (gains, addresses), names in together.items():
        yield gains, listed(names, len(names)), addresses


def _objects(addresses: Sequence[Address]) -> str:
    kinds = Counter(address.kind or "object" for address in addresses)
    named = f" ({listed(list(map(str, addresses)), MOST_ADDRESSES)})" if len(addresses) <= MOST_ADDRESSES else ""
    return listed([count(number, kind) for kind, number in kinds.items()], len(kinds)) + named


Command = Callable[[str], str]
"""The command line of a command, with the project and the options of this run."""


@dataclass(frozen=True)
class OtherWay:
    """What puts a group back that no plan does: a command, or "" and a sentence that says why there is none."""

    command: str
    why: str = ""


@dataclass(frozen=True)
class DriftCommands:
    """The two ways on, as complete command lines: put back what was changed, or accept it.

    `line`: gives the command line of a command. `by_hand`: ADDRESS or ADDRESS.field of what no command accepts, and what people do
    for it. `no_plan`: by id, what puts groups back that no plan does.
    """

    line: Command
    by_hand: Mapping[str, str] = item(default_factory=dict)
    no_plan: Mapping[str, OtherWay] = item(default_factory=dict)

    def sentences(self, drift: Drift) -> list[str]:
        """Both ways for the worst group, and for all where there are more."""
        groups = drift.groups
        if not groups:
            return []
        first, rest = groups[0], groups[1:]
        alone = not rest or first.drift_class is DriftClass.COSMETIC
        listing: list[tuple[str, Sequence[DriftGroup]]] = [("all" if rest else "it", groups)]
        lines = []
        for what, some in [*([] if alone else [(f"{first.addresses[0]}", [first])]), *listing]:
            lines += self._reverts(what, some)
            line = self.accept(drift, some)
            lines += [f"Accept {what}: {line}"] if line else []
        return [*dict.fromkeys(lines), *self._in_the_files(groups)]

    def _reverts(self, what: str, groups: Sequence[DriftGroup]) -> list[str]:
        if all(group.id in self.no_plan for group in groups):
            ways = [(group.addresses[0], self.no_plan[group.id]) for group in groups[:MOST_ADDRESSES]]
            return [f"Revert {address}: {way.command}" if way.command else way.why for address, way in ways]
        return [f"Revert {what}: {self.revert(groups)}"]

    def revert(self, groups: Sequence[DriftGroup]) -> str:
        """The commands that put groups back, and nothing else: of a group those of its id, of several those of all. "" where none does."""
        only = groups[0].id if len(groups) == 1 else ""
        if only in self.no_plan:
            return self.no_plan[only].command
        chosen = f" --group {only}" if only else ""
        return f"{self.line('drift')} --revert-plan {PLAN_FILE}{chosen} && {self.line('apply')} --plan {PLAN_FILE}"

    def accept(self, drift: Drift, groups: Sequence[DriftGroup]) -> str:
        """The command that takes the changes of some groups into the files; "" where no command can."""
        existing = [(group, resource) for group in groups for resource in group.resources if resource.status is not DriftWord.DELETED]
        kept = [(group, resource, name) for group, resource in existing for name in self._accepted_names(resource)]
        if not kept:
            return ""
        if len(kept) > ACCEPTED_MAX:
            return f"{self.line('drift')} --accept ADDRESS[.FIELD]"
        exposed = {address for exposure in drift.exposures if exposure.asked for address in exposure.names}
        consent = [
            resource.address for group, resource, _ in kept if group.drift_class is DriftClass.EXPOSING or resource.address in exposed
        ]
        exposing = dict.fromkeys(map(str, consent))
        accepted = [f"--accept {quote(name)}" for _, _, name in kept]
        return " ".join([self.line("drift"), *accepted, *(f"--allow-exposure {quote(address)}" for address in exposing)])

    def _accepted_names(self, resource: Drifted) -> list[str]:
        """What names the changes of a resource that a command accepts: its address, or each field where people do the rest."""
        fields = [f"{resource.address}.{delta.name}" for delta in resource.fields]
        if str(resource.address) not in self.by_hand and self.by_hand.keys().isdisjoint(fields):
            return [str(resource.address)]
        return [name for name in fields if name not in self.by_hand]

    def _in_the_files(self, groups: Sequence[DriftGroup]) -> list[str]:
        """What people do in the YAML to accept what no command can. A line of its own: commands are copied as whole lines."""
        resources = [resource for group in groups for resource in group.resources]
        deleted = any(resource.status is DriftWord.DELETED for resource in resources)
        names = [
            name
            for resource in resources
            for name in (str(resource.address), *(f"{resource.address}.{delta.name}" for delta in resource.fields))
            if name in self.by_hand and resource.status is not DriftWord.DELETED
        ]
        others = list(dict.fromkeys(self.by_hand[name] for name in names))
        others = [*others[:MOST_ADDRESSES], f"{len(others) - MOST_ADDRESSES:,} more"] if len(others) > MOST_ADDRESSES + 1 else others
        others += ["remove the lines of what was deleted"] if deleted else []
        others += ["declare what is unmanaged"] if any(group.unmanaged is not None for group in groups) else []
        return [f"Accept by hand, in the YAML: {listed(others, len(others))}"] if others else []
