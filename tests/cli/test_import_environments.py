"""`import --into` and `drift --accept` in an environment: what its patches remove or set never gets into the files of all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

EXAMPLES = Path(__file__).parents[2] / "examples"
PROJECT = """\
version: 1
project: docs
service: {sandbox: production.db, member: ada@acme.example}

organizations:
  acme:
    id: org_acme
    title: Acme
    members: {ada@acme.example: admin}
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - collection: internal
        title: Internal
        content: []
      - {collection: public, title: Public}
    teams: {writers: {title: Writers}}
    sites:
      docs: {title: Documentation, visibility: public, shareLinks: {partners: {name: Partners}}}
      labs: {title: Labs, shareLinks: {friends: {name: Friends}}}
"""
STAGING = """\
service: {sandbox: staging.db}
patch:
  - {match: acme/site/*, set: {visibility: unlisted}}
  - {match: acme/site/labs, remove: true}
  - {match: acme/collection/internal, remove: true}
  - {match: acme/site/docs/share-link/*, remove: true}
"""
LABS = "acme/site/labs is removed by a patch of the environment: environments/staging.yaml:4:13"


@pytest.fixture
def staging(cli: Cli) -> Cli:
    """A project that is applied to staging."""
    cli.write("reconciler.yaml", PROJECT)
    cli.write("environments/staging.yaml", STAGING)
    cli.write("environments/production.yaml", "{}\n")
    assert cli("apply", "--yes", "--env", "staging").exit_code == 0
    return cli


def api(cli: Cli, *words: str) -> str:
    done = cli("api", *words, "--sandbox", "staging.db", "--env", "staging")
    assert done.exit_code == 0, done.stderr
    return done.stdout


def site(cli: Cli, title: str) -> str:
    """A site that somebody else creates."""

    return str(json.loads(api(cli, "POST", "/orgs/org_acme/sites", "-f", f"title={title}", "-f", "visibility=public"))["id"])


def test_right_after_an_apply_nothing_is_imported_in_any_environment(staging: Cli) -> None:
    assert staging("apply", "--yes", "--env", "production").exit_code == 0
    for name in ("staging", "production"):
        done = staging("import", ".", "--into", "--env", name)
        assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n", done.stderr
        assert "not written" not in done.stderr
    shutil.copytree(EXAMPLES / "environments", staging.root / "example")
    for name in ("staging", "production"):
        words = ("--env", name, "--sandbox", f"{name}-example.db")
        assert staging("apply", "example", "--yes", *words).exit_code == 0
        assert staging("import", "example", "--into", *words).stdout == "Wrote 0 files to example and tracked 0 objects.\n"


def test_an_object_that_a_patch_removes_is_not_written_again(staging: Cli) -> None:
    labs = site(staging, "Labs")
    api(staging, "POST", f"/orgs/org_acme/sites/{labs}/share-links", "-f", "name=Enemies")
    done = staging("import", ".", "--into", "--env", "staging")
    assert done.exit_code == 0
    assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n"
    assert f"not written: site 'Labs' ({labs}): {LABS}" in done.stderr
    assert "Enemies" not in done.stderr
    assert (staging.root / "reconciler.yaml").read_text() == PROJECT


def test_what_is_still_tracked_when_a_patch_begins_to_remove_it_is_not_written_again(staging: Cli) -> None:
    staging.write("environments/staging.yaml", STAGING + "  - {match: acme/team/*, remove: true}\n")
    done = staging("import", ".", "--into", "--env", "staging")
    assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n"
    assert "acme/team/writers is removed by a patch of the environment: environments/staging.yaml:7:13" in done.stderr


def test_a_new_object_that_a_patch_would_remove_is_not_written(staging: Cli) -> None:
    docs = next(row.split()[2] for row in staging("state", "list", "--env", "staging").stdout.splitlines() if "acme/site/docs " in row)
    api(staging, "POST", f"/orgs/org_acme/sites/{docs}/share-links", "-f", "name=New")
    done = staging("import", ".", "--into", "--env", "staging")
    assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n"
    assert "acme/site/docs/share-link/new is removed by a patch of the environment: environments/staging.yaml:6:13" in done.stderr


def test_a_value_that_a_patch_sets_is_not_written_for_all_environments(staging: Cli) -> None:
    site(staging, "Blog")
    done = staging("import", ".", "--into", "--env", "staging")
    assert "tracked 1 object.\n" in done.stdout, done.stderr
    text = (staging.root / "sites" / "blog.yaml").read_text()
    assert "title: Blog" in text
    assert "# visibility was not written: a patch of the environment sets it at environments/staging.yaml:3:32\n" in text
    assert "visibility:" not in text


def test_what_was_tracked_before_is_not_counted_as_tracked_by_an_import(staging: Cli) -> None:
    api(staging, "PATCH", "/spaces/spc_blank", "-f", "title=White")
    staging.edit("reconciler.yaml", "title: Blank", "title: White")
    site(staging, "Blog")
    assert "tracked 1 object.\n" in staging("import", ".", "--into", "--env", "staging").stdout


def test_a_new_id_is_that_of_one_environment_and_the_import_says_so(staging: Cli) -> None:
    api(staging, "POST", "/spaces/spc_blank/duplicate")
    done = staging("import", ".", "--into", "--env", "staging")
    assert done.exit_code == 0, done.stderr
    assert "was written with its id in staging; in other environments it has another: a patch can set the id there" in done.stderr


def test_a_reference_to_what_a_patch_removes_is_not_accepted(staging: Cli) -> None:
    labs = site(staging, "Labs")
    staging.edit("reconciler.yaml", "    title: Acme\n", "    title: Acme\n    defaultContent: {site: docs}\n")
    assert staging("apply", "--yes", "--env", "staging").exit_code == 0
    api(
        staging,
        "PATCH",
        "/orgs/org_acme",
        "--input",
        staging.write("body.json", f'{{"defaultContent": {{"type": "site", "site": "{labs}"}}}}'),
    )
    done = staging("drift", "--env", "staging", "--accept", "acme.defaultContent")
    assert done.exit_code == 4, done.stdout + done.stderr
    assert f"acme.defaultContent cannot be written: {LABS}" in done.stderr


def test_a_move_into_what_a_patch_removes_is_not_accepted(staging: Cli) -> None:

    made = json.loads(api(staging, "POST", "/orgs/org_acme/collections", "-f", "title=Internal"))["id"]
    api(staging, "POST", "/spaces/spc_blank/move", "-f", f"parent={made}")
    done = staging("drift", "--env", "staging", "--accept", "acme/space/blank")
    assert done.exit_code == 4, done.stdout + done.stderr
    assert "acme/space/blank is now in acme/collection/internal, but acme/collection/internal is removed by a patch" in done.stderr
    assert (staging.root / "reconciler.yaml").read_text() == PROJECT
