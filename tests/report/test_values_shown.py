"""How long values are shown: a certificate by what tells it apart, a structured value by the paths that differ."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconciler.model import Action, Cause, Delta
from reconciler.plan.drift import Drift, Drifted, DriftWord
from reconciler.report.html import html
from reconciler.report.layout import plain
from reconciler.report.markdown import markdown
from reconciler.report.plan import plan_sheet
from reconciler.report.words import difference_lines, shown
from reconciler.resource import UNSET
from reconciler.text.certificate import certificate
from tests.report.made import at, change, delta, drift_text, plan, plan_text

NOW = datetime(2026, 11, 18, tzinfo=UTC)


def library() -> Any:
    """`cryptography`, without which a test of it is skipped; never where tests are required."""
    if "browser" in os.environ.get("RECONCILER_TEST_REQUIRE", ""):
        import cryptography

        return cryptography
    return pytest.importorskip("cryptography")


def made(name: str, years: int) -> str:
    """A self-signed certificate, PEM."""
    library()
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import NameOID

    key = rsa.generate_private_key(65537, 2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key()).serial_number(1)
    signed = built.not_valid_before(NOW).not_valid_after(NOW + timedelta(days=365 * years)).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


def fingerprint(pem: str) -> str:
    body = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
    return hashlib.sha256(base64.b64decode(body)).hexdigest()


# -- certificates ---------------------------------------------------------------------------------------------------------------------


def test_a_certificate_is_its_subject_expiry_and_fingerprint() -> None:
    pem = made("idp.example", 10)
    assert shown(pem) == f"CN=idp.example, expires 2036-11-15, sha256 {fingerprint(pem)[:16]}…"


def test_a_certificate_without_its_frame_or_inside_a_value_is_one_too() -> None:
    pem = made("idp.example", 10)
    bare = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
    assert shown(bare) == shown(pem)
    assert shown({"key": pem}) == f"{{key: ({shown(pem)})}}"
    assert shown(pem + pem) == f"{shown(pem)} and 1 more"


def test_a_plan_has_one_line_for_a_certificate_in_every_format_for_people() -> None:
    old, new = made("old.example", 1), made("new.example", 10)
    changed = plan(change("acme/saml/okta", Action.UPDATE, fields=(delta("certificate", old, new),)))
    first = f"CN=old.example, expires 2027-11-18, sha256 {fingerprint(old)[:16]}…"
    said = f"{first} -> CN=new.example, expires 2036-11-15"
    assert said in plain(plan_text(changed, width=1_000))
    for page in (markdown(plan_sheet(changed)), html(plan_sheet(changed), created_at=NOW).replace("&gt;", ">")):
        assert said in page
        assert "BEGIN CERTIFICATE" not in page


def fake() -> str:
    """What looks like a certificate from outside, and is none."""
    body = base64.b64encode(b"\x30\x82" + bytes(300)).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


def test_of_a_certificate_that_cannot_be_read_the_fingerprint_is_shown() -> None:
    assert shown(fake()) == f"sha256 {fingerprint(fake())[:16]}…"


def test_without_the_library_the_fingerprint_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography", None)
    text = fake().replace("AAAA", "BBBB")
    assert shown(text) == f"sha256 {fingerprint(text)[:16]}…"
    certificate.cache_clear()


NO_PEM = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"


@pytest.mark.parametrize("text", ["PEM", "MIT", "MI" + "a" * 300, NO_PEM, "word " * 90, ""])
def test_other_texts_are_shown_as_they_are(text: str) -> None:
    assert certificate(text) is None


# -- structured values -----------------------------------------------------------------------------------------------------------------

BEFORE = {"type": "rules", "rules": [{"rule": "approval", "users": ["usr_ada"]}, {"rule": "checks"}]}
AFTER = {"type": "rules", "rules": [{"rule": "approval", "users": ["usr_bob"]}, {"rule": "checks"}], "strict": True}


def test_a_structured_value_differs_by_path() -> None:
    assert difference_lines("mergeRules", BEFORE, AFTER) == [
        ("mergeRules.rules.0.users.0", "usr_ada -> usr_bob"),
        ("mergeRules.strict", "true (added)"),
    ]
    assert difference_lines("mergeRules", AFTER, BEFORE)[1] == ("mergeRules.strict", "true (removed)")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("a", "b", "a -> b"),
        (["a"], ["b", "a"], "[a] -> [b, a]"),
        (UNSET, {"a": 1}, "(not known) -> {a: 1}"),
        ({"a": 1}, None, "{a: 1} -> null"),
        ("inherit", {"a": [1]}, "inherit -> {a: [1]}"),
    ],
)
def test_a_value_without_parts_of_its_own_differs_as_a_whole(before: Any, after: Any, says: str) -> None:
    assert difference_lines("field", before, after) == [("field", says)]


def test_a_plan_says_what_differs_inside_a_value_in_every_format_for_people() -> None:
    changed = plan(change("acme", Action.UPDATE, fields=(delta("mergeRules", BEFORE, AFTER, Cause.DRIFT),)))
    text = plain(plan_text(changed, width=120))
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["~", "mergeRules.rules.0.users.0", "usr_ada", "->", "usr_bob", "(drift)"],
        ["~", "mergeRules.strict", "true", "(added)"],
    ]
    for page in (text, markdown(plan_sheet(changed)), html(plan_sheet(changed), created_at=NOW)):
        assert "mergeRules.rules.0.users.0" in page
        assert "checks" not in page


def test_drift_says_what_differs_inside_a_value() -> None:
    field = Delta("mergeRules", AFTER, AFTER, Cause.DRIFT, last=BEFORE)
    found = Drift("p", None, resources=(Drifted(at("acme"), "organization", DriftWord.CHANGED, (field,)),))
    assert "mergeRules.strict" in plain(drift_text(found))
