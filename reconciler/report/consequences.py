"""What a plan means for readers, as sentences above the list of its changes. Pure.

exposures      New access for anyone: 2 spaces (acme/space/six and acme/space/two).
lost readers   Access ends for anyone: 1 section (acme/site/docs/section/api).
broken URLs    2 published URLs stop working; the content of 1 gets a new URL.
pages          196 URLs of pages move and 41 URLs of pages end.
deletes        Deleted: 1 site, with 3 sections in it (acme/site/docs).
open work      Work in progress ends with the delete: 1 draft change request in acme/space/old.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from reconciler.address import Address
from reconciler.model import Action, Change, Exposure, Plan
from reconciler.report.layout import Span, Style
from reconciler.report.sections import SECTIONS
from reconciler.report.words import count, listed

NOTHING: Final = "No existing content gets new readers, no published URL stops working, and nothing is deleted."
SENTENCES: Final = 4  # about one thing; the rest is counted
MOST_ADDRESSES: Final = 3  # addresses in a sentence; more of them are only counted


def consequences(plan: Plan) -> tuple[Span, ...]:
    """The sentences, those about new readers first; () if nothing changes."""
    sentences = (
        *gained(plan.exposures),
        *_lost(plan),
        *_urls(plan),
        *(sentence for section in SECTIONS for sentence in section.sentences(plan)),
        *_deleted(plan.changes),
        *(sentence for section in SECTIONS for sentence in section.deletions(plan)),
    )
    # What could not be read, or was not, may have consequences too.
    if sentences or not plan.changes or plan.files_only or plan.unknown or plan.in_doubt:
        return sentences
    return (Span(Style.DIM, NOTHING),)


def gained(exposures: Sequence[Exposure]) -> tuple[Span, ...]:
    """Who can read what they could not, and which protections end."""
    opened: dict[tuple[str, int], dict[Address, None]] = {}
    loosened: dict[str, list[str]] = {}
    for exposure in exposures:
        if exposure.readers:
            opened.setdefault((listed(list(exposure.readers), len(exposure.readers)), exposure.window), {}).update(
                dict.fromkeys((exposure.address, *exposure.reaches))
            )
        else:
            loosened.setdefault(exposure.says, []).append(str(exposure.address))
    says_of: dict[str, list[str]] = {}
    for says, names in loosened.items():
        says_of.setdefault(listed(list(dict.fromkeys(names)), MOST_ADDRESSES), []).append(says)
    sentences = []
    for (readers, window), addresses in opened.items():
        during = f" during {count(window, 'request')} of this run" if window else ""
        sentences.append(f"New access for {readers}{during}: {_objects(addresses, exposures)}.")
    sentences += [f"{names}: {'; '.join(texts)}." for names, texts in says_of.items()]
    return tuple(_first(sentences, Style.DELETE, "exposure"))


def _lost(plan: Plan) -> Iterator[Span]:
    """Who can no longer read what remains."""
    lost: dict[str, list[Address]] = {}
    for address, texts in plan.lost_readers.items():
        lost.setdefault(listed(list(texts), len(texts)), []).append(address)
    sentences = [f"Access ends for {texts}: {_objects(addresses, plan.changes)}." for texts, addresses in lost.items()]
    yield from _first(sentences, Style.UPDATE, "loss")


def _urls(plan: Plan) -> Iterator[Span]:
    if not plan.broken:
        return
    moved, number = sum(url.after is not None for url in plan.broken), len(plan.broken)
    urls = count(number, "published URL")
    if moved == number:
        changes = "changes; the old one stops" if number == 1 else "change; the old ones stop"
        yield Span(Style.DELETE, f"{urls} {changes} working.")
    else:
        new = f"; the content of {moved:,} gets a new URL" if moved else ""
        yield Span(Style.DELETE, f"{urls} {'stops' if number == 1 else 'stop'} working{new}.")


def _deleted(changes: Sequence[Change]) -> Iterator[Span]:
    """What ceases to exist, and what is created again."""
    for word, action in (("Deleted and created again", Action.REPLACE), ("Deleted", Action.DELETE)):
        addresses = {change.address for change in changes if action in change.actions}
        outer = [address for address in sorted(addresses) if addresses.isdisjoint(address.containers)]
        inner = [address for address in sorted(addresses) if address not in outer]
        if addresses:
            within = f", with {_kinds(inner, changes)} in {'it' if len(outer) == 1 else 'them'}" if inner else ""
            yield Span(Style.DELETE, f"{word}: {_kinds(outer, changes)}{within}{_named(outer)}.")


def _objects(addresses: Collection[Address], about: Iterable[Change | Exposure]) -> str:
    """`2 spaces (acme/space/one and acme/space/two)`."""
    return f"{_kinds(addresses, about)}{_named(addresses)}"


def _named(addresses: Collection[Address]) -> str:
    return f" ({listed(list(map(str, addresses)), MOST_ADDRESSES)})" if len(addresses) <= MOST_ADDRESSES else ""


def _kinds(addresses: Iterable[Address], about: Iterable[Change | Exposure]) -> str:
    """`1 site, 2 sections and 4 spaces`. `about`: what else says of which kind the objects are; the address of a root does not."""
    kinds = {item.address: item.kind for item in about}
    numbers = Counter(address.kind or kinds.get(address, "object") for address in addresses)
    return listed([count(number, kind) for kind, number in numbers.items()], len(numbers))


def _first(sentences: Sequence[str], style: Style, word: str) -> Iterator[Span]:
    yield from (Span(style, sentence) for sentence in sentences[:SENTENCES])
    if len(sentences) > SENTENCES:
        yield Span(style, f"{count(len(sentences) - SENTENCES, f'more {word}', f'more {word}s')} below.")
