"""`reconciler comment`: from a plan to the comment of a pull request, in the environment that a CI gives a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from reconciler.certificates import tls_context
from reconciler.features.forges.comment.body import comment_of
from tests.command_line import Cli
from tests.features.forges import GitHub
from tests.features.forges.github import Pull
from tests.proofs import costly
from tests.report.test_reading import change, plan

MOMENT = "2026-11-23T08:00:00+00:00"


def deletion(number: int) -> dict[str, Any]:
    return change(f"acme/space/old-{number}", "delete", reason="no longer declared" + " and nobody knows why" * 3)


@dataclass
class Job:
    """A job of a workflow for pull request 7; `run` counts up."""

    cli: Cli
    github: GitHub
    pull: Pull
    token: str
    run: int = 100
    env: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, *words: str, code: int | None = None, **env: str | None) -> Result:
        self.run += 1
        given: dict[str, str | None] = {
            "GITHUB_ACTIONS": "true", "GITHUB_API_URL": self.github.api, "GITHUB_GRAPHQL_URL": self.github.graphql,
            "GITHUB_REPOSITORY": "acme/handbook", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_SHA": "a" * 40,
            "GITHUB_RUN_ID": str(self.run), "GITHUB_RUN_ATTEMPT": "1", "GITHUB_TOKEN": self.token, "GITHUB_EVENT_PATH": None,
            "GITHUB_ACTOR": "ada", "GITLAB_CI": None, "BITBUCKET_BUILD_NUMBER": None,
        }  # fmt: skip
        number = {**given, **self.env, **env}["GITHUB_RUN_ID"]
        self.github.ran((int(number), 1)) if number is not None and number.isdecimal() else None
        done = self.cli("comment", *words, env={**given, **self.env, **env}, code=code)
        assert self.token not in done.stdout + done.stderr
        assert all(self.token not in body for body in self.github.bodies(self.pull))
        return done

    def write(self, name: str, document: Any) -> str:
        text = document if isinstance(document, str) else json.dumps(document)
        return str(self.cli.write(name, text).relative_to(self.cli.root))

    def event(self, *, fork: bool) -> None:
        """The file that describes the event, of a pull request from this repository or from a fork."""
        head = {"sha": "b" * 40, "repo": {"full_name": "mallory/handbook" if fork else "acme/handbook"}}
        pull = {"number": 7, "head": head, "base": {"repo": {"full_name": "acme/handbook"}}}
        self.env["GITHUB_EVENT_PATH"] = str(self.cli.write("event.json", json.dumps({"number": 7, "pull_request": pull})))

    @property
    def bodies(self) -> list[str]:
        return self.github.bodies(self.pull)

    @property
    def headlines(self) -> dict[str, str]:
        """What is said of each name."""
        parts = [part for body in self.bodies for part in getattr(comment_of(body), "parts", ())]
        return {part.name: "\n".join(part.head).split("**")[1] for part in parts}


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with GitHub() as github:
        yield Job(Cli(tmp_path), github, github.pull(), github.token())


def of(project: str, environment: str | None = None, **parts: Any) -> dict[str, Any]:
    return plan(**parts) | {"project": project, "environment": environment, "createdAt": MOMENT}


def test_a_plan_becomes_a_comment_that_later_runs_update(job: Job) -> None:
    job.cli("init", "docs", "--sandbox")
    assert job.cli("plan", "docs", "--report", "json=plan.json", "--out", "saved.json").exit_code == 0
    done = job("plan.json", "--report-url", "https://ci.example/plan.html")
    assert (done.exit_code, done.stderr) == (0, "Wrote the comment of pull request 7.\n")
    (body,) = job.bodies
    assert body.startswith("<!-- reconciler:comment -->\n")
    assert "[run](<https://github.com/acme/handbook/actions/runs/101>) · [report](<https://ci.example/plan.html>)" in body
    assert "commit `aaaaaaaaaa`" in body
    assert "9 to create, 3 to adopt" in job.headlines["docs"]
    entries = [part.others for part in comment_of(body).parts]  # type: ignore[union-attr]
    assert job("saved.json").exit_code == 0
    assert [part.others for part in comment_of(job.bodies[0]).parts] == entries  # type: ignore[union-attr]
    assert "The comment needs no update." in job("saved.json", GITHUB_RUN_ID="3").stderr
    assert job(job.write("plan.json", of("docs"))).exit_code == 0
    assert "Plan of `docs`: **No changes.** · commit `aaaaaaaaaa`" in job.github.bodies(job.pull, minimized=True)[0]
    assert job.bodies == []


def test_projects_and_environments_share_a_comment_and_separate_gives_each_its_own(job: Job) -> None:
    names = [("handbook", None), ("handbook", "prod"), ("api", "prod")]
    files = [job.write(f"{number}.json", of(*name, changes=[deletion(number)])) for number, name in enumerate(names)]
    for file in files:
        assert job(file).exit_code == 0
    assert len(job.bodies) == 1
    assert set(job.headlines) == {"handbook", "handbook/prod", "api/prod"}
    assert job(*files, "--separate").exit_code == 0
    assert len(job.bodies) == 3
    assert job(files[0], "--separate", "--name", "other").exit_code == 0
    assert set(job.headlines) == {"handbook", "handbook/prod", "api/prod", "other"}


def test_a_job_that_failed_says_so_in_its_part_instead_of_leaving_an_old_plan(job: Job) -> None:
    file = job.write("plan.json", of("handbook", "prod", changes=[deletion(1)]))
    assert job(file).exit_code == 0
    assert job.headlines == {"handbook/prod": "1 to delete."}
    assert job("--failed", "handbook/prod").exit_code == 0
    assert job.headlines == {"handbook/prod": "The job failed before it had a result."}
    assert job(file).exit_code == 0
    done = job("missing.json", "--name", "handbook/prod")
    assert (done.exit_code, job.headlines) == (0, {"handbook/prod": "The job failed before it had a result."})
    done = job("missing.json", code=3)
    assert "missing.json cannot be read: no such file or directory" in done.stderr
    assert "--project PATH" in done.stderr


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("version: 1\nproject: handbook   # the name\nvars: {\n", "handbook/prod"),
        ('project: "hand book"\n', "hand book/prod"),
        ("project:\n", "docs/prod"),
        (None, "docs/prod"),
    ],
)
def test_the_part_of_a_failed_job_is_that_of_its_project_also_if_the_files_are_wrong(job: Job, text: str | None, name: str) -> None:
    (job.cli.root / "docs").mkdir()
    if text is not None:
        job.write("docs/reconciler.yaml", text)
    assert job("missing.json", "--project", "docs", "--env", "prod").exit_code == 0
    assert job.headlines == {name: "The job failed before it had a result."}
    assert job(job.write("plan.json", of("api", changes=[deletion(1)])), "--project", "docs").exit_code == 0
    assert set(job.headlines) == {name, "api"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is not JSON at line 1"),
        ("[]", "it has no format"),
        ('{"format": "reconciler.state/1"}', "its format is 'reconciler.state/1'"),
        ('{"format": "reconciler.plan/1", "project": 7}', "project must be text"),
        ('{"format": "reconciler.plan/1", "format": 1}', "twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_not_a_document_is_named_and_its_part_says_that_the_job_failed(job: Job, text: str, says: str) -> None:
    file = job.write("plan.json", text)
    done = job(file)
    assert (done.exit_code, job.bodies) == (3, [])
    assert says in done.stderr
    done = job(file, "--name", "handbook", code=3)
    assert says in done.stderr
    assert job.headlines == {"handbook": "The job failed before it had a result."}


def test_a_pull_request_from_a_fork_gets_no_comment_and_the_job_does_not_fail(job: Job) -> None:
    file = job.write("plan.json", of("handbook", changes=[deletion(1)]))
    reads = job.github.token(writes=False)
    job.event(fork=True)
    for token in (reads, ""):
        done = job(file, GITHUB_TOKEN=token, code=0)
        assert done.stderr.startswith("warning: no comment was written: ")
    job(file, GITHUB_TOKEN=reads, GITHUB_ACTOR="dependabot[bot]", code=0)
    job.event(fork=False)
    done = job(file, GITHUB_TOKEN=reads, code=1)
    assert "pull-requests: write" in done.stderr
    assert job.bodies == []


def test_the_commit_of_the_pull_request_is_shown_and_not_that_of_its_merge(job: Job) -> None:
    job.event(fork=False)
    assert job(job.write("plan.json", of("handbook", changes=[deletion(1)])), GITHUB_REF="refs/heads/main").exit_code == 0
    assert "commit `bbbbbbbbbb`" in job.bodies[0]


@costly
def test_deletions_that_do_not_fit_are_listed_or_counted_and_the_exit_code_says_so(job: Job) -> None:
    calm = [change(f"acme/space/new-{number}", "create") for number in range(600)]
    file = job.write("plan.json", of("handbook", changes=[*map(deletion, range(300)), *calm]))
    assert job(file).exit_code == 0
    assert all(f"@@ acme/space/old-{number} @@" in job.bodies[0] for number in range(300))
    assert "600 other entries" in job.bodies[0]
    file = job.write("plan.json", of("handbook", changes=[*map(deletion, range(1_200))]))
    assert "1,200 deletions, exposures or failures are only listed or counted" in job(file, code=5).stderr
    assert all(f"- acme/space/old-{number}\n" in job.bodies[0] for number in range(1_200))
    job(job.write("plan.json", of("handbook", changes=[*map(deletion, range(4_000))])), code=5)
    assert "4,000 entries that delete, expose or failed: too many to list here; see the HTML or JSON report." in job.bodies[0]


def test_dry_run_prints_the_comment_and_needs_no_token_and_no_ci(job: Job) -> None:
    file = job.write("plan.json", of("handbook", changes=[deletion(1)]))
    nothing = {"GITHUB_ACTIONS": None, "GITHUB_TOKEN": None, "GITHUB_SHA": None, "GITHUB_RUN_ID": None}
    printed = job(file, "--dry-run", **nothing, code=0)
    assert printed.stdout.startswith("<!-- reconciler:comment -->\n")
    assert "@@ acme/space/old-1 @@" in printed.stdout
    assert job(file, "--dry-run", "--forge", "bitbucket", **nothing).stdout.startswith("[//]: # (reconciler:comment)\n")
    assert job.github.sent == []


def test_what_is_not_known_is_asked_for(job: Job) -> None:
    file = job.write("plan.json", of("handbook", changes=[deletion(1)]))
    cases: list[tuple[list[str], dict[str, str | None], str]] = [
        ([], {}, "there is nothing to show"),
        ([file], {"GITHUB_ACTIONS": None}, "Add --forge, --repository and --pull."),
        ([file], {"GITHUB_REF": "refs/heads/main"}, "add --pull NUMBER"),
        ([file], {"GITHUB_REPOSITORY": None}, "--repository OWNER/NAME"),
        ([file, "--repository", "../x"], {}, "is not a repository"),
        ([file], {"GITHUB_TOKEN": None}, "GITHUB_TOKEN is not set"),
        ([file], {"GITHUB_TOKEN": "a b"}, "characters that no token has"),
        ([file, "--run-url", "javascript:alert(1)"], {}, "not a URL that a comment can link to"),
        ([file, file], {}, "two documents are the plan of 'handbook'"),
        ([file], {"GITHUB_API_URL": "http://api.example"}, "would send the token unencrypted"),
        ([file], {"GITHUB_API_URL": "https://api.example"}, "name different hosts"),
        ([file], {"GITHUB_API_URL": "ftp://x"}, "is not the URL of an API"),
    ]
    for words, env, says in cases:
        done = job(*words, **env)
        assert (done.exit_code, says in done.stderr) == (3, True), (words, env, done.stderr)
    assert job.github.sent == []
    assert job(file, "--forge", "github", "--pull", "7", GITHUB_ACTIONS=None, GITHUB_REF=None).exit_code == 0


def test_a_token_that_is_wrong_is_an_error(job: Job) -> None:
    done = job(job.write("plan.json", of("handbook", changes=[deletion(1)])), GITHUB_TOKEN="ghs_wrong0000", code=1)
    assert "GitHub answered 401: Bad credentials" in done.stderr


def test_certificates_and_proxies_that_cannot_be_used_are_errors_that_name_the_variables(job: Job) -> None:
    file = job.write("plan.json", of("handbook", changes=[deletion(1)]))
    https: dict[str, str | None] = {"GITHUB_API_URL": "https://127.0.0.1:9", "GITHUB_GRAPHQL_URL": None}
    for env in (
        {**https, "SSL_CERT_FILE": str(job.cli.root / "nowhere.pem")},
        {"HTTP_PROXY": "foo://user:canary-password@x", "NO_PROXY": None},
    ):
        tls_context.cache_clear()  # a process makes one
        done = job(file, **env, code=1)
        assert "Correct or unset SSL_CERT_FILE" in done.stderr
        assert "canary-password" not in done.stderr


def test_secrets_of_the_job_are_masked_in_the_comment(job: Job) -> None:
    evil = of("handbook", changes=[change("acme/space/x", "delete", reason=f"the token is {job.token}")])
    assert job(job.write("plan.json", evil)).exit_code == 0
    assert "the token is (hidden)" in job.bodies[0]


def test_a_plan_with_a_run_that_github_does_not_know_is_replaced_with_a_warning(job: Job) -> None:
    document = "plan.json"
    job.cli("init", "docs", "--sandbox")
    assert job.cli("plan", "docs", "--report", f"json={document}").exit_code == 0
    assert job(document).exit_code == 0
    job.pull.comments[0].body = job.bodies[0].replace("run=101.1", "run=999999.1").replace("Plan of", "Forged plan of")
    assert "999999.1; GitHub knows no such run of this job, so it was replaced [RC-comment-run]" in job(document, code=0).stderr
    assert "run=102.1" in job.bodies[0]
    assert "Forged" not in job.bodies[0]
