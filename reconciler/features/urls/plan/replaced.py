"""What replaces what a plan stops to show: the next copy of it, beside it. Pure.

    before the plan                       after the plan
    /guides/v1   space guides             -               guides is copied by guides-v2: /guides/v1 is replaced by /guides/v2
    /guides/v2   space guides-v2          /guides/v2

In: the plan with what shows pages before and after (`SiteUrls`), and what the project declares. Out: by the URL below which something was
shown, the URL below which its copy is shown. A copy is what the project declares as one, directly or by a copy between, in the same
section; where no copy of it is left there, a copy of what it is a copy of itself, unless that is the beginning of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.features.urls.model.planned import URLS
from reconciler.features.urls.redirects.required import recorded_url
from reconciler.model import Actual, Declared, Desired, Plan
from reconciler.model.variants import Key, SiteUrls, Variant
from reconciler.plan.audience.readers import whole_of
from reconciler.resource import Kinds


def with_replaced(kinds: Kinds, desired: Desired, actual: Actual, called: Mapping[Key, Address], plan: Plan) -> Plan:
    """The plan with what replaces what it stops to show. `called`: the addresses of managed objects."""
    urls, stays = plan.site_urls, {variant.at for variant in plan.site_urls.readable_after}
    replaced: dict[str, str] = {}
    notes = []
    for variant in urls.readable_before:
        if variant.at in stays or not variant.is_open:
            continue
        section = next((called.get(whole) for whole in whole_of(kinds, actual.objects, variant.at)), None)
        copy = _copy(kinds, desired, urls, variant, section) if section is not None else None
        if copy is None:
            continue
        for rank, base in variant.bases.items():
            same = copy.bases.get(rank, base)
            # Where the copy takes a shorter URL, what it does not have there is found at its whole one.
            replaced[recorded_url(base)] = recorded_url(same if same != base else copy.bases[0])
        notes += [f"{urls.names[variant.space]} is no longer shown: its URLs lead to those of its copy {urls.names[copy.space]}."]
    if not replaced:
        return plan
    return replace(plan, notes=(*plan.notes, *notes)).with_feature(URLS, replace(plan.feature(URLS), replaced=replaced))


def _copy(kinds: Kinds, desired: Desired, urls: SiteUrls, variant: Variant, section: Address) -> Variant | None:
    """The next copy of what a variant shows, in the same section, if everybody who knew its URLs can read it."""
    shown = [declared for declared in desired.resources.values() if declared.parent == section]
    beside = {
        address: declared.index
        for declared in shown
        for address in [reference for reference in declared.values.values() if isinstance(reference, Address)]
    }
    after = {
        urls.names[other.space]: other for other in urls.readable_after if other.site == variant.site and other.bases and other.is_open
    }
    candidates = {address: index for address, index in beside.items() if address in after}
    content = urls.names[variant.space]
    steps = {address: _distance(kinds, desired, address, content) for address in candidates}
    copies = [(number, -candidates[address], address) for address, number in steps.items() if number]
    if not copies:
        return _sibling(kinds, desired, content, candidates, after)
    return after[min(copies)[2]]


def _sibling(
    kinds: Kinds, desired: Desired, content: Address, candidates: Mapping[Address, int], after: Mapping[Address, Variant]
) -> Variant | None:
    """The oldest that is shown of those that are copied from the same as this."""
    above = list(_origins(kinds, desired, content))[:-1]
    related = [address for address in candidates if any(origin in above for origin in _origins(kinds, desired, address))]
    return after[max(related, key=lambda address: candidates[address])] if related else None


def _distance(kinds: Kinds, desired: Desired, address: Address, of: Address) -> int:
    """How many copies lie between something and what it is a copy of; 0 if it is none."""
    return next((number for number, origin in enumerate(_origins(kinds, desired, address), 1) if origin == of), 0)


def _origins(kinds: Kinds, desired: Desired, address: Address) -> Iterator[Address]:
    """What something is a copy of, what that is a copy of, and so on."""
    seen = {address}
    while (declared := desired.resources.get(address)) is not None:
        origin = _origin(kinds, declared)
        if origin is None or origin in seen:
            return
        yield origin
        seen.add(origin)
        address = origin


def _origin(kinds: Kinds, declared: Declared) -> Address | None:
    seed = kinds[declared.kind].seed
    value = declared.values.get(seed.name) if seed is not None else None
    return value if isinstance(value, Address) else None
