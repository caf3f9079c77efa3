"""No secret comes out: not in what is printed, not in a file, not in a table, whether a command goes well or fails."""

from __future__ import annotations

import secrets as random_secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.hostile.canaries.birds import CANARIES, FORMS, PEM, found
from tests.hostile.canaries.service import FAILURES, Spilling, serving
from tests.hostile.canaries.world import GIVEN, JOINING, PROJECT, World, crash, with_secretive
from tests.proofs import proof, spread
from tests.state import server

LEAVING = ("user", "proxy", "sandbox", "state", "redirect")  # what a crash with everything in its message did not get from this run


@pytest.fixture(autouse=True)
def _secretive(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("reconciler.client.conversation.backoff", lambda *_: 0.0)
    with with_secretive():
        yield


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Spilling]:
    app = Spilling(tmp_path / "service.db")
    with serving(app) as address:
        app.address = address  # type: ignore[attr-defined]
        yield app


@pytest.fixture
def world(tmp_path: Path, service: Spilling) -> World:
    world = World(tmp_path / "w")
    world.env["RECONCILER_BASE_URL"] = service.address  # type: ignore[attr-defined]
    return world


def everything(world: World, *, name: str) -> None:
    """Every command, with every format and report."""
    reports = [part for one in ("json", "markdown", "html") for part in ("--report", f"{one}=r-{name}.{one}")]
    for one in ("text", "json", "markdown", "html"):
        world("plan", "p", *GIVEN, "--format", one, "-v", "--full")
        world("drift", "p", *GIVEN, "--format", one, "-v", "--coverage")
    world("plan", "p", *GIVEN, *reports, "--out", f"{name}.plan.json")
    world("validate", "p", *GIVEN)
    world("validate", "p")
    world("validate", "p", "--decrypt", *GIVEN)
    world("plan", "p", *GIVEN, "--color", "always")
    world("graph", "p", *GIVEN)
    world("graph", "p", *GIVEN, "--steps", "--format", "dot")
    world("config", "render", "p", *GIVEN)
    world("doctor", "p", *GIVEN)
    world("doctor", "p", *GIVEN, "--format", "json")
    world("explain", "saml.certificate")
    world("fmt", "--check", "p")
    world("state", "list", "p", *GIVEN)
    world("state", "show", "acme/saml/one", "p", *GIVEN)
    world("state", "show", "acme/site/docs/share-link/partners", "p", *GIVEN, "--format", "json")
    world("history", "p", *GIVEN)
    world("show", "last", "p", *GIVEN)
    world("show", "last", "p", *GIVEN, "--format", "json")
    world("import", f"taken-{name}", "--org", "org_acme", "-v")
    world("import", f"seen-{name}", "--org", "org_acme", "--dry-run")
    world("import", f"none-{name}")
    world("api", "GET", "/orgs/org_acme/teams", "--project", "p", *GIVEN, "-v")
    world("api", "PATCH", "/orgs/org_acme", "-f", "title=Acme", "--project", "p", *GIVEN, "-v")
    world("adopt", "acme/team/writers", "team_x", "--project", "p", *GIVEN)


def test_the_search_finds_a_secret_in_every_form() -> None:
    assert len(CANARIES) == 13
    for name, known in FORMS.items():
        for form, text in known:
            assert found("somewhere", b"a " + text[:5] + b"\n   " + text[5:] + b" b") == [f"somewhere: the secret {name!r}, {form}"] or form


def test_nothing_comes_out_of_a_life_that_goes_well(world: World, service: Spilling) -> None:
    everything(world, name="before")
    assert world("apply", "p", "--yes", *GIVEN, "-v", "--report", "html=applied.html") == 0
    everything(world, name="after")
    service.db.touch()
    assert world("api", "PATCH", "/spaces/spc_blank", "-f", "title=Changed") == 0
    assert world("drift", "p", *GIVEN, "--baseline", "none.yaml") == 3
    assert world("drift", "p", *GIVEN) == 2
    assert world("drift", "p", *GIVEN, "--accept", "acme/space/blank.title") == 0
    assert world("api", "GET", "/orgs/org_acme/sites", "--project", "p", *GIVEN) == 0
    world.env["RECONCILER_VAR_PART"] = "another"
    assert world("plan", "p", *GIVEN, "--detailed-exitcode") == 2
    assert world("apply", "p", "--yes", *GIVEN, "--allow-exposure", "**", "--format", "json") == 0
    world("drift", "p", *GIVEN, "--accept", "acme/saml/two.certificate")
    assert world("undo", "last", "p", "--yes", *GIVEN, "-v") in (0, 4, 5)
    assert world("import", "taken-after/..", "--org", "org_acme", "--into", *GIVEN) in (0, 3)
    assert "\n".join(world.leaks()) == ""


@pytest.mark.parametrize("mode", spread(FAILURES, 2))
def test_nothing_comes_out_of_a_service_that_fails(world: World, service: Spilling, mode: str) -> None:
    service.mode = mode
    for words in (
        ("plan", "p", *GIVEN, "-v"),
        ("drift", "p", *GIVEN),
        ("doctor", "p", *GIVEN),
        ("api", "GET", "/orgs"),
        ("apply", "p", "--yes", *GIVEN),
    ):
        assert world(*words) != 0
    assert world("import", "i", "--org", "org_acme", "-v") != 0
    service.writes_only = True
    assert (
        world("apply", "p", "--yes", *GIVEN, "-v", "--report", "json=r.json", "--report", "markdown=r.md", "--report", "html=r.html") != 0
    )
    world("show", "last", "p", *GIVEN)
    world("show", "last", "p", *GIVEN, "--format", "json")
    if mode in ("echo", "403"):  # what is in doubt waits for its deadline
        world("apply", "p", "--yes", *GIVEN, "--format", "json")
        world("undo", "last", "p", *GIVEN, "--yes")
    assert "\n".join(world.leaks()) == ""


def test_nothing_comes_out_of_a_defect(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {name: secret for name, secret in CANARIES.items() if name not in ("sandbox", "answer", "redirect", "given", "encrypted")}
    world.env |= {
        "HTTPS_PROXY": f"http://ada:{CANARIES['proxy']}@127.0.0.1:9",
        "RECONCILER_STATE": f"sqlite:///{world.root}/state.db",
        "PGPASSWORD": CANARIES["state"],
        "http_proxy": f"http://{CANARIES['user']}@127.0.0.1:9",
    }
    for place in (
        "reconciler.observe.choose.Survey.next_wave",
        "reconciler.config.project.Loading.run",
        "reconciler.run.connection.connecting.normalise",
        "reconciler.state.Store.open",
    ):
        with monkeypatch.context() as patched:
            decrypted = {} if place == "reconciler.config.project.Loading.run" else {"encrypted": CANARIES["encrypted"]}
            patched.setattr(place, crash(held | decrypted))
            for words in (("plan", "p", *GIVEN, "-v"), ("apply", "p", *GIVEN, "--yes", "-v"), ("drift", "p", *GIVEN)):
                assert world(*words) == 1
                assert "this is a defect" in world.heard[-1][1]
    assert any("Traceback" in text for _, text in world.heard)
    assert "\n".join(world.leaks()) == ""


def test_nothing_comes_out_of_a_project_that_is_wrong(world: World) -> None:
    world.write("wrong/secrets.enc.yaml", (world.root / "p/secrets.enc.yaml").read_text())
    for field in (
        "title: ${{ vars.whole }}",
        "defaultRole: ${{ vars.pem }}",
        "x: ${{ vars.part ~ 1 / 0 }}",
        "inviteLinks: ${{ json(vars.whole) }}",
        "title: ${{ secrets.okta.pem }}",
        "saml: {a: {certificate: '${{ json(secrets.okta.pem) }}'}, b: {certificate: '${{ [secrets.okta.pem] }}'}}",
    ):
        world.write("wrong/reconciler.yaml", (world.root / "p/reconciler.yaml").read_text().replace("    title: Acme\n", f"    {field}\n"))
        for words in (
            ("validate", "wrong"),
            ("validate", "wrong", "--decrypt"),
            ("plan", "wrong", *GIVEN, "-v"),
            ("config", "render", "wrong"),
            ("doctor", "wrong"),
        ):
            assert world(*words) in (1, 2, 3)
    world.env["RECONCILER_VAR_NUMBER"] = CANARIES["variable"]
    world.write(
        "typed/reconciler.yaml",
        "version: 1\nproject: a\nvars: {n: {type: integer, env: RECONCILER_VAR_NUMBER}}\norganizations: {a: {id: o}}\n",
    )
    assert world("validate", "typed") == 3
    assert "\n".join(world.leaks()) == ""


def test_nothing_comes_out_of_addresses_with_credentials(world: World) -> None:
    del world.env["RECONCILER_BASE_URL"]
    secret = CANARIES["user"]
    everywhere = (("plan", "p", *GIVEN, "-v"), ("doctor", "p", *GIVEN), ("apply", "p", "--yes", *GIVEN), ("api", "GET", "/orgs", "-v"))
    for address in (f"https://{secret}@docs.example", f"https://ada:{secret}@docs.example", f"https://ada:{secret}@docs.example:x/?a"):
        for words in everywhere:
            assert world(*words, "--base-url", address) in (1, 3)
            assert world(*words, env={"RECONCILER_BASE_URL": address}) in (1, 3)
        world.write(
            "baseurl/reconciler.yaml", f"version: 1\nproject: a\nservice: {{baseUrl: '{address}'}}\norganizations: {{a: {{id: o}}}}\n"
        )
        assert world("plan", "baseurl") == 3
    proxy = {"HTTPS_PROXY": f"http://ada:{CANARIES['proxy']}@127.0.0.1:9", "NO_PROXY": ""}
    for words in everywhere:
        assert world(*words, "--base-url", "https://docs.example", env=proxy) in (1, 5)
    for address in (
        f"postgresql://ada:{CANARIES['state']}@127.0.0.1:1/x",
        f"postgresql://127.0.0.1:1/x?user=a&password={CANARIES['state']}",
        f"mysql://a:{CANARIES['state']}@h/x",
    ):
        assert world("plan", "p", *GIVEN, "-v", "--state", address, "--base-url", "http://127.0.0.1:9") == 1
        assert world("state", "list", "p", *GIVEN, env={"RECONCILER_STATE": address, "RECONCILER_BASE_URL": "http://127.0.0.1:9"}) == 1
    assert "\n".join(world.leaks()) == ""


def test_nothing_comes_out_of_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    monkeypatch.setattr(
        "reconciler.sandbox.server.secrets",
        SimpleNamespace(token_urlsafe=lambda _: CANARIES["sandbox"], token_hex=random_secrets.token_hex),
    )
    for words in (("plan", "p", *GIVEN, "-v"), ("apply", "p", *GIVEN, "--yes", "-v"), ("drift", "p", *GIVEN), ("doctor", "p", *GIVEN)):
        assert world(*words, "--sandbox", "sandbox.db") == 0
    assert world("api", "GET", "/user", "--sandbox", "sandbox.db") in (0, 1)
    with monkeypatch.context() as patched:
        patched.setattr("reconciler.observe.choose.Survey.next_wave", crash({"sandbox": CANARIES["sandbox"], "pem": PEM}))
        assert world("plan", "p", *GIVEN, "--sandbox", "sandbox.db", "-v") == 1
    assert "\n".join(world.leaks()) == ""


def test_nothing_comes_out_of_a_killed_run_and_its_recovery(world: World, service: Spilling) -> None:
    world.write("p/reconciler.yaml", PROJECT.replace("service: {", "service: {timeout: 3, "))  # how long the second run has to wait
    running = world.process("apply", "p", "--yes", *JOINING, *GIVEN, "-v")
    service.on_write = lambda number: running.send_signal(signal.SIGKILL) if number == 4 else None
    assert world.ended(running, "a killed apply") == -signal.SIGKILL
    assert any(path.name.endswith("-wal") for path in world.root.rglob("*")), "the log of the database is still there"
    assert "\n".join(world.leaks()) == ""
    service.on_write = None
    world("plan", "p", *GIVEN)
    world("state", "list", "p", *GIVEN)
    assert world("apply", "p", "--yes", *GIVEN, "-v") in (0, 5)
    world("show", "last", "p", *GIVEN)
    assert "\n".join(world.leaks()) == ""


@proof
def test_nothing_comes_out_of_a_state_on_postgresql(world: World, service: Spilling) -> None:
    programs = server.binaries()
    if programs is None:
        server.missing()
        return
    with server.running(programs) as address:
        secret = address.replace("tests@", "tests:stateCanary!4Gh7pQ&2w@")
        world.env["RECONCILER_STATE"] = secret
        assert world("apply", "p", "--yes", *GIVEN, "-v") == 0
        service.mode, service.writes_only = "echo", True
        world.env["RECONCILER_VAR_PEM"] = PEM.replace("Lines", "lines")
        assert world("apply", "p", "--yes", *GIVEN, "-v", "--allow-exposure", "**") != 0
        service.mode = ""
        everything(world, name="postgres")
        assert "\n".join(world.leaks(address)) == ""
