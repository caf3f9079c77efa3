"""Members of single sign-on: a request of its own, which no other takes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.harness import ORGANIZATION, SEED, Org
from tests.importer.imported import imported
from tests.outside import drifted, said
from tests.small import applied, described, settled
from tests.undo.undoing import runs, undo

LINUS = "acme/member/linus@acme.example"
MEMBER = f"/orgs/{ORGANIZATION}/members/usr_linus"
PROVIDED = {**SEED, "saml": [{"organization": ORGANIZATION, "id": "saml_okta", "label": "Okta"}]}
"""An organization with a provider, which a member of single sign-on requires."""


def people(**linus: Any) -> dict[str, Any]:
    return {"members": {"ada@acme.example": "admin", "linus@acme.example": {"role": "read", **linus}}}


def test_a_member_joins_single_sign_on_by_one_request_and_cannot_leave_it(tmp_path: Path) -> None:
    org = Org(tmp_path, PROVIDED)
    applied(org, people())
    org.write(people(sso=True, role="edit"))
    assert described(org.plan()) == [f"{LINUS}: update role sso"]
    org.requests.clear()
    org.apply()
    assert [one for one in org.requests if one[0] != "GET"] == [("PATCH", MEMBER), ("POST", f"{MEMBER}/sso")]
    assert org.call("GET", MEMBER)["sso"] is True
    settled(org)
    org.write(people(sso=False, role="edit"))
    (blocked,) = org.plan().blocked
    assert blocked.reason == "sso cannot be undone: the service has no request for it"
    org.write(people(role="edit"))
    assert org.plan().steps == ()


def test_who_was_added_outside_is_drift_and_an_undo_says_that_it_cannot_take_them_out(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, people(sso=False))
    org.call("POST", f"{MEMBER}/sso")
    assert said(drifted(org)) == [f"{LINUS}: changed sso"]
    again = Org(tmp_path / "again", PROVIDED)
    applied(again, people())
    applied(again, people(sso=True))
    outcome, found, _ = undo(again, runs(again)[0].id)
    assert outcome.results == ()
    assert [(str(cannot.address), cannot.reason) for cannot in found.cannot] == [
        (LINUS, "sso cannot be undone: the service has no request for it")
    ]


def test_import_writes_a_flag_only_if_it_is_true(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.call("POST", f"{MEMBER}/sso")
    _, plan = imported(org, tmp_path / "new")
    assert (described(plan), plan.blocked) == ([], ())
    (written,) = yaml.safe_load((tmp_path / "new" / "reconciler.yaml").read_text("utf-8"))["organizations"].values()
    assert written["members"] == {"ada@acme.example": "admin", "linus@acme.example": {"role": "read", "sso": True}}
