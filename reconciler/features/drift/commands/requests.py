"""`drift --propose`: what was changed outside Reconciler as one commit on a branch of its own and, in a job of a forge, its request.

    a reading of the service -> drift -> AcceptedDrift      a fleet's run made the same, and --proposal FILE names it
        at a desk:         a branch and a commit in this clone
        in a forge's job:  the same through the forge's API, and one request for each project, which later jobs update or close

The files of the work tree and the current branch are not changed. Forbidden: proposing from files that differ from HEAD.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler import exits
from reconciler.cli.loading import loaded
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config.source.includes import texts as read
from reconciler.errors import ConfigError, StalePlan, UsageError
from reconciler.features.drift.accepted import AcceptedDrift, LeftToPeople, accepted_of, digest_of, owned_digest
from reconciler.features.drift.documents import ProposalDocument
from reconciler.features.drift.run.accept import ACCEPTING
from reconciler.features.forges.comment.body import CommentText, body
from reconciler.features.forges.comment.part import PartOrigin, part
from reconciler.features.forges.parts import read_event
from reconciler.features.forges.port import BlockingClock
from reconciler.features.forges.pulls import RequestText, close_request, keep_request, pulls_of
from reconciler.git.branches import BranchCommit, write_branch
from reconciler.git.working import NamedCommit, WorkingRepository
from reconciler.json_file import read_json
from reconciler.links import LinkRefused
from reconciler.report.layout import Style
from reconciler.report.reading import sheet_of
from reconciler.report.schemas.documents import problem
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import listed
from reconciler.resource import Kinds
from reconciler.run.guards import missing_consent, raise_first
from reconciler.run.job import TOKENS, Job, facts, forge_of_job, job
from reconciler.text.escape import terminal
from reconciler.yamltext.line_ends import as_before, plain

DOCUMENT_MAX: Final = 32 * 2**20  # bytes of a document
PARTS_MAX: Final = 2_000_000
MOST_FILES: Final = 3  # files in a message
INTRODUCTION: Final = (
    "Merge this to accept what was changed outside Reconciler. To take it back instead, close this, and run `reconciler apply`. "
    "The next check updates it in place, and closes it when nothing is left."
)


def propose(screen: Screen, options: Options, kinds: Kinds, accepted: AcceptedDrift, sheet: Sheet) -> int:
    """Put accepted drift on its branch, with a request where a forge's job runs this; the exit code: 5 where something is left to people.

    `sheet`: of the drift. Raises `Refused` where an exposure lacks consent or somebody else's commits are on the branch, and `UsageError`
    outside a repository or where the files differ from the last commit. Then nothing is made.
    """
    root, before = read(options.project, kinds)
    repository = WorkingRepository.around(root)
    base = repository.commit("HEAD")
    forge = forge_of_job(os.environ)
    of = job(forge, os.environ, read_event(os.environ)) if forge is not None else None
    if of is not None and of.pull:
        raise UsageError(
            "this job runs for a pull request, whose branch is not what the service was changed from",
            id="RC-proposal-place",
            hint="Propose in a scheduled job of the branch that is applied.",
        )
    committed = _committed(repository, base, options, kinds, before)
    raise_first(missing_consent(accepted.exposures, options.limits.exposures, ACCEPTING))
    # As the commit has them: a checkout may have other line ends, with core.autocrlf or by .gitattributes.
    files = {name: as_before(plain(text), committed.get(name, "")) for name, text in accepted.files.items()}
    accepted = replace(accepted, files={str(repository.inside / name): text for name, text in files.items()})
    for item in accepted.left:
        screen.warn(str(item), id="RC-left-to-people")
    if of is None:
        _branch(screen, repository, base, accepted)
    else:
        _request(screen, of, base, accepted, sheet)
    return exits.PARTLY if accepted.left else exits.DONE


def saved_drift(screen: Screen, options: Options, kinds: Kinds, file: Path) -> tuple[AcceptedDrift, Sheet]:
    """The accepted drift in a file, and the sheet of its drift.

    Raises `UsageError` for a file that is not a proposal of this project, `StalePlan` if the files of the project are others by now, and
    `ConfigError` if it makes them invalid.
    """
    project = loaded(screen, options, kinds, decrypt=False, stand_ins=True, warn=False)
    try:
        document = read_json(file, most=DOCUMENT_MAX, parts=PARTS_MAX)
        wrong = problem(ProposalDocument, document)
    except (OSError, ValueError, LinkRefused) as error:
        wrong = str(error)
    if wrong is not None:
        raise UsageError(f"{file} is not a proposal: {wrong}", id="RC-proposal-document", hint="A fleet saves it: getProposal of its API.")
    accepted = accepted_of(document)
    if (accepted.project, accepted.environment) != (project.settings.project, options.env):
        whose = " of the environment ".join(filter(None, [accepted.project, accepted.environment]))
        raise UsageError(f"{file} is a proposal for {whose}", id="RC-proposal-document", hint="Name its project, and --env.")
    _, before = read(options.project, kinds)
    for entry in document["files"]:
        if entry["path"] not in before or digest_of(before[entry["path"]]) != entry["before"]:
            wrong = f"{terminal(entry['path'])} is another file than the one that the proposal was made from"
            raise StalePlan(wrong, id="RC-proposal-stale", hint="Wait for the next run of the fleet, and get its proposal.")
    loaded(screen, options, kinds, decrypt=False, stand_ins=True, warn=False, texts=accepted.files)
    return accepted, sheet_of(document["drift"])


def _committed(
    repository: WorkingRepository, base: NamedCommit, options: Options, kinds: Kinds, before: Mapping[str, str]
) -> Mapping[str, str]:
    """The files of the project as the last commit has them. Raises `UsageError` if they differ, apart from line ends."""
    given = options.project
    with repository.files(base) as folder:
        try:
            committed = read(folder if given.is_dir() else folder / given.name, kinds)[1]
        except ConfigError:
            committed = {}
    texts, others = ({name: plain(text) for name, text in some.items()} for some in (before, committed))
    if texts != others:
        names = listed(sorted(name for name in {*texts, *others} if texts.get(name) != others.get(name)), MOST_FILES)
        raise UsageError(
            f"{names} differs from the last commit, and the new commit begins there",
            id="RC-uncommitted",
            hint="Commit the change or put it aside (git stash), then propose again.",
        )
    return committed


def _branch(screen: Screen, repository: WorkingRepository, base: NamedCommit, accepted: AcceptedDrift) -> None:
    if not accepted.files:
        screen.out("Nothing was changed outside Reconciler that files could take in; no branch was made.\n")
        return
    commit = write_branch(repository.repository, base, _branch_commit(accepted))
    if commit is None:
        screen.out(f"{accepted.branch} has these changes already.\n")
        return
    screen.out(f"{accepted.branch} has a new commit {commit[:9]}: {accepted.title}.\n")
    screen.out(f"Look at it with: git diff HEAD {accepted.branch}\nPropose it with: git push --force origin {accepted.branch}\n")


def _request(screen: Screen, of: Job, base: NamedCommit, accepted: AcceptedDrift, sheet: Sheet) -> None:
    """Keep the request of the project on the forge."""
    known = facts(of.forge, os.environ, read_event(os.environ))
    into = known.ref if known.is_branch else ""
    if not into:
        raise UsageError("the branch of this job is unknown", id="RC-proposal-place", hint="Propose in a job of a branch, not of a tag.")
    forge = pulls_of(of, os.environ.get(TOKENS[of.forge], ""), BlockingClock())
    if not accepted.files:
        closed = close_request(forge, _branch_commit(accepted), into)
        screen.out(f"No change for the files is left: closed {closed}.\n" if closed else "No change for the files; there is no request.\n")
        return
    entries = [*sheet.entries, *_left_entries(accepted.left)]
    name = f"{accepted.project}/{accepted.environment}" if accepted.environment else accepted.project
    links = (("run", of.run_url),) if of.run_url else ()
    shown = part(replace(sheet, entries=entries), name, PartOrigin(of.run, base.id, links))
    text, _ = body(CommentText("", (shown,)), forge.dialect)
    ending = keep_request(forge, _branch_commit(accepted), base.id, RequestText(into, accepted.title, f"{INTRODUCTION}\n\n{text}"))
    screen.out(f"{ending}\n")


def _branch_commit(accepted: AcceptedDrift) -> BranchCommit:
    """What its branch is to have."""
    return BranchCommit(
        accepted.branch, accepted.files, accepted.message, lambda message: owned_digest(accepted, message) == accepted.digest
    )


def _left_entries(left: Sequence[LeftToPeople]) -> list[SheetEntry]:
    return [SheetEntry(item.name, "", [SheetLine(Style.BLOCKED, "!", "by hand", item.says)], Weight.HINDERED) for item in left]
