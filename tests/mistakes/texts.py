"""YAML and files: what an editor, a shell or a merge does to a text, and includes that go missing."""

from __future__ import annotations

from pathlib import Path

from tests.mistakes.mistake import REFUSED, WRONG, Run, append, apply, comment, edit, mistake
from tests.mistakes.world import CONTENT, DOCS, PEOPLE, RECONCILER, Folder


def moved(old: str, new: str) -> object:
    return lambda folder: (folder.root / old).rename(folder.root / new)


def saved(folder: Folder, name: str, data: bytes) -> Path:
    path = folder.root / name
    path.write_bytes(data)
    return path


ROWS = (
    mistake(
        "a tab is an error with its line",
        edit("content.yaml", "    title: Internal", "\ttitle: Internal"),
        apply(WRONG, "content.yaml:10", "tab"),
    ),
    mistake(
        "a field that stands twice is an error with both lines",
        edit("sites/docs.yaml", "    published: true\n", "    published: true\n    visibility: unlisted\n"),
        apply(WRONG, "sites/docs.yaml:6", "visibility"),
    ),
    mistake(
        "a section of the file that stands twice is an error",
        append("people.yaml", "\nteams:\n  legal:\n    title: Legal\n"),
        apply(WRONG, "people.yaml:15", "teams"),
    ),
    mistake(
        "a key with nothing behind it is an error",
        edit("people.yaml", "  grace@acme.example: admin", "  grace@acme.example:"),
        apply(WRONG, "people.yaml:3", "grace@acme.example"),
    ),
    mistake(
        "null where a map is meant is an error",
        lambda folder: folder.write("people.yaml", PEOPLE[: PEOPLE.index("teams:")] + "teams: null\n"),
        apply(WRONG, "people.yaml:6", "{}"),
    ),
    mistake(
        "a colon in a title without quotes is an error that says to quote",
        edit("content.yaml", "title: Product\n", "title: Product: all of it\n"),
        apply(WRONG, "content.yaml:4", "quote"),
    ),
    mistake(
        "a quote that nobody closed is an error",
        edit("content.yaml", "title: Product\n", 'title: "Product\n'),
        apply(WRONG, "content.yaml:"),
    ),
    mistake(
        "a dash that is missing is an error",
        edit("content.yaml", "      - {space: api, title: API}", "        {space: api, title: API}"),
        apply(WRONG, "content.yaml:"),
    ),
    mistake(
        "a merge key is an error that says what to do",
        edit("people.yaml", "  support:\n", "  support:\n    <<: {title: Help}\n"),
        apply(WRONG, "people.yaml:13", "<<"),
    ),
    mistake(
        "a number for a title is the text as it stands",
        edit("content.yaml", "title: Changelog", "title: 007"),
        apply(),
        Run("plan --detailed-exitcode"),
        becomes={"space Changelog": "space 007"},
    ),
    mistake(
        "a field with a typo is an error that says which is meant",
        edit("sites/docs.yaml", "condition: ", "conditon: "),
        apply(WRONG, "sites/docs.yaml:17", 'did you mean "condition"'),
    ),
    mistake(
        "a word of the project with a typo is an error",
        edit("reconciler.yaml", "include:", "inclde:"),
        apply(WRONG, "reconciler.yaml:6", 'did you mean "include"'),
    ),
    mistake(
        "a variable with a typo is an error",
        edit("reconciler.yaml", "vars.brand", "vars.brnd"),
        apply(WRONG, "reconciler.yaml:14", "brnd", "brand"),
    ),
    mistake(
        "a variable of the command line with a typo is an error", lambda folder: None, apply(WRONG, "brnd", options="--var brnd=Acme2")
    ),
    mistake(
        "lines that end as on Windows, and a mark at the beginning, change nothing",
        lambda folder: saved(folder, "content.yaml", b"\xef\xbb\xbf" + CONTENT.replace("\n", "\r\n").encode()),
        apply(0, "No changes"),
    ),
    mistake(
        "a file in UTF-16 is an error that says to save it as UTF-8",
        lambda folder: saved(folder, "content.yaml", CONTENT.encode("utf-16")),
        apply(WRONG, "content.yaml", "UTF-8"),
    ),
    mistake(
        "an included file that was renamed is an error",
        moved("content.yaml", "contents.yaml"),
        apply(WRONG, "reconciler.yaml:6", "content.yaml"),
    ),
    mistake("a pattern that matches nothing is an error", moved("sites", "site"), apply(WRONG, "reconciler.yaml:6", "sites/*.yaml")),
    mistake(
        "a file whose ending no pattern matches takes no site with it",
        moved("sites/intra.yaml", "sites/intra.yml"),
        apply(REFUSED, "acme/site/intra", "action: delete"),
    ),
    mistake(
        "an include that is commented out takes no site with it",
        edit("reconciler.yaml", 'content.yaml, "sites/*.yaml"]', "content.yaml]"),
        apply(REFUSED, "acme/site/docs", "acme/site/intra", "action: delete"),
    ),
    mistake(
        "an included file that is empty is an error", lambda folder: folder.write("sites/intra.yaml", ""), apply(WRONG, "sites/intra.yaml")
    ),
    mistake(
        "a file of which every line is commented out is an error", comment("sites/docs.yaml", "sites:"), apply(WRONG, "sites/docs.yaml")
    ),
    mistake(
        "a file that is included twice is read once",
        edit("reconciler.yaml", "include: [people.yaml", "include: [people.yaml, people.yaml"),
        apply(0, "No changes"),
    ),
    mistake(
        "a site in two files is an error with both places",
        lambda folder: folder.write("sites/more.yaml", "sites:\n  docs:\n    title: Docs\n"),
        apply(WRONG, "sites/more.yaml:2", "sites/docs.yaml:2"),
    ),
    mistake(
        "a list in two files is an error",
        lambda folder: folder.write("sites/more.yaml", "content:\n  - {space: new, title: New}\n"),
        apply(WRONG, "sites/more.yaml:1", "content.yaml:1"),
    ),
    mistake(
        "a file of another organization is an error",
        lambda folder: folder.write("sites/docs.yaml", "organization: acne\n" + DOCS),
        apply(WRONG, "sites/docs.yaml:1", "acne"),
    ),
    mistake(
        "an organization under another key is the same organization, and nothing in it is made twice",
        lambda folder: folder.write("reconciler.yaml", RECONCILER.replace("  acme:\n", "  acme-inc:\n")),
        apply(0, "adopt", never=("create",)),
        Run("plan --detailed-exitcode"),
    ),
)
