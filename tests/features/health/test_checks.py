"""What is broken or ends is named, whether or not the organization is as declared, and what nobody knows is never healthy."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from reconciler.client.service import Reader
from reconciler.features.drift.model import DriftBounds
from reconciler.features.drift.plan import drift, grouped
from reconciler.features.health.model import Concern, Sort
from reconciler.features.health.plan import HealthInputs, health
from reconciler.observe import observe
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.plan.world import World
from tests.harness import Org, kinds
from tests.outside import CASES, edit
from tests.prepared import applied_once
from tests.small import node, small

NOW = datetime.now(UTC)


@cache
def certificate(days: int) -> str:
    """A self-signed certificate that ends so many days after today."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "idp.example")])
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    signed = built.not_valid_before(NOW - timedelta(days=1)).not_valid_after(NOW + timedelta(days=days)).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


def organization() -> dict[str, Any]:
    """One with everything that health looks at, all of it well."""
    tree = small()
    tree["saml"]["okta"]["certificate"] = certificate(100)
    tree["openapi"]["pets"]["source"] = {"url": "https://fixtures.example/openapi.json"}
    links = {"fair": {"name": "Fair until 2031-05-06"}, "old": {"name": "Old until 2020-01-01", "active": False}}
    tree["sites"]["docs"]["shareLinks"] |= links
    tree["translations"] = {"one-fr": {"source": {"space": "one", "language": "en"}, "language": "fr"}}
    node(tree, "one")["defaultLevel"] = "read"
    tree["inviteLinks"] = False
    tree["sites"]["flat"]["published"] = False
    return tree


def advance(org: Org, **lasting: int) -> None:
    """Move the service's clock."""
    store = org.app.state.service.store
    with store.write():
        store.set_meta("offset", str(float(store.meta("offset") or 0) + timedelta(**lasting).total_seconds()))


def back_to_the_start(org: Org) -> None:
    """Move the service's clock back to when it began to process what was applied, however long that took."""
    store = org.app.state.service.store
    (started,) = store.connection.execute("select max(data->>'_started') from objects").fetchone()
    with store.write():
        store.set_meta("offset", str(float(started) - datetime.now(UTC).timestamp()))


def translate(org: Org) -> None:
    """Run the translation to its end."""
    org.call("POST", f"/orgs/org_acme/translations/{org.id('acme/translation/one-fr')}/run")
    advance(org, seconds=5)


def looked(org: Org, *, failing: tuple[str, ...] = ()) -> tuple[tuple[Concern, ...], tuple[str, ...]]:
    """The health that a reading of everything shows, and that nothing else was read for it."""
    desired = org.load().desired
    state = org.remembered()

    async def look() -> Any:
        async with org.client(Reader, failing=failing) as reader:
            return await observe(reader, kinds(), desired, state, everything=True)

    actual = asyncio.run(look())
    proposal = plan(kinds(), desired, state, actual)
    sent = len(org.requests)
    now = actual.date or datetime.now(UTC)
    world = World(kinds(), desired, state, actual)
    changed = drift(world, proposal, whole=True)
    changed = grouped(world, identify(kinds(), desired, state, actual), changed, between=DriftBounds(None, now))
    result = health(HealthInputs(kinds(), desired, state, actual, changed, now))
    assert len(org.requests) == sent
    return result


def concerns_of(org: Org, sort: Sort) -> dict[str, str]:
    return {concern.address: concern.sentence for concern in looked(org)[0] if concern.sort is sort}


def applied(org: Org) -> dict[str, Any]:
    """What was applied."""
    tree = organization()
    org.write(tree)
    applied_once(org, org.apply)
    return tree


def well(org: Org) -> None:
    applied(org)
    translate(org)


def test_expiries_are_listed_with_their_day_and_working_objects_are_not_a_concern(org: Org) -> None:
    well(org)
    concerns, unread = looked(org)
    assert {(concern.sort, concern.address, concern.until) for concern in concerns} == {
        (Sort.EXPIRY, "acme/saml/okta", (NOW + timedelta(days=100)).date()),
        (Sort.EXPIRY, "acme/site/docs/share-link/fair", date(2031, 5, 6)),
    }  # a link that is switched off ends nothing
    assert unread == ()


def test_what_the_service_has_not_made_is_unknown_for_an_hour_and_then_a_concern_and_what_failed_says_why(org: Org) -> None:
    tree = applied(org)
    back_to_the_start(org)
    waits = [sentence for sentence in looked(org)[1] if "still working" in sentence]
    assert [sentence.split(": ")[0].split()[-1] for sentence in waits] == ["acme/openapi/pets", "acme/translation/one-fr"]
    advance(org, hours=2)
    assert looked(org)[1] == ()
    assert concerns_of(org, Sort.PROCESSING).keys() == {"acme/translation/one-fr"}  # nobody ever ran it
    tree["openapi"]["pets"]["source"] = {"url": "https://fixtures.example/broken.json"}
    org.write(tree)
    org.apply()
    advance(org, seconds=5)
    assert concerns_of(org, Sort.PROCESSING)["acme/openapi/pets"] == "the service could not process it: PARSE_ERROR"


def test_a_translation_is_behind_after_its_original_changed_until_it_is_run_again(org: Org) -> None:
    well(org)
    advance(org, minutes=5)
    org.call("PATCH", f"/spaces/{org.id('acme/space/one')}", {"title": "Eins"})
    assert "acme/space/one, changed at" in concerns_of(org, Sort.BEHIND)["acme/translation/one-fr"]
    advance(org, minutes=5)
    translate(org)
    assert concerns_of(org, Sort.BEHIND) == {}


def test_links_that_a_change_outside_breaks_are_named(org: Org) -> None:
    well(org)
    site = org.id("acme/site/docs")
    org.call("PATCH", f"/orgs/org_acme/sites/{site}", {"basename": "handbook"})
    org.call("POST", f"/orgs/org_acme/sites/{org.id('acme/site/flat')}/publish")
    for space in ("one", "two"):
        org.call("DELETE", f"/orgs/org_acme/sites/{org.id('acme/site/flat')}/site-spaces/{org.id(f'acme/site/flat/site-space/{space}')}")
    concerns = concerns_of(org, Sort.LINKS)
    assert "basename docs -> handbook" in concerns["acme/site/docs"]
    assert concerns["acme/site/flat"].startswith("readers find nothing at http")
    assert "acme/site/flat/site-space/one" not in concerns, "its site had no URL when it was applied"


def test_a_deleted_space_breaks_a_url_only_if_it_had_one(org: Org) -> None:
    well(org)
    for space in ("blank", "one"):
        org.call("DELETE", f"/spaces/{org.id(f'acme/space/{space}')}")
    concerns = {at for at, sentence in concerns_of(org, Sort.LINKS).items() if "its published URL with it" in sentence}
    assert "acme/space/one" in concerns
    assert "acme/space/blank" not in concerns


OPENING = ("space.defaultLevel", "saml.ssoURL", "organization.inviteLinks", "site.published")
CLOSING = ("site.visibility", "share-link.active", "space.editMode")
NEITHER = ("space.title", "site.basename", "openapi.source")


def test_a_change_outside_that_lets_somebody_do_more_is_an_exposure_and_any_other_is_none(org: Org) -> None:
    well(org)
    cases = {str(case): case for case in CASES}
    for name in (*CLOSING, *NEITHER):
        edit(org, cases[name])
    assert concerns_of(org, Sort.EXPOSURE) == {}
    for name in OPENING:
        edit(org, cases[name])
    assert concerns_of(org, Sort.EXPOSURE).keys() == {cases[name].address for name in OPENING}


def test_what_somebody_shows_or_opens_by_hand_is_an_exposure_of_what_is_managed(org: Org) -> None:
    well(org)
    site, section = org.id("acme/site/docs"), org.id("acme/site/docs/section/guides")
    assert concerns_of(org, Sort.EXPOSURE) == {}
    org.call("POST", f"/orgs/org_acme/sites/{site}/site-spaces", {"spaceId": org.id("acme/space/six"), "sectionId": section})
    link = org.call("POST", f"/orgs/org_acme/sites/{site}/share-links", {"name": "By hand"})
    concerns = concerns_of(org, Sort.EXPOSURE)
    assert concerns["acme/space/six"].startswith("it can be read by anyone (space six -> site-space docs/")
    assert concerns[f"acme/site/docs/share-link/{link['id']}"].endswith("is unmanaged")


@pytest.mark.parametrize("removed", ["site-space", "share-link", "section", "site"])
def test_what_is_public_on_purpose_exposes_nothing_while_its_deletion_waits(org: Org, removed: str) -> None:
    well(org)
    tree = organization()
    site = tree["sites"]["docs"]
    match removed:
        case "site-space":
            del site["structure"][0]["spaces"][0]
        case "section":
            del site["structure"][2]
        case "share-link":
            del site["shareLinks"]
        case _:
            del tree["sites"]["docs"], tree["defaultContent"]
    org.write(tree)
    assert concerns_of(org, Sort.EXPOSURE) == {}


def test_what_cannot_be_read_is_said_and_never_well(org: Org) -> None:
    well(org)
    concerns, unread = looked(org, failing=("saml",))
    assert [sentence for sentence in unread if "saml" in sentence]
    assert "acme/saml/okta" not in {concern.address for concern in concerns}
