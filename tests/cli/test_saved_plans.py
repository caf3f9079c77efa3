"""`plan --out` and `apply --plan`: only what was approved runs, once, and what does not hold any more is refused by name.

Files that are no saved plans: a clear error at once, whatever is in them.
A saved plan names its commit and who created it; `--require-commit` refuses another commit, and nobody is refused.
With a key, only what was signed with it is applied; without one, nothing is claimed about a signature."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.errors import Refused
from reconciler.kinds import load as load_kinds
from reconciler.run.narration import Narration
from reconciler.run.saved.approval import sent_digest
from reconciler.run.saved.origin import origin, sentence
from reconciler.run.saved.plan_file import KEY, OLD, check, sign
from reconciler.text.masks import Masks
from tests.cli.test_end_to_end import at_a_terminal
from tests.command_line import Cli, applied_project, initialised, prepared
from tests.contains import assert_contains
from tests.documents import valid
from tests.effort import within
from tests.proofs import spread

TITLES = {"title: Writers": "title: Authors", "title: Guides, duplicateOf": "title: Manuals, duplicateOf"}


@pytest.fixture
def docs(cli: Cli) -> Cli:
    """A project on its own sandbox, not applied yet."""
    return initialised(cli)


@pytest.fixture
def changed(docs: Cli) -> Cli:
    """The same, applied, with two titles changed since: of the team, and of the space `guides`; the plan of that is saved."""
    return with_a_saved_plan(docs)


@prepared
def with_a_saved_plan(docs: Cli) -> Cli:
    applied_project(docs)
    for old, new in TITLES.items():
        docs.edit("p/reconciler.yaml", old, new)
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    return docs


def saved(cli: Cli, name: str = "plan.json") -> Any:
    return json.loads((cli.root / name).read_text())


def test_the_digest_of_what_a_plan_sends_moves_with_the_change_and_not_with_what_was_read(changed: Cli) -> None:
    def digest() -> str:
        assert changed("plan", "p", "--out", "again.json").exit_code == 0
        return sent_digest(saved(changed, "again.json"))

    first = digest()
    rename_team(changed, "Somebody else")
    assert digest() == first == sent_digest(saved(changed))
    changed.edit("p/reconciler.yaml", "title: Authors", "title: Scribes")
    assert digest() != first


def tamper(cli: Cli, change: Callable[[Any], None], name: str = "plan.json") -> None:
    document = saved(cli, name)
    change(document)
    (cli.root / name).write_text(json.dumps(document))


def id_of(cli: Cli, address: str) -> str:
    return str(cli.json("state", "show", address, "p")["id"])


def title_of(cli: Cli, path: str) -> str:
    return cli("api", "GET", path, "--project", "p", "--jq", ".title").stdout.strip()


def rename_team(cli: Cli, title: str) -> None:
    team = id_of(cli, "acme/team/writers")
    assert cli("api", "PATCH", f"/orgs/org_acme/teams/{team}", "-f", f"title={title}", "--project", "p").exit_code == 0


def writes(cli: Cli) -> int:
    """The requests that all runs have done."""
    return sum(sum(run["did"].values()) for run in cli.json("history", "p")["runs"])


# -- the file -----------------------------------------------------------------------------------------------------------------------


def test_a_file_says_what_it_was_made_from_and_with_and_fits_its_schema(changed: Cli) -> None:
    words = ("--target", "acme/team/*", "--exclude", "acme/space/*", "--allow-replace", "**", "--allow-delete", "2")
    result = changed("plan", "p", "--out", "two.json", *words)
    assert result.stdout.endswith("Apply it with: reconciler apply p --allow-delete 2 --plan two.json\n")
    document = saved(changed, "two.json")
    valid(valid(document, "saved-plan"), "plan")
    assert document["options"] == {
        "target": ["acme/team/*"], "exclude": ["acme/space/*"], "allowReplace": ["**"], "allowDelete": 2, "allowExposure": [],
            "maxExposed": None,
            "allowDeadUrls": [],
            "allowOpenWork": [],
    }  # fmt: skip
    assert document["service"].startswith("sandbox:")
    assert document["digests"]["lineage"]
    assert document["digests"]["configuration"].startswith("hmac-sha256:")
    assert [one["address"] for one in document["preconditions"]] == [one["address"] for one in document["changes"]]
    assert [one["step"] for one in document["requests"]] == [one["id"] for one in document["steps"]]


def test_a_secret_that_is_spelled_like_a_word_of_ours_spoils_no_file(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "project: p\n", "project: p\nvars: {word: {env: RECONCILER_VAR_WORD}}\n")
    env = {"RECONCILER_VAR_WORD": "acme"}
    assert changed("plan", "p", "--out", "plan.json", env=env).exit_code == 0
    assert "acme/team/writers" in [one["address"] for one in saved(changed)["changes"]]
    assert changed("apply", "p", "--plan", "plan.json", env=env).exit_code == 0


# -- what runs ----------------------------------------------------------------------------------------------------------------------


def test_a_plan_made_before_there_was_a_state_is_carried_out_without_asking(docs: Cli) -> None:
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    assert docs("apply", "p", "--plan", "plan.json", code=0).stdout.endswith("Applied 11 requests. The plan file was applied.\n")
    assert docs("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_plan_that_is_older_than_the_state_is_carried_out_where_it_holds(changed: Cli) -> None:
    assert changed("plan", "p", "--out", "team.json", "--target", "acme/team/*").exit_code == 0
    assert changed("plan", "p", "--out", "space.json", "--target", "acme/space/*").exit_code == 0
    assert changed("apply", "p", "--plan", "team.json").exit_code == 0
    result = changed("apply", "p", "--plan", "space.json")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Applied 1 request. The plan file was applied.")
    assert changed("plan", "p", "--detailed-exitcode").exit_code == 0


def test_what_is_new_since_is_said_and_not_done(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "title: Documentation", "title: Handbook")
    result = changed("apply", "p", "--plan", "plan.json", code=0)
    assert "These changes are not in the saved plan and were not applied:\n  acme/site/docs\n" in result.stderr
    assert result.stdout.endswith("Applied 2 requests. The plan file was applied; newer changes need a new plan.\n")
    assert [one["address"] for one in changed.json("plan", "p")["changes"]] == ["acme/site/docs"]


def test_what_somebody_edited_since_is_refused_by_name_and_nothing_is_done(changed: Cli) -> None:
    rename_team(changed, "Poets")
    before = writes(changed)
    result = changed("apply", "p", "--plan", "plan.json", "--yes", code=6)
    assert "acme/team/writers: the object changed since the plan was saved" in result.stderr
    assert "--partial applies the 1 request that is still valid." in result.stderr
    assert writes(changed) == before


def test_with_partial_the_rest_is_done_and_the_exit_code_says_so(changed: Cli) -> None:
    rename_team(changed, "Poets")
    result = changed("apply", "p", "--plan", "plan.json", "--partial", code=5)
    assert result.stdout.endswith("Applied 1 request. The plan file has been used; create a new plan for the rest.\n")
    assert title_of(changed, f"/spaces/{id_of(changed, 'acme/space/guides')}") == "Manuals"
    assert title_of(changed, f"/orgs/org_acme/teams/{id_of(changed, 'acme/team/writers')}") == "Poets"


def test_the_outcome_as_json_says_what_was_refused_and_what_went_on(changed: Cli) -> None:
    rename_team(changed, "Poets")
    changed.edit("p/reconciler.yaml", "title: Documentation", "title: Handbook")
    left = {
        "refused": [{"address": "acme/team/writers", "reason": "the object changed since the plan was saved"}],
        "new": ["acme/site/docs"],
        "origin": saved(changed)["origin"],
        "sameConfiguration": False,
    }
    words = ("apply", "p", "--plan", "plan.json", "--format", "json", "--report", "json=r.json", "--report", "markdown=r.md")
    result = changed(*words, code=6)
    document = valid(json.loads(result.stdout), "outcome")
    assert (document["steps"], document["savedPlan"]) == ([], left)
    assert saved(changed, "r.json") == document
    told = (changed.root / "r.md").read_text()
    assert "! refused  the saved plan shows it, but the object changed since the plan was saved" in told
    assert "**The saved plan is no longer valid. Nothing was applied, so the plan file can be used again.**" in told

    result = changed(*words, "--partial", code=5)
    document = valid(json.loads(result.stdout), "outcome")
    assert [(one["address"], one["verb"], one["status"]) for one in document["steps"]] == [("acme/space/guides", "update", "done")]
    assert document["savedPlan"] == left
    assert "! refused" in (changed.root / "r.md").read_text()

    result = changed("apply", "p", "--yes", "--format", "json")
    assert valid(json.loads(result.stdout), "outcome")["savedPlan"] is None


@pytest.mark.parametrize(("answer", "code", "title"), [(b"n\n", 6, "Guides"), (b"y\n", 5, "Manuals")])
def test_at_a_terminal_the_rest_is_offered(changed: Cli, answer: bytes, code: int, title: str) -> None:
    rename_team(changed, "Poets")
    exited, shown = at_a_terminal(changed, answer, "apply", "p", "--plan", "plan.json")
    assert exited == code, shown
    assert "acme/team/writers: the object changed since the plan was saved" in shown
    assert "Apply the 1 request that is still valid? [y/N]" in shown
    assert title_of(changed, f"/spaces/{id_of(changed, 'acme/space/guides')}") == title


def test_another_value_in_the_files_is_another_change(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "title: Authors", "title: Poets")
    result = changed("apply", "p", "--plan", "plan.json", "--partial", code=5)
    assert "acme/team/writers: it would now be changed differently" in result.stderr
    assert title_of(changed, f"/orgs/org_acme/teams/{id_of(changed, 'acme/team/writers')}") == "Writers"


def test_what_was_done_by_hand_meanwhile_is_refused_by_name(changed: Cli) -> None:
    rename_team(changed, "Authors")
    assert "acme/team/writers: nothing is left to change there" in changed("apply", "p", "--plan", "plan.json", code=6).stderr


def test_what_needs_something_that_is_refused_is_refused_too(docs: Cli) -> None:
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    docs.edit("p/reconciler.yaml", "title: Product", "title: Products")
    assert_contains(
        docs("apply", "p", "--plan", "plan.json", "--partial", code=5).stderr,
        "  acme/collection/product: it would now be changed differently\n",
        "  acme/space/guides: it waits for acme/collection/product\n",
        "  acme/site/docs/section/api: it waits for acme/",
    )
    bound = {one["address"] for one in docs.json("state", "list", "p")["bindings"]}
    assert "acme/team/writers" in bound
    assert not {"acme/space/guides", "acme/site/docs/section/api", "acme/collection/product"} & bound


def test_an_empty_plan_does_nothing(docs: Cli) -> None:
    assert docs("apply", "p", "--yes").exit_code == 0
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    result = docs("apply", "p", "--plan", "plan.json")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Nothing to apply. The plan file was applied.")


def test_the_document_of_an_empty_plan_claims_no_number_of_objects(docs: Cli) -> None:
    assert docs("apply", "p", "--yes").exit_code == 0
    docs("plan", "p", "--out", "plan.json", code=0)
    shown = docs("show", "plan.json", code=0).stdout
    assert "No changes" in shown
    assert "objects managed" not in shown


def test_a_refused_plan_says_that_it_was_not_saved(docs: Cli) -> None:
    assert docs("apply", "p", "--yes").exit_code == 0
    docs("plan", "p", "--out", "old.json", code=0)
    older = (docs.root / "old.json").read_bytes()
    docs.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    docs.edit(
        "p/reconciler.yaml", "organizations:", "policies: [{id: never, on: [team], assert: '${{ false }}', message: no}]\norganizations:"
    )
    refused = docs("plan", "p", "--out", "new.json", code=4)
    assert "The plan is refused, so it was not saved in new.json." in refused.stderr
    assert not (docs.root / "new.json").exists()
    again = docs("plan", "p", "--out", "old.json", code=4)
    assert "it was not saved in old.json; the file there is of an earlier run" in again.stderr
    assert (docs.root / "old.json").read_bytes() == older


# -- guards and consent -------------------------------------------------------------------------------------------------------------


def opens(cli: Cli) -> None:
    """Make the next plan open the site to everybody."""
    cli.edit("p/reconciler.yaml", "title: Documentation", "title: Documentation\n        visibility: unlisted\n        published: true")
    assert cli("apply", "p", "--yes", "--allow-exposure", "acme/site/docs").exit_code == 0
    cli.edit("p/reconciler.yaml", "visibility: unlisted", "visibility: public")


def test_exposures_that_the_file_shows_were_agreed_to_with_it(changed: Cli) -> None:
    opens(changed)
    assert changed("apply", "p", "--yes").exit_code == 4
    assert changed("plan", "p", "--out", "plan.json").exit_code == 0
    assert [one["address"] for one in saved(changed)["exposures"]] == ["acme/site/docs"]
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 0


def test_exposures_that_somebody_took_out_of_the_file_are_not(changed: Cli) -> None:
    opens(changed)
    assert changed("plan", "p", "--out", "plan.json").exit_code == 0
    tamper(changed, lambda document: document["exposures"].clear())
    assert "acme/site/docs: it would now expose something else" in changed("apply", "p", "--plan", "plan.json", code=6).stderr


def test_the_limit_on_deletes_guards_a_saved_plan_too(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "project: p\n", "project: p\nguards: {maxDelete: {percent: 0, atLeast: 0}}\n")
    changed.edit("p/reconciler.yaml", "      writers: {title: Authors, members: [ada@acme.example]}", "      {}")
    changed("plan", "p", "--out", "none.json", code=4)
    assert not (changed.root / "none.json").exists()
    assert changed("plan", "p", "--out", "plan.json", "--allow-delete", "1").exit_code == 0
    assert "if this is intended: --allow-delete 1" in changed("apply", "p", "--plan", "plan.json", code=4).stderr
    assert changed("apply", "p", "--plan", "plan.json", "--allow-delete", "1").exit_code == 0


# -- once, and here ---------------------------------------------------------------------------------------------------------------


def test_a_file_that_was_applied_completely_has_nothing_to_do_a_second_time(changed: Cli) -> None:
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 0
    run = changed.json("history", "p")["runs"][0]
    assert run["command"] == "apply --plan"
    (changed.root / "copy.json").write_text(json.dumps(saved(changed)))
    changed.edit("p/reconciler.yaml", "title: Manuals", "title: Handbooks")  # what came after it has its own plan
    result = changed("apply", "p", "--plan", "copy.json", "--report", "json=outcome.json")
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing to apply. The plan was applied already, at 20")
    assert result.stdout.endswith(f" by {run['who']}.\n")
    assert json.loads((changed.root / "outcome.json").read_text())["summary"]["requests"] == 0
    assert "Handbooks" in changed("plan", "p").stdout


def test_a_file_of_which_a_part_was_applied_is_refused_and_the_second_use_names_the_first(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "title: Authors", "title: Poets")  # so this part of the file is no longer valid
    assert changed("apply", "p", "--plan", "plan.json", "--partial").exit_code == 5
    run = changed.json("history", "p")["runs"][0]
    assert run["command"] == "apply --plan"
    result = changed("apply", "p", "--plan", "plan.json", "--partial")
    assert result.exit_code == 6
    assert f"plan.json was already used by run {run['id']}" in result.stderr


# -- shown ------------------------------------------------------------------------------------------------------------------------


def test_show_prints_a_saved_plan_as_plan_printed_it_without_the_project(changed: Cli) -> None:
    printed = changed("plan", "p", "--full").stdout
    (changed.root / "empty").mkdir()
    (changed.root / "plan.json").rename(changed.root / "empty" / "mine.json")
    shown = changed("-C", "empty", "show", "mine.json")
    assert shown.exit_code == 0
    assert printed.startswith(shown.stdout.rstrip("\n"))
    assert "The plan was created by" in shown.stderr


def test_show_prints_a_saved_plan_in_every_format_of_plan(changed: Cli) -> None:
    for format in ("markdown", "html", "junit", "github"):
        shown, printed = changed("show", "plan.json", "--format", format), changed("plan", "p", "--format", format)
        assert shown.exit_code == 0
        assert shown.stdout
        assert shown.stdout.splitlines()[0] == printed.stdout.splitlines()[0]
    assert changed.json("show", "plan.json") == saved(changed)
    (changed.root / "printed.json").write_text(changed("plan", "p", "--format", "json").stdout)
    assert changed("show", "printed.json").stdout == changed("show", "plan.json").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", "none.json"), "the plan none.json cannot be read: no such file or directory"),
        (("show", "state.json"), "state.json is not a saved plan: it has no format"),
        (("show", "last", "p", "--format", "html"), "--format html is for a saved plan"),
        (("undo", "plan.json", "p"), "run plan.json does not exist"),
    ],
)
def test_a_file_without_a_plan_is_refused(changed: Cli, words: tuple[str, ...], says: str) -> None:
    changed.write("state.json", "{}")
    result = changed(*words)
    assert result.exit_code == 3
    assert says in result.stderr


def test_a_file_with_which_nothing_was_done_can_be_used_again(changed: Cli) -> None:
    rename_team(changed, "Poets")
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 6
    rename_team(changed, "Writers")
    db, rule = ("--db", "p/.reconciler/sandbox.db"), '{"fault": "forbidden", "operation": "PATCH *"}'
    assert changed("sandbox", "faults", "set", *db, "--rule", rule).exit_code == 0
    assert "Nothing was done, so the plan file can be used again." in changed("apply", "p", "--plan", "plan.json", code=1).stdout
    assert changed("sandbox", "faults", "clear", *db).exit_code == 0
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 0


def test_a_saved_plan_with_a_mistyped_sandbox_creates_none(changed: Cli) -> None:
    result = changed("apply", "p", "--plan", "plan.json", "--sandbox", "sanbdox.db")
    assert (result.exit_code, "there is no sandbox sanbdox.db" in result.stderr) == (3, True), result.stderr
    assert not list(changed.root.glob("**/sanbdox.db"))


def test_a_file_of_something_else_is_refused(changed: Cli, tmp_path: Path) -> None:
    assert changed("plan", "p", "--sandbox", "other.db").exit_code == 0
    for option, says in (
        (("--sandbox", "other.db"), "was created for the service"),
        (("--state", "sqlite:///other-state.db"), "was created from a different state"),
    ):
        result = changed("apply", "p", "--plan", "plan.json", *option)
        assert (result.exit_code, says in result.stderr) == (6, True), result.stderr
    changed.edit("p/reconciler.yaml", "project: p\n", "project: q\n")
    result = changed("apply", "p", "--plan", "plan.json", code=6)
    assert "was created for the project 'p', and this is 'q'" in result.stderr


@pytest.mark.parametrize("words", [("--target", "acme"), ("--exclude", "acme"), ("--allow-replace", "acme")])
def test_what_a_saved_plan_is_about_is_not_said_twice(changed: Cli, words: tuple[str, ...]) -> None:
    assert changed("apply", "p", "--plan", "plan.json", *words).exit_code == 3
    assert changed("apply", "p", "--partial", "--yes").exit_code == 3


# -- tampered files ------------------------------------------------------------------------------------------------------


def test_a_request_that_cannot_be_derived_again_is_refused_by_name(changed: Cli) -> None:
    def forge(document: Any) -> None:
        document["steps"].append({**document["steps"][0], "id": 9, "address": "acme/space/blank", "method": "DELETE", "verb": "delete"})
        document["requests"].append({"step": 9, "digest": document["requests"][0]["digest"]})

    tamper(changed, forge)
    assert "acme/space/blank: nothing is left to change there" in changed("apply", "p", "--plan", "plan.json", code=6).stderr
    assert changed("apply", "p", "--plan", "plan.json", "--partial").exit_code == 5
    assert title_of(changed, "/spaces/spc_blank") == "Blank"


@pytest.fixture
def docs_project(cli: Cli) -> Cli:
    """A project on its own sandbox."""
    return initialised(cli)


def _one_twice() -> bytes:
    return b"{" + b",".join(b'"%d":1' % (number % 399_999) for number in range(400_000)) + b"}"


BROKEN: dict[str, bytes | Callable[[], bytes]] = {
    "empty": b"",
    "not JSON": b"hello",
    "cut": b'{"format": "reconciler.plan/1", "steps": [',
    "not UTF-8": b'{"format": "\xff"}',
    "UTF-16": '{"format": "reconciler.plan/1"}'.encode("utf-16"),
    "a list": b"[]",
    "a number": b"7",
    "no format": b"{}",
    "a format of another type": b'{"format": ["reconciler.plan/1"]}',
    "an unknown format": b'{"format": "reconciler.plan/2"}',
    "an outcome": b'{"format": "reconciler.outcome/1"}',
    "a plan not saved": b'{"format": "reconciler.plan/1"}',
    "wrong types": b'{"format": "reconciler.plan/1", "requests": 1, "preconditions": {}}',
    "deep lists": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 500_000,
    "NaN": b'{"format": NaN}',
    "Infinity": b'{"format": -Infinity}',
    "a large number": b'{"format": 1e999}',
    "a long number": b'{"format": ' + b"9" * 100_000 + b"}",
    "duplicate keys": b'{"format": "reconciler.plan/1", "format": "reconciler.plan/1"}',
    "many keys, one twice": _one_twice,
    "many lists": lambda: b"[" + b",".join([b"[]"] * 3_000_000) + b"]",
    "incomplete character": b'{"format": "\\ud800"}',
    "escapes": b'{"format": "\\u001b[2J\\u202e"}',
}


@pytest.mark.parametrize("name", spread(list(BROKEN), 10))
def test_a_broken_file_is_a_clear_error_at_once(docs_project: Cli, name: str) -> None:
    broken = BROKEN[name]
    (docs_project.root / "plan.json").write_bytes(broken if isinstance(broken, bytes) else broken())
    result = within(2, lambda: docs_project("apply", "p", "--plan", "plan.json", code=3))
    assert result.stderr.startswith("error: plan.json ")
    assert "\x1b" not in result.stderr
    assert len(result.stderr) < 500


def test_a_file_of_100_mb_is_not_read(docs_project: Cli) -> None:
    with (docs_project.root / "plan.json").open("wb") as file:
        file.truncate(100_000_000)
    result = within(2, lambda: docs_project("apply", "p", "--plan", "plan.json"))
    assert (result.exit_code, "more than 20,971,520 bytes" in result.stderr) == (3, True)


def test_a_path_that_is_not_a_file_is_a_clear_error(docs_project: Cli) -> None:
    os.mkfifo(docs_project.root / "pipe")
    for name in ("pipe", "p", "nowhere.json", "/dev/zero"):
        assert name in docs_project("apply", "p", "--plan", name, code=3).stderr


HEAD, OTHER = "a" * 40, "b" * 40
NO_CI = dict.fromkeys(("GITHUB_ACTIONS", "GITLAB_CI", "BITBUCKET_BUILD_NUMBER"))


def git(folder: Path, *words: str) -> str:
    identity = {f"GIT_{role}_{part}": "ada@acme.example" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=environment).stdout.strip()


@pytest.fixture
def cloned(cli: Cli) -> Cli:
    """An applied project in a git repository, on the branch `main`, as somebody's computer has it."""
    cli.env |= NO_CI
    return in_a_repository(cli)


@prepared
def in_a_repository(cli: Cli) -> Cli:
    applied_project(cli)
    cli.write(".gitignore", ".reconciler/\n*.json\nhome/\n")
    git(cli.root, "init", "-q", "-b", "main")
    commit(cli, "The project")
    return cli


def commit(cli: Cli, message: str) -> str:
    git(cli.root, "add", "-A")
    git(cli.root, "commit", "-q", "-m", message)
    return git(cli.root, "rev-parse", "HEAD")


def test_a_pull_request_that_was_planned_is_applied_after_a_squash_and_after_another_pull_request(cloned: Cli) -> None:
    git(cloned.root, "checkout", "-q", "-b", "first")
    cloned.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    head = commit(cloned, "Authors")
    assert cloned("plan", "p", "--out", "first.json").exit_code == 0
    git(cloned.root, "checkout", "-q", "-b", "second", "main")
    cloned.edit("p/reconciler.yaml", "title: Guides, duplicateOf", "title: Manuals, duplicateOf")
    second = commit(cloned, "Manuals")
    assert cloned("plan", "p", "--out", "second.json").exit_code == 0

    git(cloned.root, "checkout", "-q", "main")
    git(cloned.root, "merge", "-q", "--squash", "first")
    assert commit(cloned, "Authors (#1)") != head
    result = cloned("apply", "p", "--plan", "first.json", "--require-commit", head, code=0)
    assert "The evaluated configuration is the one that the plan was created from." in result.stderr
    assert result.stdout.endswith("Applied 1 request. The plan file was applied.\n")

    git(cloned.root, "merge", "-q", "--no-ff", "-m", "Merge the second", "second")
    result = cloned("apply", "p", "--plan", "second.json", "--require-commit", second, "--format", "json", code=0)
    assert "The evaluated configuration changed since the plan was created; only addresses whose plan is the same" in result.stderr
    told = json.loads(result.stdout)["savedPlan"]
    assert (told["sameConfiguration"], told["origin"]["commit"], told["refused"], told["new"]) == (False, second, [], [])
    assert cloned("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_plan_of_another_commit_or_of_no_commit_is_refused_where_a_commit_is_required(cloned: Cli) -> None:
    head = git(cloned.root, "rev-parse", "HEAD")
    cloned("plan", "p", "--out", "plan.json")
    for required, says in ((OTHER[:7], f"was created from commit {head}, and --require-commit asks for {OTHER[:7]}"), (head[:12], "")):
        result = cloned("apply", "p", "--plan", "plan.json", "--require-commit", required.upper())
        assert (result.exit_code, says in result.stderr) == (6 if says else 0, True), result.stderr

    old = saved(cloned)
    del old["origin"]
    cloned.write("old.json", json.dumps(old))
    result = cloned("apply", "p", "--plan", "old.json", "--require-commit", head)
    assert (result.exit_code, "does not say from which commit it was created" in result.stderr) == (6, True)
    assert cloned("apply", "p", "--plan", "old.json").exit_code == 0


def test_files_that_are_not_in_the_commit_are_shown_and_are_no_reason_to_refuse(cloned: Cli) -> None:
    """A pipeline may generate files before it plans; whatever the plan says is compared with the files of the apply."""

    def modified() -> bool:
        cloned("plan", "p", "--out", "plan.json", code=0)
        return bool(saved(cloned)["origin"]["modified"])

    cloned.write("p/notes.txt", "nobody reads this\n")
    assert not modified()
    cloned.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert modified()
    cloned.edit("p/reconciler.yaml", "project: p\n", "project: p\ninclude: [more.yaml]\n")
    git(cloned.root, "commit", "-q", "-a", "-m", "Include a file that is generated")
    cloned.write("p/more.yaml", "organizations: {}\n")
    assert modified()
    head = git(cloned.root, "rev-parse", "HEAD")
    result = cloned("apply", "p", "--plan", "plan.json", "--require-commit", head)
    assert (result.exit_code, f"from commit {head[:9]} with uncommitted changes." in result.stderr) == (0, True), result.stderr


@pytest.mark.parametrize("words", [("--plan", "plan.json", "--require-commit", ""), ("--plan", "plan.json", "--require-commit", "abc12"),
                                   ("--yes", "--require-commit", HEAD)])  # fmt: skip
def test_a_required_commit_that_does_not_exist_is_a_usage_error(cli: Cli, words: tuple[str, ...]) -> None:
    assert initialised(cli)("apply", "p", *words).exit_code == 3


def test_outside_a_repository_the_commit_comes_from_the_command_line(cli: Cli) -> None:
    initialised(cli).env |= {**NO_CI, "GIT_CEILING_DIRECTORIES": str(cli.root)}
    assert cli("plan", "p", "--commit", HEAD).exit_code == 3  # only a saved plan records it
    assert cli("plan", "p", "--out", "plan.json", "--commit", HEAD[:39]).exit_code == 3
    assert cli("plan", "p", "--out", "plan.json").exit_code == 0
    assert {**saved(cli)["origin"], "actor": ""} == {"commit": None, "modified": None, "actor": "", "run": None}
    assert cli("plan", "p", "--out", "plan.json", "--commit", HEAD.upper()).exit_code == 0
    assert saved(cli)["origin"]["commit"] == HEAD
    assert cli("apply", "p", "--plan", "plan.json", "--require-commit", HEAD).exit_code == 0


HOSTILE = "ada\x1b[2J\n::error::\u202ehello"


def test_a_name_from_outside_is_shown_escaped_and_is_no_reason_to_refuse(cloned: Cli) -> None:
    cloned("plan", "p", "--out", "plan.json", env={"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": HOSTILE, "GITHUB_SHA": HEAD})
    text = (cloned.root / "plan.json").read_text()
    assert saved(cloned)["origin"]["actor"] == HOSTILE
    assert not {"\x1b", "\u202e"} & set(text)
    result = cloned("apply", "p", "--plan", "plan.json", code=0)
    assert "The plan was created by ada" in result.stderr
    assert not {"\x1b", "\u202e"} & set(result.stderr)
    assert not any(line.startswith("::") for line in result.stderr.splitlines())


# -- what a CI system says ------------------------------------------------------------------------------------------------------------

GITHUB = {
    "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_ACTOR": "ada", "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "acme/docs", "GITHUB_RUN_ID": "7", "GITHUB_EVENT_PATH": "event.json",
}  # fmt: skip
GITHUB_RUN = "https://github.com/acme/docs/actions/runs/7"
GITLAB = {"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "ada", "CI_JOB_URL": "https://gitlab.com/acme/docs/-/jobs/7"}
BITBUCKET = {
    "BITBUCKET_BUILD_NUMBER": "7", "BITBUCKET_REPO_FULL_NAME": "acme/docs", "BITBUCKET_STEP_TRIGGERER_UUID": "{ada}",
}  # fmt: skip
BITBUCKET_RUN = "https://bitbucket.org/acme/docs/pipelines/results/7"


@pytest.mark.parametrize(
    ("variables", "commit", "actor", "run"),
    [
        ({**GITHUB, "GITHUB_SHA": "HERE"}, HEAD, "ada", GITHUB_RUN),  # git has the merge, and the pull request is what was planned
        ({**GITHUB, "GITHUB_SHA": OTHER}, "HERE", "ada", GITHUB_RUN),  # the job checked out something else
        ({**GITHUB, "GITHUB_SHA": "HERE", "GITHUB_EVENT_NAME": "pull_request_target"}, "HERE", "ada", GITHUB_RUN),
        ({**GITHUB, "GITHUB_SHA": "HERE", "GITHUB_EVENT_PATH": "nowhere"}, "HERE", "ada", GITHUB_RUN),
        ({**GITHUB, "GITHUB_SHA": "HERE", "GITHUB_SERVER_URL": "javascript:x"}, HEAD, "ada", None),
        ({**GITLAB, "CI_COMMIT_SHA": "HERE", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": HEAD}, HEAD, "ada", GITLAB["CI_JOB_URL"]),
        ({**GITLAB, "CI_COMMIT_SHA": "HERE", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": ""}, "HERE", "ada", GITLAB["CI_JOB_URL"]),
        ({**BITBUCKET, "BITBUCKET_COMMIT": "HERE"}, "HERE", "{ada}", BITBUCKET_RUN),
        ({"BITBUCKET_BUILD_NUMBER": "7"}, "HERE", None, None),
        ({}, "HERE", "ada@desk", None),
    ],
)
def test_the_variables_of_a_ci_system_name_commit_actor_and_run(
    cloned: Cli, variables: dict[str, str], commit: str, actor: str | None, run: str | None
) -> None:
    here = git(cloned.root, "rev-parse", "HEAD")
    (cloned.root / "event.json").write_text(json.dumps({"pull_request": {"head": {"sha": HEAD}}}))
    environ = {name: here if value == "HERE" else value for name, value in variables.items()}
    if environ.get("GITHUB_EVENT_PATH"):
        environ["GITHUB_EVENT_PATH"] = str(cloned.root / environ["GITHUB_EVENT_PATH"])
    found = origin(load(cloned.root / "p", load_kinds()), "ada@desk", environ=environ)
    assert found == {"commit": here if commit == "HERE" else commit, "modified": False, "actor": actor, "run": run}
    assert (run or "") in sentence(found)


NEW_KEY, OLD_KEY = "n" * 32, "o" * 64
SIGNED = {KEY: NEW_KEY}


@pytest.fixture
def signed(cli: Cli) -> Cli:
    """An applied project, of which a change was planned and signed."""
    return with_a_signed_plan(cli)


@prepared
def with_a_signed_plan(cli: Cli) -> Cli:
    applied_project(cli).edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    result = cli("plan", "p", "--out", "plan.json", env=SIGNED)
    assert (result.exit_code, "Saved the signed plan to plan.json." in result.stderr) == (0, True)
    assert NEW_KEY not in result.stdout + result.stderr + (cli.root / "plan.json").read_text()
    return cli


def applied(cli: Cli, code: int, says: str, **env: str) -> None:
    result = cli("apply", "p", "--plan", "plan.json", env=env)
    assert (result.exit_code, says in " ".join(result.stderr.split())) == (code, True), result.stderr
    assert not any(key in result.stderr + result.stdout for key in env.values() if key.strip())


def test_a_signed_plan_is_applied_with_its_key(signed: Cli) -> None:
    applied(signed, 0, "", **{KEY: f"{NEW_KEY}\n"})  # as a file of a secret ends


def test_after_a_rotation_the_old_key_is_accepted_where_it_is_named(signed: Cli) -> None:
    wrong = "the signature of plan.json is wrong: it was signed with another key, or changed afterwards [RC-plan-signature]"
    wrong += " If the key was replaced, set"
    applied(signed, 4, f"{wrong} {OLD}", **{KEY: OLD_KEY, OLD: ""})
    applied(signed, 3, f"{OLD} is set without {KEY}", **{OLD: NEW_KEY})
    applied(signed, 0, "", **{KEY: OLD_KEY, OLD: NEW_KEY})


def test_without_a_key_a_signature_is_not_checked_and_that_is_said(signed: Cli) -> None:
    applied(signed, 0, f"The signature of plan.json was not checked, because {KEY} is not set.")


def test_a_plan_that_nobody_signed_is_refused_where_a_key_is_set(signed: Cli) -> None:
    assert signed("plan", "p", "--out", "plan.json").exit_code == 0
    applied(signed, 4, f"plan.json is not signed, and {KEY} is set", **SIGNED)
    applied(signed, 0, "")


@pytest.mark.parametrize(
    ("key", "says"), [("", "is set and empty"), ("\n", "is set and empty"), ("n" * 31, "has 31 bytes, and at least 32")]
)
def test_a_key_that_is_missing_or_too_short_is_an_error_and_never_no_key(signed: Cli, key: str, says: str) -> None:
    applied(signed, 3, f"{KEY} {says}", **{KEY: key})
    assert signed("plan", "p", "--out", "other.json", env={KEY: key}).exit_code == 3
    assert not (signed.root / "other.json").exists()
    assert signed("plan", "p", env={KEY: key}).exit_code == 0  # which saves nothing


def test_whatever_is_edited_in_a_signed_plan_is_refused_and_layout_is_not_edited(signed: Cli) -> None:
    path, voice = signed.root / "plan.json", Narration(Masks())
    document = json.loads(path.read_text())
    again = dict(reversed(document.items()))
    check(voice, path, json.loads(json.dumps(again, indent=7)), SIGNED)
    number = 0
    for edited in edits(document):
        number += 1
        with pytest.raises(Refused):
            check(voice, path, edited, SIGNED)
    assert number > 150
    assert sign(document, NEW_KEY.encode()) == document["signature"] != sign(document, OLD_KEY.encode())


def edits(value: Any) -> Iterator[Any]:
    """The document with one edit: each value changed or removed, each key renamed, each list longer or in another order."""
    if isinstance(value, dict):
        for name, inner in value.items():
            rest = {key: part for key, part in value.items() if key != name}
            yield rest
            yield {**rest, f"{name}x": inner}
            yield from ({**value, name: edited} for edited in edits(inner))
        yield {**value, "more": None}
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield value[:index] + value[index + 1 :]
            yield from ([*value[:index], edited, *value[index + 1 :]] for edited in edits(inner))
        yield [*value, None]
        if value != value[::-1]:
            yield value[::-1]
    else:
        yield {"": value}
        yield str(value) + " " if isinstance(value, str) else str(value)
