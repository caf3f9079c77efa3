"""A copy of a living organization: it answers what the original answers, and is made with GETs only."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import httpx2
import pytest
import yaml

from reconciler import exits
from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.features.rehearsal.copying import LivingAnswers, read_living
from reconciler.sandbox import copies
from reconciler.sandbox.app import create_app
from tests.certificates import IDP, pem
from tests.command_line import Cli
from tests.harness import BASE, Org, Still, failing_at, kinds, recording
from tests.organizations import ORGANIZATION, SERVICE, TOKEN, pair, project, with_readers
from tests.proofs import costly
from tests.transports import Through, between

CONTROL = "control"
ORIGIN = "http://127.0.0.1"


def _read(app: object, token: str, *, sent: list[tuple[str, str]] | None = None, failing: tuple[str, ...] = ()) -> LivingAnswers:
    async def read() -> LivingAnswers:
        asked = between(httpx2.ASGITransport(app), recording(sent if sent is not None else []))
        transport = between(asked, failing_at(failing))
        async with Reader(ClientSettings(BASE, token), transport=Through(transport), clock=Still()) as reader:
            return await read_living(reader, kinds(), [ORGANIZATION], lambda answers: copies.wanted(answers, content=True, max_pages=100))

    return asyncio.run(read())


def _applied(folder: Path, seed: int) -> Org:
    org = Org(folder, seed=SERVICE)
    org.write(pair(random.Random(seed))[0] if seed % 2 else with_readers(random.Random(seed)))
    org.apply()
    store = org.app.state.service.store
    store.set_meta("clock", store.now().isoformat())  # what is processed when it is copied would go on
    return org


def _same_answers(folder: Path, seed: int) -> None:
    org = _applied(folder, seed)
    sent: list[tuple[str, str]] = []
    original = _read(org.app, TOKEN, sent=sent)
    export = copies.copied(ORIGIN, original.answers)
    copies.write_copy(folder / "copy.db", export)
    copy = create_app(folder / "copy.db", control_token=CONTROL)
    copy.state.service.store.set_meta("clock", org.app.state.service.store.meta("clock"))
    again = _read(copy, CONTROL)
    assert {method for method, _ in sent} == {"GET"}
    assert original.unread == again.unread == ()
    assert again.answers == original.answers
    assert copies.copied(ORIGIN, again.answers) == export, "a copy of the copy is another one"


@costly
@pytest.mark.parametrize("seed", range(6))
def test_a_copy_gives_every_answer_that_the_original_gives(tmp_path: Path, seed: int) -> None:
    _same_answers(tmp_path, seed)


@pytest.mark.proof
@pytest.mark.parametrize("start", range(0, 1000, 25))
def test_a_copy_of_a_random_organization_gives_every_answer_that_the_original_gives(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 25):
        _same_answers(tmp_path / str(seed), seed)


def test_a_copy_makes_the_plan_of_the_original(tmp_path: Path) -> None:
    org = _applied(tmp_path, 1)
    org.write(pair(random.Random(1))[1])
    copies.write_copy(tmp_path / "copy.db", copies.copied(ORIGIN, _read(org.app, TOKEN).answers))
    planned = org.plan()
    original, org.app = org.app, create_app(tmp_path / "copy.db", control_token=TOKEN)
    assert org.plan() == planned
    org.app = original


def test_what_cannot_be_read_is_named_and_nothing_else_is_missing(tmp_path: Path) -> None:
    read = _read(_applied(tmp_path, 1).app, TOKEN, failing=("pages", "saml"))
    assert any("saml" in sentence for sentence in read.unread)
    assert any("content/pages" in sentence for sentence in read.unread)
    assert {entry["kind"] for entry in copies.copied(ORIGIN, read.answers)["objects"]} >= {"space", "site", "member"}


def test_a_copy_holds_stand_ins_for_secrets_and_keeps_titles(tmp_path: Path) -> None:
    org = _applied(tmp_path, 3)
    provider = {"label": "Okta", "entityID": "okta", "ssoURL": "https://user:hunter2@idp.example/sso", "certificate": pem(IDP)}
    org.call("POST", f"/orgs/{ORGANIZATION}/saml", provider)
    links = [
        item
        for site in org.items(f"/orgs/{ORGANIZATION}/sites")
        for item in org.items(f"/orgs/{ORGANIZATION}/sites/{site['id']}/share-links")
    ]
    keys = [link["urls"]["published"].partition("?key=")[2] for link in links]
    export = copies.copied(ORIGIN, _read(org.app, TOKEN).answers)
    text = json.dumps(copies.without_secrets(export), ensure_ascii=False)
    assert keys
    certificates = [entry["data"]["certificate"] for entry in export["objects"] if entry["kind"] == "saml"]
    assert certificates
    kept = json.dumps(export, ensure_ascii=False)
    for secret in (*keys, "hunter2", "ada@acme.example", "linus@acme.example", *(json.dumps(text)[1:-1] for text in certificates)):
        assert secret in kept
        assert secret not in text
    assert all(title in text for title in [entry["data"]["title"] for entry in export["objects"] if entry["kind"] == "space"])


def test_permissions_that_the_token_lacks_are_lacking_in_the_copy(tmp_path: Path) -> None:
    reader = {"token": "token-of-grace", "member": "usr_grace", "access": "read"}
    read = _read(Org(tmp_path, seed={**SERVICE, "tokens": [*SERVICE["tokens"], reader]}).app, "token-of-grace")
    copies.write_copy(tmp_path / "copy.db", copies.copied(ORIGIN, read.answers))
    again = _read(create_app(tmp_path / "copy.db", control_token=CONTROL), CONTROL)
    path = f"/orgs/{ORGANIZATION}"
    assert read.answers[path]["permissions"]["admin"] is False
    assert again.answers[path]["permissions"] == read.answers[path]["permissions"]


def test_the_copy_of_a_service_with_other_urls_shows_them(tmp_path: Path) -> None:
    org = _applied(tmp_path, 1)
    answers = json.loads(json.dumps(_read(org.app, TOKEN).answers))
    site = answers[f"/orgs/{ORGANIZATION}/sites"][0]
    site["urls"]["published"] = f"https://docs.example.com/{site['basename']}"
    copies.write_copy(tmp_path / "copy.db", copies.copied(ORIGIN, answers))
    org.app = create_app(tmp_path / "copy.db", control_token=TOKEN)
    path = f"/orgs/{ORGANIZATION}/sites/{site['id']}"
    assert org.call("GET", path)["urls"]["published"] == site["urls"]["published"]
    assert org.call("PATCH", path, {"basename": "renamed"})["urls"]["published"] == "https://docs.example.com/renamed"


def test_the_command_copies_a_project_and_says_what_it_took(cli: Cli) -> None:
    tree = {"title": "Acme", "id": ORGANIZATION, "content": [{"space": "guides", "id": "spc_guides", "title": "Guides"}]}
    cli.write("reconciler.yaml", yaml.dump(project({"acme": tree})))
    assert cli("apply", ".", "--sandbox", "living.db", "--yes").exit_code == exits.DONE
    exports = []
    for name in ("copy.db", "again.db"):
        done = cli("sandbox", "copy", "--from", ".", "--sandbox", "living.db", "--db", name, code=exits.DONE)
        assert f"objects into {name} with" in done.stderr
        exports.append({**json.loads(cli("sandbox", "export", "--db", name).stdout), "now": None})
    assert exports[0] == exports[1]
    refused = cli("sandbox", "copy", "--from", ".", "--sandbox", "living.db", "--db", "copy.db", code=exits.WRONG)
    assert "choose another name" in refused.stderr
    cli("sandbox", "copy", "--org", "org_nobody", "--sandbox", "living.db", "--db", "third.db", code=exits.WRONG)
    assert not (cli.root / "third.db").exists()
