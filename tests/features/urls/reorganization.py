"""One random reorganization: what a plan says of every URL, a real apply, and what the sandbox serves before and after."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import yaml

from reconciler.address import Address
from reconciler.client.service import Reader
from reconciler.features.urls.model.pages import PageChange, UrlReason
from reconciler.features.urls.model.planned import URLS
from reconciler.model import StepStatus
from reconciler.run.operation import EVERYTHING, Operation
from reconciler.run.planning import make
from reconciler.run.stages import Planned, PlanSource
from reconciler.sandbox.sites.readers import Reader as AudienceReader
from tests.features.urls.worlds import admitted, reorganized, roots, seed_of, served, world
from tests.harness import Org, kinds
from tests.organizations import Tree, project

Key = tuple[str, str]


class Site(Org):
    """An organization whose project may have several of them, with transfers."""

    def reorganize(self, trees: Mapping[str, Tree], moved: Collection[tuple[str, str]] = ()) -> None:
        self.write(yaml.safe_dump(project(trees, transfers=list(moved)), allow_unicode=True, sort_keys=False))

    def urls(self, *, only: frozenset[Address] | None = None) -> Planned:
        """A plan with the URLs of pages, as `plan` makes it. `only`: of these addresses; None for all."""

        async def run() -> Planned:
            with self.store() as store:
                async with self.client(Reader) as reader:
                    source, operation = PlanSource(reader, store), Operation(limits=EVERYTHING).only(only)
                    return await make(source, kinds(), self.load().desired, store.read(), operation)

        return asyncio.run(run())

    def admitted(self, was: Mapping[str, AudienceReader] = MappingProxyType({})) -> dict[str, AudienceReader]:
        """Somebody whom each site admits, by its id. `was`: the same before."""
        return admitted(self.app.state.service.store, was)

    def roots(self, readers: Mapping[str, AudienceReader]) -> dict[str, AudienceReader]:
        """The same readers by the URLs of their sites."""
        service = self.app.state.service
        return roots(service.store, service.base, readers)

    def served(self, readers: Mapping[str, AudienceReader]) -> dict[str, str]:
        """The page at each URL that answers for them."""
        service = self.app.state.service
        return served(service.store, service.base, readers)


@dataclass
class Result:
    """What differs from the prediction, as sentences; `reasons`: how often the plan gave each."""

    wrong: list[str] = field(default_factory=list)
    reasons: dict[UrlReason, int] = field(default_factory=dict)
    reads: int = 0
    finished: bool = True


def result_of(root: Path, seed: int) -> Result:
    """The reorganization with that seed."""
    chance = random.Random(seed)
    org = Site(root, seed=seed_of(chance))
    first = world(chance)
    org.reorganize(first)
    org.apply()
    readers = org.admitted()
    before = org.served(readers)
    second, moved = reorganized(first, chance, chance.randint(1, 4))
    org.reorganize(second, moved)
    org.requests.clear()
    planned = org.urls()
    reads = [path for method, path in org.requests if path.endswith("/content/pages")]
    outcome = org.apply()
    done = all(step.status is StepStatus.DONE for step in outcome.results)
    after, plan = org.served(org.admitted(readers)), planned.plan
    result = Result(finished=done, reads=len(reads))
    for change in plan.feature(URLS).changes:
        result.reasons[change.reason] = result.reasons.get(change.reason, 0) + 1
    if done:
        result.wrong += differences(before, after, plan.feature(URLS).changes)
    result.wrong += [f"read twice: {path}" for path in set(reads) if reads.count(path) > 1]
    return result


def differences(before: Mapping[str, str], after: Mapping[str, str], urls: Collection[PageChange]) -> list[str]:
    """What a plan said otherwise, as sentences."""
    expected, wrong = dict(before), list[str]()
    unknown = {change.space for change in urls if change.reason is UrlReason.UNKNOWN}
    for change in urls:
        if change.before is not None and change.page is not None and expected.pop(change.before, None) != change.page:
            wrong.append(f"{change.before} did not answer with {change.title}: {change.reason}")
    for change in urls:
        if change.after is not None and change.page is not None:
            expected[change.after] = change.page
            if after.get(change.after) != change.page:
                wrong.append(f"{change.after} does not answer with {change.title} ({change.reason} from {change.before})")
        if change.before is not None and change.reason is UrlReason.GONE and change.before in after:
            wrong.append(f"{change.before} still answers, and is said to be gone")
        if change.before is not None and change.reason is UrlReason.SHADOWED and after.get(change.before) in (None, change.page):
            wrong.append(f"{change.before} is said to be shadowed")
    if not unknown:
        for url in sorted({*expected, *after}):
            if expected.get(url) != after.get(url):
                wrong.append(f"{url} answers with {after.get(url)}, expected {expected.get(url)}")
    return wrong
