"""What opens is asked for each run: a run that goes on asks nothing that it was allowed already, and everything else.

Through the command line, on the sandbox; runs are killed with SIGKILL at the boundaries of their requests.
"""

from __future__ import annotations

import copy
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.client.service import Writer
from tests.certificates import IDP
from tests.cli.test_dangerous_edits import Document, acme, base, site, write
from tests.command_line import Cli
from tests.proofs import sampled, stride
from tests.reliability.seen import difference, seen
from tests.reliability.test_killed_saved_plan import Boundaries, copied, killed
from tests.small import node

ALL = ("--allow-exposure", "**")
APPLY = ("apply", "p", "--yes")


class Requests(Boundaries):
    """The boundaries of requests alone."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        real = Writer.send

        async def send(writer: Writer, *given: Any, **named: Any) -> Any:
            self.at("before a request")
            answer = await real(writer, *given, **named)
            self.at("after a request")
            return answer

        Writer.send = send  # type: ignore[method-assign]
        try:
            yield
        finally:
            Writer.send = real  # type: ignore[method-assign]


def opened(document: Document) -> Document:
    """Every sort of exposure: of what exists, of what is new in it, of what is new with all that is in it, of rules, of a delete."""
    acme(document).update(inviteLinks=True)
    acme(document)["openapi"]["pets"]["visibility"] = "public"
    acme(document)["saml"].pop("spare")
    node(acme(document), "box")["editMode"] = "live"
    site(document)["visibility"] = "public"
    site(document)["shareLinks"]["press"] = {"name": "Press", "active": True}
    site(document, "flat")["published"] = True
    acme(document)["sites"]["new"] = {
        "title": "New", "visibility": "share-link", "published": True, "agentsContext": "included",
        "shareLinks": {"all": {"name": "All", "active": True}}, "structure": ["two"],
    }  # fmt: skip
    document["prune"] = {"team": "all"}
    document["removed"] = [{"address": "acme/saml/spare", "action": "delete"}]
    return document


def closed() -> Document:
    document = base()
    acme(document)["saml"]["spare"] = {
        "label": "Spare", "entityID": "http://spare.example/1", "ssoURL": "https://spare.example/sso", "certificate": IDP,
    }  # fmt: skip
    acme(document)["sso"] = False
    return document


def service(cli: Cli) -> Counter[str]:
    with closing(sqlite3.connect(cli.root / "p/.reconciler/sandbox.db")) as connection:
        return seen(connection)


def titled(document: Document) -> Document:
    """Two other titles, which open nothing."""
    node(acme(document), "one")["title"] = "Uno"
    node(acme(document), "six")["title"] = "Sei"
    return document


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The closed organization, applied; what opens it is written and not applied."""
    cli = Cli(tmp_path_factory.mktemp("consent") / "start")
    cli.root.mkdir()
    write(cli, closed())
    cli(*APPLY, *ALL, code=0)
    write(cli, opened(closed()))
    return cli.root


@pytest.fixture
def cli(start: Path, tmp_path: Path) -> Cli:
    return copied(start, tmp_path / "copy")


def refused(cli: Cli, *addresses: str, words: tuple[str, ...] = APPLY) -> None:
    """The run asks for exactly these, and does nothing."""
    before = service(cli)
    result = cli(*words, code=4)
    wanted = result.stderr.partition("if this is intended: ")[2].split("\n")[0].split()
    assert sorted(word for word in wanted if word != "--allow-exposure") == sorted(addresses), result.stderr
    assert difference(before, service(cli)) == []


@sampled
def test_killed_at_any_request_it_goes_on_unasked_and_asks_for_what_was_added(start: Path, tmp_path: Path) -> None:
    calm = copied(start, tmp_path / "calm")
    boundaries = killed(calm, 0, *APPLY, *ALL, sort=Requests)
    expected = service(calm)
    assert boundaries > 20
    more = opened(closed())
    acme(more)["members"]["linus@acme.example"] = "admin"
    for fatal in range(1, boundaries + 1, stride(24)):
        cli = copied(start, tmp_path / str(fatal))
        killed(cli, fatal, *APPLY, *ALL, sort=Requests)
        write(cli, more)
        refused(cli, "acme/member/linus@acme.example")
        write(cli, opened(closed()))
        cli(*APPLY, code=0)
        assert difference(expected, service(cli)) == [], fatal
        assert cli("plan", "p", "--detailed-exitcode").exit_code == 0, fatal
        shutil.rmtree(cli.root)


def test_killed_again_and_again_it_asks_nothing(cli: Cli) -> None:
    killed(cli, 1, *APPLY, *ALL, sort=Requests)
    runs = 1
    while killed(cli, 6, *APPLY, "--max-concurrency", "1", sort=Requests) < 0:
        runs += 1
    assert runs > 4
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_killed_run_that_never_asked_allows_nothing(cli: Cli) -> None:
    write(cli, titled(closed()))
    assert killed(cli, 1, *APPLY, "--allow-exposure", "none", sort=Requests) < 0
    document = titled(closed())
    site(document, "flat")["published"] = True
    site(document)["shareLinks"]["press"] = {"name": "Press", "active": True}
    acme(document)["sites"]["flat"]["visibility"] = "unlisted"
    write(cli, document)
    refused(cli, "acme/site/flat", "acme/site/docs/share-link/press")


def test_another_value_of_an_allowed_field_is_asked_for(cli: Cli) -> None:
    document = closed()
    site(document)["visibility"] = "share-link"
    write(cli, document)
    assert cli(*APPLY, *ALL).exit_code == 0
    site(document)["visibility"] = "unlisted"
    write(cli, document)
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    site(document)["visibility"] = "public"
    write(cli, document)
    refused(cli, "acme/site/docs")


def test_a_provider_that_a_killed_run_did_not_create_is_asked_for_again_with_another_url(cli: Cli) -> None:
    document = closed()
    provider = {"label": "New", "entityID": "http://new.example/1", "ssoURL": "https://new.example/sso", "certificate": IDP}
    acme(document)["saml"]["new"] = provider
    write(cli, document)
    refused(cli, "acme/saml/new")
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    provider["ssoURL"] = "https://evil.example/sso"
    write(cli, document)
    refused(cli, "acme/saml/new")
    provider["ssoURL"] = "https://new.example/sso"
    write(cli, document)
    assert cli(*APPLY).exit_code == 0


def test_what_a_finished_run_was_allowed_is_asked_for_again(cli: Cli) -> None:
    assert cli(*APPLY, *ALL).exit_code == 0
    ident = next(line.split()[2] for line in cli("state", "list", "p").stdout.splitlines() if line.startswith("acme/site/docs "))
    cli("api", "PATCH", f"/orgs/org_acme/sites/{ident}", "-f", "visibility=share-link", "--project", "p", code=0)
    refused(cli, "acme/site/docs")


def test_what_was_taken_out_of_the_files_meanwhile_is_asked_for_again(cli: Cli) -> None:
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    write(cli, titled(closed()))
    assert killed(cli, 1, *APPLY, sort=Requests) < 0
    document = titled(closed())
    site(document)["visibility"] = "public"
    write(cli, document)
    refused(cli, "acme/site/docs")


def test_a_run_that_was_done_in_part_goes_on_unasked(cli: Cli) -> None:
    rule = json.dumps({"fault": "truncated", "operation": "PATCH *"})
    control = ("sandbox", "faults")
    assert cli(*control, "set", "--db", "p/.reconciler/sandbox.db", "--rule", rule).exit_code == 0
    cli(*APPLY, *ALL, code=5)
    assert cli(*control, "clear", "--db", "p/.reconciler/sandbox.db").exit_code == 0
    assert cli(*APPLY).exit_code == 0


def narrowed_and_widened(cli: Cli) -> tuple[str, Document]:
    """The run that narrowed a site, after which its YAML is wide again."""
    document = titled(closed())
    site(document)["visibility"] = "share-link"
    write(cli, document)
    assert cli(*APPLY, *ALL).exit_code == 0
    run = cli.json("history", "p")["runs"][0]["id"]
    wide = titled(closed())
    node(acme(wide), "six")["title"] = "Six again"
    write(cli, wide)
    return run, wide


def test_undo_asks_on_its_own(cli: Cli) -> None:
    run, _ = narrowed_and_widened(cli)
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    refused(cli, "acme/site/docs", words=("undo", run, "p", "--yes"))


def test_what_an_undo_was_allowed_is_asked_for_by_the_next_apply(cli: Cli) -> None:
    run, _ = narrowed_and_widened(cli)
    assert killed(cli, 1, "undo", run, "p", "--yes", *ALL, sort=Requests) < 0
    refused(cli, "acme/site/docs")
    refused(cli, "acme/site/docs", words=("undo", run, "p", "--yes"))


def test_an_undo_that_was_killed_ends_what_the_run_before_was_allowed(cli: Cli) -> None:
    run, _ = narrowed_and_widened(cli)
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    assert killed(cli, 1, "undo", run, "p", "--yes", *ALL, sort=Requests) < 0
    refused(cli, "acme/site/docs")


def test_a_saved_plan_that_was_killed_goes_on_as_what_it_allowed(cli: Cli) -> None:
    assert cli("plan", "p", "--out", "plan.json").exit_code == 0
    assert killed(cli, 6, "apply", "p", "--plan", "plan.json", sort=Requests) < 0
    more = opened(closed())
    acme(more)["members"]["linus@acme.example"] = "admin"
    write(cli, more)
    refused(cli, "acme/member/linus@acme.example")
    write(cli, opened(closed()))
    cli(*APPLY, code=0)


def test_a_saved_plan_allows_only_its_own_consents_although_a_killed_run_was_allowed_more(cli: Cli) -> None:
    document = closed()
    site(document)["visibility"] = "public"
    write(cli, document)
    assert cli("plan", "p", "--out", "plan.json").exit_code == 0
    write(cli, opened(closed()))
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    write(cli, document)
    assert killed(cli, 1, "apply", "p", "--plan", "plan.json", sort=Requests) < 0
    write(cli, opened(closed()))
    result = cli(*APPLY, code=4)
    assert "acme/openapi/pets (visibility)" in result.stderr
    assert "acme/site/docs (visibility)" not in result.stderr


def test_a_saved_plan_from_which_a_consent_was_taken_is_refused(cli: Cli) -> None:
    assert cli("plan", "p", "--out", "plan.json").exit_code == 0
    saved = json.loads((cli.root / "plan.json").read_text())
    saved["consents"] = [consent for consent in saved["consents"] if consent["address"] != "acme/site/docs"]
    (cli.root / "plan.json").write_text(json.dumps(saved))
    assert "it would now expose something else" in cli("apply", "p", "--plan", "plan.json", code=6).stderr


def test_a_state_that_was_carried_elsewhere_asks_again(cli: Cli) -> None:
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    for words in (("state", "pull", "p", "--out", "s.json"), ("state", "push", "s.json", "p", "--force")):
        cli(*words, code=0)
    assert cli(*APPLY).exit_code == 4


def test_another_space_that_the_same_change_would_open_is_asked_for(cli: Cli) -> None:
    assert killed(cli, 1, *APPLY, *ALL, sort=Requests) < 0
    document = opened(closed())
    node(acme(document), "guides")["spaces"].append({"key": "guides-six", "space": "six"})
    write(cli, document)
    refused(cli, "acme/site/docs")  # whose wider visibility opens one space more than it was allowed to open


def test_a_copy_that_was_created_before_the_kill_is_opened_unasked(cli: Cli) -> None:
    document = closed()
    acme(document)["content"].append({"space": "copy", "title": "Copy", "duplicateOf": "blank", "defaultLevel": "edit"})
    acme(document)["sites"]["flat"]["structure"].append("copy")
    acme(document)["sites"]["flat"]["published"] = True
    write(cli, document)
    runs = 0
    while killed(cli, 6, *APPLY, *(() if runs else ALL), "--max-concurrency", "1", sort=Requests) < 0:
        runs += 1
    assert runs
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0


def test_what_moves_from_one_public_site_to_another_is_asked_for_neither_before_nor_after_a_kill(start: Path, tmp_path: Path) -> None:
    first = closed()
    acme(first)["sites"]["other"] = {"title": "Other", "published": True, "structure": ["three", "six"]}
    acme(first)["sites"]["flat"]["published"] = True
    begin = copied(start, tmp_path / "begin")
    write(begin, first)
    assert begin(*APPLY, *ALL).exit_code == 0
    moved = copy.deepcopy(first)
    acme(moved)["sites"]["flat"]["structure"].append("six")
    acme(moved)["sites"]["other"]["structure"].remove("six")
    write(begin, moved)
    boundaries = killed(copied(begin.root, tmp_path / "calm"), 0, *APPLY, sort=Requests)
    assert boundaries >= 4
    for fatal in range(1, boundaries + 1):
        cli = copied(begin.root, tmp_path / str(fatal))
        assert killed(cli, fatal, *APPLY, sort=Requests) < 0
        cli(*APPLY, code=0)
