"""Keys, titles and addresses of people: swapped, renamed, merged and reverted."""

from __future__ import annotations

from tests.mistakes.mistake import PARTLY, REFUSED, WRONG, Run, append, apply, both, edit, mistake, nothing, swap
from tests.mistakes.world import CONTENT, DOCS, PEOPLE, Folder

WRITERS = "  writers:\n    title: Writers\n    members: [linus@acme.example]\n"
EDITORS = "  editors:\n    title: Editors\n"


def renamed_content(folder: Folder, *, words: bool) -> None:
    """A collection and both spaces in it get other keys in one commit."""
    for key in ("internal", "handbook", "salaries"):
        for name in ("content.yaml", "sites/docs.yaml", "sites/intra.yaml"):
            path = folder.root / name
            text = path.read_text().replace(f"[{key}]", f"[{{space: {key}-docs, key: {key}}}]")
            text = text.replace(f"{{space: {key}, default", f"{{space: {key}-docs, key: {key}, default")
            text = text.replace(f"collection: {key}\n", f"collection: {key}-docs\n" + (f"    previously: [{key}]\n" if words else ""))
            text = text.replace(f"space: {key},", f"space: {key}-docs," + (f" previously: [{key}]," if words else ""))
            path.write_text(text.replace(f"{key}-docs-docs", f"{key}-docs"))


def renamed_site(folder: Folder) -> None:
    """A site and its sections get other keys in one commit, each with `previously`."""
    folder.edit("sites/docs.yaml", "  docs:\n", "  manual:\n    previously: [docs]\n")
    for key in ("guides", "reference", "staff"):
        folder.edit("sites/docs.yaml", f"section: {key}\n", f"section: {key}-tab\n        previously: [{key}]\n")


ROWS = (
    mistake(
        "titles of two teams that are exchanged stay two teams",
        swap("people.yaml", "title: Writers", "title: Editors"),
        apply(),
        becomes={"team Writers": "team Editors", "team Editors": "team Writers"},
    ),
    mistake(
        "titles of two spaces that are exchanged are exchanged on the spaces, and no space moves or goes",
        swap("content.yaml", "title: Guides", "title: API"),
        apply(),
        Run("plan --detailed-exitcode"),
        becomes={"space Guides": "space API", "space API": "space Guides"},
    ),
    mistake(
        "a typo in previously is a vanished key beside a look-alike, and the right line is printed",
        edit("people.yaml", "  writers:\n", "  authors:\n    previously: [writer]\n"),
        apply(REFUSED, "previously: [writers]", "acme/team/authors"),
    ),
    mistake(
        "a rename without a word waits until one is written, and then takes no request",
        edit("people.yaml", "  writers:\n", "  authors:\n"),
        apply(REFUSED, "previously: [writers]"),
        apply(first=edit("people.yaml", "  authors:\n", "  authors:\n    previously: [writers]\n")),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "previously may not name a key that is still declared",
        edit("people.yaml", "  editors:\n", "  editors:\n    previously: [writers]\n"),
        apply(WRONG, "people.yaml:", "writers"),
    ),
    mistake(
        "both branches renamed the same team: two heirs are an error that names both",
        edit(
            "people.yaml",
            WRITERS,
            WRITERS.replace("writers:", "authors:\n    previously: [writers]")
            + "  scribes:\n    title: Scribes\n    previously: [writers]\n",
        ),
        apply(WRONG, "acme/team/scribes", "people.yaml:8"),
    ),
    mistake(
        "a previously that was applied last month does no harm",
        edit("people.yaml", "  writers:\n", "  authors:\n    previously: [writers]\n"),
        apply(),
        apply(),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a typo in an e-mail takes nobody's role and says that there is no such member",
        edit("people.yaml", "  linus@acme.example: {role: edit}", "  linsu@acme.example: {role: edit}"),
        apply(PARTLY, "linsu@acme.example"),
    ),
    mistake(
        "an e-mail in other letters is the same person",
        edit("people.yaml", "  linus@acme.example: {role: edit}", "  Linus@Acme.example: {role: edit}"),
        apply(),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a title that is changed and reverted leaves nothing behind",
        edit("content.yaml", "title: Guides", "title: Manuals"),
        apply(),
        apply(first=Folder.original),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a key that is renamed and reverted waits for a word, and loses no space",
        edit("content.yaml", "{space: changelog, title: Changelog}", "{space: news, title: Changelog, previously: [changelog]}"),
        Run("apply --yes", 0, first=edit("sites/docs.yaml", "changelog]", "{key: changelog, space: news}]")),
        apply(REFUSED, "previously: [news]", first=Folder.original),
        apply(first=edit("content.yaml", "title: Changelog}", "title: Changelog, previously: [news]}")),
    ),
    mistake(
        "a collection and the spaces in it are renamed in one commit",
        lambda folder: renamed_content(folder, words=True),
        apply(),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a collection and the spaces in it that are renamed without a word are neither deleted nor copied",
        lambda folder: renamed_content(folder, words=False),
        apply(REFUSED, "previously: [internal]", "previously: [salaries]"),
    ),
    mistake(
        "the key of a share link is not its name: the link that people have stays",
        edit("sites/intra.yaml", "board: {name", "directors: {name"),
        apply(REFUSED, "previously: [board]"),
    ),
    mistake(
        "the name of a share link may change: the link that people have stays",
        edit("sites/intra.yaml", "name: Board", "name: Directors"),
        apply(),
        becomes={"share-link Board": "share-link Directors"},
    ),
    mistake(
        "a key in capitals is another key, and waits for a word",
        edit("people.yaml", "  writers:\n", "  Writers:\n"),
        apply(REFUSED, "acme/team/Writers", "previously: [writers]"),
    ),
    mistake(
        "a letter of another alphabet in a key is an error",
        edit("people.yaml", "  writers:\n", "  wr\u0456ters:\n"),
        apply(WRONG, "people.yaml:7"),
    ),
    mistake(
        "a space at the end of a title is a title like others",
        edit("content.yaml", "title: Guides}", 'title: "Guides "}'),
        apply(),
        Run("plan --detailed-exitcode"),
        becomes={"space Guides": "space Guides "},
    ),
    mistake(
        "no and yes are keys like others",
        append("people.yaml", "  no:\n    title: Norway\n  yes:\n    title: Agreement\n"),
        apply(),
        Run("state list", 0, ("acme/team/no ", "acme/team/yes ")),
        created=("team Agreement", "team Norway"),
    ),
    mistake(
        "a space moves to another collection and gets another title in one commit",
        edit(
            "content.yaml",
            "      - {space: changelog, title: Changelog}\n",
            "",
            "Salaries}\n",
            "Salaries}\n      - {space: changelog, title: News}\n",
        ),
        apply(),
        Run("plan --detailed-exitcode"),
        becomes={"space Changelog": "space News"},
    ),
    mistake(
        "one branch deleted the collection that the other emptied: the spaces live on",
        both(
            lambda folder: folder.write(
                "content.yaml", CONTENT.replace("  - collection: internal\n    title: Internal\n    content:\n", "")
            ),
            append("reconciler.yaml", "removed:\n  - {address: acme/collection/internal, action: delete}\n"),
        ),
        apply(),
        Run("plan --detailed-exitcode"),
        gone=("collection Internal",),
    ),
    mistake(
        "lines of two branches that declare the same team twice are an error with both places",
        lambda folder: folder.write("people.yaml", PEOPLE + "  writers:\n    title: Authors\n"),
        apply(WRONG, "people.yaml:14", "7"),
    ),
    mistake(
        "lines of two branches that declare the same space twice are an error with both places",
        edit("content.yaml", "title: Salaries}\n", "title: Salaries}\n      - {space: guides, title: Guides}\n"),
        apply(WRONG, "content.yaml:14", "content.yaml:6"),
    ),
    mistake(
        "a copy of a file that is left beside it declares nothing twice without a word",
        lambda folder: folder.write("sites/docs-old.yaml", DOCS),
        apply(WRONG, "sites/docs.yaml:2", "sites/docs-old.yaml:2"),
    ),
    mistake(
        "a copy of a file under another ending is no part of the project",
        lambda folder: folder.write("sites/docs.yaml.bak", DOCS),
        apply(),
        Run("plan --detailed-exitcode"),
    ),
    mistake("nothing is wrong, and nothing is sent", nothing, apply(0, "No changes")),
    mistake(
        "the marks of a merge that was not finished are an error",
        lambda folder: folder.write(
            "people.yaml",
            PEOPLE.replace("    title: Writers\n", "<<<<<<< HEAD\n    title: Writers\n=======\n    title: Authors\n>>>>>>> authors\n"),
        ),
        apply(WRONG, "people.yaml:8:1", "merge conflict"),
    ),
    mistake(
        "keys of two teams that are exchanged with previously take no request",
        edit(
            "people.yaml",
            WRITERS,
            WRITERS.replace("writers:", "editors:\n    previously: [writers]"),
            EDITORS + "  support",
            EDITORS.replace("editors:", "writers:\n    previously: [editors]") + "  support",
        ),
        apply(),
        Run("plan --detailed-exitcode", 0, ("No changes",)),
    ),
    mistake(
        "a rename onto a key that is tracked renames nobody and deletes nobody",
        edit("people.yaml", WRITERS, "  writers:\n    title: Editors\n    previously: [editors]\n", EDITORS + "  support", "  support"),
        apply(REFUSED, "acme/team/writers", "acme/team/editors", "previously"),
    ),
    mistake(
        "moved onto a key that is tracked moves nothing",
        both(
            edit("people.yaml", WRITERS, ""),
            append("reconciler.yaml", "moved:\n  - {from: acme/team/writers, to: acme/team/editors}\n"),
        ),
        apply(REFUSED, "acme/team/writers", "acme/team/editors", "moved"),
    ),
    mistake(
        "a renamed e-mail gives nobody else's role to anybody",
        edit("people.yaml", "  linus@acme.example: {role: edit}", "  guest@acme.example: {role: admin, previously: [linus@acme.example]}"),
        apply(REFUSED, "guest@acme.example", "linus@acme.example", options="--allow-exposure **"),
    ),
    mistake(
        "a person whose e-mail nobody has is not made from somebody else",
        edit("people.yaml", "  linus@acme.example: {role: edit}", "  linus.t@acme.example: {role: edit, previously: [linus@acme.example]}"),
        apply(REFUSED, "linus.t@acme.example"),
    ),
    mistake("a site and its sections are renamed in one commit", renamed_site, apply(), Run("plan --detailed-exitcode")),
    mistake(
        "a site is renamed while its share links are removed: the links stop working, and the run can be repeated",
        both(
            edit("sites/intra.yaml", "  intra:\n", "  intranet:\n    previously: [intra]\n"),
            edit(
                "sites/intra.yaml",
                "    shareLinks:\n      board: {name: Board, active: true}\n      press: {name: Press, active: false}\n",
                "",
            ),
        ),
        apply(),
        Run("plan --detailed-exitcode"),
        gone=("share-link Board", "share-link Press"),
    ),
    mistake(
        "a space renamed onto a key that is tracked does not get the other's title, none is deleted, and no variant shows another space",
        both(
            edit("content.yaml", "{space: guides, title: Guides}", "{space: guides, title: API, previously: [api]}"),
            edit("content.yaml", "      - {space: api, title: API}\n", ""),
            edit("sites/docs.yaml", "spaces: [api]", "spaces: [{key: api, space: guides}]"),
        ),
        apply(
            REFUSED,
            "acme/space/guides",
            "acme/space/api",
            "previously",
            "waiting 2 resources: acme/site/docs/site-space/api and acme/space/api",
        ),
    ),
    mistake(
        "a team that was copied with its title becomes a second one of the same name, and the plan warns with both lines",
        append("people.yaml", "  authors:\n    title: Writers\n"),
        apply(0, "acme/team/authors (people.yaml:14)", "the same title as acme/team/writers (people.yaml:7)", "adopt: never"),
        Run("plan --detailed-exitcode"),
        created=("team Writers",),
        twins=("team Writers in org_acme",),
    ),
    mistake(
        "two new teams with one title are warned of once",
        append("people.yaml", "  press:\n    title: Press\n  media:\n    title: Press\n"),
        Run("plan", 0, ("acme/team/press (people.yaml:14) would be created with the same title as acme/team/media (people.yaml:16)",)),
    ),
    mistake(
        "adopt: never says that a second team of one title is meant",
        append("people.yaml", "  authors:\n    title: Writers\n    adopt: never\n"),
        Run("plan", 0, ("acme/team/authors",), ("would be created with the same title",)),
    ),
    mistake(
        "a deletion that is reverted brings the space back with its pages",
        both(
            lambda folder: folder.write("content.yaml", CONTENT.replace("      - {space: changelog, title: Changelog}\n", "")),
            edit("sites/docs.yaml", ", changelog", ""),
            append("reconciler.yaml", "removed:\n  - {address: acme/space/changelog, action: delete}\n"),
        ),
        apply(),
        apply(REFUSED, "restore", "--allow-exposure acme/space/changelog", first=Folder.original),
        apply(options="--allow-exposure **"),
        Run("plan --detailed-exitcode"),
        gone=("site-space Changelog",),
        created=("site-space Changelog",),
    ),
)
