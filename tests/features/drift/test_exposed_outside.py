"""`drift`, `drift --accept`, `plan` and `apply` after somebody exposed something by hand: nothing becomes permanent without consent.

`guards.maxExposed` and `--max-exposed`, on the command line: a plan that opens more than it may is refused before its first request."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_dangerous_edits import DOCS, base, site, write
from tests.command_line import Cli
from tests.contains import assert_contains
from tests.documents import valid
from tests.features.drift.test_command import edit, ids
from tests.proofs import costly

OUTSIDE = "RC-exposed-outside"
ALLOW = ("--allow-exposure", DOCS)
ACCEPT = ("drift", "p", "--accept", f"{DOCS}.visibility")


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cli = Cli(tmp_path_factory.mktemp("agreed"))
    document = base()
    site(document)["visibility"] = "share-link"
    write(cli, document)
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    return cli.root


@pytest.fixture
def exposed(applied: Path, tmp_path: Path) -> Cli:
    """A project whose site somebody made public by hand."""
    shutil.copytree(applied, tmp_path, dirs_exist_ok=True)
    cli = Cli(tmp_path)
    edit(cli, "PATCH", f"/orgs/org_acme/sites/{ids(cli)[DOCS].rpartition('/')[2]}", "visibility=public")
    return cli


def text(cli: Cli) -> str:
    return (cli.root / "p/reconciler.yaml").read_text()


@costly
def test_drift_shows_an_exposure_in_every_format(exposed: Cli) -> None:
    reports = [part for name in ("markdown", "html", "github", "sarif", "junit") for part in ("--report", f"{name}=drift.{name}")]
    assert_contains(
        exposed("drift", "p", *reports, code=2).stdout,
        "! exposure    visibility share-link -> public: more people can read it",
        "Accept it: reconciler drift p --accept acme/site/docs --allow-exposure acme/site/docs\n",
        "; 1 exposure",
    )
    document = exposed.json("drift", "p")
    valid(document, "drift")
    (line,) = document["exposures"]
    assert (line["address"], line["field"], line["before"], line["after"], line["id"]) == (
        DOCS, "visibility", "share-link", "public", OUTSIDE,
    )  # fmt: skip
    assert "anyone" in line["readers"]
    for name in ("markdown", "html", "github", "sarif", "junit"):
        assert "exposure" in (exposed.root / f"drift.{name}").read_text(), name
    assert OUTSIDE in (exposed.root / "drift.sarif").read_text()


def test_accepting_an_exposure_requires_consent_and_changes_no_file_without_it(exposed: Cli) -> None:
    before = text(exposed)
    refused = exposed(*ACCEPT, code=4)
    assert f"--allow-exposure {DOCS}" in refused.stderr
    assert "accepting this makes something public or removes a protection" in refused.stderr
    assert text(exposed) == before
    assert exposed(*ACCEPT, "--allow-exposure", "acme/team/*").exit_code == 4
    assert text(exposed) == before
    assert exposed(*ACCEPT, *ALLOW).exit_code == 0
    assert "visibility: public" in text(exposed)


@costly
def test_what_was_accepted_is_shown_until_an_apply_with_consent_records_it(exposed: Cli) -> None:
    exposed(*ACCEPT, *ALLOW)
    said = exposed("plan", "p", code=0)
    assert "! exposure    visibility share-link -> public: more people can read it; it was changed outside Reconciler" in said.stdout
    assert "an exposure to record" in said.stdout
    assert exposed("plan", "p", "--detailed-exitcode").exit_code == 2
    assert exposed("apply", "p", "--yes").exit_code == 4
    assert exposed("plan", "p", "--detailed-exitcode").exit_code == 2
    assert exposed("apply", "p", "--yes", *ALLOW).exit_code == 0
    assert exposed("plan", "p", "--detailed-exitcode").exit_code == 0
    assert exposed("drift", "p").exit_code == 0


def test_the_same_edit_made_by_hand_is_shown_too(exposed: Cli) -> None:
    exposed.edit("p/reconciler.yaml", "visibility: share-link", "visibility: public")
    (line,) = exposed.json("plan", "p")["exposures"]
    assert line["id"] == OUTSIDE
    assert exposed("apply", "p", "--yes").exit_code == 4


def test_a_saved_plan_of_an_accepted_exposure_is_consent_to_it_alone(exposed: Cli) -> None:
    exposed(*ACCEPT, *ALLOW)
    assert exposed("plan", "p", "--out", "saved.json").exit_code == 0
    saved = json.loads((exposed.root / "saved.json").read_text())
    assert saved["exposures"][0]["id"] == OUTSIDE
    assert any(consent["address"] == DOCS for consent in saved["consents"])
    (exposed.root / "forged.json").write_text(json.dumps({**saved, "exposures": [], "consents": []}))
    exposed("apply", "p", "--plan", "forged.json")
    assert exposed("plan", "p", "--detailed-exitcode").exit_code == 2
    exposed("apply", "p", "--plan", "saved.json", code=0)
    assert exposed("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_saved_plan_does_not_allow_an_exposure_that_came_later(exposed: Cli) -> None:
    exposed(*ACCEPT, *ALLOW)
    exposed("plan", "p", "--out", "saved.json")
    member = ids(exposed)["acme/member/linus@acme.example"]
    edit(exposed, "PATCH", f"/orgs/org_acme/members/{member.rpartition('/')[2]}", "role=admin")
    exposed.edit("p/reconciler.yaml", "role: edit", "role: admin")
    exposed("apply", "p", "--plan", "saved.json", "--partial")
    assert "acme/member/linus@acme.example" in [line["address"] for line in exposed.json("plan", "p")["exposures"]]


def test_an_exposure_of_a_saved_plan_stays_allowed_if_another_part_is_no_longer_valid(exposed: Cli) -> None:
    exposed(*ACCEPT, *ALLOW)
    exposed.edit("p/reconciler.yaml", "title: Team 1\n", "title: Team one\n")
    exposed("plan", "p", "--out", "saved.json")
    team = ids(exposed)["acme/team/t1"].rpartition("/")[2]
    edit(exposed, "PATCH", f"/orgs/org_acme/teams/{team}", "title=By hand")
    assert exposed("apply", "p", "--plan", "saved.json").exit_code != 0
    assert DOCS in [line["address"] for line in exposed.json("plan", "p")["exposures"]]
    exposed("apply", "p", "--plan", "saved.json", "--partial", "--yes", code=5)
    assert exposed.json("plan", "p")["exposures"] == []


def test_accepting_what_exposes_nothing_asks_nothing(exposed: Cli) -> None:
    edit(exposed, "PATCH", f"/orgs/org_acme/sites/{ids(exposed)[DOCS].rpartition('/')[2]}", "title=Handbook")
    assert exposed("drift", "p", "--accept", f"{DOCS}.title").exit_code == 0


def test_undo_does_not_record_an_exposure_as_agreed(exposed: Cli) -> None:
    exposed(*ACCEPT, *ALLOW)
    exposed("undo", "last", "p", "--yes", "--allow-exposure", "acme/member/*")
    assert exposed("plan", "p", "--detailed-exitcode").exit_code == 2


LIMIT_ALLOW = ("--allow-exposure", "**")


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that may expose nothing, applied once."""
    cli = Cli(tmp_path_factory.mktemp("limited"))
    write(cli, {**base(), "guards": {"maxExposed": 0}})
    cli("apply", "p", "--yes", *LIMIT_ALLOW, code=0)
    return cli.root


@pytest.fixture
def opening(limited: Path, tmp_path: Path) -> Cli:
    """The same with a line that makes a site public."""
    shutil.copytree(limited, tmp_path, dirs_exist_ok=True)
    cli = Cli(tmp_path)
    document = {**base(), "guards": {"maxExposed": 0}}
    site(document)["visibility"] = "public"
    write(cli, document)
    return cli


def way_past(stderr: str) -> tuple[str, str]:
    """The option that the refusal prints, with its number."""
    line = next(line.strip() for line in stderr.splitlines() if "--max-exposed" in line)
    option, number = line.removeprefix("if this is intended: ").split()
    return option, number


@costly
def test_plan_and_apply_refuse_and_the_printed_option_is_the_way_past(opening: Cli) -> None:
    planned = opening("plan", "p", code=4)
    assert "! exposure" in planned.stdout, "the plan is shown first"
    assert "guards.maxExposed allows 0" in planned.stderr
    assert "[RC-exposure-limit]" in planned.stderr
    option, number = way_past(planned.stderr)
    assert opening("apply", "p", "--yes", *LIMIT_ALLOW).exit_code == 4, "consent to exposures does not raise the limit"
    assert opening("apply", "p", "--yes", *LIMIT_ALLOW, option, str(int(number) - 1)).exit_code == 4
    refused = opening("apply", "p", "--yes", option, number)
    assert (refused.exit_code, "RC-consent-required" in refused.stderr) == (4, True), "the limit is no consent"
    assert opening("apply", "p", "--yes", *LIMIT_ALLOW, option, number).exit_code == 0
    assert opening("plan", "p").exit_code == 0


def test_a_saved_plan_records_the_number_and_takes_it_typed_again(opening: Cli) -> None:
    _, number = way_past(opening("plan", "p").stderr)
    planned = opening("plan", "p", "--out", "plan.json", "--max-exposed", number)
    assert f"Apply it with: reconciler apply p --max-exposed {number} --plan plan.json" in planned.stdout
    document = json.loads((opening.root / "plan.json").read_text())
    valid(document, "saved-plan")
    assert document["options"]["maxExposed"] == int(number)
    assert opening("apply", "p", "--plan", "plan.json", "--yes").exit_code == 4
    assert opening("apply", "p", "--plan", "plan.json", "--yes", "--max-exposed", number).exit_code == 0


def test_the_number_is_never_read_from_the_environment(opening: Cli) -> None:
    planned = opening("plan", "p", env={"RECONCILER_MAX_EXPOSED": "99"}, code=4)
    assert "RECONCILER_MAX_EXPOSED is ignored: --max-exposed is never read from the environment" in planned.stderr


def test_undo_has_the_limit_too(opening: Cli) -> None:
    closed = {**base(), "guards": {"maxExposed": 0}}
    _, number = way_past(opening("plan", "p").stderr)
    assert opening("apply", "p", "--yes", *LIMIT_ALLOW, "--max-exposed", number).exit_code == 0
    write(opening, closed)
    assert opening("apply", "p", "--yes", *LIMIT_ALLOW).exit_code == 0, "closing exposes nothing"
    assert "[RC-exposure-limit]" in opening("undo", "last", "p", "--yes", *LIMIT_ALLOW).stderr
    assert opening("undo", "last", "p", "--yes", *LIMIT_ALLOW, "--max-exposed", number).exit_code == 0
