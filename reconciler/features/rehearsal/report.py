"""A rehearsal for people and as data: the worst moment first, then readers, URLs, and what would be refused.

Rehearsal -> rehearsal_document -> rehearsal_sheet    text, Markdown, annotations, an agent
                                -> rehearsal_lines    a comment, the summary of a pipeline
                                -> preview            a page, whose first screen has the same sentences
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast
from urllib.parse import urlsplit

from reconciler.address import Address
from reconciler.features.rehearsal import documents as types
from reconciler.features.rehearsal.model import Divergence, ReaderChange, Rehearsal, RehearsedMoment
from reconciler.features.urls.redirects.required import moved_parts
from reconciler.model import Change, Delta, Step
from reconciler.report.documents import R, record
from reconciler.report.layout import Span, Style
from reconciler.report.reading import DocumentFormat
from reconciler.report.sheet import Harm, Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import HIDDEN, count, difference_lines, shown
from reconciler.resource import UNSET
from reconciler.resource.risks import ANYONE, ANYONE_WITH_THE_URL, INCLUDES, LINK_HOLDERS, VISITORS
from reconciler.text.urls import containing

Data = Mapping[str, Any]
NOT_KNOWN: Final = "not known: what is listed below could not be read, and was not rehearsed"
GIVEN: Final = "perhaps whoever was given access one by one"  # where it was not read
MOST_NAMES: Final = 3  # objects, URLs or sentences of one group in a text; the document has all
LINES: Final = 25  # of a text


def rehearsal_document(rehearsal: Rehearsal) -> types.RehearsalDocument:
    """The document of a rehearsal."""
    worst = rehearsal.worst
    return {
        "format": "reconciler.rehearsal/1",
        "project": rehearsal.project,
        "environment": rehearsal.environment,
        "digests": {"plan": rehearsal.plan_digest, "reading": rehearsal.reading_digest},
        "requests": {"copy": rehearsal.copy_requests, "apply": rehearsal.writes},
        "secondPlanEmpty": not rehearsal.remaining,
        "remaining": list(rehearsal.remaining),
        "undo": {"exact": rehearsal.undo_exact, "leftovers": list(rehearsal.leftovers)},
        "readers": {"gained": _changes(rehearsal.gained), "lost": _changes(rehearsal.lost)},
        "urls": {
            "before": rehearsal.urls_before,
            "after": rehearsal.urls_after,
            "dead": list(rehearsal.dead),
            "moved": [record(types.MovedUrlData, moved) for moved in rehearsal.moved],
            "closed": [record(types.ClosedUrlsData, closed) for closed in rehearsal.closed],
            "redirects": {"asked": rehearsal.redirects, "broken": list(rehearsal.broken_redirects)},
        },
        "deleted": [record(types.DeletedObjectData, deleted) for deleted in rehearsal.deleted],
        "sites": [record(types.RehearsedSiteData, site) for site in rehearsal.sites],
        "worst": None if worst is None else _moment(types.WorstData, worst, of=rehearsal.writes),
        "moments": [_moment(types.MomentData, moment) for moment in rehearsal.moments],
        "refusals": list(rehearsal.refusals),
        "openWork": list(rehearsal.open_work),
        "failures": list(rehearsal.failures),
        "divergences": [record(types.DivergenceData, divergence) for divergence in rehearsal.divergences],
        "assumptions": list(rehearsal.assumptions),
        "unread": list(rehearsal.unread),
    }


def _moment(shape: Callable[..., R], moment: RehearsedMoment, **keys: int) -> R:
    return record(shape, moment, deadUrls=moment.dead_urls, deadFor=list(moment.dead_for), readersGained=moment.readers_gained, **keys)


def _changes(changes: Iterable[ReaderChange]) -> list[types.ReaderChangeData]:
    return [
        {
            "reader": change.reader,
            "who": change.who or change.reader,
            "kind": change.kind,
            "title": change.title,
            "address": None if change.address is None else str(change.address),
            "before": change.before or None,
            "people": change.people,
            "others": change.others,
        }
        for change in changes
    ]


def step_text(step: Step, change: Change | None, later: Collection[str] = ()) -> str:
    """What one request does: `update path: guides -> use`, or `delete`. `later`: fields that another request of the change writes again:
    two siblings that exchange their paths need a path in between, which no change has."""
    deltas = [delta for delta in change.fields if delta.name in step.writes] if change is not None else []
    if not deltas or step.create_like:
        return step.verb
    lines = [
        f"{name}: {value}"
        for delta in deltas
        for name, value in _written(delta, step.writes[delta.name] if delta.name in later else delta.after)
    ]
    return f"{step.verb} {'; '.join(lines)}"


def _written(delta: Delta, after: Any) -> list[tuple[str, str]]:
    if delta.sensitive:
        return [(delta.name, HIDDEN)]
    return [(delta.name, shown(after))] if delta.before is UNSET else difference_lines(delta.name, delta.before, after)


def rehearsal_sheet(document: types.RehearsalDocument, *, full: bool = False) -> Sheet:
    """A rehearsal of any size in at most 25 lines. `full`: with every sentence."""
    return Sheet(
        "rehearsal",
        document["project"],
        document["environment"],
        f"Rehearsal: {done(document)}.",
        _entries(document, sys.maxsize) if full else _fitting(document),
        headline=f"{done(document)}.",
        quiet=as_planned(document) and document["worst"] is None and not document["unread"],
    )


def as_planned(document: Data) -> bool:
    """Whether the apply and a second plan went as the plan said. It may have said itself that something needs a second run."""
    return not (document["failures"] or document["divergences"])


def done(document: Data) -> str:
    """`12 requests applied to a copy, as planned; an undo there took everything back`."""
    undo, result = document["undo"], "as planned" if as_planned(document) else "NOT as planned"
    end = "took everything back" if undo["exact"] else f"left {count(len(undo['leftovers']), 'difference')}"
    return f"{count(document['requests']['apply'], 'request')} applied to a copy, {result}; an undo there {end}"


def rehearsal_lines(document: types.RehearsalDocument) -> tuple[str, str, str, str]:
    """A rehearsal in four lines: the worst moment, readers, URLs and undo."""
    readers, urls, undo = document["readers"], document["urls"], document["undo"]
    gained, lost = (_objects(readers[key]) for key in ("gained", "lost"))
    left = f"leaves {count(len(undo['leftovers']), 'difference')}: {undo['leftovers'][0]}" if undo["leftovers"] else "takes everything back"
    return (
        f"Worst moment: {worst_moment(document)}",
        f"Readers: {f'somebody can newly read {gained}' if gained else 'nobody can read more'}"
        + (f"; somebody can no longer read {lost}" if lost else ""),
        f"Published URLs: {count(len(urls['dead']), 'URL')} no longer {'answers' if len(urls['dead']) == 1 else 'answer'}, "
        f"{len(urls['moved'])} moved, of {urls['before']}",
        f"Undo: {left}",
    )


def _objects(changes: Sequence[types.ReaderChangeData]) -> str:
    """The number of objects that changes are about, and the first of them."""
    names = list(dict.fromkeys(map(_name, changes)))
    names.sort(key=lambda name: (name.count("/"), name))
    return f"{count(len(names), 'object')} ({', '.join(names[:MOST_NAMES])}{', …' if len(names) > MOST_NAMES else ''})" if names else ""


def divergence_text(divergence: types.DivergenceData) -> str:
    """One difference between the plan and the copy, as one sentence."""
    address = None if divergence["address"] is None else Address.parse(divergence["address"])
    return str(Divergence(divergence["prediction"], divergence["observation"], address, divergence["after"]))


def rehearsal_document_sheet(document: types.RehearsalDocument) -> Sheet:
    """The four lines, for a comment."""
    applied = done(document).partition(";")[0]
    refused = f"; {count(len(document['refusals']), 'refusal')}" if document["refusals"] else ""
    spans = [Span(Style.PLAIN, line) for line in rehearsal_lines(document)]
    return Sheet("rehearsal", document["project"], document["environment"], applied, [], headline=applied + refused, consequences=spans)


def consequence(moment: Data, document: Data) -> str:
    """What readers would see if the apply stopped at a moment."""
    dead, opened, whom, certain = moment["deadUrls"], moment["opened"], enumerated(moment.get("deadFor", ())), not document["unread"]
    urls = f"{count(dead, 'published URL')} {'answers' if dead == 1 else 'answer'} 404" + (f" to {whom}," if whom else "")
    if not dead:
        urls = "every published URL answers" if certain else "every URL of what could be read answers"
    if opened:
        return f"{urls} and {count(opened, 'object')} can be read by somebody new"
    return f"{urls} and nobody can read more{'' if certain else ' of what could be read'}"


def worst_moment(document: Data) -> str:
    """When it would be worst to stop, and what readers would see then and at the end."""
    worst, writes = document["worst"], document["requests"]["apply"]
    if worst is None:
        return NOT_KNOWN if document["unread"] else "no moment is worse than the start"
    if worst["after"] == writes:
        return f"at the end, {consequence(worst, document)}"
    # A document of another program may have no moments.
    then, end = (consequence(moment, document) for moment in (worst, [worst, *document["moments"]][-1]))
    return f"if it stops after request {worst['after']:,} of {writes:,}, {then}" + (f"; at the end, {end}" if end != then else "")


def remarks(document: Data) -> list[tuple[str, str, Style, Weight, Sequence[str]]]:
    """What is neither about readers nor about URLs: the title of each group, how it is shown, and its sentences, which may be none."""
    redirects = document["urls"].get("redirects", {"broken": ()})
    defects = [divergence_text(divergence) for divergence in document["divergences"]]
    return [
        ("Reconciler did something other than planned: please report it", "!", Style.DELETE, Weight.URGENT, defects),
        ("Redirects", "!", Style.UPDATE, Weight.HINDERED, redirects["broken"]),
        ("apply would refuse this", "!", Style.BLOCKED, Weight.HINDERED, document["refusals"]),
        ("Work in progress", "!", Style.UPDATE, Weight.HINDERED, document.get("openWork", ())),
        ("Failed on the copy", "!", Style.BLOCKED, Weight.HINDERED, document["failures"]),
        ("A second plan is not empty", "~", Style.UPDATE, Weight.HINDERED, document["remaining"]),
        ("An undo does not bring this back", "~", Style.UPDATE, Weight.CHANGE, document["undo"]["leftovers"]),
        ("Could not be read, and is not part of the copy", "?", Style.BLOCKED, Weight.HINDERED, document["unread"]),
        ("Assumed about the service", "?", Style.DIM, Weight.BACKGROUND, document["assumptions"]),
    ]


def _fitting(document: Data) -> list[SheetEntry]:
    """The entries of the longest report that is short enough."""
    room = LINES - 2 - (0 if document["environment"] is None else 2)  # without the summary and the environment
    for named in range(MOST_NAMES, 0, -1):
        entries = _entries(document, named)
        if sum(1 + len(entry.lines) for entry in entries) <= room:
            return entries
    return [entry for entry in entries if entry.weight is not Weight.BACKGROUND]


def _entries(document: Data, named: int) -> list[SheetEntry]:
    """The groups that have sentences. `named`: how many sentences of one are shown."""
    worst, readers, urls = document["worst"], document["readers"], document["urls"]
    moment = SheetLine(Style.BLOCKED, "?", "", worst_moment(document))
    if worst is not None:
        moment = replace(moment, style=Style.DELETE, symbol="!", harm=Harm.EXPOSURE if worst["opened"] else Harm.DEAD_URL)
    groups = [
        ("Worst moment", [moment] if worst is not None or document["unread"] else [], Weight.URGENT),
        ("Readers", [
            *_sentences("+", _gained(readers["gained"]), Style.DELETE, named, Harm.EXPOSURE),
            *_sentences("-", _readers(readers["lost"], "can no longer read"), Style.DIM, named),
        ], Weight.URGENT),
        ("Published URLs", [
            *_sentences("-", _closed(urls), Style.DELETE, named, Harm.DEAD_URL),
            *_sentences(">", _moved(urls["moved"]), Style.MOVE, named),
        ], Weight.URGENT),
        *((title, _sentences(symbol, said, style, named), weight) for title, symbol, style, weight, said in remarks(document)),
    ]  # fmt: skip
    return [SheetEntry(title, "", lines, weight) for title, lines, weight in groups if lines]


def _sentences(symbol: str, sentences: Sequence[str], style: Style, named: int, harm: Harm | None = None) -> list[SheetLine]:
    """The first sentences, the last of them with how many more there are; a sentence of several lines is its first."""
    lines = [sentence.partition("\n")[0] for sentence in sentences[:named]]
    if len(sentences) > named:
        lines[-1] += f" (and {len(sentences) - named} more like this)"
    return [SheetLine(style, symbol, "", line, harm=harm) for line in lines]


def _gained(changes: Sequence[types.ReaderChangeData]) -> list[str]:
    """Who can newly read what, and who could already and may do more now."""
    new = [change for change in changes if not change.get("before")]
    roles = [f"{by_name(change)} may do more than {change['before']} in {_name(change)}" for change in changes if change.get("before")]
    return [*_readers(widest(new), "can newly read"), *roles]


def _readers(changes: Sequence[types.ReaderChangeData], verb: str) -> list[str]:
    """One sentence for readers of the same objects: `anyone and agents can newly read 2 objects: acme/site/docs, acme/space/guides`."""
    sentences = []
    for readers, addresses in reader_groups(changes, _name):
        more = f" and {len(addresses) - MOST_NAMES} more" if len(addresses) > MOST_NAMES else ""
        which = f"{count(len(addresses), 'object')}: " if len(addresses) > 1 else ""
        sentences.append(f"{enumerated(readers)} {verb} {which}{', '.join(addresses[:MOST_NAMES])}{more}")
    return sentences


def reader_groups(
    changes: Iterable[types.ReaderChangeData], name: Callable[[types.ReaderChangeData], str]
) -> list[tuple[list[str], tuple[str, ...]]]:
    """The readers of the same objects, the widest first, with the names of the objects; those of most objects first. Whoever was given
    access one by one comes last, where that was not read."""
    objects: dict[str, set[str]] = defaultdict(set)
    unread: set[str] = set()
    for change in changes:
        objects[by_name(change)].add(name(change))
        unread |= {by_name(change)} if change.get("others") else set()
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for who, readable in objects.items():
        alike[tuple(sorted(readable, key=lambda name: (name.count("/"), name)))].append(who)
    groups = sorted(alike.items(), key=lambda item: (-len(item[0]), item[1]))
    return [([*sorted(readers, key=_width), *([] if unread.isdisjoint(readers) else [GIVEN])], names) for names, readers in groups]


def by_name(change: types.ReaderChangeData) -> str:
    """`members (comment): ada@acme.example, grace@acme.example`."""
    return ": ".join(filter(None, [change["who"], change.get("people")]))


def widest(changes: Sequence[types.ReaderChangeData]) -> list[types.ReaderChangeData]:
    """Without the readers who are included in a wider class that gains the same object."""
    gaining: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        gaining[_name(change)].add(change["who"])
    return [
        change
        for change in changes
        if not any(_class(change["who"]) in INCLUDES.get(wider, ()) for wider in gaining[_name(change)] - {change["who"]})
    ]


def _class(who: str) -> str:
    """The class of readers to which it belongs: all holders of share links are alike, all visitors who meet a condition are visitors."""
    return next((name for name in (LINK_HOLDERS, VISITORS) if who.startswith(name)), who)


def _width(who: str) -> tuple[bool, bool, str]:
    """The widest class of readers first."""
    return who != ANYONE, who != ANYONE_WITH_THE_URL, who


def _name(change: types.ReaderChangeData) -> str:
    return change["address"] or f'{change["kind"]} "{change["title"]}"'


def enumerated(names: Sequence[str]) -> str:
    """`a, b and c`; of many, the first ones; "" for none."""
    between = "; " if any(": " in name for name in names) else ", "  # people of a class have commas between them
    if len(names) > MOST_NAMES + 1:
        return f"{between.join(names[:MOST_NAMES])} and {count(len(names) - MOST_NAMES, 'other reader')}"
    return " and ".join(filter(None, [between.join(names[:-1]), *names[-1:]]))


def _closed(urls: Data) -> list[str]:
    """The dead URLs, with the readers to whom they no longer answer where others still get them."""
    moved = {url["before"] for url in urls["moved"]}
    sentences = []
    for closed in urls.get("closed", ()):
        dead = [url for url in closed["urls"] if url not in moved]
        whom = f" to {enumerated(closed['who'])}" if closed["answering"] else ""
        sentences += _dead(dead, whom)
    return sentences


def _dead(urls: Sequence[str], whom: str) -> list[str]:
    """`/docs/changelog no longer answers to agents, nor do 3 URLs below it`."""
    return [
        f"{short_url(url)} no longer answers{whom}"
        + (f", nor {'does' if number == 1 else 'do'} {count(number, 'URL')} below it" if number else "")
        for url, number in dead_groups(urls)
    ]


def dead_groups(urls: Sequence[str]) -> list[tuple[str, int]]:
    """The URLs above all others, each with the number of those below it."""
    below: dict[str, int] = {}
    for url in sorted(urls):
        parent = next((top for top in containing(url)[:-1] if top in below), None)
        below[parent or url] = below[parent] + 1 if parent else 0
    return list(below.items())


def _moved(urls: Sequence[types.MovedUrlData]) -> list[str]:
    """`/docs/guides is now /docs/use, with 5 URLs below it`, or `5 URLs below /docs/guides are now below /docs/use`."""
    sentences = []
    for before, after, inside in moved_groups(urls):
        if any(url["before"] == before for url in inside):
            more = f", with {count(len(inside) - 1, 'URL')} below it" if len(inside) > 1 else ""
            sentences.append(f"{short_url(before)} is now {short_url(after)}{more}")
        elif len(inside) == 1:
            sentences.append(f"{short_url(inside[0]['before'])} is now {short_url(inside[0]['after'])}")
        else:
            sentences.append(f"{count(len(inside), 'URL')} below {short_url(before)} are now below {short_url(after)}")
    return sentences


def moved_groups(urls: Sequence[types.MovedUrlData]) -> list[tuple[str, str, list[types.MovedUrlData]]]:
    """URLs that moved together: what they began with, what they begin with now, and the URLs."""
    below: dict[str, dict[str, list[types.MovedUrlData]]] = {}
    parted = ((*moved_parts(url["before"], url["after"]), url) for url in urls)
    for before, after, url in sorted(parted, key=lambda row: (*row[:2], row[2]["before"])):
        tops = (below[top] for top in containing(before) if top in below)
        inside = next((moved[top] for moved in tops for top in containing(after) if top in moved), None)
        if inside is None:
            inside = below.setdefault(before, {}).setdefault(after, [])
        inside.append(url)
    return [(before, after, inside) for before, moved in below.items() for after, inside in moved.items()]


def short_url(url: str) -> str:
    """Without what every URL begins with: the scheme, and the machine of a sandbox."""
    parts = urlsplit(url)
    return parts.path if parts.hostname in ("127.0.0.1", "localhost", "::1") else url.removeprefix(f"{parts.scheme}://")


FORMAT: Final = DocumentFormat(
    "reconciler.rehearsal/1",
    types.RehearsalDocument,
    lambda document: rehearsal_document_sheet(cast("types.RehearsalDocument", document)),
)
