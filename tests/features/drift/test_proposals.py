"""`drift --propose`: a branch with what was changed outside Reconciler, a request that is updated in place, and nothing else changed."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconciler import files
from reconciler.features.drift.accepted import AcceptedDrift, LeftToPeople, title_of
from tests.cli.test_dangerous_edits import DOCS
from tests.command_line import Cli, applied_project
from tests.features.drift.test_command import edit, ids
from tests.features.drift.test_exposed_outside import applied, exposed  # noqa: F401
from tests.features.forges import Bitbucket, Fault, GitHub, GitLab, Sent, hosting
from tests.features.forges.hosting import Hosting
from tests.features.forges.server import CUT
from tests.proofs import costly
from tests.text.test_places import OBEYED, ORDERS

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
BRANCH = "reconciler/drift/p"
TITLES = ("<!-- -->/close\n/approve", "`${{ secrets.X }}` @everyone <img src=x>", "‮evil", "```\n# Heading")


def git(folder: Path, *words: str, check: bool = True) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@acme.example", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


def committed(cli: Cli) -> Cli:
    """An applied project in a repository with one commit on `main`."""
    return repository(applied_project(cli))


def repository(cli: Cli) -> Cli:
    """A repository with one commit on `main`, around the project."""
    git(cli.root, "init", "-q", "-b", "main")
    cli.write(".gitignore", "home/\n.reconciler/\n")
    git(cli.root, "add", "-A")
    git(cli.root, "commit", "-q", "-m", "first")
    return cli


@pytest.fixture
def desk(cli: Cli) -> Cli:
    return committed(cli)


def retitle(cli: Cli, key: str = "guides", title: str = "Somebody's title") -> None:
    edit(cli, "PATCH", f"/spaces/{ids(cli)[f'acme/space/{key}']}", f"title={title}")


def everything(folder: Path) -> dict[str, bytes]:
    """The files of the work tree, and what git knows of the current branch and the index."""
    files = {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {".git", ".reconciler", "home"} & set(path.parts)
    }
    return {**files, "HEAD": git(folder, "rev-parse", "HEAD").encode(), "status": git(folder, "status", "--porcelain", "-b").encode()}


# -- at a desk ---------------------------------------------------------------------------------------------------------------------------


def test_the_branch_has_one_commit_and_the_current_branch_and_files_stay(desk: Cli) -> None:
    retitle(desk)
    before = everything(desk.root)
    said = desk("drift", "p", "--propose", code=0).stdout
    assert everything(desk.root) == before
    assert git(desk.root, "rev-parse", f"{BRANCH}~1") == git(desk.root, "rev-parse", "main")
    assert git(desk.root, "diff", "--name-only", "main", BRANCH) == "p/reconciler.yaml"
    assert "- acme/space/guides: title Guides -> Somebody's title" in git(desk.root, "log", "-1", "--format=%B", BRANCH)
    assert f"{BRANCH} has a new commit" in said


def test_after_git_merges_the_branch_the_plan_is_empty(desk: Cli) -> None:
    retitle(desk)
    retitle(desk, "api", "Interfaces")
    desk("drift", "p", "--propose", code=0)
    git(desk.root, "merge", "-q", BRANCH)
    assert desk.json("plan", "p")["summary"]["requests"] == 0


def test_proposing_again_without_another_change_makes_no_commit(desk: Cli) -> None:
    retitle(desk)
    desk("drift", "p", "--propose", code=0)
    commit = git(desk.root, "rev-parse", BRANCH)
    assert desk("drift", "p", "--propose", code=0).stdout == f"{BRANCH} has these changes already.\n"
    assert git(desk.root, "rev-parse", BRANCH) == commit
    retitle(desk, title="Another")
    desk("drift", "p", "--propose", code=0)
    assert git(desk.root, "rev-parse", f"{BRANCH}~1") == git(desk.root, "rev-parse", "main")


def test_without_drift_no_branch_is_made(desk: Cli) -> None:
    desk("drift", "p", "--propose", code=0)
    assert git(desk.root, "branch", "--list", BRANCH) == ""


def test_commits_of_others_on_the_branch_are_never_replaced(desk: Cli) -> None:
    retitle(desk)
    desk("drift", "p", "--propose", code=0)
    git(desk.root, "checkout", "-q", BRANCH)
    git(desk.root, "commit", "-q", "--allow-empty", "-m", "mine")
    mine = git(desk.root, "rev-parse", "HEAD")
    retitle(desk, title="Another")
    assert "is checked out" in desk("drift", "p", "--propose", code=4).stderr
    git(desk.root, "checkout", "-q", "main")
    assert "commits that Reconciler did not make" in desk("drift", "p", "--propose", code=4).stderr
    assert git(desk.root, "rev-parse", BRANCH) == mine


def test_files_that_differ_from_the_last_commit_are_no_ground_for_a_proposal(desk: Cli) -> None:
    retitle(desk)
    desk.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert "[RC-uncommitted]" in desk("drift", "p", "--propose", code=3).stderr
    assert git(desk.root, "branch", "--list", BRANCH) == ""


@pytest.mark.parametrize("attributes", ["", "*.yaml text eol=crlf\n"], ids=["core.autocrlf", "eol=crlf"])
def test_line_ends_of_a_checkout_are_not_those_of_a_proposal(desk: Cli, attributes: str) -> None:
    if attributes:
        desk.write(".gitattributes", attributes)
        git(desk.root, "add", "-A")
        git(desk.root, "commit", "-q", "-m", "attributes")
    else:
        git(desk.root, "config", "core.autocrlf", "true")
    (desk.root / "p" / "reconciler.yaml").unlink()
    git(desk.root, "checkout", "-q", "p/reconciler.yaml")
    assert b"\r\n" in (desk.root / "p" / "reconciler.yaml").read_bytes()
    assert git(desk.root, "status", "--porcelain") == ""
    retitle(desk)
    desk("drift", "p", "--propose", code=0)
    changed = git(desk.root, "diff", "--numstat", "HEAD", BRANCH).split()
    assert changed == ["1", "1", "p/reconciler.yaml"], "the lines that changed, and no line end"


def test_what_files_cannot_take_in_is_listed_with_the_way_and_the_rest_is_proposed(desk: Cli) -> None:
    text = (desk.root / "p/reconciler.yaml").read_text()
    spaces = "[{forEach: [one, two], space: '${{ each.key }}', title: 'T ${{ each.key }}', duplicateOf: blank}]"
    generated = f"- {{collection: gen, title: Gen, content: {spaces}}}"
    lines = text.replace("      - collection: product", f"      {generated}\n      - collection: product")
    desk.write("p/reconciler.yaml", lines)
    desk("apply", "p", "--yes", code=0)
    git(desk.root, "commit", "-q", "-am", "generated")
    retitle(desk)
    retitle(desk, "one", "By hand")
    edit(desk, "DELETE", f"/spaces/{ids(desk)['acme/space/api']}")
    shown = desk("drift", "p").stdout
    accept = next(line for line in shown.splitlines() if line.startswith("Accept all: "))
    assert "acme/space/guides" in accept
    assert "acme/space/one" not in accept, "the printed command is not refused"
    assert "Accept by hand, in the YAML: change the forEach of acme/space/one and remove the lines of what was deleted\n" in shown
    result = desk("drift", "p", "--propose", code=5)
    assert "acme/space/one.title is generated by forEach" in result.stderr
    assert "acme/space/api was deleted outside Reconciler" in result.stderr
    message = git(desk.root, "log", "-1", "--format=%B", BRANCH)
    assert "Left to people:\n- acme/space/api was deleted outside Reconciler. " in message
    assert "- acme/space/one.title is generated by forEach" in message
    assert re.search(r"\+ +- \{space: guides, title: .Somebody's title", git(desk.root, "diff", "main", BRANCH))
    assert "By hand" not in git(desk.root, "diff", "main", BRANCH)


def test_what_would_make_the_files_invalid_is_left_to_people_and_the_rest_is_proposed(desk: Cli) -> None:
    made = ids(desk)
    for key in ("guides", "api"):  # the last one leaves its site spaces on the site, beside sections that the files still have
        edit(desk, "DELETE", f"/orgs/org_acme/sites/{made['acme/site/docs']}/sections/{made[f'acme/site/docs/section/{key}']}")
    retitle(desk)
    result = desk("drift", "p", "--propose", code=5)
    assert "acme/site/docs/site-space/api.section: the files would become invalid" in result.stderr
    message = git(desk.root, "log", "-1", "--format=%B", BRANCH)
    assert "\n\n- acme/space/guides: title Guides -> Somebody's title\n\nLeft to people:\n" in message
    assert re.search(r"\+ +- \{space: guides, title: .Somebody's title", git(desk.root, "diff", "main", BRANCH))


@costly
def test_an_exposure_without_consent_makes_no_branch(exposed: Cli) -> None:  # noqa: F811
    repository(exposed)
    assert "--allow-exposure" in exposed("drift", "p", "--propose", code=4).stderr
    assert git(exposed.root, "branch", "--list", "reconciler/*") == ""
    exposed("drift", "p", "--propose", "--allow-exposure", DOCS, code=0)
    assert re.search(r"\+ +visibility: public", git(exposed.root, "diff", "main", "reconciler/drift/living"))
    message = git(exposed.root, "log", "-1", "--format=%B", "reconciler/drift/living")
    assert re.search(rf"^- {DOCS}: exposure visibility .*; readers: anyone", message, re.MULTILINE), "an entry's line is one line"
    assert "decide" not in message


def test_no_two_projects_have_one_branch() -> None:
    names = [("docs", None), ("docs", "eu"), ("docs-eu", None), ("docs.eu", None), ("docs@eu", None), ("docs/eu", None), ("docs eu", None)]
    branches = [AcceptedDrift(project, environment, {}, "", (), ()).branch for project, environment in names]
    assert len({*branches}) == len(names)
    for branch in branches:
        assert subprocess.run(["git", "check-ref-format", f"refs/heads/{branch}"], check=False).returncode == 0, branch
        assert re.fullmatch(r"[\w/@%-]+", branch), "the command that is printed needs no quotes"


def test_the_files_are_as_before_if_accepting_cannot_write_all_of_them(desk: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    teams = "writers: {title: Writers, members: [ada@acme.example]}\n"
    desk.write("p/teams.yaml", teams)
    desk.edit("p/reconciler.yaml", f"teams:\n      {teams}", "teams: {include: teams.yaml}\n")
    assert desk.json("plan", "p")["summary"]["requests"] == 0
    retitle(desk)
    edit(desk, "PATCH", f"/orgs/org_acme/teams/{ids(desk)['acme/team/writers']}", "title=Authors")
    before = everything(desk.root)
    write, calls = files.write_whole, list[Path]()

    def full(path: Path, text: str, **more: Any) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, text, **more)

    monkeypatch.setattr(files, "write_whole", full)
    accepted = ("--accept", "acme/space/guides", "--accept", "acme/team/writers")
    assert "[RC-file-not-written]" in desk("drift", "p", *accepted, code=1).stderr
    assert len({*calls}) == 2, "both files were to be written"
    assert everything(desk.root) == before


def test_the_author_is_git_s_or_reconciler(desk: Cli) -> None:
    retitle(desk)
    desk("drift", "p", "--propose", code=0, env={"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"})
    assert git(desk.root, "log", "-1", "--format=%an", BRANCH) == "Reconciler"
    git(desk.root, "config", "user.name", "Grace")
    git(desk.root, "config", "user.email", "grace@acme.example")
    retitle(desk, title="Another")
    desk("drift", "p", "--propose", code=0)
    assert git(desk.root, "log", "-1", "--format=%an %ae", BRANCH) == "Grace grace@acme.example"


# -- in the jobs of forges ---------------------------------------------------------------------------------------------------------------


@dataclass
class Nightly:
    """A scheduled job of `main` on one of the forges."""

    cli: Cli
    forge: Any
    hosted: Hosting
    env: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, *words: str, code: int | None = None, **env: str | None) -> str:
        done = self.cli("drift", "p", "--propose", *words, env={**self.env, **env}, code=code)
        assert not any(token in done.stdout + done.stderr for token in self.forge.users)
        return done.stdout + done.stderr

    @property
    def writes(self) -> int:
        return sum(sent.method != "GET" for sent in self.forge.sent)


def _environ(forge: Any, token: str) -> Mapping[str, str | None]:
    nobody = {"GITHUB_ACTIONS": None, "GITLAB_CI": None, "BITBUCKET_BUILD_NUMBER": None, "GITHUB_EVENT_PATH": None}
    match forge:
        case GitHub():
            own = {
                "GITHUB_ACTIONS": "true", "GITHUB_API_URL": forge.api, "GITHUB_GRAPHQL_URL": forge.graphql, "GITHUB_TOKEN": token,
                "GITHUB_REPOSITORY": "acme/handbook", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main", "GITHUB_RUN_ID": "7",
            }  # fmt: skip
        case GitLab():
            own = {
                "GITLAB_CI": "true",
                "CI_API_V4_URL": forge.api,
                "GITLAB_TOKEN": token,
                "CI_PROJECT_ID": "12",
                "CI_COMMIT_BRANCH": "main",
            }
        case _:
            own = {
                "BITBUCKET_BUILD_NUMBER": "7", "BITBUCKET_API_URL": forge.api, "BITBUCKET_TOKEN": token, "BITBUCKET_BRANCH": "main",
                "BITBUCKET_REPO_FULL_NAME": "acme/handbook",
            }  # fmt: skip
    return {**nobody, **own}


@pytest.fixture(params=[GitHub, GitLab, Bitbucket], ids=["github", "gitlab", "bitbucket"])
def nightly(request: pytest.FixtureRequest, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nightly]:
    committed(cli)
    bare = cli.root / "home" / "hosted.git"
    git(cli.root, "clone", "-q", "--bare", str(cli.root), str(bare))
    hosted = Hosting(bare)
    monkeypatch.setattr("reconciler.features.forges.port.BlockingClock.sleep", staticmethod(lambda _: None))
    with request.param() as forge:
        routes: Callable[[Any, Hosting], None] = getattr(hosting, request.param.__name__.lower())
        routes(forge, hosted)
        yield Nightly(cli, forge, hosted, dict(_environ(forge, forge.token())))


@costly
def test_a_job_opens_one_request_and_later_jobs_update_and_close_it(nightly: Nightly) -> None:
    retitle(nightly.cli)
    before = everything(nightly.cli.root)
    assert "Opened https://" in nightly(code=0)
    assert everything(nightly.cli.root) == before
    assert git(nightly.cli.root, "branch", "--list", BRANCH) == ""
    (request,) = nightly.hosted.requests
    assert (request.branch, request.into, request.title) == (BRANCH, "main", "Accept 1 change made outside Reconciler in p")
    assert "acme/space/guides" in request.body
    writes = nightly.writes
    assert "is up to date" in nightly(code=0)
    assert nightly.writes == writes
    retitle(nightly.cli, "api", "Interfaces")
    assert "Updated https://" in nightly(code=0)
    assert [request.title for request in nightly.hosted.requests] == ["Accept 2 changes made outside Reconciler in p"]
    nightly.cli("apply", "p", "--yes", code=0)
    assert "closed https://" in nightly(code=0)
    assert nightly.hosted.requests[0].state != "open"


@costly
def test_merging_the_request_with_git_leaves_an_empty_plan(nightly: Nightly) -> None:
    retitle(nightly.cli, title="First")
    retitle(nightly.cli, "api", "Passing")
    nightly(code=0)
    retitle(nightly.cli, title="Second")
    edit(nightly.cli, "PATCH", f"/spaces/{ids(nightly.cli)['acme/space/api']}", "title=API reference")
    nightly(code=0)
    git(nightly.cli.root, "pull", "-q", "--no-rebase", "--no-edit", str(nightly.hosted.folder), BRANCH)
    assert "Second" in (nightly.cli.root / "p/reconciler.yaml").read_text()
    assert nightly.cli.json("plan", "p")["summary"]["requests"] == 0


@costly
def test_a_commit_of_somebody_on_the_branch_stays(nightly: Nightly) -> None:
    retitle(nightly.cli)
    nightly(code=0)
    last = nightly.hosted.last(BRANCH)
    theirs = nightly.hosted.commit(nightly.hosted.git("rev-parse", f"{last}^{{tree}}"), last, "Typo")
    nightly.hosted.move(BRANCH, theirs)
    retitle(nightly.cli, title="Another")
    assert "[RC-branch-taken]" in nightly(code=4)
    nightly.cli("apply", "p", "--yes", code=0)
    assert "[RC-branch-taken]" in nightly(code=4)
    assert nightly.hosted.last(BRANCH) == theirs
    assert nightly.hosted.requests[0].state == "open"


@costly
@pytest.mark.parametrize("carried_out", [True, False])
def test_a_write_without_an_answer_ends_in_one_request(nightly: Nightly, carried_out: bool) -> None:
    retitle(nightly.cli)
    seen: set[str] = set()

    def once(sent: Sent) -> Fault | None:
        if sent.method == "GET" or sent.path in seen:
            return None
        seen.add(sent.path)
        return Fault(CUT, carried_out=carried_out)

    nightly.forge.fault = once
    nightly(code=0)
    assert [request.branch for request in nightly.hosted.requests] == [BRANCH]
    git(nightly.cli.root, "pull", "-q", "--no-rebase", "--no-edit", str(nightly.hosted.folder), BRANCH)
    assert nightly.cli.json("plan", "p")["summary"]["requests"] == 0


@costly
@pytest.mark.parametrize("title", TITLES)
def test_titles_of_strangers_stay_data_in_the_request(nightly: Nightly, title: str) -> None:
    retitle(nightly.cli, title=title)
    nightly()
    for request in nightly.hosted.requests:
        assert not any(line.startswith(("/", "# Heading")) for line in request.body.splitlines())
        assert "‮" not in request.body + nightly.hosted.message(BRANCH)


def test_the_job_of_a_pull_request_proposes_nothing(nightly: Nightly) -> None:
    retitle(nightly.cli)
    pulled: dict[str, str] = {"GITHUB_REF": "refs/pull/7/merge", "CI_MERGE_REQUEST_IID": "7", "BITBUCKET_PR_ID": "7"}
    assert "[RC-proposal-place]" in nightly(code=3, **pulled)
    assert not nightly.writes


def test_without_a_token_the_message_names_its_variable(nightly: Nightly) -> None:
    retitle(nightly.cli)
    assert "_TOKEN is not set" in nightly(code=3, GITHUB_TOKEN=None, GITLAB_TOKEN=None, BITBUCKET_TOKEN=None)


@pytest.mark.parametrize("text", ORDERS)
def test_no_forge_and_no_ci_obeys_a_title_in_the_message_of_a_commit(text: str) -> None:
    assert OBEYED.search(text), "the test knows it"
    drift = (f'acme/site/docs.title: "Docs" -> "{text}"', text)
    left = (LeftToPeople("acme/team/x", text, text),)
    message = AcceptedDrift("acme", None, {"a.yaml": ""}, title_of("acme", None, 1), drift, left).message
    assert OBEYED.search(message) is None, message
    assert len(message.splitlines()) == 9, "each text is on a line of its own"
