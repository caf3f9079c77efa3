"""What takes away the last way in requires what gives the new one: the role of the last admins, single sign-on and its provider.

Every moment of random plans is in `tests/audience/test_ways_in.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.model import Plan, StepStatus
from tests.certificates import IDP, pem
from tests.harness import ORGANIZATION, SEED, TOKEN, Org
from tests.small import applied
from tests.transports import Onward, between

ADA, LINUS = "acme/member/ada@acme.example", "acme/member/linus@acme.example"
PROMOTION = "PATCH /orgs/org_acme/members/usr_linus"
OKTA = {"label": "Okta", "entityID": "http://okta.example/1", "ssoURL": "https://okta.example/sso", "certificate": pem(IDP)}
FAULTS: dict[str, dict[str, Any]] = {
    "refused": {"fault": "forbidden"},
    "broken": {"fault": "error", "status": 500, "when": "before"},
    "lost": {"fault": "error", "status": 502, "when": "after"},
}


class Troubled(Org):
    """An organization some of whose requests get a fault; its token acts as an admin whoever has the role."""

    faults: Mapping[str, dict[str, Any]] = {}

    def transport(self) -> httpx2.AsyncBaseTransport:
        return between(super().transport(), self._faulty)

    async def _faulty(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        fault = self.faults.get(f"{request.method} {request.url.path.removeprefix('/v1')}")
        if fault is not None:
            request.headers["X-Sandbox-Fault"] = json.dumps(fault)
        return await onward(request)

    @property
    def written(self) -> list[str]:
        """The requests that write, without those that are sent again."""
        return list(dict.fromkeys(f"{method} {path}" for method, path in self.requests if method != "GET"))


def troubled(root: Path, **seed: Any) -> Troubled:
    org = Troubled(root, {**{name: value for name, value in SEED.items() if name != "tokens"}, **seed})
    org.app.state.service.control = TOKEN
    return org


def people(ada: str, linus: str, **more: Any) -> dict[str, Any]:
    return {"members": {"ada@acme.example": ada, "linus@acme.example": linus}, **more}


def handed_over(root: Path, guards: Mapping[str, Any] | None = None, **seed: Any) -> Troubled:
    """Ada gives her role to Linus; not applied yet."""
    org = troubled(root, **seed)
    org.write(people("admin", "read"), service={})
    org.apply()
    org.write(people("read", "admin"), service={}, guards={"maxDelete": {"percent": 100}, **(guards or {})})
    org.requests.clear()
    return org


def needs(plan: Plan) -> dict[str, set[str]]:
    """By address and fields: what each request needs."""
    named = {step.id: f"{step.address} {'+'.join(step.writes) or step.verb}" for step in plan.steps}
    return {named[step.id]: {named[id] for id in step.needs} for step in plan.steps}


def refusals(plan: Plan) -> list[tuple[str, str]]:
    return [(str(blocked.address), blocked.id) for blocked in plan.blocked]


# -- admins --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [0, 1])
def test_who_hands_over_keeps_the_role_until_the_other_one_has_it(tmp_path: Path, least: int) -> None:
    org = handed_over(tmp_path, {"minAdmins": least})
    assert needs(org.plan())[f"{ADA} role"] == {f"{LINUS} role"}
    org.apply()
    assert org.written == [PROMOTION, "PATCH /orgs/org_acme/members/usr_ada"]


@pytest.mark.parametrize("fault", FAULTS)
def test_who_hands_over_keeps_the_role_where_the_promotion_fails(tmp_path: Path, fault: str) -> None:
    org = handed_over(tmp_path)
    org.faults = {PROMOTION: FAULTS[fault]}
    outcome = org.apply()
    assert org.written == [PROMOTION]
    assert {str(result.step.address): result.status for result in outcome.results}[ADA] is StepStatus.SKIPPED
    org.faults = {}
    org.apply()
    org.apply()
    assert {member["user"]["email"]: member["role"] for member in org.items("/orgs/org_acme/members")} == {
        "ada@acme.example": "read",
        "linus@acme.example": "admin",
    }


def test_a_demotion_that_leaves_enough_waits_for_nobody(tmp_path: Path) -> None:
    grace = {"organization": ORGANIZATION, "id": "usr_grace", "email": "grace@acme.example", "displayName": "Grace", "role": "admin"}
    org = handed_over(tmp_path, members=[*SEED["members"], grace])
    org.faults = {PROMOTION: FAULTS["refused"]}
    assert needs(org.plan())[f"{ADA} role"] == set()
    org.write(people("read", "admin"), service={}, guards={"minAdmins": 2})
    assert needs(org.plan())[f"{ADA} role"] == {f"{LINUS} role"}


def test_an_admin_is_deleted_only_once_there_is_another_one(tmp_path: Path) -> None:
    org = handed_over(tmp_path)
    top: dict[str, Any] = {"service": {}, "prune": {"member": "owned"}}
    org.write({"members": {"linus@acme.example": "admin"}}, **top)
    assert needs(org.plan())[f"{ADA} delete"] == {f"{LINUS} role"}
    org.faults = {PROMOTION: FAULTS["refused"]}
    org.apply()
    assert org.written == [PROMOTION]


def test_the_token_of_a_person_is_theirs_in_every_organization_and_spelling(tmp_path: Path) -> None:
    members = [{**member, "organization": id} for member in SEED["members"] for id in (ORGANIZATION, "org_beta")]
    promoted = [{**member, "role": "admin"} for member in members]
    org = troubled(tmp_path, organizations=[*SEED["organizations"], {"id": "org_beta", "title": "Beta"}], members=promoted)
    beta = people("read", "admin", id="org_beta")
    text = {"version": 1, "project": "test", "service": {"member": "ADA@acme.example"}}
    org.write(json.dumps({**text, "organizations": {"acme": people("admin", "admin", id=ORGANIZATION), "beta": beta}}))
    assert refusals(org.plan()) == [("beta/member/ada@acme.example", "RC-own-token")]


def test_whoever_is_promoted_outside_the_selection_does_not_count(tmp_path: Path) -> None:
    plan = handed_over(tmp_path).plan(targets=(ADA,))
    assert (refusals(plan), plan.steps) == ([(ADA, "RC-last-admin")], ())


# -- single sign-on ------------------------------------------------------------------------------------------------------------------


def test_single_sign_on_is_enforced_once_the_provider_exists_and_holds_up_nothing_else(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write({"title": "Acme Inc", "sso": True, "saml": {"okta": OKTA}}, service={})
    required = needs(org.plan())
    assert required["acme sso"] == {"acme/saml/okta label+entityID+ssoURL+certificate"}
    assert required["acme title"] == set()
    for fault in FAULTS.values():
        org.faults = {"POST /orgs/org_acme/saml": fault}
        org.apply()
        assert org.call("GET", "/orgs/org_acme")["sso"] is False
    assert org.call("GET", "/orgs/org_acme")["title"] == "Acme Inc"


def test_single_sign_on_is_refused_without_a_provider_and_the_rest_is_sent(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write({"title": "Acme Inc", "sso": True}, service={})
    plan = org.plan()
    assert refusals(plan) == [("acme", "RC-required-kind-missing")]
    assert [list(step.writes) for step in plan.steps] == [["title"]]
    assert plan.blocked[0].source is not None
    org.apply()
    assert (org.call("GET", "/orgs/org_acme")["sso"], org.call("GET", "/orgs/org_acme")["title"]) == (False, "Acme Inc")


def test_an_unmanaged_provider_is_looked_for_and_suffices(tmp_path: Path) -> None:
    org = troubled(tmp_path, saml=[{"organization": ORGANIZATION, "id": "saml_1", "label": "Okta"}])
    org.write({"sso": True}, service={})
    assert refusals(org.plan(failing=("saml",))) == [("acme", "RC-unread")]
    assert refusals(org.plan()) == []
    org.apply()
    assert org.call("GET", "/orgs/org_acme")["sso"] is True


def test_the_list_of_providers_is_read_only_where_a_setting_is_turned_on(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write({"title": "Acme Inc", "sso": False}, service={})
    org.plan()
    assert ("GET", "/orgs/org_acme/saml") not in org.requests


def test_single_sign_on_is_not_turned_on_while_its_last_provider_is_deleted(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    applied(org, {"sso": False, "saml": {"okta": OKTA}}, service={})
    top: dict[str, Any] = {"service": {}, "removed": [{"address": "acme/saml/okta", "action": "delete"}]}
    org.write({"sso": True, "saml": {}}, **top)
    assert refusals(org.plan()) == [("acme", "RC-required-kind-missing")]
    org.write({"sso": True, "saml": {"entra": {**OKTA, "label": "Entra", "entityID": "http://entra.example/1"}}}, **top)
    org.faults = {"POST /orgs/org_acme/saml": FAULTS["refused"]}
    org.apply()
    assert org.call("GET", "/orgs/org_acme")["sso"] is False
    assert [provider["label"] for provider in org.items("/orgs/org_acme/saml")] == ["Okta"]


def test_a_provider_that_is_still_to_change_comes_before_single_sign_on(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    applied(org, {"sso": False, "saml": {"okta": OKTA}}, service={})
    org.write({"sso": True, "saml": {"okta": {**OKTA, "ssoURL": "https://okta.example/new"}}}, service={})
    assert needs(org.plan())["acme sso"] == {"acme/saml/okta ssoURL"}


def test_a_member_is_added_to_single_sign_on_only_where_there_is_a_provider(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    member = {"members": {"linus@acme.example": {"role": "edit", "sso": True}}}
    org.write(member, service={})
    assert refusals(org.plan()) == [(LINUS, "RC-required-kind-missing")]
    org.write({**member, "saml": {"okta": OKTA}}, service={})
    org.faults = {"POST /orgs/org_acme/saml": FAULTS["refused"]}
    org.apply()
    assert org.call("GET", "/orgs/org_acme/members/usr_linus")["role"] == "edit"
    assert org.call("GET", "/orgs/org_acme/members/usr_linus")["sso"] is False


def test_a_provider_outside_the_selection_does_not_count(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write({"sso": True, "saml": {"okta": OKTA}}, service={})
    plan = org.plan(targets=("acme",))
    assert refusals(plan) == [("acme", "RC-outside-selection")]
    assert (plan.blocked[0].remedy, plan.steps) == ("include acme/saml/okta", ())


def test_a_provider_that_cannot_be_created_holds_single_sign_on_up(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write({"sso": True, "saml": {"okta": OKTA}}, service={})
    plan = org.plan(failing=("saml",))
    assert {str(blocked.address) for blocked in plan.blocked} == {"acme", "acme/saml/okta"}
    assert plan.steps == ()


# -- what others do during a run -----------------------------------------------------------------------------------------------------


def meanwhile(org: Troubled, method: str, path: str, body: Any = None) -> None:
    """Let somebody else send a request after the plan, before the first request of the run."""

    async def interfering(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if org.made is not None and not sent:
            sent.append(True)
            await org._call(method, path, body)
        return await onward(request)

    sent: list[bool] = []
    org.made, org.fresh, org.way = None, -1.0, interfering


def test_nobody_is_demoted_once_the_admin_who_remains_was_demoted_by_somebody_else(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write(people("admin", "admin"), service={})
    org.apply()
    org.write({"members": {"ada@acme.example": "read"}}, service={})
    meanwhile(org, "PATCH", "/orgs/org_acme/members/usr_linus", {"role": "read"})
    (result,) = org.apply().results
    assert (result.status, org.call("GET", "/orgs/org_acme/members/usr_ada")["role"]) == (StepStatus.STALE, "admin")
    assert "on which this relies, role was 'admin' and is now 'read'" in result.error


def test_an_admin_is_demoted_while_the_admin_who_remains_is_as_before(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write(people("admin", "admin"), service={})
    org.apply()
    org.write({"members": {"ada@acme.example": "read"}}, service={})
    meanwhile(org, "PATCH", "/orgs/org_acme", {"title": "Another title"})
    (result,) = org.apply().results
    assert (result.status, org.call("GET", "/orgs/org_acme/members/usr_ada")["role"]) == (StepStatus.DONE, "read")


def test_single_sign_on_is_not_enforced_once_its_provider_was_deleted_by_somebody_else(tmp_path: Path) -> None:
    org = troubled(tmp_path, saml=[{"organization": ORGANIZATION, "id": "saml_1", "label": "Okta"}])
    org.write({"sso": True}, service={})
    meanwhile(org, "DELETE", "/orgs/org_acme/saml/saml_1")
    (result,) = org.apply().results
    assert (result.status, org.call("GET", "/orgs/org_acme")["sso"]) == (StepStatus.STALE, False)
    assert "saml 'Okta', on which this relies, no longer exists" in result.error


# -- another e-mail ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", [None, "ada@new.example"])
def test_whoever_has_another_email_now_is_not_deleted_as_somebody_else(tmp_path: Path, member: str | None) -> None:
    org = troubled(tmp_path)
    top: dict[str, Any] = {"prune": {"member": "owned"}, "service": {"member": member} if member else {}}
    org.write(people("admin", "read"), **{**top, "service": {}})
    org.apply()
    renamed(org, "ada@new.example")
    changed = {"members": {"ada@new.example": {"role": "read"}, "linus@acme.example": "admin"}}
    org.write(changed, **top)
    plan = org.plan()
    assert refusals(plan) == [("acme/member/ada@new.example", "RC-probable-rename"), (ADA, "RC-probable-rename")]
    assert [str(step.address) for step in plan.steps] == [LINUS]
    changed["members"]["ada@new.example"]["previously"] = ["ada@acme.example"]  # type: ignore[assignment]
    org.write(changed, **top)
    refused = [("acme/member/ada@new.example", "RC-own-token")] if member else []
    assert refusals(org.plan()) == refused


def test_the_owner_of_the_token_is_not_deleted_under_a_former_email(tmp_path: Path) -> None:
    org = troubled(tmp_path)
    org.write(people("admin", "admin"), service={}, prune={"member": "owned"})
    org.apply()
    renamed(org, "ada@new.example")
    org.write({"members": {"linus@acme.example": "admin"}}, service={"member": "ada@new.example"}, prune={"member": "owned"})
    plan = org.plan()
    assert plan.steps == ()
    assert {str(blocked.address) for blocked in plan.blocked} >= {ADA}


def renamed(org: Troubled, email: str) -> None:
    """Ada has another e-mail on the service."""
    store = org.app.state.service.store
    with store.write():
        member = store.find("member", f"{ORGANIZATION}:usr_ada")
        member["email"] = email
        store.save("member", member)
