"""`reconciler diff`: what a change of the files means, from git alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.command_line import Cli
from tests.contains import assert_contains
from tests.documents import valid
from tests.proofs import costly

ACME: Final = Path(__file__).parents[2] / "examples" / "acme"
SITE: Final = "docs/sites/partners.yaml"


def git(folder: Path, *words: str) -> None:
    identity = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@acme.example"}
    committer = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@acme.example"}
    environment = {**os.environ, **identity, **committer, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=environment)


@pytest.fixture
def repository(cli: Cli) -> Cli:
    """A repository whose folder `docs` is the flagship example, on a branch that has nothing yet."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    shutil.copytree(ACME, cli.root / "docs", ignore=shutil.ignore_patterns(".reconciler"))
    git(cli.root, "init", "-q", "-b", "main")
    git(cli.root, "add", "-A")
    git(cli.root, "commit", "-q", "-m", "one")
    git(cli.root, "checkout", "-q", "-b", "change")
    return cli


def test_what_was_not_changed_means_nothing_and_nothing_is_said_of_the_service(repository: Cli) -> None:
    done = repository("diff", "docs", "--detailed-exitcode", code=0)
    assert done.stdout.endswith("No changes. 80 objects managed.\n")
    assert "unmanaged" not in done.stdout
    assert "Compared: from HEAD (" in done.stdout
    assert ") to the files as they are." in done.stdout


def test_an_edit_is_a_plan_with_its_exposures_without_token_state_or_request(repository: Cli) -> None:
    repository.edit(SITE, "visibility: share-link", "visibility: public")
    done = repository("diff", "docs", "--from", "main", "--detailed-exitcode")
    assert done.exit_code == 4  # the example says who must not read what
    assert_contains(
        done.stdout,
        "! violation   access anyone: anyone can read it after this plan",
        "~ visibility  share-link -> public",
        "! exposure    visibility share-link -> public: more people can read it",
    )
    assert not (repository.root / "docs" / ".reconciler").exists()


def test_commits_are_compared_whatever_the_files_are_now(repository: Cli) -> None:
    repository.edit(SITE, "}} for partners", "}} for our partners")
    git(repository.root, "commit", "-q", "-am", "two")
    shutil.rmtree(repository.root / "docs" / "sites")
    document = valid(repository.json("diff", "docs", "--from", "main", "--to", "change"), "plan")
    assert [(change["address"], change["actions"]) for change in document["changes"]] == [("acme/site/partners", ["update"])]
    assert document["summary"]["unmanaged"] is None


def test_what_others_did_since_the_branch_was_left_is_not_its_work(repository: Cli) -> None:
    repository.edit(SITE, "}} for partners", "}} for our partners")
    git(repository.root, "commit", "-q", "-am", "mine")
    git(repository.root, "checkout", "-q", "main")
    repository.edit("docs/people.yaml", "title: ", "title: New ")
    git(repository.root, "commit", "-q", "-am", "theirs")
    done = repository("diff", "docs", "--from", "main", "--to", "change")
    assert "Plan: 1 to update. 1 request." in done.stdout
    assert "from the commit where the branch diverged from main (" in done.stdout


def test_a_project_that_is_new_is_created(repository: Cli) -> None:
    shutil.copytree(repository.root / "docs", repository.root / "more")
    done = repository("diff", "more", code=0)
    assert_contains(
        done.stdout,
        "to create",
        "), which does not have this project, to the files as they are",
        '"ada@acme.example" must exist on the service\n',
    )
    assert "unmanaged" not in done.stdout


def test_a_project_whose_folder_was_renamed_is_compared_with_what_it_was(repository: Cli) -> None:
    git(repository.root, "mv", "docs", "handbook")
    repository.edit("handbook/sites/partners.yaml", "}} for partners", "}} for our partners")
    for words in ((), ("--from", "main"), ("--from", "main", "--to", "change")):
        if "--to" in words:
            git(repository.root, "commit", "-q", "-am", "renamed")
        done = repository("diff", "handbook", *words)
        assert done.stdout.count(" ~ ") == 1, done.stdout
        assert "), where it was docs, to " in done.stdout
        assert "to create" not in done.stdout


def test_a_project_that_includes_a_file_of_a_submodule_is_compared_and_judged(repository: Cli, tmp_path: Path) -> None:
    shared = tmp_path / "elsewhere"
    shared.mkdir()
    shutil.move(repository.root / "docs/people.yaml", shared / "people.yaml")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        git(shared, *words)
    git(repository.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(shared), "docs/shared")
    repository.edit("docs/reconciler.yaml", "include: [people.yaml", "include: [shared/people.yaml")
    git(repository.root, "add", "-A")
    git(repository.root, "commit", "-q", "-m", "two")
    assert repository("diff", "docs", "--rules-from", "HEAD", code=0).stdout.endswith("No changes. 80 objects managed.\n")
    assert "No changes." in repository("diff", "docs", "--from", "main", "--to", "HEAD", code=0).stdout


def test_a_project_that_was_wrong_names_the_commit_of_each_problem(repository: Cli) -> None:
    repository.edit(SITE, "visibility:", "visability:")
    git(repository.root, "commit", "-q", "-am", "wrong")
    repository.edit(SITE, "visability:", "visibility:")
    done = repository("diff", "docs", "--from", "change", code=3)
    assert 'change:sites/partners.yaml:7:5  acme/site/partners: unknown field "visability"; did you mean "visibility"?' in done.stderr


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("origin/nothing", "git fetch origin nothing, and pass origin/nothing."),
        ("--upload-pack=x", ""),
        ("HEAD:docs", ""),
        ("", ""),
        ("main..change", "Pass one commit, not a range."),
        ("HEAD~7", "A shallow clone lacks older commits: git fetch --unshallow"),
    ],
)
def test_an_unknown_commit_is_reported_with_a_remedy(repository: Cli, name: str, remedy: str) -> None:
    done = repository("diff", "docs", f"--from={name}", code=3)
    assert f"{name!r} is not a commit of this repository" in done.stderr
    assert remedy in done.stderr


def test_a_folder_without_a_repository_is_said(cli: Cli) -> None:
    shutil.copytree(ACME, cli.root / "docs", ignore=shutil.ignore_patterns(".reconciler"))
    assert "docs is not in a git repository" in cli("diff", "docs", env={"GIT_CEILING_DIRECTORIES": str(cli.root.parent)}, code=3).stderr


def test_nothing_of_the_repository_is_run(repository: Cli) -> None:
    marker = repository.root / "ran"
    hook = repository.write("hook", f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    for name, value in (
        ("core.fsmonitor", str(hook)),
        ("core.hooksPath", str(repository.root)),
        ("filter.x.smudge", str(hook)),
        ("diff.x.textconv", str(hook)),
    ):  # fmt: skip
        git(repository.root, "config", name, value)
    repository.write(".gitattributes", "* filter=x diff=x export-ignore\n")
    git(repository.root, "-c", "core.fsmonitor=false", "add", ".gitattributes")
    marker.unlink(missing_ok=True)
    assert "No changes." in repository("diff", "docs", "--to", "HEAD").stdout
    assert not marker.exists()


UNSET: Final = """\
version: 1
project: docs
vars:
  org: {env: RECONCILER_VAR_ORG}
  brand: {type: string}
  show: {type: boolean}
  people: {type: list}
  key: {env: RECONCILER_VAR_KEY}
service: {baseUrl: "https://${{ vars.brand }}.example"}
organizations:
  acme:
    id: ${{ vars.org }}
    emailDomains: ["${{ vars.brand }}.example", acme.example]
    teams:
      writers: {title: "${{ vars.brand }} writers"}
      readers: {title: Readers, members: "${{ vars.people }}"}
    sites:
      docs:
        title: ${{ vars.brand.title.text }}
        visibility: ${{ "public" if vars.show else "unlisted" }}
    saml:
      okta: {label: Okta, entityID: "https://a.example", ssoURL: "https://b.example", certificate: "${{ vars.key }}"}
"""


def test_a_variable_without_a_value_is_unknown_and_no_error(cli: Cli) -> None:
    cli.write("docs/reconciler.yaml", UNSET)
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        git(cli.root, *words)
    cli.edit("docs/reconciler.yaml", "title: Readers", "title: All readers")
    same = cli("diff", "docs", "--from", "HEAD", "--to", "HEAD")
    assert (same.exit_code, "No changes." in same.stdout) == (0, True), same.stdout + same.stderr
    cli.edit("docs/reconciler.yaml", "}} writers", "}} authors")
    done = cli("diff", "docs")
    assert "unknown.vars.brand writers -> unknown.vars.brand authors" in done.stdout
    assert "vars.brand, vars.key, vars.org, vars.people, vars.show: no value is known here." in " ".join(done.stdout.split())
    assert done.stdout.endswith("Plan: 2 to update. 2 requests.\n")


def test_a_secret_is_not_decrypted(repository: Cli) -> None:
    repository.write("docs/secrets.enc.yaml", "okta: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]\nsops: {mac: m, version: 3.11.0}\n")
    text = (repository.root / "docs/reconciler.yaml").read_text(encoding="utf-8")
    repository.write("docs/reconciler.yaml", f"{text}\nsecrets: secrets.enc.yaml\n")
    assert repository("diff", "docs").exit_code == 0


def test_policies_refuse_and_what_only_the_service_knows_is_a_warning(repository: Cli) -> None:
    text = (repository.root / "docs/reconciler.yaml").read_text(encoding="utf-8")
    rule = '${{ after.visibility != "public" or (before is not none and before.visibility == "public") }}'
    quiet = f"{{id: quiet, on: [site], assert: '{rule}', message: no new public site}}"
    many = "{id: many, on: [organization], assert: '${{ inside(\"member\") > 100 }}', message: too few people}"
    repository.write("docs/reconciler.yaml", f"{text}\npolicies:\n  - {quiet}\n  - {many}\n")
    calm = repository("diff", "docs")
    assert (calm.exit_code, "too few people (as far as the files say)" in calm.stdout) == (0, True)
    repository.edit(SITE, "visibility: share-link", "visibility: public")
    done = repository("diff", "docs", code=4)
    assert "no new public site" in done.stdout
    assert "policy quiet (reconciler.yaml:" in done.stderr


def test_a_policy_on_a_value_that_nobody_knows_here_is_a_warning(cli: Cli) -> None:
    rule = "policies: [{id: calm, on: [site], assert: '${{ after.visibility == \"unlisted\" }}', message: sites are unlisted}]\n"
    cli.write("docs/reconciler.yaml", UNSET + rule)
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        git(cli.root, *words)
    done = cli("diff", "docs")
    assert (done.exit_code, "sites are unlisted (as far as the files say)" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_folder_that_is_in_no_work_tree_is_refused_and_not_all_new(repository: Cli) -> None:
    root = repository.root
    outside = root.parent / f"{root.name}-outside"
    bare = root.parent / f"{root.name}-bare.git"
    shutil.copytree(root / "docs", outside)
    git(root, "clone", "-q", "--bare", str(root), str(bare))
    shutil.copytree(root / "docs", bare / "docs")
    shutil.copytree(root / "docs", root / ".git" / "docs")
    (root / "linked").symlink_to(outside)
    shutil.copytree(root / "docs", root / "build")
    repository.write(".gitignore", "build/\n")
    for folder in (str(outside), str(bare / "docs"), ".git/docs", "linked", "build"):
        for chosen in ({}, {"GIT_DIR": str(root / ".git")}, {"GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)}):
            done = repository("diff", folder, env=chosen)
            assert (done.exit_code, "[RC-not-a-repository]" in done.stderr) == (3, True), (folder, chosen, done.stdout)
            assert done.stderr.count("\n") > 1  # with what to do
            assert done.stdout == ""


@costly
@pytest.mark.parametrize("chosen", [{"GIT_DIR": ".git"}, {"GIT_DIR": "{}/.git", "GIT_INDEX_FILE": "{}/.git/index"}], ids=str)
def test_a_hook_compares_the_folder_that_is_named(repository: Cli, chosen: dict[str, str]) -> None:
    done = repository("diff", "docs", env={name: value.format(repository.root) for name, value in chosen.items()})
    assert done.stdout.endswith("No changes. 80 objects managed.\n"), done.stderr
    git(repository.root, "worktree", "add", "-q", "--detach", str(repository.root / "other"))
    assert repository("diff", "other/docs").stdout.endswith("No changes. 80 objects managed.\n")
