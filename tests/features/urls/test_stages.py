"""A plan that is narrowed has gone through every stage: it is the plan that would have been made for fewer addresses in the first place."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from reconciler.features.urls.model.planned import URLS
from reconciler.run.stages import FEATURE_STAGES, STAGES, narrow
from tests.features.urls.reorganization import Site
from tests.features.urls.test_page_urls import SPACES, section, tree
from tests.features.urls.worlds import reorganized, seed_of, world
from tests.organizations import ORGANIZATION, SEED
from tests.proofs import costly, spread


def reorganized_site(root: Path, seed: int) -> Site:
    """A site with pages that was applied, and whose files were reorganized since."""
    chance = random.Random(seed)
    org = Site(root, seed=seed_of(chance))
    first = world(chance)
    org.reorganize(first)
    org.apply()
    second, moved = reorganized(first, chance, 4)
    org.reorganize(second, moved)
    return org


@costly
@pytest.mark.parametrize("seed", spread(range(40), 4))
def test_a_plan_for_fewer_addresses_is_the_same_whether_it_was_narrowed_or_made_so(tmp_path: Path, seed: int) -> None:
    org = reorganized_site(tmp_path, seed)
    whole = org.urls()
    assert narrow(whole, whole.operation).plan == whole.plan
    addresses = sorted({change.address for change in whole.plan.changes})
    if not addresses:
        return
    chosen = frozenset(random.Random(seed).sample(addresses, (len(addresses) + 1) // 2))
    narrowed, made = narrow(whole, whole.operation.only(chosen)), org.urls(only=chosen)
    assert narrowed.plan == made.plan
    # The reading was larger, and it is what an apply repeats; the writes are those of the part.
    assert narrowed.forecast.writes == made.forecast.writes == len(made.plan.steps)


def test_a_narrowed_plan_names_the_pages_that_link_to_those_that_end_with_it(tmp_path: Path) -> None:
    spaces = [{"organization": ORGANIZATION, "id": f"spc_{key}", "title": key.title(), "pages": pages} for key, pages in SPACES.items()]
    org = Site(tmp_path, seed={**SEED, "spaces": [*SEED["spaces"], *spaces]})
    org.reorganize({"acme": tree()})
    org.apply()
    after = tree()
    section(after, 1)["spaces"].pop()
    section(after, 0)["title"] = "Begin"
    org.reorganize({"acme": after})
    whole = org.urls()
    changed = {change.address for change in whole.plan.changes}
    assert len(changed) > 1
    for address in changed:
        part = narrow(whole, whole.operation.only(frozenset({address})))
        ends = any(change.after is None for change in part.plan.feature(URLS).changes)
        assert (part.plan.feature(URLS).linking != ()) == ends
        assert part.forecast.writes == len(part.plan.steps) < len(whole.plan.steps)


def test_every_stage_has_a_name_of_its_own() -> None:
    assert [stage.name for stage in (*STAGES, *FEATURE_STAGES)] == [
        "match",
        "decide",
        "readers",
        "prove",
        "pages",
        "losses",
        "work",
        "redirects",
        "policies",
    ]
