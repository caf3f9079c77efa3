"""The guard of published URLs: a run after which nothing answers at one that was public is refused without consent. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection
from shlex import quote
from typing import Final

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.features.urls.model.planned import REDIRECTS
from reconciler.features.urls.redirects.planned import patterns_of_dead
from reconciler.features.urls.redirects.required import is_named
from reconciler.model import DeadUrls, Desired, Plan
from reconciler.run.guards import ConsentGuard, below
from reconciler.run.operation import Limits


def _dead_urls(plan: Plan, desired: Desired, limits: Limits) -> Refused | None:
    redirects = plan.feature(REDIRECTS)
    if desired.dead_urls is not DeadUrls.BLOCK or redirects is None:
        return None
    dead = [url for url in redirects.dead if not any(is_named(url, text) for text in limits.dead_urls)]
    if not dead:
        return None
    number = len(dead)
    wrong = f"after the plan, nothing answers at {number:,} URL{'s' if number != 1 else ''} that {'was' if number == 1 else 'were'} public"
    names = patterns_of_dead(plan, dead)
    # All of them: what is pasted must be enough.
    option = " ".join(f"--allow-dead-urls {quote(name)}" for name in names)
    gone = ", ".join(f"{{url: {json.dumps(name)}, reason: …}}" for name in names)
    lines = [f"{url.url}: {url.reason}" for url in dead]
    way = f"if this is intended, write urls: {{gone: [{gone}]}}, or: {option}"
    return Refused(f"{wrong}{below(lines)}", id="RC-dead-urls", hint=way, about=_shown_by(plan, {url.site for url in dead}))


def _shown_by(plan: Plan, sites: Collection[Address]) -> set[Address]:
    """The sites, what is in them, and the spaces that they show: which of their changes ends a URL is not told apart."""
    changed = {address for change in plan.changes for address in [change.address] if any(address.is_within(site) for site in sites)}
    urls = plan.site_urls
    spaces = {urls.names.get(shown.space) for shown in (*urls.before, *urls.after) if urls.names.get(shown.site) in sites}
    return {*sites, *changed, *(space for space in spaces if space is not None)}


GUARD: Final = ConsentGuard("RC-dead-urls", _dead_urls)
