"""A plan where nothing changed since the last one: the same words from the same requests, without reading YAML; and never old news."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx2
import pytest

from reconciler import kinds
from reconciler.sandbox.server import embedded
from tests.cli.conftest import Cli
from tests.cli.test_imports import COMMAND, imported
from tests.hostile.canaries.world import secretive
from tests.proofs import spread
from tests.sops import as_encrypted, printing, stand_in

REMEMBERED = "p/.reconciler/unchanged.json"
EMPTY = "No changes. 12 objects managed, 0 unmanaged.\n"


@dataclass
class Served:
    """A project that was applied to a service on a port of its own."""

    cli: Cli
    url: str

    def plan(self, *words: str) -> tuple[int, str]:
        """The exit code of a plan, and what it printed."""
        result = self.cli("plan", "p", "--base-url", self.url, *words)
        return result.exit_code, result.stdout

    def requests(self) -> list[str]:
        """The requests of a plan, sorted."""
        shown = self.cli("plan", "p", "--base-url", self.url, "-v").stderr.splitlines()
        return sorted(" ".join(line.split()[:2]) for line in shown if line.startswith("GET /"))

    def anew(self) -> tuple[int, str]:
        """A plan that remembers nothing."""
        (self.cli.root / REMEMBERED).unlink(missing_ok=True)
        return self.plan()

    def call(self, method: str, path: str, body: object = None) -> None:
        headers = {"Authorization": f"Bearer {self.cli.env['RECONCILER_TOKEN']}"}
        httpx2.request(method, f"{self.url}/v1{path}", json=body, headers=headers).raise_for_status()


@pytest.fixture
def served(cli: Cli) -> Iterator[Served]:
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("plan", "p").exit_code == 0  # makes the sandbox
    with embedded(cli.root / "p/.reconciler/sandbox.db") as running:
        cli.env["RECONCILER_TOKEN"] = running.token
        applied = cli("apply", "p", "--yes", "--create-state", "--base-url", running.base_url)
        assert applied.exit_code == 0, applied.stderr
        yield Served(cli, running.base_url)


def test_it_says_the_same_after_the_same_requests_and_reads_no_yaml_and_decodes_no_answer(served: Served) -> None:
    first, requests = served.plan(), served.requests()
    assert first == (0, EMPTY)
    assert (served.cli.root / REMEMBERED).exists()
    assert served.plan() == first
    assert served.plan("--detailed-exitcode") == first
    assert served.requests() == requests
    (served.cli.root / REMEMBERED).unlink()
    assert served.requests() == requests
    env = {"RECONCILER_TOKEN": str(served.cli.env["RECONCILER_TOKEN"]), **served.cli.user}
    modules = imported(COMMAND, str(served.cli.root), "plan", "p", "--base-url", served.url, env=env)
    assert not modules & {"yaml", "sqlalchemy", "pydantic_core", "reconciler.plan.planner", "reconciler.resource", "reconciler.kinds"}


def test_only_the_owner_can_read_what_is_remembered_and_it_holds_no_token(served: Served) -> None:
    served.plan()
    file = served.cli.root / REMEMBERED
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert str(served.cli.env["RECONCILER_TOKEN"]) not in file.read_text()


def titled(served: Served) -> None:
    served.cli.edit("p/reconciler.yaml", "title: Writers", "title: Authors")


def retitled_outside(served: Served) -> None:
    teams = httpx2.get(
        f"{served.url}/v1/orgs/org_acme/teams", headers={"Authorization": f"Bearer {served.cli.env['RECONCILER_TOKEN']}"}
    ).json()
    served.call("PATCH", f"/orgs/org_acme/teams/{teams['items'][0]['id']}", {"title": "Somebody else"})


def made_outside(served: Served) -> None:
    served.call("PUT", "/orgs/org_acme/teams", {"title": f"Guests {random.random()}"})


def forgotten(served: Served) -> None:
    listed = served.cli("state", "list", "p", "--base-url", served.url).stdout.split()
    address = next(word for word in listed if "/team/" in word)
    assert served.cli("state", "forget", address, "p", "--base-url", served.url).exit_code == 0


def cut_off(served: Served) -> None:
    file = served.cli.root / REMEMBERED
    file.write_text(file.read_text()[:-20]) if file.exists() else None


def edited(served: Served) -> None:
    """What a plan says is exchanged by somebody without the key."""
    file = served.cli.root / REMEMBERED
    file.write_text(file.read_text().replace("12 objects", "99 objects")) if file.exists() else None


def copied(served: Served) -> None:
    """What was remembered before comes back later, as a pipeline restores its cache."""
    served.plan()
    file = served.cli.root / REMEMBERED
    text = file.read_text() if file.exists() else ""
    retitled_outside(served)
    served.plan()
    file.write_text(text)


def nothing(served: Served) -> None:
    """Nothing happens."""


CHANGES: tuple[Callable[[Served], None], ...] = (
    titled, retitled_outside, made_outside, forgotten, cut_off, edited, copied, nothing,
)  # fmt: skip


@pytest.mark.parametrize("change", spread(CHANGES, 2), ids=lambda change: change.__name__)
def test_whatever_changes_the_plan_is_that_of_a_run_that_remembers_nothing(served: Served, change: Callable[[Served], None]) -> None:
    assert served.plan() == (0, EMPTY)
    change(served)
    remembering = served.plan()
    assert remembering == served.anew()
    if change in (titled, retitled_outside, made_outside, forgotten, copied):
        assert remembering != (0, EMPTY)


@pytest.mark.parametrize("words", [("--target", "acme/team/*"), ("--full",), ("--format", "json"), ("--accept-gone", "3")], ids=str)
def test_a_plan_with_options_is_made_as_ever(served: Served, words: tuple[str, ...]) -> None:
    served.plan()
    before = (served.cli.root / REMEMBERED).read_bytes()
    code, _ = served.plan(*words)
    assert code == 0
    assert words == ("--full",) or (served.cli.root / REMEMBERED).read_bytes() == before


def test_without_a_token_or_with_another_one_nothing_is_recalled(served: Served) -> None:
    served.plan()
    served.cli.env["RECONCILER_TOKEN"] = None
    assert served.plan()[0] == 3
    served.cli.env["RECONCILER_TOKEN"] = "somebody"
    assert served.plan()[0] != 0


def test_what_changes_outside_while_a_plan_is_recalled_costs_no_second_request(served: Served) -> None:
    served.plan()
    retitled_outside(served)
    asked = served.requests()
    assert len(asked) == len(set(asked))


def test_a_terminal_and_a_pipe_of_another_width_recall_the_same(served: Served) -> None:
    """What is remembered is the sentence; it is laid out where it is shown."""
    served.plan()
    text = (served.cli.root / REMEMBERED).read_bytes()
    for columns in ("40", "120"):
        narrow = served.cli("plan", "p", "--base-url", served.url, env={"COLUMNS": columns})
        assert "Checking" in narrow.stderr
        assert (served.cli.root / REMEMBERED).read_bytes() == text
        (served.cli.root / REMEMBERED).unlink()
        assert served.cli("plan", "p", "--base-url", served.url, env={"COLUMNS": columns}).stdout == narrow.stdout
    assert served.plan() == (0, EMPTY)


SAML = """\
    saml:
      okta: {label: Okta, entityID: "http://one", ssoURL: "https://one/sso", certificate: "${{ secrets.pem }}"}
    sites:
"""


def test_a_plan_that_needs_sops_is_not_remembered(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it can still decrypt depends on keys and servers that nothing compares."""
    monkeypatch.setattr(kinds, "load", secretive)
    served.cli.edit("p/reconciler.yaml", "    sites:\n", SAML)
    served.cli.edit("p/reconciler.yaml", "version: 1\n", "version: 1\nsecrets: a.enc.yaml\n")
    served.cli.write("p/a.enc.yaml", as_encrypted({"pem": "canary"}))
    served.cli.env |= printing(served.cli.root / "bin", {"pem": "canary"})
    assert served.cli("apply", "p", "--yes", "--allow-exposure", "acme/saml/okta", "--base-url", served.url).exit_code == 0
    assert [served.plan()[1][:11] for _ in range(2)] == ["No changes."] * 2
    stand_in(served.cli.root / "bin", "exit 128")
    assert served.plan() == (3, "")


def test_a_pipe_in_the_place_of_what_was_remembered_or_of_the_state_is_not_waited_for(served: Served) -> None:
    os.mkfifo(served.cli.root / REMEMBERED)
    assert served.plan() == (0, EMPTY)
    state = served.cli.root / "p/.reconciler/state.db"
    state.unlink()
    os.mkfifo(state)
    assert served.plan()[0] != 0


def test_with_a_state_elsewhere_it_is_remembered_where_git_ignores_it(served: Served) -> None:
    (served.cli.root / "p/.reconciler/state.db").rename(served.cli.root / "p/elsewhere.db")
    before = {path.name for path in (served.cli.root / "p").iterdir()}
    for _ in range(2):
        shown = served.cli("plan", "p", "--base-url", served.url, "--state", f"sqlite:///{served.cli.root}/p/elsewhere.db")
        assert shown.stdout == EMPTY
    assert "Checking" in shown.stderr
    assert {path.name for path in (served.cli.root / "p").iterdir()} == before
    assert served.cli("plan", "p", "--base-url", served.url).stdout != EMPTY
