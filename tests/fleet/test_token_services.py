"""A token goes to the services that the worker ties it to, whatever the fleet's database says."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.fleet.declared import parsed
from reconciler.fleet.model import SecretReference
from reconciler.fleet.program.listing import listing
from reconciler.fleet.secrets import MissingSecret, token_for

OURS, EVIL = "https://api.example.com", "https://evil.example"
TOKEN = SecretReference("env", "ACME_TOKEN")


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_TOKEN", "canary-token")


@pytest.mark.parametrize("tied", [OURS, f"{OURS}/", f"https://other.example {OURS}", "https://API.example.com"])
def test_a_token_goes_to_a_service_that_is_named_beside_it(monkeypatch: pytest.MonkeyPatch, tied: str) -> None:
    monkeypatch.setenv("ACME_TOKEN_BASE_URL", tied)
    assert token_for(TOKEN, OURS, "the token", required=True) == "canary-token"
    for other in (EVIL, f"{OURS}.evil.example", "http://api.example.com", f"{OURS}:8443"):
        with pytest.raises(MissingSecret) as raised:
            token_for(TOKEN, other, "the token")
        assert (raised.value.id, "canary" in raised.value.message) == ("RC-fleet-token-service", False)
        assert f"write {other} into the variable ACME_TOKEN_BASE_URL" in (raised.value.hint or "")


def test_a_file_has_its_services_in_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("canary-token\n")
    reference = SecretReference("file", str(tmp_path / "token"))
    assert token_for(reference, EVIL, "the token") == "canary-token", "nothing ties it"
    (tmp_path / "token.baseUrl").write_text(f"{OURS}\n")
    assert token_for(reference, OURS, "the token") == "canary-token"
    for text in (OURS, "", "nonsense"):  # what cannot be read allows nothing
        (tmp_path / "token.baseUrl").write_text(text)
        with pytest.raises(MissingSecret):
            token_for(reference, EVIL, "the token")
    (tmp_path / "token.baseUrl").unlink()
    (tmp_path / "token.baseUrl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(MissingSecret):
        token_for(reference, EVIL, "the token")


def test_a_worker_can_require_it_of_every_token_also_of_generators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingSecret, match="is not tied to a service on this worker"):
        token_for(TOKEN, EVIL, "the token", required=True)
    text = f"""version: 1
generators: [{{organizations: {{baseUrl: '{EVIL}', token: {{env: ACME_TOKEN}}}}, template: {{name: "${{{{ each.id }}}}", source: {{git: 'https://g.example/x'}}}}}}]
"""
    fleet = parsed(text.encode(), "fleet.yaml")
    with pytest.raises(MissingSecret) as raised:
        listing(fleet, tmp_path, strict=True)
    assert raised.value.id == "RC-fleet-token-service"
    monkeypatch.setenv("ACME_TOKEN_BASE_URL", OURS)
    with pytest.raises(MissingSecret, match=r"is for https://api\.example\.com, and the fleet file sends it to https://evil\.example"):
        listing(fleet, tmp_path)


def test_where_nothing_is_said_the_first_service_is_the_only_one_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert token_for(TOKEN, OURS, "the token", known=tmp_path / "cache") == "canary-token"
    assert token_for(TOKEN, OURS, "the token", known=tmp_path / "cache") == "canary-token"
    with pytest.raises(MissingSecret, match=r"is for https://api\.example\.com, and the fleet file sends it to https://evil\.example"):
        token_for(TOKEN, EVIL, "the token", known=tmp_path / "cache")
    (kept,) = (tmp_path / "cache").iterdir()
    assert "canary" not in kept.name + kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("ACME_TOKEN_BASE_URL", f"{OURS} {EVIL}")  # the owner of the machine decides
    assert token_for(TOKEN, EVIL, "the token", known=tmp_path / "cache") == "canary-token"
    monkeypatch.delenv("ACME_TOKEN_BASE_URL")
    monkeypatch.setenv("ACME_TOKEN", "another-canary")
    assert token_for(TOKEN, EVIL, "the token", known=tmp_path / "cache") == "another-canary"
