"""The words of a plan's document are those of the model."""

from __future__ import annotations

from reconciler.config.keys import URLS
from reconciler.features.urls.model.pages import UrlReason
from reconciler.features.urls.model.redirects import RedirectFormat
from reconciler.report.schemas.plan import REDIRECT_FORMATS, URL_REASONS


def test_a_document_knows_what_can_happen_to_a_url() -> None:
    assert [*UrlReason] == [*URL_REASONS]


def test_a_document_knows_the_formats_of_redirects() -> None:
    assert [*RedirectFormat] == [*REDIRECT_FORMATS]


def test_the_key_of_a_project_names_the_formats_of_redirects() -> None:
    (key,) = (key for key in URLS.keys if key.name == "redirects")
    assert key.doc.endswith(f": {', '.join(RedirectFormat)}.")
