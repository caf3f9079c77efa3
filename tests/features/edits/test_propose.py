"""`propose`: all files of the working copy or none, nothing else, and back again."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import Refused
from reconciler.links import LinkRefused
from reconciler.run.replaced_files import LOCK, RECORD, only_change, replace_files, settle, taken_back
from tests import processes
from tests.command_line import Cli
from tests.features.edits.proposing import HEAD
from tests.proofs import costly, tries

FILES = {
    "reconciler.yaml": f"{HEAD}include: ['parts/*.yaml']\norganizations:\n  acme:\n    id: org_acme\n    teams: {{a: {{title: Team A}}}}\n",
    "parts/sites.yaml": "sites:\n  docs:\n    title: Docs  # the first\n",
    "parts/notes.txt": "not a part of it\n",
}
TITLE = [{"op": "set", "address": "acme/site/docs", "fields": {"title": "Documents"}}]
BOTH = [*TITLE, {"op": "set", "address": "acme/team/a", "fields": {"title": "Team B"}}]


def write(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, str]:
    """Every file below a folder but those that belong to no project."""
    names = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        name: path.read_text(encoding="utf-8", errors="replace") for name, path in names.items() if not name.startswith((".rec", "home/"))
    }


@pytest.fixture
def project(cli: Cli) -> Path:
    return write(cli.root)


def propose(cli: Cli, data: Any, *options: str, code: int = 0) -> str:
    result = cli("propose", "-", *options, input=json.dumps(data), code=code)
    return result.stdout + result.stderr


def test_a_proposal_shows_its_lines_and_what_they_lead_to(cli: Cli, project: Path) -> None:
    said = propose(cli, BOTH)
    assert "-    title: Docs  # the first\n+    title: Documents  # the first\n" in said
    assert "~ title       Docs -> Documents" in said
    assert "Plan: 2 to update. 2 requests." in said
    assert "Changed reconciler.yaml, parts/sites.yaml." in said
    assert contents(project) == {
        **FILES,
        "reconciler.yaml": FILES["reconciler.yaml"].replace("Team A", "Team B"),
        "parts/sites.yaml": FILES["parts/sites.yaml"].replace("Docs", "Documents"),
    }


def test_a_check_writes_nothing_at_all(cli: Cli, project: Path) -> None:
    assert "1 file would change: parts/sites.yaml." in propose(cli, TITLE, "--check")
    assert contents(project) == FILES
    assert not (project / ".reconciler").exists()


def test_the_last_proposal_can_be_undone_once(cli: Cli, project: Path) -> None:
    propose(cli, TITLE)
    propose(cli, BOTH)
    first = {**FILES, "parts/sites.yaml": FILES["parts/sites.yaml"].replace("Docs", "Documents")}
    assert "Restored reconciler.yaml." in cli("propose", "--undo", code=0).stderr
    assert contents(project) == first
    assert "[RC-nothing-proposed]" in cli("propose", "--undo", code=4).stderr


def test_what_was_edited_since_is_not_undone(cli: Cli, project: Path) -> None:
    propose(cli, BOTH)
    cli.edit("parts/sites.yaml", "Documents", "By hand")
    edited = contents(project)
    assert "parts/sites.yaml was changed after a proposal was written [RC-files-changed]" in cli("propose", "--undo", code=4).stderr
    assert contents(project) == edited


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ([*BOTH, {"op": "set", "address": "acme/site/docs", "fields": {"visibility": "nope"}}], 3),
        ([*BOTH, {"op": "remove", "address": "acme/site/other"}], 4),
        ([*BOTH, {"op": "set", "address": "acme", "fields": {"guards": {}}}], 3),
        ([*BOTH, {"op": "set", "address": "acme/site/docs", "fields": {"title": "${{ secrets.x }}"}}], 4),
        ("no operations", 3),
    ],
)
def test_what_is_refused_leaves_every_byte(cli: Cli, project: Path, data: Any, code: int) -> None:
    propose(cli, data, code=code)
    assert contents(project) == FILES


def test_problems_of_the_result_say_that_nothing_was_written(cli: Cli, project: Path) -> None:
    said = propose(cli, [{"op": "set", "address": "acme/site/docs", "fields": {"visibility": "nope"}}], code=3)
    assert 'parts/sites.yaml:4:17  acme/site/docs: visibility is "nope"' in said
    assert "1 problem in the project after these operations; nothing was written" in said


def test_what_is_not_json_and_a_folder_without_a_project_are_refused(cli: Cli, project: Path) -> None:
    assert "[RC-not-json]" in cli("propose", "-", input="[{", code=3).stderr
    assert "[RC-missing-argument]" in cli("propose", code=3).stderr
    assert "[RC-options-conflict]" in cli("propose", "-", "--undo", input="[]", code=3).stderr
    (cli.root / "empty").mkdir()
    assert "[RC-no-project]" in cli("propose", "-", "--project", "empty", input=json.dumps(TITLE), code=3).stderr
    assert not list((cli.root / "empty").iterdir())


def test_every_environment_must_stay_valid(cli: Cli, project: Path) -> None:
    write(cli.root, {
        "environments/one.yaml": "patch: [{match: acme/site/docs, set: {title: One}}]\n",
        "environments/two.yaml": "patch: [{match: acme/team/a, remove: true}]\n",
    })  # fmt: skip
    said = propose(cli, TITLE)
    assert "acme/site/docs.title has another value in one, at environments/one.yaml:1:39: only people change that." in said
    assert "This is the plan of the environment one. The files are valid in two too." in said
    # The patch of one environment would match nothing.
    before = contents(project)
    propose(cli, [{"op": "remove", "address": "acme/team/a"}], "--env", "one", code=3)
    assert contents(project) == before


def test_a_policy_of_the_project_is_not_newly_violated(cli: Cli, project: Path) -> None:
    rule = "policies: [{id: named, on: [team], assert: '${{ after.title.startswith(\"Team\") }}', message: teams are called Team}]\n"
    cli.edit("reconciler.yaml", "organizations:", f"{rule}organizations:")
    said = propose(cli, [{"op": "set", "address": "acme/team/a", "fields": {"title": "Writers"}}], code=4)
    assert "acme/team/a: policy named: teams are called Team (reconciler.yaml:5) [RC-policy-violated]" in said
    propose(cli, BOTH)


def test_what_changes_nothing_is_the_last_proposal_and_an_undo_takes_nothing_back(cli: Cli, project: Path) -> None:
    propose(cli, TITLE)
    changed = contents(project)
    propose(cli, TITLE)
    cli("propose", "--undo")
    assert contents(project) == changed


@pytest.mark.parametrize("when", ["create", "update", "delete"])
def test_a_policy_about_a_plan_is_judged_too(cli: Cli, project: Path, when: str) -> None:
    rule = f"policies: [{{id: never, on: [team], when: {when}, assert: '${{{{ false }}}}', message: nobody {when}s a team}}]\n"
    cli.edit("reconciler.yaml", "organizations:", f"{rule}organizations:")
    steps = {
        "create": {"op": "add", "address": "acme/team/b", "fields": {"title": "Team B"}},
        "update": {"op": "set", "address": "acme/team/a", "fields": {"title": "Writers"}},
        "delete": {"op": "remove", "address": "acme/team/a"},
    }
    before = contents(project)
    assert f"nobody {when}s a team" in propose(cli, [steps[when]], code=4)
    assert contents(project) == before
    propose(cli, TITLE)


def test_what_is_added_into_the_pattern_of_an_exception_is_refused(cli: Cli, project: Path) -> None:
    rule = (
        "policies: [{id: named, on: [team], assert: '${{ after.title.startswith(\"Team\") }}', message: teams are called Team}]\n"
        "exceptions: [{policy: named, address: 'acme/team/a*', until: 2099-01-31, reason: old ones}]\n"
    )
    cli.edit("reconciler.yaml", "organizations:", f"{rule}organizations:")
    before = contents(project)
    said = propose(cli, [{"op": "add", "address": "acme/team/ab", "fields": {"title": "Writers"}}], code=4)
    assert "acme/team/ab would be covered by the exception at reconciler.yaml:" in said
    assert contents(project) == before
    propose(cli, [{"op": "add", "address": "acme/team/y1", "fields": {"title": "Team Y"}}])


@pytest.mark.parametrize("field", ["members", "emoji"])
def test_a_field_that_is_taken_out_of_a_map_over_lines_leaves_the_comments_of_the_others(cli: Cli, field: str) -> None:
    text = (
        "      - {space: one, title: One,   # of the title\n         emoji: '1f4d8',   # of the emoji\n"
        "         duplicateOf: blank}   # of the origin\n"
    )
    teams = "    teams:\n      a: {title: Team A,   # of the team\n          members: []}   # of the members\n"
    blank = "    content:\n      - {space: blank, id: spc_blank, title: Blank, template: true}\n"
    write(cli.root, {"reconciler.yaml": f"{HEAD}organizations:\n  acme:\n    id: org_acme\n{teams}{blank}{text}"})
    address = "acme/team/a" if field == "members" else "acme/space/one"
    propose(cli, [{"op": "set", "address": address, "unset": [field]}])
    left = (cli.root / "reconciler.yaml").read_text()
    assert f"{field}:" not in left
    assert "# of the team" in left
    assert "# of the title" in left
    assert "# of the origin" in left


# -- files --------------------------------------------------------------------------------------------------------------------------------


def test_a_link_is_not_followed_out_of_the_project(cli: Cli, tmp_path_factory: pytest.TempPathFactory, project: Path) -> None:
    outside = tmp_path_factory.mktemp("outside")
    target = outside / "sites.yaml"
    (project / "parts/sites.yaml").rename(target)
    (project / "parts/sites.yaml").symlink_to(target)
    propose(cli, TITLE, code=3)
    assert target.read_text() == FILES["parts/sites.yaml"]
    assert [path.name for path in outside.iterdir()] == ["sites.yaml"]


def test_a_folder_of_records_that_is_a_link_is_refused(cli: Cli, tmp_path_factory: pytest.TempPathFactory, project: Path) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (project / ".git").mkdir()
    (project / ".reconciler").symlink_to(outside)
    assert "RC-link-not-written" in propose(cli, TITLE, code=3)
    assert not list(outside.iterdir())
    assert contents(project) == FILES


def test_a_link_inside_the_project_stays_a_link(cli: Cli, project: Path) -> None:
    (project / "parts/sites.yaml").rename(project / "elsewhere.yaml")
    (project / "parts/sites.yaml").symlink_to("../elsewhere.yaml")
    propose(cli, TITLE)
    assert (project / "parts/sites.yaml").is_symlink()
    assert (project / "elsewhere.yaml").read_text() == FILES["parts/sites.yaml"].replace("Docs", "Documents")


def test_permissions_stay(cli: Cli, project: Path) -> None:
    (project / "parts/sites.yaml").chmod(0o640)
    propose(cli, TITLE)
    assert (project / "parts/sites.yaml").stat().st_mode & 0o777 == 0o640


def test_a_file_that_somebody_edits_meanwhile_is_not_written(project: Path) -> None:
    before = {name: FILES[name] for name in ("reconciler.yaml", "parts/sites.yaml")}
    (project / "parts/sites.yaml").write_text("mine\n")
    with only_change(project), pytest.raises(Refused, match="was changed meanwhile"):
        replace_files(project, before, {name: f"{text}# more\n" for name, text in before.items()})
    assert contents(project) == {**FILES, "parts/sites.yaml": "mine\n"}


def test_a_file_that_cannot_be_written_leaves_all_as_they_were(tmp_path_factory: pytest.TempPathFactory, project: Path) -> None:
    outside = tmp_path_factory.mktemp("outside") / "x.yaml"
    outside.write_text("b\n")
    (project / "x.yaml").symlink_to(outside)
    (project / ".git").mkdir()
    before = {"reconciler.yaml": FILES["reconciler.yaml"], "x.yaml": "b\n"}
    with only_change(project):
        with pytest.raises(LinkRefused):
            replace_files(project, before, {name: f"{text}# more\n" for name, text in before.items()})
        assert settle(project) == []
    assert contents(project) == {**FILES, "x.yaml": "b\n"}
    assert not (project / RECORD).exists()


HOSTILE_RECORDS = [
    "{}", "[]", "not JSON", '{"complete": false}', '{"complete": false, "files": []}', '{"complete": false, "files": {"a.yaml": 1}}',
    *(
        json.dumps({"complete": complete, "files": {name: {"before": "evil", "after": "x"}}})
        for name in ("../x.yaml", "/tmp/x.yaml", ".git/config", ".github/x.yaml", "a/../../x.yaml", "notes.txt", "x.yaml\u0000", "")
        for complete in (True, False)
    ),
]  # fmt: skip


@pytest.mark.parametrize("record", HOSTILE_RECORDS)
def test_a_record_that_a_checkout_contains_leads_nowhere(cli: Cli, project: Path, record: str) -> None:
    write(project, {RECORD: record, "x.yaml": "x"})
    before = contents(project)
    cli("propose", "--undo", code=4)
    propose(cli, TITLE, code=4)
    assert contents(project) == before


@pytest.mark.parametrize("name", ["reconciler.yaml", "azure-pipelines.yml", "docker-compose.yaml"])
@pytest.mark.parametrize("complete", [True, False])
def test_a_record_of_another_folder_writes_no_text_that_somebody_chose(cli: Cli, project: Path, name: str, complete: bool) -> None:
    """A checkout may contain the record, and the lock: `before` would be written, whatever it is, over a file that has the text `after`."""
    propose(cli, TITLE)
    known = json.loads((project / RECORD).read_text())
    now = contents(project).get(name, "steps: []\n")
    weaker = f"{now}guards: {{minAdmins: 0}}\n"
    record = json.dumps({**known, "complete": complete, "files": {name: {"before": weaker, "after": now}}})
    other = write(cli.root / "other", {**FILES, name: now, RECORD: record, LOCK: ""})
    before = contents(other)
    assert "it was made in another folder" in cli("propose", "--undo", "--project", "other", code=4).stderr
    assert "it was made in another folder" in propose(cli, TITLE, "--project", "other", code=4)
    assert contents(other) == before


# -- kills --------------------------------------------------------------------------------------------------------------------------------

MANY = 30
PROGRAM = "from reconciler.assembled import main; main(prog_name='reconciler')"


def many(folder: Path) -> list[dict[str, Any]]:
    """A project of many files, and operations that change each of them."""
    parts = {f"parts/{number:02}.yaml": f"teams:\n  t{number}:\n    title: Team {number}\n" for number in range(MANY)}
    write(folder, {"reconciler.yaml": FILES["reconciler.yaml"], **parts})
    return [{"op": "set", "address": f"acme/team/t{number}", "fields": {"title": f"Changed {number}"}} for number in range(MANY)]


@costly
def test_a_kill_between_two_files_leaves_the_old_files_or_the_new_ones(cli: Cli) -> None:
    """The process is killed when it has changed so many files; the next command finds a set of the old ones, and starts from there."""
    partly = 0
    for attempt in range(tries(200, 3)):
        root = cli.root / f"p{attempt}"
        operations = many(root)
        old = contents(root)
        (cli.root / "operations.json").write_text(json.dumps(operations))
        command = [sys.executable, "-c", PROGRAM, "propose", cli.root / "operations.json", "--project", root]
        watched = root / f"parts/{attempt * 7 % MANY:02}.yaml"
        first = watched.stat().st_ino
        with processes.Popen(command, cwd=cli.root, env={**os.environ, **cli.user}, stdout=-3, stderr=-3) as process:
            while watched.stat().st_ino == first and process.poll() is None:
                time.sleep(0)
            process.send_signal(signal.SIGKILL)
            process.wait()
        new = {name: text.replace("title: Team ", "title: Changed ") if name.startswith("parts/") else text for name, text in old.items()}
        now = {name: text for name, text in contents(root).items() if not Path(name).name.startswith(".")}
        assert all(text in (old[name], new[name]) for name, text in now.items())  # each file is whole
        partly += now not in (old, new)
        complete = (root / RECORD).exists() and json.loads((root / RECORD).read_text())["complete"]
        with only_change(root):
            settle(root)
        settled = {name: text for name, text in contents(root).items() if not Path(name).name.startswith(".")}
        assert settled == (new if complete else old)
        if not complete:
            # The next proposal works, and its undo too.
            cli("propose", cli.root / "operations.json", "--project", root, code=0)
            assert {name: contents(root)[name] for name in old} == new
            with only_change(root):
                taken_back(root)
            assert {name: contents(root)[name] for name in old} == old
    assert partly, "no process was killed between two files"


def test_an_interrupted_proposal_is_taken_back_by_the_next_one(cli: Cli, project: Path) -> None:
    after = FILES["parts/sites.yaml"].replace("Docs", "Half")
    files = {
        "parts/sites.yaml": {"before": FILES["parts/sites.yaml"], "after": after},
        "reconciler.yaml": {"before": FILES["reconciler.yaml"], "after": FILES["reconciler.yaml"].replace("Team A", "Team H")},
    }
    propose(cli, TITLE)
    record = json.dumps({**json.loads((project / RECORD).read_text()), "complete": False, "files": files})
    write(project, {**FILES, RECORD: record, "parts/sites.yaml": after})
    assert "An earlier proposal was interrupted, and was taken back: " in propose(cli, [BOTH[1]])
    assert contents(project) == {**FILES, "reconciler.yaml": FILES["reconciler.yaml"].replace("Team A", "Team B")}
    write(project, {RECORD: record, "parts/sites.yaml": "by hand\n"})
    before = contents(project)
    assert "parts/sites.yaml was changed after a proposal was interrupted [RC-files-changed]" in propose(cli, TITLE, code=4)
    assert contents(project) == before


def test_two_proposals_at_once_wait_for_each_other(cli: Cli, project: Path) -> None:
    (cli.root / "operations.json").write_text(json.dumps(TITLE))
    with only_change(project):
        command = [sys.executable, "-c", PROGRAM, "propose", cli.root / "operations.json"]
        process = processes.Popen(command, cwd=cli.root, env={**os.environ, **cli.user}, stdout=-3, stderr=-1, text=True)
        assert process.stderr.readline() == "Waiting until another change of these files is written.\n"
        assert contents(project) == {**FILES, "operations.json": json.dumps(TITLE)}
    assert process.wait(60) == 0
    assert "Documents" in (project / "parts/sites.yaml").read_text()
