"""What the service does with published URLs by itself: what it redirects is moved, and case may have no meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import ConfigError
from reconciler.features.urls.model.planned import REDIRECTS
from reconciler.features.urls.model.redirects import FormerUrl, ServiceUrls, url_settings
from reconciler.features.urls.redirects.serviced import with_moved
from reconciler.model import BrokenUrl, Plan
from tests.documents import configuration
from tests.features.urls.projects import ROOT, SITE, changed, loaded, planned
from tests.harness import kinds

CASELESS: dict[str, Any] = {"redirects": ["csv"], "service": {"redirects": True, "case": "insensitive"}}
LEDGER = {f"{ROOT}/Start": FormerUrl(SITE, "p9"), f"{ROOT}/OLD": FormerUrl(SITE, "p9")}


def test_the_keys(tmp_path: Path) -> None:
    for service, read in (
        ({}, ServiceUrls()), ({"redirects": True}, ServiceUrls(redirects=True)), ({"case": "insensitive"}, ServiceUrls(caseless=True)),
    ):  # fmt: skip
        settings = url_settings(loaded(tmp_path / "p", {"service": service}).desired)
        assert settings is not None
        assert settings.service == read
        assert configuration().is_valid({"version": 1, "project": "p", "organizations": {}, "urls": {"service": service}})
    for wrong in ({"redirect": True}, {"case": "lower"}, {"redirects": "yes please"}):
        with pytest.raises(ConfigError):
            loaded(tmp_path / "p", {"service": wrong})


def test_another_spelling_of_what_answers_is_not_dead_where_case_has_no_meaning(tmp_path: Path) -> None:
    move = changed(("/old", "/start"))
    sensitive = planned(loaded(tmp_path / "p", {"redirects": ["csv"]}), move, LEDGER).feature(REDIRECTS)
    insensitive = planned(loaded(tmp_path / "p", CASELESS), move, LEDGER).feature(REDIRECTS)
    assert sensitive is not None
    assert insensitive is not None
    assert {url.url for url in (*sensitive.dead, *sensitive.ended)} == {f"{ROOT}/Start", f"{ROOT}/OLD"}
    assert (insensitive.dead, insensitive.ended) == ((), ())
    assert [(line.source, line.target) for line in insensitive.redirects] == [(f"{ROOT}/old", f"{ROOT}/start")]


def test_what_moves_inside_a_site_is_moved_and_the_url_of_a_site_breaks() -> None:
    section, site = SITE.child("section", "guides"), SITE
    lines = (
        BrokenUrl(section, "section", f"{ROOT}/guides", f"{ROOT}/learn", "path changes"),
        BrokenUrl(section, "section", f"{ROOT}/v1", None, "it is deleted"),
        BrokenUrl(site, "site", f"{ROOT}", f"{ROOT}/new", "basename changes"),
    )
    plan, publishers = Plan("test", None, broken=lines), kinds().publishers
    assert with_moved(ServiceUrls(), plan, publishers) is plan
    moved = with_moved(ServiceUrls(redirects=True), plan, publishers)
    assert moved.broken == lines[1:]
    assert moved.notes == (f"{section}: {ROOT}/guides -> {ROOT}/learn: moved, the service redirects it (urls.service)",)
