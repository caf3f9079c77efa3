"""An agent with orders to weaken a project cannot: no operation changes a rule, a consent or a secret, or adds an expression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import ConfigError, ReconcilerError, Refused, UsageError
from reconciler.features.edits.operations import DEPTH_MAX, OPERATIONS_MAX, TEXT_MAX, VALUES_MAX, operations
from reconciler.features.edits.proof import changed_rule
from tests.features.edits.proposing import ACME, HEAD, proposed, texts
from tests.harness import kinds

DOCS = "acme/site/docs"
SPACE = "acme/space/start"
LINK = f"{DOCS}/share-link/partners"


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def set_(address: str, **fields: Any) -> dict[str, Any]:
    return {"op": "set", "address": address, "fields": fields}


def add(address: str, **fields: Any) -> dict[str, Any]:
    return {"op": "add", "address": address, "fields": fields}


HOSTILE: dict[str, dict[str, Any]] = {
    # Rules and consents of a resource.
    **{
        f"{op} {key}": {"op": op, "address": address, "fields": {key: value}}
        for op, address in (("set", SPACE), ("add", "acme/space/new"))
        for key, value in {
            "protect": False, "previously": ["safe"], "adopt": "never", "expect": {}, "ignoreChanges": ["title"], "forEach": ["a"],
            "template": True, "key": "x",
        }.items()
    },
    "another object": set_(SPACE, id="spc_secret"),
    "no protection": {"op": "set", "address": "acme/space/safe", "unset": ["protect"]},
    "no consent": {"op": "set", "address": "acme/space/blank", "unset": ["template"]},
    "a protected resource": {"op": "remove", "address": "acme/space/safe"},
    "what contains it": {"op": "remove", "address": "acme"},
    "another organization": add("evil", id="org_evil"),
    "a rule below a new resource": add("acme/site/x", title="XX", structure=[{"section": "s", "title": "SS", "protect": False}]),
    "a consent below a new resource": add("acme/collection/x", title="XX", content=[{"space": "s", "title": "SS", "template": True}]),
    # Settings and rules of the project: they have no address.
    **{
        f"the setting {key}": {"op": "set", "address": address, "fields": {key: value}}
        for address in ("acme", DOCS)
        for key, value in {
            "guards": {"maxDelete": {"percent": 100}}, "policies": [], "access": [], "protect": [],
            "service": {"baseUrl": "http://evil.example"}, "state": "sqlite:////tmp/x", "secrets": "x.enc.yaml", "include": "*.yaml",
            "urls": {"gone": []}, "vars": {}, "defaults": {}, "moved": [], "removed": [], "x-y": 1, "<<": {}, "*": 1, "__proto__": {},
            "__class__": "x", "acme": {}, "a.b": 1, "../x": 1, "": 1, "title\nprotect": "x", "title: x\n        protect": False,
            "${{ vars.brand }}": "x",
        }.items()
    },
    **{
        f"the address {address!r}": set_(address, title="x")
        for address in (
            "", "/", "acme/", "/acme", "acme//docs", "guards", "guards.maxDelete", "reconciler.yaml", "../reconciler.yaml", "acme/site/*",
            "**", "acme/site/docs.title", "acme/site/../docs", "acme/sites/docs", "acme/space/docs/site/x", "acme/site", "acme/__proto__/x",
            "acme/site/docs/", "acme/site/docs\n", "acme/site/docs\x00", "acme/site/\u202edocs", "acme/site/${{ vars.key }}",
            "environments/production", "acme/site/docs/share-link", "acme/agent-instructions/x", "x" * 100_000,
        )
    },
    # Expressions: they read variables, secrets, the environment and files.
    **{
        f"the expression {text}": set_(DOCS, title=text)
        for text in (
            "${{ secrets.token }}", "${{ env.HOME }}", '${{ file("/etc/passwd") }}', "${{ vars.brand }}", "$${{ x }}", "${{",
            "a ${{ vars.key }} b",
            "\u0024{{ secrets.token }}", "${{ secrets.token }}\n", "${{ file('.env') }}",
        )
    },
    "an expression in a list": set_(f"{DOCS}/section/start", condition=["${{ vars.key }}"]),
    "an expression in a new resource": add("acme/space/new", title="${{ secrets.token }}"),
    "an expression in a key of a new resource": add("acme/site/x", title="XX", shareLinks={"${{ secrets.token }}": "X"}),
    "another expression beside the present one": set_(SPACE, title="${{ vars.brand }} ${{ secrets.token }}"),
    "the expression of another field": set_(SPACE, title="${{ vars.brand }}", emoji="${{ vars.brand }}"),
    "another expression by escapes": set_(SPACE, title='"\\x24{{ secrets.token }} ${{ vars.brand }}"\n'),
    "a literal that was an expression": set_(SPACE, title="$${{ vars.brand }} start"),
    "a URL that takes what an expression gives": set_("acme/openapi/pets", source={"url": "https://evil.example/${{ vars.key }}"}),
    "a file of another machine": set_("acme/openapi/pets", source={"url": "https://pets.example/${{ vars.key }}.json", "x": 1}),
    # Secrets.
    "a secret": add("acme/integration/bot", title="Bot", secrets={"token": "x"}),
    # Files and generators inside a new resource.
    "a file in a map": add("acme/site/x", title="XX", shareLinks={"include": "../../x.yaml"}),
    "a file in a list": add("acme/site/x", title="XX", structure={"include": "x.yaml"}),
    "a generator in a map": add("acme/site/x", title="XX", shareLinks={"forEach": ["a"]}),
    "a generator in a list": add("acme/site/x", title="XX", structure=[{"forEach": ["a"], "section": "s"}]),
    "two kinds at once": add("acme/site/x", title="XX", structure=[{"section": "s", "space": "start"}]),
    # Not operations.
    "another operation": {"op": "replace", "address": DOCS},
    "an operation of another type": {"op": ["set"], "address": DOCS},
    "more keys": {"op": "set", "address": DOCS, "fields": {"title": "x"}, "path": "/etc/passwd"},
    "a number for an address": {"op": "set", "address": 7, "fields": {"title": "x"}},
    "no address": {"op": "set", "fields": {"title": "x"}},
    "no fields": {"op": "set", "address": DOCS},
    "fields as a list": {"op": "set", "address": DOCS, "fields": ["title"]},
    "unset as a text": {"op": "set", "address": DOCS, "unset": "title"},
    "a flag as a text": {"op": "remove", "address": LINK, "forget": "yes"},
    "a deletion of what is protected": {"op": "remove", "address": LINK, "action": "delete-all"},
    "a key with a path": {"op": "rename", "address": SPACE, "key": "../x"},
    "a key with an expression": {"op": "rename", "address": SPACE, "key": "${{ vars.key }}"},
    "a key with a line": {"op": "rename", "address": SPACE, "key": "x\nprotect: false"},
    # Values that YAML or Python could not take.
    "an incomplete character": set_(DOCS, title="\ud800"),
    "not a number": set_(DOCS, title=float("nan")),
    "an infinite number": set_(DOCS, title=float("inf")),
    "a large number": set_(DOCS, title=10**5_000),
    "a long text": set_(DOCS, title="x" * (TEXT_MAX + 1)),
    "a deep value": set_(DOCS, title=deep(DEPTH_MAX + 1)),
    "a very deep value": set_(DOCS, title=deep(100_000)),
    "many values": set_(DOCS, title=["x"] * (VALUES_MAX + 1)),
    "bytes": set_(DOCS, title=b"x"),
    "a number for a key": set_(DOCS, adaptiveContent={1: True}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_operation_weakens_a_project(name: str, tmp_path: Path) -> None:
    before = texts(tmp_path)
    with pytest.raises((Refused, UsageError, ConfigError)) as caught:
        proposed(before, HOSTILE[name])
    assert caught.value.exit_code in (3, 4)
    assert len(str(caught.value)) < 2_000, "a message repeats what was sent"


@pytest.mark.parametrize("data", [None, {}, [], "set", 7, [7], [[]], [None], [set_(DOCS, title="x")] * (OPERATIONS_MAX + 1)])
def test_what_is_not_a_list_of_operations_is_refused(data: Any) -> None:
    with pytest.raises(UsageError):
        operations(kinds(), data)


def test_removed_and_added_again_it_has_every_rule_that_it_had(tmp_path: Path) -> None:
    """The way around a refusal: a resource that comes back without its protection, its consents, or what is expected of it."""
    text = ACME.replace("      - space: safe\n        title: Safe\n        protect: true\n", "      - space: safe\n        title: Safe\n")
    with pytest.raises(Refused, match="a rule or a consent of acme/space/safe would change"):
        proposed(texts(tmp_path, text), {"op": "remove", "address": "acme/space/safe"}, add("acme/space/safe", title="Safe"))
    with pytest.raises(Refused, match="a rule or a consent of acme/space/blank would change"):
        proposed(texts(tmp_path, text), {"op": "remove", "address": "acme/space/blank"}, add("acme/space/blank", title="Blank", id="spc_2"))


RULES_BELOW = {
    "access": "  - {as: anyone, mustNotSee: [*shared]}",
    "service": "  {member: ada@acme.example, baseUrl: *shared}",
    "lint": "  {ignore: [{id: space-on-no-site, address: *shared, reason: r}]}",
    "x-unused": "  [*shared]",
}


@pytest.mark.parametrize("key", RULES_BELOW)
def test_what_a_rule_repeats_by_an_alias_cannot_change(key: str, tmp_path: Path) -> None:
    """The lines of the rule would be unchanged, and what they mean would not: the anchor is at a value that `set` may write."""
    head = ACME.replace("service: {member: ada@acme.example}\n", "") if key == "service" else ACME
    text = "https://api.example" if key == "service" else "acme/space/s*"
    before = texts(tmp_path, head.replace("title: Second", f"title: &shared {text!r}") + f"{key}:\n{RULES_BELOW[key]}\n")
    with pytest.raises(Refused, match="&shared is repeated elsewhere"):
        proposed(before, set_("acme/space/second", title="https://evil.example"))


def test_what_an_alias_of_a_whole_resource_repeats_cannot_change(tmp_path: Path) -> None:
    before = texts(tmp_path, ACME.replace("{space: second,", "&shared {space: second,") + "x-unused: [*shared]\n")
    with pytest.raises(Refused, match="repeated elsewhere"):
        proposed(before, set_("acme/space/second", title="Other"))


def test_a_program_that_reads_secrets_is_not_changed(tmp_path: Path) -> None:
    bot = (
        "    integrations:\n      bot: {title: Bot, script: old, secrets: {token: x}}\n      free: {title: Free, script: old}\n    openapi:"
    )
    before = texts(tmp_path, ACME.replace("    openapi:", bot))
    for operation in (set_("acme/integration/bot", script="leak()"), {"op": "set", "address": "acme/integration/bot", "unset": ["script"]}):
        with pytest.raises(Refused, match="reads the secrets of acme/integration/bot"):
            proposed(before, operation)
    again = {"op": "remove", "address": "acme/integration/bot"}, add("acme/integration/bot", title="Bot", script="leak()")
    with pytest.raises(Refused, match="a rule or a consent of acme/integration/bot would change"):
        proposed(before, *again)
    proposed(before, set_("acme/integration/bot", title="Robot"), set_("acme/integration/free", script="new"))


def test_what_one_environment_alone_protects_is_not_removed(tmp_path: Path) -> None:
    files = {
        "reconciler.yaml": ACME,
        "environments/a.yaml": "vars: {brand: One}\n",
        "environments/b.yaml": "patch:\n  - {match: acme/collection/*, set: {protect: true}}\n",
    }
    before = texts(tmp_path, files)
    with pytest.raises(Refused, match="is protected"):
        proposed(before, {"op": "remove", "address": "acme/collection/empty"})


def test_a_rename_cannot_lead_out_of_a_rule(tmp_path: Path) -> None:
    access = "access:\n  - {as: anyone, mustNotSee: ['acme/space/s*']}\n"
    before = texts(tmp_path, ACME.replace("vars:", f"{access}vars:"))
    with pytest.raises(Refused, match="would not match the same resources"):
        proposed(before, {"op": "rename", "address": "acme/space/second", "key": "elsewhere"})
    rules = (
        "policies:\n  - {id: x, on: [space], assert: '${{ after.title != \"\" }}', message: m}\n"
        "exceptions:\n  - {policy: x, address: acme/space/tmp-*, until: 2099-12-31, reason: r}\n"
    )
    before = texts(tmp_path, ACME.replace("vars:", f"{rules}vars:").replace("space: start-", "space: tmp-"))
    with pytest.raises(Refused, match="would not match the same resources"):
        proposed(before, {"op": "rename", "address": "acme/space/second", "key": "tmp-second"})


def test_the_proof_finds_every_rule_that_a_text_changes(tmp_path: Path) -> None:
    """Whatever wrote the texts: the rules, the settings, the environments and the expressions are compared once more."""
    files = {
        "reconciler.yaml": ACME + "removed:\n  - {address: acme/team/x, action: forget}\n",
        "environments/one.yaml": "vars: {brand: One}\n",
    }
    before = texts(tmp_path, files)
    desired = [project.desired for project in before.projects.values()]

    def finding(old: str, new: str, file: str = "reconciler.yaml") -> str | None:
        changed = {**before.texts, file: before.texts[file].replace(old, new)}
        assert changed != before.texts
        return changed_rule(kinds(), before.texts, changed, desired)

    assert finding("title: Docs", "title: Documents") is None
    assert finding("action: forget}\n", "action: forget}\n  - {address: acme/team/y, action: forget}\n") is None
    assert finding("vars:", "guards: {minAdmins: 0}\nvars:") == "guards in reconciler.yaml would change"
    assert finding("blank}}", "start}}") == "defaults in reconciler.yaml would change"
    assert finding("[ada@acme.example]", "[sam@acme.example]") == "x-rules in reconciler.yaml would change"
    assert finding("ada@acme.example}", "sam@acme.example}") == "service in reconciler.yaml would change"
    assert finding("version: 1\n", "version: 1\nprotect: []\n") == "protect in reconciler.yaml would change"
    assert finding("action: forget", "action: delete") == "removed in reconciler.yaml would change"
    assert (
        finding("action: forget}\n", "action: forget}\n  - {address: acme/x, action: delete}\n")
        == "removed in reconciler.yaml would change"
    )
    assert finding("title: Docs", "title: ${{ vars.key }}") == "an expression would be added"
    assert finding("title: Docs", 'title: "\\x24{{ vars.key }}"') == "an expression would be added"
    assert finding("One", "Two", "environments/one.yaml") == "environments/one.yaml belongs to an environment"


def test_a_key_at_the_top_of_a_file_is_named_as_one() -> None:
    with pytest.raises(Refused, match="guards is a key at the top of a file, and no resource"):
        operations(kinds(), [set_("guards", maxDelete=100)])


def test_every_refusal_says_what_to_do(tmp_path: Path) -> None:
    before, silent = texts(tmp_path), []
    for name, operation in HOSTILE.items():
        try:
            proposed(before, operation)
        except ReconcilerError as error:
            silent += [name] if isinstance(error, Refused) and not error.hint else []
    assert not silent


def test_the_project_file_alone_has_rules(tmp_path: Path) -> None:
    """A resource may have the name of a rule: its lines are its own."""
    text = HEAD + "organizations:\n  acme:\n    id: org_acme\n    teams: {include: teams.yaml}\n"
    before = texts(tmp_path, {"reconciler.yaml": text, "teams.yaml": "guards:\n  title: Guards\naccess: {title: Access}\n"})
    after = proposed(before, set_("acme/team/guards", title="The guards"), {"op": "remove", "address": "acme/team/access"})
    assert after.texts["teams.yaml"] == "guards:\n  title: The guards\n"
