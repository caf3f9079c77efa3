"""Operations change the lines that they are about; comments, anchors, line ends and every other line stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.errors import ConfigError, Refused, UsageError
from tests.certificates import IDP
from tests.features.edits.proposing import ACME, HEAD, lines, proposed, texts

DOCS, SAM = "acme/site/docs", "acme/member/sam@acme.example"
Op = dict[str, Any]
X = {"key": "x", "space": "blank"}


def op(name: str, address: str, **rest: Any) -> Op:
    return {"op": name, "address": address, **{key.rstrip("_"): value for key, value in rest.items()}}


CHANGES: dict[str, tuple[list[Op], str]] = {
    "a field in lines": (
        [op("set", DOCS, fields={"visibility": "unlisted"})],
        "-        visibility: public\n+        visibility: unlisted\n",
    ),
    "a new field comes after the first": (
        [op("set", DOCS, fields={"basename": "d"})],
        "+        basename: d\n",
    ),
    "a field in braces keeps its remark": (
        [op("set", "acme/space/second", fields={"title": "The second", "emoji": "📗"})],
        "-          - {space: second, title: Second, mergeRules: *rules}\n"
        '+          - {space: second, title: The second, mergeRules: *rules, emoji: "📗"}\n',
    ),
    "a bare value becomes a map": (
        [op("set", SAM, fields={"sso": True}), op("set", SAM, fields={"role": "edit"})],
        "-      sam@acme.example: read      # until May\n+      sam@acme.example: {role: edit, sso: true}      # until May\n",
    ),
    "a bare node of a list becomes a map, which can be changed again": (
        [op("set", f"{DOCS}/site-space/start", fields={"path": "s"}), op("set", f"{DOCS}/site-space/start", fields={"path": "t"})],
        "-            spaces: [start]\n+            spaces: [{space: start, path: t}]\n",
    ),
    "a line is removed": (
        [op("set", DOCS, unset=["visibility"])],
        "-        visibility: public\n",
    ),
    "a text with an expression changes around the expression": (
        [op("set", "acme/space/start", fields={"title": "Start with ${{ vars.brand }}"})],
        '-          - {space: start, title: "${{ vars.brand }} start"}  # first\n'
        "+          - {space: start, title: 'Start with ${{ vars.brand }}'}  # first\n",
    ),
    "a flag moves from one to the other": (
        [op("set", f"{DOCS}/section/start", fields={"default": True})],
        "+            default: true\n",
    ),
    "another space is shown under the same key": (
        [op("set", f"{DOCS}/site-space/second", fields={"space": "safe"}), op("remove", f"{DOCS}/site-space/other")],
        "-          - {section: more, title: More, spaces: [second, {key: other, space: safe}]}\n"
        "+          - {section: more, title: More, spaces: [{space: safe, key: second}]}\n",
    ),
    "a node is added last": (
        [op("add", "acme/space/third", in_="acme/collection/guides", fields={"title": "Third"})],
        "+          - {space: third, title: Third}\n",
    ),
    "a node is added first, above the comment of the next": (
        [op("add", "acme/space/third", in_="acme/collection/guides", first=True, fields={"title": "Third"})],
        "+          - {space: third, title: Third}\n",
    ),
    "after names the list too": (
        [op("add", "acme/space/third", after="acme/space/start", fields={"title": "Third"})],
        "+          - {space: third, title: Third}\n",
    ),
    "a node is added to an empty list": (
        [op("add", "acme/space/third", in_="acme/collection/empty", fields={"title": "Third"})],
        "-        content: []\n+        content:\n+          - {space: third, title: Third}\n",
    ),
    "a node is added after those that one forEach makes": (
        [op("add", "acme/space/third", after="acme/space/start-de", fields={"title": "Third"})],
        "+      - {space: third, title: Third}\n",
    ),
    "a node that shows a space of its name is one word": (
        [op("add", f"{DOCS}/site-space/safe", in_=f"{DOCS}/section/start")],
        "-            spaces: [start]\n+            spaces: [start, safe]\n",
    ),
    "an entry is added to a map in lines": (
        [op("add", f"{DOCS}/share-link/press", fields={"name": "Press", "active": False})],
        "+          press: {name: Press, active: false}\n",
    ),
    "an entry is added to an empty map in lines": (
        [op("add", "acme/team/writers", fields={"title": "Writers"})],
        "-    teams: {}\n+    teams:\n+      writers: {title: Writers}\n",
    ),
    "an entry is added to an empty map in braces": (
        [op("add", "acme/site/flat/share-link/press", fields={"name": "Press"})],
        "-      flat: {title: Flat, structure: [{space: second, default: true}], shareLinks: {}}\n"
        "+      flat: {title: Flat, structure: [{space: second, default: true}], shareLinks: {press: Press}}\n",
    ),
    "an entry opens the section that its container lacks": (
        [op("add", "acme/integration/bot", fields={"id": "bot", "title": "Bot"})],
        "+    integrations:\n+      bot: {id: bot, title: Bot}\n",
    ),
    "a value that is a resource is added to its container": (
        [op("add", "acme/agent-instructions", fields={"instructions": "Be brief.\nBe kind."})],
        "+    agentInstructions: |-\n+      Be brief.\n+      Be kind.\n",
    ),
    "a subtree is added as import writes it, and its parts can be changed": (
        [
            op(
                "add", f"{DOCS}/group/ref",
                fields={"title": "Reference", "structure": [{"section": "api", "title": "API", "spaces": ["safe", X]}]},
            ),
            op("set", f"{DOCS}/section/api", fields={"icon": "code"}),
            op("move", f"{DOCS}/site-space/x", in_=f"{DOCS}/section/start"),
        ],
        "-            spaces: [start]\n+            spaces: [start, {key: x, space: blank}]\n"
        "+          - group: ref\n+            title: Reference\n+            structure:\n"
        "+              - {section: api, title: API, spaces: [safe], icon: code}\n",
    ),
    "a node is moved with the comment above it": (
        [op("move", "acme/space/second", in_="acme")],
        "-          # About the second.\n-          - {space: second, title: Second, mergeRules: *rules}\n"
        "+      # About the second.\n+      - {space: second, title: Second, mergeRules: *rules}\n",
    ),
    "a node is moved among its siblings": (
        [op("move", f"{DOCS}/section/more", first=True)],
        "+          - {section: more, title: More, spaces: [second, {key: other, space: safe}]}\n"
        "-          - {section: more, title: More, spaces: [second, {key: other, space: safe}]}\n",
    ),
    "the last node leaves an empty list": (
        [op("remove", f"{DOCS}/site-space/start")],
        "-            spaces: [start]\n+            spaces: []\n",
    ),
    "the last entry leaves an empty map": (
        [op("remove", f"{DOCS}/share-link/partners")],
        "-        shareLinks:\n-          partners: Partners      # for partners\n+        shareLinks: {}\n",
    ),
    "a resource is removed with what it contains": (
        [op("remove", "acme/site/flat"), op("remove", f"{DOCS}/section/start")],
        "-          - section: start\n-            title: Start\n-            spaces: [start]\n"
        "-      flat: {title: Flat, structure: [{space: second, default: true}], shareLinks: {}}\n",
    ),
    "a resource that is forgotten is written as removed": (
        [op("remove", "acme/site/flat", forget=True), op("remove", "acme/collection/empty", forget=True)],
        "-      - collection: empty\n-        title: Empty\n-        content: []\n"
        "-      flat: {title: Flat, structure: [{space: second, default: true}], shareLinks: {}}\n"
        "+removed:\n+  - {address: acme/site/flat, action: forget}\n+  - {address: acme/collection/empty, action: forget}\n",
    ),
    "what was added can be referred to before it exists": (
        [op("add", f"{DOCS}/site-space/third", in_=f"{DOCS}/section/start"), op("add", "acme/space/third", fields={"title": "Third"})],
        "+      - {space: third, title: Third}\n-            spaces: [start]\n+            spaces: [start, third]\n",
    ),
    "a rename between other operations": (
        [
            op("set", "acme/space/second", fields={"emoji": "📗"}),
            op("rename", "acme/collection/guides", key="manuals"),
            op("set", "acme/collection/manuals", fields={"title": "Manuals"}),
        ],
        "-      - collection: guides\n-        title: Guides\n"
        "+      - collection: manuals\n+        previously: [guides]\n+        title: Manuals\n"
        "-          - {space: second, title: Second, mergeRules: *rules}\n"
        '+          - {space: second, title: Second, mergeRules: *rules, emoji: "📗"}\n',
    ),
    "texts that could be read as something else are quoted": (
        [op("set", DOCS, fields={"title": "*rules &x !!int"}), op("set", "acme/site/flat", fields={"title": "yes: # no\u202e"})],
        '-        title: Docs\n+        title: "*rules &x !!int"\n'
        "-      flat: {title: Flat, structure: [{space: second, default: true}], shareLinks: {}}\n"
        '+      flat: {title: "yes: # no\\u202e", structure: [{space: second, default: true}], shareLinks: {}}\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_operations_change_these_lines_only(name: str, tmp_path: Path) -> None:
    steps, expected = CHANGES[name]
    before = texts(tmp_path)
    assert sorted(lines(before, proposed(before, *steps)).splitlines()) == sorted(expected.splitlines()), name


def test_the_order_of_siblings_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    before = texts(tmp_path)
    after = proposed(
        before,
        op("add", "acme/space/a", after="acme/space/start", fields={"title": "AA"}),
        op("add", "acme/space/b", after="acme/space/a", fields={"title": "BB"}),
        op("move", "acme/space/second", after="acme/space/start"),
        op("add", "acme/space/c", in_="acme/collection/guides", first=True, fields={"title": "CC"}),
    )
    desired = after.projects[None].desired
    inside = [address.key for address, declared in desired.resources.items() if declared.parent == Address.parse("acme/collection/guides")]
    assert inside == ["c", "start", "second", "a", "b"]


def test_a_file_in_canonical_layout_stays_in_it(tmp_path: Path) -> None:
    """The new field takes its place in the order of keys, as `fmt` would write it."""
    text = HEAD + "\norganizations:\n  acme:\n    id: org_acme\n    sites:\n      docs:\n        title: Docs\n        published: true\n"
    before = texts(tmp_path, text)
    after = proposed(before, op("set", DOCS, fields={"visibility": "public"}))
    assert lines(before, after) == "+        visibility: public\n"
    assert after.texts["reconciler.yaml"].endswith("title: Docs\n        visibility: public\n        published: true\n")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_stay(end: str, tmp_path: Path) -> None:
    before = texts(tmp_path, {"reconciler.yaml": b"\xef\xbb\xbf" + ACME.replace("\n", end).encode("utf-8")})
    after = proposed(before, op("add", "acme/space/third", in_="acme/collection/guides", fields={"title": "Third"}))
    added = f"          - {{space: third, title: Third}}{end}"
    assert after.texts["reconciler.yaml"].replace(added, "") == before.texts["reconciler.yaml"]
    assert after.texts["reconciler.yaml"].count(added) == 1


def test_a_new_resource_is_written_where_its_siblings_are(tmp_path: Path) -> None:
    files = {
        "reconciler.yaml": f"{HEAD}include: [content.yaml]\norganizations:\n  acme: {{id: org_acme, sites: {{include: 'sites/*.yaml'}}}}\n",
        "content.yaml": "# What there is to read.\ncontent: {include: [part.yaml]}\nteams: {}\n",
        "part.yaml": "- {space: blank, id: spc_blank, title: Blank}\n",
        "sites/a.yaml": "# The first.\na: {title: A site}\n",
        "sites/b.yaml": "sites:\n  b:\n    title: B site\n",
    }  # fmt: skip
    before = texts(tmp_path, files)
    after = proposed(
        before,
        op("add", "acme/site/c", fields={"title": "C site"}),
        op("add", "acme/space/x", fields={"title": "X space", "duplicateOf": "blank"}),
        op("add", "acme/team/t", fields={"title": "Team"}),
        op("add", "acme/saml/okta", fields={"label": "Okta", "entityID": "o", "ssoURL": "https://o.example", "certificate": IDP}),
        op("remove", "acme/site/a"),
    )
    assert after.texts == {
        **files,
        "reconciler.yaml": after.texts["reconciler.yaml"],
        "content.yaml": files["content.yaml"].replace("teams: {}", "\nteams:\n  t: {title: Team}"),
        "part.yaml": files["part.yaml"] + "- {space: x, title: X space, duplicateOf: blank}\n",
        "sites/a.yaml": "{}\n",
        "sites/b.yaml": files["sites/b.yaml"] + "  c: {title: C site}\n",
    }
    opened = "  acme:\n    id: org_acme\n    sites: {include: 'sites/*.yaml'}\n    saml:\n      okta:\n        label: Okta\n"
    assert opened in after.texts["reconciler.yaml"]


# -- what is refused -----------------------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[list[Op], str, str]] = {
    "a generated resource": (
        [op("set", "acme/space/start-fr", fields={"title": "x"})],
        "RC-computed-in-yaml",
        "element 0 (\"fr\") of ${{ vars.langs }} (forEach at reconciler.yaml:27:9)",
    ),
    "between two that one forEach makes": (
        [op("move", "acme/space/safe", after="acme/space/start-fr")], "RC-computed-in-yaml", "nothing can be between",
    ),
    "an alias": (
        [op("set", "acme/space/second", fields={"mergeRules": "inherit"})],
        "RC-computed-in-yaml",
        "*rules, which is written at reconciler.yaml:6:10",
    ),
    "a text that an expression gives": (
        [op("set", "acme", fields={"title": "Acme Inc"})],
        "RC-computed-in-yaml",
        "title comes from an expression, at reconciler.yaml:10:12",
    ),
    "a text that loses its expression": (
        [op("set", "acme/space/start", fields={"title": "Start"})], "RC-computed-in-yaml", "reconciler.yaml:21:35",
    ),
    "a value of defaults": (
        [op("set", "acme/space/start", unset=["duplicateOf"])], "RC-not-declared", "defaults give it, at reconciler.yaml:5:33",
    ),
    "a field that is not written": ([op("set", DOCS, unset=["basename"])], "RC-not-declared", "basename is not written there"),
    "what nobody declares": ([op("set", "acme/space/secnd", fields={"title": "x"})], "RC-not-declared", 'did you mean "acme/space/second"'),
    "what exists already": ([op("add", "acme/space/second", fields={})], "RC-declared-twice", "at reconciler.yaml:23:14"),
    "a container inside itself": ([op("move", "acme/collection/guides", in_="acme/collection/guides")], "RC-operation", "is inside"),
    "a container that cannot contain it": ([op("move", "acme/space/second", in_=DOCS)], "RC-operation", "cannot contain a space"),
    "a sibling of another list": (
        [op("move", "acme/space/second", in_="acme", after="acme/space/start")], "RC-operation", "which is not in content of acme",
    ),
    "a position in a map": ([op("add", "acme/team/x", first=True, fields={"title": "XX"})], "RC-operation", "has no meaning"),
    "a move of an entry of a map": ([op("move", DOCS, first=True)], "RC-operation", "a site has no position"),
    "a protected resource": ([op("remove", "acme/space/safe")], "RC-not-proposed", "is protected, at reconciler.yaml:30:9"),
    "a member without its name": ([op("rename", "acme/member/sam@acme.example", key="x")], "RC-key-changed-outside", "the key of a member"),
    "contents in a field": ([op("set", DOCS, fields={"structure": []})], "RC-operation", "use add, move and remove"),
    "a reserved word in a list of fields": ([op("set", "acme/space/safe", unset=["protect"])], "RC-not-proposed", "protect is a rule"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_refused_with_the_line_that_decides(name: str, tmp_path: Path) -> None:
    steps, id, words = REFUSED[name]
    with pytest.raises((Refused, UsageError)) as caught:
        proposed(texts(tmp_path), *steps)
    assert (caught.value.id, words in str(caught.value)) == (id, True), str(caught.value)


def test_a_resource_whose_anchor_is_repeated_is_not_changed(tmp_path: Path) -> None:
    text = ACME.replace("      flat: {", "      copy: *site\n      flat: {").replace("      docs:\n", "      docs: &site\n")
    text = text.replace("          partners: Partners      # for partners\n", "          {}\n").replace(
        "        shareLinks:\n          {}\n", ""
    )
    before = texts(tmp_path, text)
    for steps in (
        [op("set", DOCS, fields={"basename": "x"})],
        [op("set", f"{DOCS}/section/start", fields={"icon": "x"})],
        [op("set", "acme/site/copy", fields={"title": "Copy"})],
        [op("add", f"{DOCS}/share-link/x", fields={"name": "X"})],
        [op("add", f"{DOCS}/section/x", fields={"title": "XX"})],
        [op("remove", f"{DOCS}/section/start")],
        [op("remove", DOCS)],
        [op("move", f"{DOCS}/section/start", after=f"{DOCS}/section/more")],
    ):
        with pytest.raises(Refused) as caught:
            proposed(before, *steps)
        assert caught.value.id == "RC-edit-by-hand", steps
        assert "reconciler.yaml:" in str(caught.value), steps


def test_a_project_that_would_not_be_valid_is_refused_with_all_its_problems(tmp_path: Path) -> None:
    before = texts(tmp_path)
    with pytest.raises(ConfigError, match='visibility is "nope"'):
        proposed(before, op("set", DOCS, fields={"visibility": "nope", "title": ""}))
    with pytest.raises(ConfigError, match="second"):
        proposed(before, op("remove", "acme/space/second"))
