"""A slug may have upper case, and an object is addressed by the slug that the service shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Org
from tests.small import described


@pytest.mark.parametrize(("shown", "written"), [("Payments", "Payments"), ("Payments", "payments"), ("payments", "PAYMENTS")])
def test_an_existing_document_is_changed_under_its_own_slug(tmp_path: Path, shown: str, written: str) -> None:
    org = Org(tmp_path)
    org.call("PUT", f"/orgs/org_acme/openapi/{shown}", {"source": {"url": "https://acme.example/one.json"}})
    org.write({"openapi": {written: {"source": {"url": "https://acme.example/two.json"}, "visibility": "private"}}})
    org.requests.clear()
    org.apply()
    assert {path for method, path in org.requests if method != "GET"} == {f"/orgs/org_acme/openapi/{shown}"}
    assert described(org.plan()) == []
    assert [spec["sourceURL"] for spec in org.items("/orgs/org_acme/openapi")] == ["https://acme.example/two.json"]


def test_a_new_document_gets_the_slug_as_it_is_written(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write({"openapi": {"Payments-V2": {"source": {"url": "https://acme.example/one.json"}}}})
    org.apply()
    assert [spec["slug"] for spec in org.items("/orgs/org_acme/openapi")] == ["Payments-V2"]
    assert described(org.plan()) == []
