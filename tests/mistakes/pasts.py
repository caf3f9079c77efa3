"""States, saved plans and ids: of yesterday, of somebody else, of something else; and what colleagues do meanwhile."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from datetime import UTC, datetime

from reconciler.state import StateScope, Store
from tests.mistakes.mistake import PARTLY, REFUSED, STALE, WRONG, Run, append, apply, both, edit, mistake, nothing
from tests.mistakes.world import Folder


def newer(folder: Folder) -> None:
    """A backup of the state, and then an apply that makes a team, a space in the sidebar and a share link."""
    shutil.copy(folder.root / ".reconciler/state.db", folder.root / "backup.db")
    folder.append("people.yaml", "  press:\n    title: Press office\n")
    folder.append("content.yaml", "      - {space: jobs, title: Jobs}\n")
    folder.edit("sites/intra.yaml", "    shareLinks:\n", "    shareLinks:\n      audit: {name: Audit, active: false}\n")
    folder.applied()


def restored(folder: Folder) -> None:
    shutil.copy(folder.root / "backup.db", folder.root / ".reconciler/state.db")


def planned(folder: Folder) -> None:
    """A change that somebody looked at: a title and a team."""
    folder.edit("content.yaml", "title: Guides", "title: Manuals")
    folder.edit("people.yaml", "title: Support", "title: Help")
    assert folder("plan", "--out", "plan.json").exit_code == 0


def lost(folder: Folder) -> None:
    """`git clean -fdx`."""
    shutil.rmtree(folder.root / ".reconciler")


def emptied_teams(folder: Folder) -> None:
    """Every team is a stranger: the section says `{}`, and the state is lost."""
    folder.write("people.yaml", "members:\n  ada@acme.example: admin\n  grace@acme.example: admin\n\nteams: {}\n")
    folder.append("reconciler.yaml", "prune: {team: all}\n")
    lost(folder)


def other_state(folder: Folder) -> None:
    """A state that another project has, on the same service."""
    folder.write(
        "other/reconciler.yaml",
        "version: 1\nproject: other\nservice: {sandbox: ../../service.db, member: ada@acme.example}\n"
        "organizations: {acme: {id: org_acme}}\n",
    )
    assert folder("apply", "other", "--yes").exit_code == 0


def recreated_team(folder: Folder) -> None:
    folder.call("DELETE", "/orgs/org_acme/teams/{acme/team/support}")
    folder.call("PUT", "/orgs/org_acme/teams", "title=Support")


def recreated_space(folder: Folder) -> None:
    """Gone into the bin, and copied once more under the same name, in the same collection."""
    folder.call("DELETE", "/spaces/{acme/space/changelog}")
    copy = json.loads(folder.call("POST", "/spaces/spc_blank/duplicate"))["id"]
    folder.call("PATCH", f"/spaces/{copy}", "title=Changelog")
    folder.call("POST", f"/spaces/{copy}/move", "parent={acme/collection/product}")


def recreated_link(folder: Folder) -> None:
    folder.call("DELETE", "/orgs/org_acme/sites/{acme/site/intra}/share-links/{acme/site/intra/share-link/press}")
    folder.call("POST", "/orgs/org_acme/sites/{acme/site/intra}/share-links", "name=Press")


def held(folder: Folder) -> None:
    """Somebody else's apply, which has the lease on the state and does not end before the row does."""
    scope = StateScope("handbook", None, json.loads(folder("state", "pull").stdout)["service"])
    url = f"sqlite:///{folder.root}/.reconciler/state.db"
    store = folder.open.enter_context(closing(Store.open(url, scope, clock=lambda: datetime.now(UTC), create=True)))
    folder.open.enter_context(store.lease(who="grace@laptop", command="apply"))


ROWS = (
    mistake(
        "an old backup of the state makes nothing a second time",
        restored,
        apply(0, "acme/team/press", "adopt"),
        Run("plan --detailed-exitcode"),
        scene=newer,
    ),
    mistake(
        "an old backup of the state with old files deletes nothing that it does not know",
        both(restored, Folder.original),
        apply(0, "No changes"),
        scene=newer,
    ),
    mistake("a state that is lost makes nothing a second time", lost, apply(0, "adopt"), Run("plan --detailed-exitcode")),
    mistake(
        "a plan without the state says that it has never seen the project",
        nothing,
        Run("plan --state sqlite:///.reconciler/sate.db", 0, ("sate.db",)),
    ),
    mistake(
        "the id of an organization that there is not is an error",
        edit("reconciler.yaml", "id: org_acme", "id: org_acne"),
        apply(REFUSED, "org_acne", "org_acme"),
    ),
    mistake(
        "the id of another organization moves nothing there",
        edit("reconciler.yaml", "id: org_acme", "id: org_beta"),
        apply(REFUSED, "org_beta", "org_acme"),
    ),
    mistake(
        "the id of another organization where no state is left makes nothing there that was meant for here",
        both(lost, edit("reconciler.yaml", "id: org_acme", "id: org_beta")),
        apply(REFUSED, "spc_blank"),
    ),
    mistake(
        "the id of another object is no way to get hold of it",
        edit("content.yaml", "{space: handbook,", "{space: handbook, id: spc_payroll,"),
        apply(REFUSED, "acme/space/handbook", "spc_payroll"),
    ),
    mistake(
        "the id of an object of another kind is refused",
        append("people.yaml", "  legal:\n    title: Legal\n    id: spc_payroll\n"),
        apply(REFUSED, "acme/team/legal", "spc_payroll"),
    ),
    mistake(
        "the id of a space in another organization is refused",
        append("content.yaml", "  - {space: beta, id: spc_beta, title: Plans}\n"),
        apply(REFUSED, "acme/space/beta", "spc_beta"),
    ),
    mistake(
        "the id of another member is refused",
        edit("people.yaml", "{role: edit}", "{role: edit, id: usr_guest}"),
        apply(REFUSED, "linus@acme.example", "usr_guest"),
    ),
    mistake(
        "the id of an object that another address has is refused",
        append("content.yaml", "  - {space: empty, id: spc_blank, title: Empty}\n"),
        apply(WRONG, "spc_blank", "acme/space/blank"),
    ),
    mistake(
        "a forgotten address is adopted again, and nothing is made twice",
        nothing,
        Run("state forget acme/site/docs"),
        apply(0, "adopt"),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a collection that was forgotten is adopted again with what stands in it",
        nothing,
        Run("state forget acme/collection/internal"),
        apply(0, "adopt"),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "an address that there is not cannot be forgotten",
        nothing,
        Run("state forget acme/team/wirters", WRONG, ("acme/team/wirters",)),
        apply(0, "No changes"),
    ),
    mistake(
        "state mv onto an address that is tracked changes nothing",
        nothing,
        Run("state mv acme/team/writers acme/team/editors", REFUSED, ("acme/team/editors",)),
        apply(0, "No changes"),
    ),
    mistake(
        "state mv without the line in the YAML waits for it",
        nothing,
        Run("state mv acme/team/writers acme/team/authors"),
        apply(REFUSED, "previously: [authors]"),
    ),
    mistake(
        "a plan that was saved on another branch does only what these files say too",
        Folder.original,
        Run("apply --plan plan.json", STALE, ("acme/space/guides", "acme/team/support")),
        scene=planned,
    ),
    mistake(
        "a saved plan is used once",
        nothing,
        Run("apply --plan plan.json"),
        Run("apply --plan plan.json", STALE, ("plan.json", "used")),
        scene=planned,
        becomes={"space Guides": "space Manuals", "team Support": "team Help"},
    ),
    mistake(
        "a saved plan overwrites no edit of somebody else",
        lambda folder: folder.call("PATCH", "/orgs/org_acme/teams/{acme/team/support}", "title=First aid"),
        Run("apply --plan plan.json", STALE, ("acme/team/support",)),
        scene=planned,
        becomes={"team Support": "team First aid"},
    ),
    mistake("a file that is no plan is none", nothing, Run("apply --plan content.yaml", WRONG, ("content.yaml",))),
    mistake("two people who apply at once do not meet", held, apply(STALE, "grace@laptop")),
    mistake(
        "what somebody renamed by hand is drift, and gets its title back",
        lambda folder: folder.call("PATCH", "/orgs/org_acme/teams/{acme/team/support}", "title=First aid"),
        Run("drift", 2, ("acme/team/support", "First aid")),
        apply(0, "First aid"),
        Run("drift"),
    ),
    mistake(
        "a title that somebody gave away by hand is not taken over by its key",
        lambda folder: (
            folder.call("PATCH", "/orgs/org_acme/teams/{acme/team/support}", "title=Writers2"),
            folder.call("PATCH", "/orgs/org_acme/teams/{acme/team/writers}", "title=Support"),
        ),
        apply(),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a deleted space comes back as the same space",
        lambda folder: folder.call("DELETE", "/spaces/{acme/space/changelog}"),
        apply(0, "restore", options="--allow-exposure **"),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a second import into the same folder writes nothing",
        nothing,
        Run("import again --org org_acme --sandbox ../service.db"),
        Run("import again --org org_acme --sandbox ../service.db", WRONG, ("again", "--into")),
    ),
    mistake(
        "an import into a folder that is not empty writes nothing",
        nothing,
        Run("import . --org org_acme --sandbox ../service.db", WRONG, ("--into",)),
    ),
    mistake(
        "an undo that is typed twice is taken back or says why not",
        nothing,
        Run("undo last --yes"),
        Run("undo last --yes"),
        scene=lambda folder: (folder.edit("content.yaml", "title: Guides", "title: Manuals"), folder.applied()),
    ),
    mistake("an init into the project writes nothing", nothing, Run("init .", WRONG, ("reconciler.yaml",))),
    mistake(
        "a drift without the state is not green",
        nothing,
        Run("drift --state sqlite:///.reconciler/sate.db", PARTLY, ("sate.db",), ("No drift",)),
    ),
    mistake(
        "an apply with a mistyped state does nothing",
        nothing,
        Run("apply --yes --state sqlite:///.reconciler/sate.db", REFUSED, ("--create-state",)),
    ),
    mistake(
        "a mistyped RECONCILER_STATE is as good as a mistyped --state",
        nothing,
        Run("apply --yes", REFUSED, ("--create-state",), env={"RECONCILER_STATE": "sqlite:///.reconciler/sate.db"}),
    ),
    mistake(
        "drift by a mistyped RECONCILER_STATE is not green",
        nothing,
        Run("drift", PARTLY, ("sate.db",), ("No drift",), env={"RECONCILER_STATE": "sqlite:///.reconciler/sate.db"}),
    ),
    mistake(
        "the state of another project is not taken for this one's",
        nothing,
        Run("apply --yes --state sqlite:///other/.reconciler/state.db", REFUSED, ("handbook", "--create-state")),
        scene=other_state,
    ),
    mistake(
        "a team that somebody deleted and made again gets no twin",
        nothing,
        apply(0, "acme/team/support", "adopt"),
        Run("plan --detailed-exitcode"),
        scene=recreated_team,
    ),
    mistake(
        "a space that somebody deleted and copied again gets no twin in its place",
        nothing,
        apply(REFUSED, "acme/space/changelog"),
        scene=recreated_space,
    ),
    mistake(
        "a share link that somebody deleted and made again gets no twin",
        nothing,
        apply(0, "adopt"),
        Run("plan --detailed-exitcode"),
        scene=recreated_link,
    ),
    mistake(
        "a project that is renamed finds what it is called in the state, and changes nothing on the service",
        edit("reconciler.yaml", "project: handbook", "project: handbook-docs"),
        Run("plan", PARTLY, ("state mv --project handbook",), ("adopt: never",)),
        apply(PARTLY, "handbook", "state mv --project handbook"),
        Run("state mv --project handbook"),
        apply(0, "No changes"),
    ),
    mistake(
        "a project that is renamed together with a collection and a team creates neither a second time",
        both(
            edit("reconciler.yaml", "project: handbook", "project: handbook-docs"),
            edit("content.yaml", "title: Product", "title: Products"),
            edit("people.yaml", "title: Writers", "title: Authors"),
        ),
        Run("plan", PARTLY, ("acme/team/writers", "state mv --project handbook", "adopt: never"), ("to create",)),
        apply(PARTLY, "state mv --project handbook"),
        apply(REFUSED, "state mv --project handbook"),
        Run("state mv --project handbook"),
        apply(0),
        becomes={"team Writers": "team Authors", "collection Product": "collection Products"},
    ),
    mistake(
        "a project that is renamed together with a new team creates only that, and no twin of what it renames in the next run",
        both(
            edit("reconciler.yaml", "project: handbook", "project: handbook-docs"),
            append("people.yaml", "  press:\n    title: Press office\n"),
        ),
        apply(PARTLY, "state mv --project handbook"),
        apply(REFUSED, "state mv --project handbook", first=edit("people.yaml", "title: Writers", "title: Authors")),
        created=("team Press office",),
    ),
    mistake(
        "a project that is renamed together with the key and the title of a team creates no second team",
        both(
            edit("reconciler.yaml", "project: handbook", "project: handbook-docs"),
            edit("people.yaml", "  writers:\n    title: Writers", "  authors:\n    previously: [writers]\n    title: Authors"),
        ),
        apply(PARTLY, "acme/team/authors", "state mv --project handbook"),
        Run("state mv --project handbook"),
        apply(0),
        becomes={"team Writers": "team Authors"},
    ),
    mistake(
        "an empty section with prune: all is read without a state, and deletes nothing without consent",
        nothing,
        Run("plan", 0, ("acme/team/", "Writers", "Legal")),
        apply(REFUSED, "allow-exposure prune"),
        apply(0, "The plan is now empty", options="--allow-exposure prune"),
        Run("plan --detailed-exitcode"),
        scene=emptied_teams,
        gone=("team Editors", "team Legal", "team Support", "team Writers"),
    ),
)
