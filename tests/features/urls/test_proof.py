"""Random reorganizations of random sites: what a plan says of every URL is what the sandbox serves after a real apply.

A few here, 10,000 with `-m proof`. The sandbox computes what it serves by rules of its own (`sandbox/sites/pages.py`).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from reconciler.features.urls.model.pages import UrlReason
from reconciler.features.urls.model.planned import URLS
from tests.features.urls.reorganization import Site, result_of
from tests.features.urls.worlds import crawled, reorganized, seed_of, world
from tests.proofs import costly, spread
from tests.sandbox.serving import serving

CASES = 10_000


@costly
@pytest.mark.parametrize("seed", spread(range(CASES), 4))
def test_every_url_does_after_a_reorganization_what_the_plan_says(tmp_path: Path, seed: int) -> None:
    result = result_of(tmp_path, seed)
    assert result.finished
    assert result.wrong == []


@pytest.mark.parametrize("seed", [4949])
def test_a_path_is_freed_by_a_delete_that_waits_for_another_create(tmp_path: Path, seed: int) -> None:
    """A site gets its first section, whose variant takes the path of one that is deleted, beside a new variant of the same space."""
    test_every_url_does_after_a_reorganization_what_the_plan_says(tmp_path, seed)


@pytest.mark.parametrize("seed", spread([8442, 9239, 9700], 1))
def test_the_first_section_takes_in_its_default_variant_and_leaves_the_others_their_paths(tmp_path: Path, seed: int) -> None:
    """The section that is declared first is created first, although its default variant is in it only after that."""
    test_every_url_does_after_a_reorganization_what_the_plan_says(tmp_path, seed)


@costly
@pytest.mark.parametrize("seed", [166, 311])
def test_what_a_crawler_gets_before_and_after_is_what_the_plan_says(tmp_path: Path, seed: int) -> None:
    """Over real HTTP, from a process of its own: every URL that answers at some time, and every one that the plan names."""
    chance = random.Random(seed)
    org = Site(tmp_path, seed=seed_of(chance))
    first = world(chance)
    org.reorganize(first)
    org.apply()
    readers = org.admitted()
    known = {*org.served(readers)}
    org.reorganize(*reorganized(first, chance, 4))
    plan = org.urls().plan
    named = {url for change in plan.feature(URLS).changes for url in (change.before, change.after) if url is not None}
    with serving(org.db) as base:
        before = crawled(base, known | named, org.roots(readers))
    org.apply()
    later = org.admitted(readers)
    with serving(org.db) as base:
        after = crawled(base, known | named | {*org.served(later)}, org.roots(later))
    expected = dict(before)
    for change in plan.feature(URLS).changes:
        if change.before is not None:
            assert expected.pop(change.before) == change.title
    expected |= {change.after: change.title for change in plan.feature(URLS).changes if change.after is not None}
    assert {change.reason for change in plan.feature(URLS).changes} - {UrlReason.NEW}
    assert after == expected
