"""Members of single sign-on: a request of its own, which no other takes back.

E-mail addresses as people have them are keys of members: in the YAML, in addresses, on the command line, in reports.
`null` clears every field that the service can clear: apply, drift, accepted drift, undo and import agree about it."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import KEY_PATTERN, SEGMENT_PATTERN, Address, Glob, is_id, is_key
from reconciler.cli.shells import Bash
from reconciler.config import load
from reconciler.config.schemas.document import schema
from reconciler.errors import ConfigError
from reconciler.sandbox.seed import seed
from tests.command_line import Cli
from tests.harness import ORGANIZATION, SEED, Org, kinds
from tests.outside import CASES, Case
from tests.proofs import costly
from tests.small import applied, described, node, settled

LINUS = "acme/member/linus@acme.example"
MEMBER = f"/orgs/{ORGANIZATION}/members/usr_linus"
PROVIDED = {**SEED, "saml": [{"organization": ORGANIZATION, "id": "saml_okta", "label": "Okta"}]}
"""An organization with a provider, which a member of single sign-on requires."""


def people(**linus: Any) -> dict[str, Any]:
    return {"members": {"ada@acme.example": "admin", "linus@acme.example": {"role": "read", **linus}}}


def test_a_member_joins_single_sign_on_by_one_request_and_cannot_leave_it(tmp_path: Path) -> None:
    org = Org(tmp_path, PROVIDED)
    applied(org, people())
    org.write(people(sso=True, role="edit"))
    assert described(org.plan()) == [f"{LINUS}: update role sso"]
    org.requests.clear()
    org.apply()
    assert [one for one in org.requests if one[0] != "GET"] == [("PATCH", MEMBER), ("POST", f"{MEMBER}/sso")]
    assert org.call("GET", MEMBER)["sso"] is True
    settled(org)
    org.write(people(sso=False, role="edit"))
    (blocked,) = org.plan().blocked
    assert blocked.reason == "sso cannot be undone: the service has no request for it"
    org.write(people(role="edit"))
    assert org.plan().steps == ()


NED = "ned.o'hara@acme.example"
ZOE = "zo\u00eb@b\u00fccher.example"
TAG = "#tag!$%&'+=^_`{|}~-@acme.example"
QUOTED = '"<b>,&`$(id)|;{x}[y]:"@acme.example'
EMAILS = [NED, ZOE, TAG, QUOTED]
NEVER = [
    "a/b@acme.example",
    "a*b@acme.example",
    "a?b@acme.example",
    "a b@acme.example",
    "a\tb@acme.example",
    "a\u202eb@acme.example",
]


def person(id: str, email: str) -> dict[str, Any]:
    return {"organization": ORGANIZATION, "id": id, "email": email, "displayName": "X", "role": "read"}


PEOPLE = [person(f"usr_{number}", email) for number, email in enumerate(EMAILS)]


def with_people(*others: dict[str, Any]) -> dict[str, Any]:
    return {**SEED, "members": [*SEED["members"], *PEOPLE, *others]}


@pytest.mark.parametrize("email", EMAILS)
def test_an_email_is_a_key_and_its_address_parses_from_what_it_prints(email: str) -> None:
    address = Address.parse(f"acme/member/{email}")
    assert (is_key(email), address.key, str(address)) == (True, email, f"acme/member/{email}")
    assert Address.parse(f"acme/member/{unicodedata.normalize('NFD', email)}") is address
    for pattern in (str(address), f"acme/member/*{email[1:]}", f"acme/member/{email[:3]}*", "acme/member/*", "**"):
        assert Glob.parse(pattern).matches(address)
    assert not Glob.parse("acme/member/x*").matches(address)
    assert re.fullmatch(KEY_PATTERN, email)
    assert re.fullmatch(SEGMENT_PATTERN, email)
    assert shlex.split(f"reconciler state forget {address:sh}")[-1] == str(address)
    assert yaml.safe_load(f"{{address: {address:yaml}, action: forget}}") == {"address": str(address), "action": "forget"}
    assert not is_id(email)


@pytest.mark.parametrize("email", NEVER)
def test_what_patterns_addresses_and_terminals_use_is_in_no_key(email: str) -> None:
    assert not is_key(email)
    assert re.fullmatch(KEY_PATTERN, email) is None


def test_an_ordinary_address_is_printed_without_quotes() -> None:
    address = Address.parse("acme/member/ada+x@acme.example")
    assert f"{address:sh} {address:yaml} {address}" == " ".join([str(address)] * 3)


@pytest.mark.parametrize("email", EMAILS)
def test_a_member_is_planned_applied_and_referred_to(email: str, tmp_path: Path) -> None:
    org = Org(tmp_path, seed=with_people())
    org.write({"members": {email: "edit"}, "teams": {"writers": {"title": "Writers", "members": [email]}}})
    org.apply()
    assert {member["user"]["email"]: member["role"] for member in org.items(f"/orgs/{ORGANIZATION}/members")}[email] == "edit"
    assert org.plan(targets=(f"acme/member/{email}",)).empty
    assert org.plan().empty
    org.write({"members": {}}, removed=[{"address": f"acme/member/{email}", "action": "forget"}])
    org.apply()
    assert f"acme/member/{email}" not in {str(address) for address in org.store().read().bindings}


@pytest.mark.parametrize("declared", ["NFC", "NFD"])
@pytest.mark.parametrize("shown", ["NFC", "NFD"])
def test_both_unicode_forms_of_an_email_are_the_same_member(declared: str, shown: str, tmp_path: Path) -> None:
    zoe = person("usr_zoe", unicodedata.normalize(shown, ZOE))
    org = Org(tmp_path, seed={**SEED, "members": [*SEED["members"], zoe]})
    email = unicodedata.normalize(declared, ZOE.upper())
    org.write({"members": {email: "edit"}})
    org.apply()
    assert org.id(f"acme/member/{ZOE}") == "usr_zoe"
    assert org.plan().empty
    org.write({"members": {ZOE: "edit", unicodedata.normalize("NFD", ZOE): "edit"}})
    with pytest.raises(ConfigError) as error:
        org.load()
    assert [problem.id for problem in error.value.problems] == ["RC-declared-twice"]


@pytest.mark.parametrize("email", NEVER)
def test_a_key_that_cannot_be_one_is_an_error_at_its_line(email: str, tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write({"members": {email: "edit"}})
    with pytest.raises(ConfigError) as error:
        org.load()
    assert all(problem.line for problem in error.value.problems)


def test_the_schema_of_project_files_accepts_them() -> None:
    keys = [value for value in _patterns(schema(kinds())) if "@" in value and value.endswith("{")]
    assert keys
    for pattern in keys:
        assert all(re.search(pattern, email) for email in (*EMAILS, "ada@acme.example", "writers"))
        assert not any(re.search(pattern, text) for text in (*NEVER, "a b", "\u00e9"))


def _patterns(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["pattern"]] if isinstance(value.get("pattern"), str) else []
        return own + [pattern for part in value.values() for pattern in _patterns(part)]
    return [pattern for part in value for pattern in _patterns(part)] if isinstance(value, list) else []


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    seed(tmp_path / "s.db", with_people(person("usr_slash", "a/b c@acme.example")))
    return cli


def test_import_writes_them_names_what_it_leaves_out_and_exits_with_5(cli: Cli) -> None:
    result = cli("import", "new", "--org", ORGANIZATION, "--sandbox", "s.db", code=5)
    assert "'a/b c@acme.example' (usr_slash): that cannot be a key" in result.stderr
    text = (cli.root / "new" / "reconciler.yaml").read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)["organizations"]["acme"]["members"]) == {"ada@acme.example", "linus@acme.example", *EMAILS}
    assert load(cli.root / "new", kinds()).desired.resources
    plan = cli("plan", "new", "--format", "json", code=0)
    assert json.loads(plan.stdout)["steps"] == []
    cli("fmt", "new", "--check", code=0)


@costly
@pytest.mark.parametrize("form", ["text", "json", "html", "markdown", "github", "sarif", "junit"])
def test_reports_of_them_can_be_printed_and_run_nothing(form: str, cli: Cli) -> None:
    cli("import", "new", "--org", ORGANIZATION, "--sandbox", "s.db")
    file = cli.root / "new" / "reconciler.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(": read\n", ": edit\n"), encoding="utf-8")
    result = cli("plan", "new", "--format", form)
    assert result.exit_code in (0, 2), result.stderr
    if form == "html":
        assert "<b>" not in result.stdout
    if form == "text":
        assert QUOTED in result.stdout
    for email in EMAILS:
        chosen = cli("plan", "new", "--target", f"acme/member/{email}", "--format", "json")
        assert {step["address"] for step in json.loads(chosen.stdout)["steps"]} == {f"acme/member/{email}"}


def test_bash_gets_a_completion_that_it_reads_as_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import CompletionItem

    monkeypatch.setenv("COMP_WORDBREAKS", "")
    shell = Bash.__new__(Bash)
    shell.word = ""
    for email in EMAILS:
        kind, _, word = shell.format_completion(CompletionItem(f"acme/member/{email}")).partition(",")
        assert (kind, shlex.split(word)) == ("plain", [f"acme/member/{email}"])


CLEARED = [
    Case(kind.name, field.name, case.address, None)
    for kind in kinds().values()
    for field in kind.fields.values()
    for case in CASES
    if field.clear and (case.kind, case.field) == (kind.name, field.name)
]


def cleared(tree: dict[str, Any]) -> dict[str, Any]:
    """The organization of `everything` with `null` wherever it is allowed."""
    tree |= {"logo": None, "defaultContent": None}
    tree["sites"]["docs"]["proxy"] = None
    node(tree, "other")["description"] = node(tree, "one")["emoji"] = node(tree, "reference")["icon"] = None
    node(tree, "guides").update(icon=None, description=None, condition=None)
    node(tree, "guides")["spaces"][0]["condition"] = None
    return tree


def test_each_field_that_can_be_cleared_has_a_case() -> None:
    every = {(kind.name, field.name) for kind in kinds().values() for field in kind.fields.values() if field.clear}
    assert {(case.kind, case.field) for case in CLEARED} == every
    assert every >= {("section", "icon"), ("group", "icon"), ("section", "description"), ("collection", "description"), ("space", "emoji")}
