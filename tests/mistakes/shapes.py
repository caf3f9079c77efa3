"""The tree: blocks that are commented out, indented wrongly, moved, or put into another form."""

from __future__ import annotations

from textwrap import indent

from tests.mistakes.mistake import PARTLY, REFUSED, WRONG, Run, append, apply, both, comment, edit, mistake
from tests.mistakes.world import DOCS

FLAT = DOCS[: DOCS.index("    structure:")] + "    structure: [guides, changelog, api]\n"

STAFF = DOCS[DOCS.index("      - section: staff") :]

ROWS = (
    mistake(
        "a section that is commented out is deleted, with its variant, and the plan lists both",
        comment("sites/docs.yaml", "section: staff"),
        apply(0, "acme/site/docs/section/staff", "acme/site/docs/site-space/handbook"),
        gone=("section Staff", "site-space Handbook"),
    ),
    mistake(
        "a site that is taken out of its file is protected",
        lambda folder: folder.write("sites/intra.yaml", "sites: {}\n"),
        apply(REFUSED, "acme/site/intra", "action: delete"),
    ),
    mistake(
        "the content that is commented out is missed by what refers to it",
        comment("content.yaml", "collection: internal"),
        apply(WRONG, "sites/docs.yaml", "handbook", "salaries"),
    ),
    mistake(
        "a space that is commented out with all that shows it is protected",
        both(edit("content.yaml", "      - {space: changelog", "#     - {space: changelog"), edit("sites/docs.yaml", ", changelog", "")),
        apply(REFUSED, "acme/space/changelog", "action: delete", options="--target acme/space/*"),
    ),
    mistake(
        "a map whose entries are all commented out is an error and not an empty map",
        comment("people.yaml", "  writers:"),
        apply(WRONG, "people.yaml:6", "teams", "{}"),
    ),
    mistake(
        "all teams that are commented out are deleted within the limit, each by name",
        comment("people.yaml", "teams:"),
        apply(0, "acme/team/writers", "acme/team/editors", "acme/team/support"),
        gone=("team Editors", "team Support", "team Writers"),
    ),
    mistake(
        "more than the limit is deleted by nobody's mistake",
        both(comment("people.yaml", "teams:"), comment("sites/docs.yaml", "section: reference")),
        apply(REFUSED, "--allow-delete 7"),
    ),
    mistake(
        "an empty list of content is no way to delete all of it",
        lambda folder: folder.write("content.yaml", "content: []\n"),
        apply(WRONG, "guides"),
    ),
    mistake(
        "two variants that are both default are an error",
        edit("sites/intra.yaml", "default: true}", "default: true}\n      - {space: handbook, default: true}"),
        apply(WRONG, "sites/intra.yaml:8", "default"),
    ),
    mistake(
        "two sections that are both default are an error",
        edit("sites/docs.yaml", "title: Staff\n", "title: Staff\n        default: true\n"),
        apply(WRONG, "default"),
    ),
    mistake(
        "a section that is indented into another one is an error",
        edit("sites/docs.yaml", "      - section: staff\n        title: Staff\n", "        - section: staff\n          title: Staff\n"),
        apply(WRONG, "sites/docs.yaml:"),
    ),
    mistake(
        "fields that slipped out of their block are an error",
        edit("sites/docs.yaml", "    structure:\n", "  structure:\n"),
        apply(WRONG, "sites/docs.yaml:8", "acme/site/structure"),
    ),
    mistake(
        "a section whose list of spaces is emptied loses its variant, and its space stays",
        edit("sites/docs.yaml", "spaces: [api]", "spaces: []"),
        apply(0, "acme/site/docs/site-space/api"),
        gone=("site-space API",),
    ),
    mistake(
        "a list without its brackets is an error",
        edit("sites/docs.yaml", "spaces: [api]", "spaces: api"),
        apply(WRONG, "sites/docs.yaml:14", "list"),
    ),
    mistake(
        "a field under the wrong kind is an error that names it",
        edit("content.yaml", "title: Guides}", "title: Guides, visibility: public}"),
        apply(WRONG, "content.yaml:6", "visibility"),
    ),
    mistake(
        "other lines first take no request but the move",
        edit(
            "content.yaml",
            "      - {space: guides, title: Guides}\n",
            "",
            "title: API}\n",
            "title: API}\n      - {space: guides, title: Guides}\n",
        ),
        apply(0, "1 request"),
    ),
    mistake(
        "a space that starts as a copy of itself is an error",
        edit("content.yaml", "title: Salaries}", "title: Salaries}\n      - {space: new, title: New, duplicateOf: new}"),
        apply(WRONG, "content.yaml:14", "new"),
    ),
    mistake(
        "spaces that start as copies of each other are an error",
        edit(
            "content.yaml",
            "title: Salaries}",
            "title: Salaries}\n      - {space: a, title: A, duplicateOf: b}\n      - {space: b, title: B, duplicateOf: a}",
        ),
        apply(WRONG, "content.yaml:14"),
    ),
    mistake(
        "a variant that shows no space of the project is an error",
        edit("sites/docs.yaml", "spaces: [api]", "spaces: [apis]"),
        apply(WRONG, "sites/docs.yaml:14", "apis", "api"),
    ),
    mistake(
        "what is moved into a new group keeps its id or waits for consent",
        edit(
            "sites/docs.yaml",
            STAFF,
            "      - group: people\n        title: People\n        structure:\n" + indent(STAFF, "    "),
        ),
        apply(),
        Run("plan --detailed-exitcode"),
        created=("group People",),
    ),
    mistake(
        "the moved line of last month does no harm",
        append("reconciler.yaml", "moved:\n  - {from: acme/team/devrel, to: acme/team/support}\n"),
        apply(),
        Run("plan --detailed-exitcode"),
    ),
    mistake(
        "a moved line whose old address is declared again is an error",
        append("reconciler.yaml", "moved:\n  - {from: acme/team/writers, to: acme/team/support}\n"),
        apply(WRONG, "reconciler.yaml:18", "acme/team/writers"),
    ),
    mistake(
        "a removed line whose address is declared again is an error",
        append("reconciler.yaml", "removed:\n  - {address: acme/space/guides, action: delete}\n"),
        apply(WRONG, "reconciler.yaml:18", "acme/space/guides"),
    ),
    mistake(
        "a removed line with a typo consents to nothing, and its error says which address was meant",
        both(
            edit("content.yaml", "      - {space: changelog, title: Changelog}\n", ""),
            edit("sites/docs.yaml", ", changelog", ""),
            append("reconciler.yaml", "removed:\n  - {address: acme/space/chagelog, action: delete}\n"),
        ),
        apply(REFUSED, "acme/space/changelog", options="--target acme/space/*"),
    ),
    mistake(
        "an action that there is not is an error",
        append("reconciler.yaml", "removed:\n  - {address: acme/space/old, action: remove}\n"),
        apply(WRONG, "reconciler.yaml:18", "remove", "delete"),
    ),
    mistake(
        "a target with a typo does nothing, and says what matches nothing",
        edit("content.yaml", "title: Guides", "title: Manuals"),
        apply(WRONG, "acme/space/guids", options="--target acme/space/guids"),
    ),
    mistake("a project in another folder is not this one", lambda folder: None, Run("apply --yes sites", WRONG, ("reconciler.yaml",))),
    mistake(
        "a copy of a space that was deleted is not made, and nothing else is copied instead",
        edit("content.yaml", "title: Salaries}", "title: Salaries}\n      - {space: new, title: New, duplicateOf: {id: spc_old}}"),
        apply(REFUSED, "spc_old", options="--allow-exposure **"),
        scene=lambda folder: None,
    ),
    mistake(
        "a copy of another organization's space is made nowhere",
        edit("content.yaml", "title: Salaries}", "title: Salaries}\n      - {space: new, title: New, duplicateOf: {id: spc_beta}}"),
        apply(REFUSED, "spc_beta", options="--allow-exposure **"),
    ),
    mistake(
        "what is targeted brings what it needs, and nothing else is said to be done",
        both(edit("content.yaml", "title: Guides", "title: Manuals"), edit("people.yaml", "title: Support", "title: Help")),
        apply(options="--target acme/team/support", never=("The plan is now empty",)),
        Run("plan --detailed-exitcode", 2, ("acme/space/guides",)),
        becomes={"team Support": "team Help"},
    ),
    mistake(
        "a site with sections that becomes flat counts every variant it loses, and both runs that it takes go through",
        both(
            lambda folder: folder.write("sites/docs.yaml", FLAT),
            append("reconciler.yaml", "guards: {maxDelete: {percent: 10, atLeast: 3}}\n"),
        ),
        apply(PARTLY, "--allow-replace acme/site/docs/site-space/api", "Plan: 1 to update; 7 blocked", "0 requests"),
        apply(REFUSED, "--allow-delete 5", options="--allow-replace **"),
        apply(PARTLY, options="--allow-delete 5 --allow-replace **"),
        apply(options="--allow-exposure **"),
        Run("plan --detailed-exitcode"),
        gone=("section Guides", "section Reference", "section Staff", "site-space API", "site-space Handbook"),
        created=("site-space API",),
    ),
    mistake(
        "what is excluded is not made, and what needs it waits",
        both(
            append("content.yaml", "  - {space: new, title: New}\n"),
            edit("sites/docs.yaml", "spaces: [api]", "spaces: [api, new]"),
        ),
        apply(
            REFUSED,
            "acme/site/docs/site-space/new",
            "waits for acme/space/new, which is not part of this run",
            options="--exclude acme/space/new --allow-exposure **",
            never=("is included",),
        ),
    ),
    mistake(
        "a section whose first variant is excluded is not made with it",
        both(
            append("content.yaml", "  - {space: new, title: New}\n"),
            edit("sites/docs.yaml", "spaces: [api]\n", "spaces: [api]\n      - {section: fresh, title: Fresh, spaces: [new]}\n"),
        ),
        apply(
            PARTLY,
            "acme/site/docs/section/fresh",
            "waits for acme/site/docs/site-space/new, which is not part of this run",
            options="--exclude acme/site/docs/site-space/*",
        ),
        created=("space New",),
    ),
    mistake(
        "a section that is targeted brings its first variant, and what that opens waits for consent",
        both(
            append("content.yaml", "  - {space: new, title: New}\n"),
            edit("sites/docs.yaml", "spaces: [api]\n", "spaces: [api]\n      - {section: fresh, title: Fresh, spaces: [new]}\n"),
        ),
        apply(
            REFUSED,
            "acme/site/docs/site-space/new is included",
            "--allow-exposure acme/space/blank",
            options="--target acme/site/docs/section/fresh",
        ),
    ),
)
