"""Whether the redirects of a plan lead to pages that answer on the copy. Pure.

A redirect that this plan adds or rewrites and that leads nowhere is a defect of Reconciler. One from before is not: somebody may have
deleted its page, or written the line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from reconciler.features.rehearsal.model import Divergence
from reconciler.features.urls.model.planned import REDIRECTS, URLS
from reconciler.features.urls.model.redirects import Redirect
from reconciler.features.urls.redirects.required import recorded_url
from reconciler.model import Plan


@dataclass(frozen=True)
class RedirectTest:
    """`asked`: redirects whose ends were looked for. `broken`: a sentence for each that does not work. `defects`: those of the plan."""

    asked: int = 0
    broken: tuple[str, ...] = ()
    defects: tuple[Divergence, ...] = ()


def tested_redirects(plan: Plan, before: Iterable[str], after: Iterable[str]) -> RedirectTest:
    """The redirects of a plan, asked of a copy. `before`, `after`: the URLs that answered there at the start and at the end."""
    was, answers = ({recorded_url(url) for url in urls} for urls in (before, after))
    hosts = {urlsplit(url).netloc for url in was | answers}
    planned = {recorded_url(url) for change in plan.feature(URLS).changes for url in (change.before, change.after) if url is not None}
    asked, broken, defects = 0, list[str](), list[Divergence]()
    redirects = plan.feature(REDIRECTS)
    for redirect in redirects.redirects if redirects is not None else ():
        source, target = recorded_url(redirect.source), recorded_url(redirect.target or "")
        # What leads to a host of somebody else is not on the copy.
        if redirect.target is not None and urlsplit(target).netloc not in hosts:
            continue
        asked += 1
        if (wrong := _wrong(redirect, source in answers, redirect.target is None or target in answers)) is None:
            continue
        prediction, observation = wrong
        if planned.isdisjoint((source, target)):
            broken.append(f"{prediction}, but {observation}")
        else:
            defects.append(Divergence(prediction, observation, redirect.site))
    return RedirectTest(asked, tuple(broken), tuple(defects))


def _wrong(redirect: Redirect, hides: bool, leads: bool) -> tuple[str, str] | None:
    """What the file says, and what was observed instead. `hides`: a page answers at its source; `leads`: one answers at its target."""
    rule = f"{redirect.source} {f'leads to {redirect.target}' if redirect.target is not None else 'answers 410'}"
    if hides:
        return rule, "a page answers there, which the redirect would hide"
    return None if leads else (rule, "nothing answers there")
