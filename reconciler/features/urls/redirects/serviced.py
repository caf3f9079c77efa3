"""What the service does with published URLs by itself, as the project declares it. Pure.

In: redirects and dead URLs of a plan, and the URLs that it breaks. Out: those that remain. What the service redirects is moved and not
dead; where it ignores case, two spellings are one URL, at which the page answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from reconciler.features.urls.model.pages import AnsweringUrls
from reconciler.features.urls.model.redirects import DeadUrl, Redirect, ServiceUrls
from reconciler.features.urls.redirects.required import Redirection
from reconciler.model import BrokenUrl, Plan


def without_case(service: ServiceUrls, result: Redirection, after: AnsweringUrls) -> Redirection:
    """The redirects and dead URLs without those that are another spelling of a URL at which something answers. Lines of people stay, but of
    two that differ in case the first one alone."""
    if not service.caseless:
        return result
    live = {url.lower() for url in (*after.public, *after.restricted)}
    rules: dict[str, Redirect] = {}
    for redirect in sorted(result.redirects, key=lambda redirect: redirect.is_own):
        if not (redirect.is_own and redirect.source.lower() in live):
            rules.setdefault(redirect.source.lower(), redirect)
    kept = sorted(rules.values(), key=lambda redirect: redirect.source)
    return replace(result, redirects=tuple(kept), dead=tuple(_dead(result.dead, live | rules.keys())))


def _dead(urls: Iterable[DeadUrl], answered: Collection[str]) -> Iterable[DeadUrl]:
    return (url for url in urls if url.url.lower() not in answered)


def with_moved(service: ServiceUrls, plan: Plan, publishers: Collection[str]) -> Plan:
    """The plan in which a URL inside a site that moves is not broken, but moved. `publishers`: the kinds of sites, whose own URL nobody
    redirects."""
    if not service.redirects:
        return plan
    moved = [line for line in plan.broken if line.kind not in publishers and line.before is not None and line.after is not None]
    if not moved:
        return plan
    notes = (f"{line.address}: {line.before} -> {line.after}: moved, the service redirects it (urls.service)" for line in moved)
    return replace(plan, broken=_without(plan.broken, moved), notes=(*plan.notes, *notes))


def _without(lines: Iterable[BrokenUrl], moved: Collection[BrokenUrl]) -> tuple[BrokenUrl, ...]:
    return tuple(line for line in lines if line not in moved)
