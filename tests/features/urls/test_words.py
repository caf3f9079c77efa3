"""The words of a plan's document are those of the model; what no report reads of URLs is not masked."""

from __future__ import annotations

from pathlib import Path

import reconciler
from reconciler.address import Address
from reconciler.config.url_keys import URLS
from reconciler.features.urls.model.pages import AnsweringUrls, PageUrl, UrlReason
from reconciler.features.urls.model.planned import URLS as PLANNED, PlannedUrls
from reconciler.features.urls.model.redirects import RedirectFormat
from reconciler.model import Plan
from reconciler.report.schemas.plan import REDIRECT_FORMATS, URL_REASONS
from reconciler.text.redact import MASK, Mask
from tests.text.test_redact import SECRET


def test_a_document_knows_what_can_happen_to_a_url() -> None:
    assert [*UrlReason] == [*URL_REASONS]


def test_a_document_knows_the_formats_of_redirects() -> None:
    assert [*RedirectFormat] == [*REDIRECT_FORMATS]


def test_the_key_of_a_project_names_the_formats_of_redirects() -> None:
    (key,) = (key for key in URLS.keys if key.name == "redirects")
    assert key.doc.endswith(f": {', '.join(RedirectFormat)}.")


def test_what_no_report_reads_is_not_searched() -> None:
    address = Address(("acme",))
    url = PageUrl(f"https://docs.acme.example/{SECRET}", "pag", SECRET, address, address)
    urls = PlannedUrls(answering_before=AnsweringUrls({url.url: url}))
    plan = Mask([SECRET]).data(Plan("p", None, notes=(SECRET,)).with_feature(PLANNED, urls))
    assert plan.notes == (MASK,)
    assert plan.feature(PLANNED) is urls


def test_no_report_reads_the_urls_that_answer() -> None:
    """Their texts are not masked."""
    package = Path(reconciler.__file__).parent
    modules = [path for folder in ("report", "features/urls/report") for path in (package / folder).rglob("*.py")]
    hidden = ("site_urls", "answering_before", "answering_after")
    assert [module for module in modules if any(name in module.read_text(encoding="utf-8") for name in hidden)] == []
