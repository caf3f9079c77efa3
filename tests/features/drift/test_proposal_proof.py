"""Random edits by people on random projects: git merges what `drift --propose` makes of them, and the plan has nothing left to do.

Except for what the proposal leaves to people, with the reason. The projects are texts with comments, quotes, included files, `forEach` and
the patches of environments. 1,000 rounds with `-m proof`.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address, bare
from tests.audience.moments import Watched
from tests.command_line import Cli
from tests.features.drift.test_proposals import git
from tests.features.edits.random_project import random_project, texts
from tests.features.edits.test_random_operations import WORDS
from tests.organizations import CONDITIONS, LEVELS, ROLES, SEED, VISIBILITIES
from tests.proofs import costly, spread

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
PROJECTS = 200
ROUNDS = 5
"""Of each project, every one on what was applied: most of the time goes into that apply."""
RULES = ("access", "policies", "exceptions", "health")
"""What might refuse the apply, or the proposal, for reasons that have nothing to do with it."""
ORG = "/orgs/org_acme"


@dataclass
class Desk(Watched):
    """A project in a repository, and the sandbox that its commands use."""

    @property
    def files(self) -> tuple[Path, ...]:
        return self.db, self.project / ".reconciler" / "state.db"

    @property
    def where(self) -> tuple[str, ...]:
        return ("project", "--sandbox", self.db.name, *(("--env", self.environment) if self.environment else ()))

    def ids(self) -> dict[Address, str]:
        with closing(sqlite3.connect(self.files[1])) as state:
            return {Address.parse(address): bare(id) for address, id in state.execute("SELECT address, id FROM bindings")}

    def took(self, method: str, path: str, body: Any) -> bool:
        """Whether the service carried out what somebody asked of it."""
        try:
            self.call(method, path, body)
        except AssertionError:
            return False
        return True


def applied(root: Path, chance: random.Random) -> tuple[Cli, Desk]:
    made = random_project(chance)
    for name in RULES:
        made.files["reconciler.yaml"].pop(name, None)
    made.files.pop("tests/t.yaml", None)
    desk, cli = Desk(root, seed=SEED, environment=chance.choice(made.environments)), Cli(root)
    for name, text in texts(made.render(), chance).items():
        cli.write(f"project/{name}", text)
    cli("apply", *desk.where, "--yes", "--allow-exposure", "**", code=0)
    cli.write(".gitignore", "home/\n.reconciler/\n/*.db*\n/applied/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    desk.save(root / "applied")
    return cli, desk


def edits(desk: Desk, chance: random.Random) -> Iterator[tuple[str, str, Any]]:
    """Everything that somebody might do, in a random order. The service refuses some of it."""
    ids = desk.ids()
    for at in chance.sample([*ids], len(ids)):
        id, beside = ids[at], chance.choice([id for other, id in ids.items() if other.kind == at.kind])
        site = f"{ORG}/sites/{ids[at.container]}" if at.container is not None and at.container.kind == "site" else ""
        title, text, path = (
            {"title": chance.choice(WORDS)[:40]},
            {"description": chance.choice(WORDS)},
            {"path": chance.choice(("one", "two"))},
        )
        condition, level = (
            {"condition": chance.choice((None, *CONDITIONS))},
            {"defaultLevel": chance.choice((None, "inherit", *LEVELS[1:]))},
        )
        space = chance.choice([id for other, id in ids.items() if other.kind == "space"])
        outer = chance.choice([None, *(id for other, id in ids.items() if other.kind == "collection")])
        section = chance.choice([None, *(id for other, id in ids.items() if other.kind == "section")])
        position = lambda **anchor: {"position": {chance.choice(("before", "after")): anchor}}  # noqa: E731
        match at.kind:
            case "organization":
                joining = [{"defaultRole": chance.choice(ROLES[:-1])}, {"inviteLinks": chance.random() < 0.5}]
                yield "PATCH", ORG, chance.choice([title, *joining])
            case "team":
                yield "PATCH", f"{ORG}/teams/{id}", title
                yield "DELETE", f"{ORG}/teams/{id}", None
            case "collection" | "space":
                emoji = {"emoji": chance.choice(("📗", "🚀"))}
                yield "PATCH", f"/{at.kind}s/{id}", chance.choice([title, level, emoji, text])
                yield "POST", f"/{at.kind}s/{id}/move", {"parent": outer}
                yield "POST", f"/{at.kind}s/{id}/move", position(space=space)
                if at.key != "blank":
                    yield "DELETE", f"/{at.kind}s/{id}", None
            case "site":
                yield "PATCH", f"{ORG}/sites/{id}", chance.choice([title, {"visibility": chance.choice(VISIBILITIES[:3])}])
                yield "POST", f"{ORG}/sites/{id}/publish", None
                yield "POST", f"{ORG}/sites/{id}/share-links", {"name": "Wild"}
                yield "DELETE", f"{ORG}/sites/{id}", None
            case "section":
                yield "PATCH", f"{site}/sections/{id}", chance.choice([title, condition, path, text, {"icon": "gear"}])
                yield "POST", f"{site}/sections/{id}/move", position(type="site-section", siteSection=beside)
                yield "DELETE", f"{site}/sections/{id}", None
            case "group":
                yield "PATCH", f"{site}/section-groups/{id}", title
                yield "POST", f"{site}/section-groups/{id}/sections", {"sectionId": section}
                yield "DELETE", f"{site}/section-groups/{id}", None
            case "site-space":
                yield "PATCH", f"{site}/site-spaces/{id}", chance.choice([condition, path, {"spaceId": space}])
                yield "POST", f"{site}/site-spaces/{id}/move", position(type="site-space", siteSpace=beside)
                yield "DELETE", f"{site}/site-spaces/{id}", None
            case "share-link":
                yield "PATCH", f"{site}/share-links/{id}", chance.choice([{"active": chance.random() < 0.5}, {"name": "Renamed"}])
                yield "DELETE", f"{site}/share-links/{id}", None
            case "saml":
                yield "PATCH", f"{ORG}/saml/{id}", {"label": "Edited"}


def judged(root: Path, seed: int) -> list[str]:
    """Where the plan after a merge has something to do that nobody was told, as sentences."""
    chance = random.Random(seed)
    cli, desk = applied(root, chance)
    mistakes = []
    for _ in range(ROUNDS):
        did: list[Any] = []
        number = chance.randint(1, 3)
        for edit in edits(desk, chance):
            if edit[0] == "DELETE" and chance.random() < 0.8:
                continue
            if desk.took(*edit):
                did.append(edit)
            if len(did) == number:
                break
        mistakes += [f"{did}: {mistake}" for mistake in after_merging(cli, desk)]
        git(root, "checkout", "-q", "main")
        git(root, "branch", "-q", "-D", "merged", check=False)
        for branch in branches(root):
            git(root, "branch", "-q", "-D", branch)
        desk.restore(root / "applied")
    return mistakes


def after_merging(cli: Cli, desk: Desk) -> Iterator[str]:
    drifted = cli("drift", *desk.where)
    said = cli("drift", *desk.where, "--propose", "--allow-exposure", "**")
    left = [line for line in said.stderr.splitlines() if "RC-left-to-people" in line]
    if said.exit_code != (5 if left else 0):
        yield f"ended with {said.exit_code}: {said.stderr}"
        return
    git(desk.root, "checkout", "-q", "-b", "merged")
    for branch in branches(desk.root):
        git(desk.root, "merge", "-q", "--no-ff", "--no-edit", branch)
    plan = cli.json("plan", *desk.where)
    if not left and (drifted.exit_code == 0) != (git(desk.root, "diff", "--name-only", "main") == ""):
        yield f"drift ended with {drifted.exit_code}, and the files are as before or not"
    if not left and plan["summary"]["requests"]:
        yield f"{plan['summary']}"
    deleted = [line.split()[1] for line in left if " was deleted outside " in line]
    for change in plan["changes"]:
        named = re.compile(rf"{re.escape(change['address'])}(?![\w/-])")
        if not any(named.search(line) for line in left) and not restores(change, deleted):
            yield f"{change}, and nothing left says so: {left}"


def restores(change: Mapping[str, Any], deleted: Sequence[str]) -> bool:
    """Whether a change follows from creating again what was deleted: what refers to it, and siblings that go behind it."""
    refers = [any(address in str(field["after"]) for address in deleted) for field in change["fields"]]
    return bool(deleted) and all(refers) and change["actions"] in (["move"], ["update"])


def branches(root: Path) -> list[str]:
    return git(root, "branch", "--list", "reconciler/*", "--format=%(refname:short)").splitlines()


@costly
@pytest.mark.parametrize("seed", spread(range(PROJECTS), 3))
def test_the_plan_after_the_merge_has_only_what_was_left_to_people(tmp_path: Path, seed: int) -> None:
    assert judged(tmp_path, seed) == []
