"""`reconciler comment`: show documents in the comment of a pull request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.features.forges import bitbucket, github, gitlab
from reconciler.features.forges.bitbucket import Bitbucket
from reconciler.features.forges.comment.body import CommentText, TooLong, body
from reconciler.features.forges.comment.part import CommentPart, PartOrigin, is_link
from reconciler.features.forges.comment.upkeep import CommentMode
from reconciler.features.forges.github import GitHub
from reconciler.features.forges.gitlab import GitLab
from reconciler.features.forges.keep import keep
from reconciler.features.forges.parts import name_of, read_event, read_parts
from reconciler.features.forges.port import BlockingClock, Forge, ForgeError, NotAllowed
from reconciler.run.job import TOKENS, Job, check_repository, check_token, forge_of_job, job

FORGES: Final = ("github", "gitlab", "bitbucket")
KINDS: Final = ("plan", "diff", "outcome", "drift", "findings", "preview")
FORK: Final = "the token of a pull request from a fork is not allowed to write"
PERMISSIONS: Final = {
    "github": "Give the job the permission pull-requests: write.",
    "gitlab": "The token needs the scope api and the role Reporter.",
    "bitbucket": "The token needs the scope pullrequest:write.",
}


@click.command("comment", short_help="Show plans, outcomes and drift in the comment of a pull request.")
@click.argument("documents", nargs=-1, metavar="DOCUMENT...", type=click.Path(path_type=Path))
@click.option(
    "--project", type=click.Path(path_type=Path), metavar="PATH", help="The project: if DOCUMENT does not exist, show that its job failed."
)
@click.option("--env", metavar="NAME", help="The environment, with --project.")
@click.option("--name", metavar="NAME", help="The name of the part. Default: the document's PROJECT, or PROJECT/ENVIRONMENT.")
@click.option("--failed", metavar="NAME", multiple=True, help="Show in the part of this name that its job failed. Repeatable.")
@click.option("--kind", type=click.Choice(KINDS), default="plan", help="What a failed job would have shown. Default: plan.")
@click.option("--separate", is_flag=True, help="Keep a comment for each project and environment.")
@click.option("--forge", type=click.Choice(FORGES), help="Default: the forge whose CI runs the command.")
@click.option("--repository", metavar="NAME", help="OWNER/NAME, or the id of a GitLab project. Default: that of the CI.")
@click.option("--pull", type=click.IntRange(1), metavar="NUMBER", help="The pull request or merge request. Default: that of the CI.")
@click.option("--run-url", metavar="URL", help="The URL of the run. Default: that of the CI.")
@click.option("--report-url", metavar="URL", help="The URL of the HTML report.")
@click.option("--dry-run", is_flag=True, allow_from_autoenv=False, help="Print the comment that would be written if none existed.")
@shared.output()
@click.pass_obj
def command(
    screen: Screen,
    /,
    documents: tuple[Path, ...],
    project: Path | None,
    env: str | None,
    name: str | None,
    failed: tuple[str, ...],
    kind: str,
    separate: bool,
    forge: str | None,
    repository: str | None,
    pull: int | None,
    run_url: str | None,
    report_url: str | None,
    dry_run: bool,
    **parameters: Any,
) -> int:
    """Show documents in the one comment of a pull request, which each job updates in place. DOCUMENT is a file that plan, diff, drift,
    apply, validate or fleet preview wrote with --report json=FILE, or that plan wrote with --out.

    The token is read from GITHUB_TOKEN, GITLAB_TOKEN or BITBUCKET_TOKEN. A pull request from a fork, whose token is not allowed to
    write comments, gets none: the command says so and exits with 0. With --project or --name, a missing DOCUMENT means that its
    job failed.

    \b
    Example:
      reconciler plan docs --report json=plan.json --report html=plan.html
      reconciler comment plan.json --project docs --report-url https://ci.example/plan.html
      reconciler comment plan.json --dry-run
    """
    Options.of(screen, parameters)
    if not documents and not failed:
        raise UsageError("there is nothing to show", id="RC-missing-argument", hint="Pass a document, or --failed NAME.")
    of = job(forge or forge_of_job(os.environ) or _unknown(dry_run), os.environ, read_event(os.environ))
    origin = PartOrigin(of.run, of.commit, _links(run_url or of.run_url, report_url))
    spare = name_of(project, env) if project is not None else None
    own, unusable = read_parts(documents, failed, origin, name=name, spare=spare, kind=kind, mask=screen.masked_data)
    for trouble in unusable:
        screen.warn(trouble, id="RC-part-unusable")
    of = replace(of, repository=repository or of.repository, pull=pull or of.pull)
    try:
        short = _printed(screen, of, own, separate) if dry_run else _written(screen, of, own, separate)
    except TooLong:
        raise UsageError(
            "not even the headlines of all projects fit into one comment", id="RC-comment-too-long", hint="Use --separate."
        ) from None
    if short:
        wrong = f"{short:,} deletions, exposures or failures are only listed or counted: they do not fit into a comment"
        screen.warn(wrong, id="RC-comment-too-long")
    return exits.strongest([exits.WRONG if unusable else exits.DONE, exits.PARTLY if short else exits.DONE])


def _unknown(dry_run: bool) -> str:
    if dry_run:
        return "github"
    raise UsageError(
        "no CI of GitHub, GitLab or Bitbucket runs this command", id="RC-no-pull-request", hint="Add --forge, --repository and --pull."
    )


def _links(run_url: str, report_url: str | None) -> tuple[tuple[str, str], ...]:

    links = tuple((text, url) for text, url in (("run", run_url), ("report", report_url)) if url)
    for text, url in links:
        if not is_link(url):
            wrong = f"{url!r} is not a URL that a comment can link to"
            raise UsageError(wrong, id="RC-option-value", hint=f"Pass --{text}-url like https://ci.example/7.")
    return links


def _printed(screen: Screen, of: Job, parts: Sequence[CommentPart], separate: bool) -> int:
    """Print the comments; returns how many serious entries do not fit."""
    dialects = {"github": github.DIALECT, "gitlab": gitlab.DIALECT, "bitbucket": bitbucket.DIALECT}
    names = dict.fromkeys(part.name if separate else "" for part in parts)
    bodies = [body(CommentText(name, tuple(part for part in parts if name in ("", part.name))), dialects[of.forge]) for name in names]
    screen.raw("\n".join(text for text, _ in bodies))
    return sum(left_out for _, left_out in bodies)


def _written(screen: Screen, of: Job, parts: Sequence[CommentPart], separate: bool) -> int:
    """Write the comment; returns how many serious entries do not fit."""
    token = os.environ.get(TOKENS[of.forge], "")
    if not token and of.read_only:
        screen.warn(f"no comment was written: {FORK}, and this job has no {TOKENS[of.forge]}", id="RC-fork")
        return 0
    forge = _opened(of, token)
    try:
        ending = keep(forge, parts, CommentMode(forge.dialect, separate, forge.hide is not None), BlockingClock())
    except NotAllowed as error:
        if of.read_only is False:
            raise ForgeError(error.message, id="RC-forge-not-permitted", hint=PERMISSIONS[of.forge]) from None
        unknown = "" if of.read_only else f"\nIf it is from this repository: {PERMISSIONS[of.forge][:1].lower()}{PERMISSIONS[of.forge][1:]}"
        screen.warn(f"no comment was written: {FORK} ({error.message}){unknown}", id="RC-fork")
        return 0
    for (key, run), verdict in ending.refused.items():
        known = f"{forge.name} knows no such run of this job" if verdict is False else f"{forge.name} does not say whether there was one"
        screen.warn(
            f"the {key[1]} of {key[0]} in the comment claimed to be of the later run {run[0]}.{run[1]}; {known}, so it was replaced",
            id="RC-comment-run",
        )
    for part in ending.superseded:
        screen.say(f"A later run has already written the {part.kind} of {part.name}, which was not changed.")
    screen.say(f"Wrote the comment of pull request {of.pull}." if ending.writes else "The comment needs no update.")
    return ending.short


def _opened(of: Job, token: str) -> Forge:
    """The comments of the pull request. Raises `UsageError` for unknown facts."""
    check_repository(of, "Add --repository OWNER/NAME.")
    if not of.pull:
        raise UsageError(
            "this job runs for no pull request", id="RC-no-pull-request", hint="Run it for pull requests only, or add --pull NUMBER."
        )
    check_token(of, token, "It is the token that writes the comment; see docs/pipelines.md.")
    clock = BlockingClock()
    match of.forge:
        case "github":
            return GitHub(of.api, of.graphql, of.repository, of.pull, token=token, clock=clock, run=of.run)
        case "gitlab":
            return GitLab(of.api, of.repository, of.pull, token=token, clock=clock, run=of.run)
        case _:
            return Bitbucket(of.api, of.repository, of.pull, token=token, clock=clock, run=of.run)
