"""`reconciler.open`: each method does what its command does, and nothing beside it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import reconciler
from reconciler.report.schemas.documents import schemas
from reconciler.state.lease import file_holder
from tests.command_line import Cli, applied_project, initialised
from tests.sources import ROOT


@pytest.fixture
def project(tmp_path: Path) -> reconciler.OpenedProject:
    return reconciler.open(copied(tmp_path), sandbox=":memory:")


def copied(folder: Path, example: str = "minimal") -> Path:
    return Path(shutil.copytree(ROOT / "examples" / example, folder / example, ignore=shutil.ignore_patterns(".reconciler")))


def edit(project: reconciler.OpenedProject, old: str, new: str) -> None:
    file = project.path / "reconciler.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def applied(project: reconciler.OpenedProject) -> reconciler.OpenedProject:
    assert project.apply(project.plan()).done
    return project


def script(text: str, folder: Path, *, env: dict[str, str] | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A program of its own, in a folder."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(text)],
        cwd=folder, capture_output=True, text=True, timeout=120, env={**plain, "PYTHONPATH": str(ROOT), **(env or {})},
    )  # fmt: skip
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended


# -- what a program does ----------------------------------------------------------------------------------------------------------------


def test_a_plan_is_applied_once_and_then_nothing_is_left(project: reconciler.OpenedProject) -> None:
    plan = project.plan()
    assert {(str(change.address), change.action) for change in plan.changes} >= {("example", "adopt"), ("example/space/api", "create")}
    assert plan.pending
    assert plan.exposures == ()
    assert plan.refusals == ()
    outcome = project.apply(plan)
    assert (outcome.code, outcome.done) == (0, True)
    assert not project.plan().pending
    again = project.apply(plan)
    assert again.done
    assert "applied already" in str(again)


def test_a_plan_that_no_longer_holds_is_stale_and_nothing_is_sent(project: reconciler.OpenedProject) -> None:
    plan = project.plan()
    edit(project, "title: Documentation", "title: Docs")
    with pytest.raises(reconciler.StalePlan) as stale:
        project.apply(plan)
    assert stale.value.id == "RC-saved-plan-stale"
    assert stale.value.hint == "Make a new one: project.plan()."
    assert project.plan().changes != ()
    with pytest.raises(reconciler.UsageError, match="no run has done anything yet"):
        project.undo()


def test_what_lacks_consent_is_refused_with_every_reason_and_the_way_past_it_works(project: reconciler.OpenedProject) -> None:
    applied(project)
    edit(project, "structure: [guides, api]", "structure: [guides, api]\n        published: true\n        visibility: public")
    edit(project, "project: minimal", "project: minimal\nguards: {maxExposed: 0}")
    plan = project.plan()
    assert plan.exposures
    assert {refused.id for refused in plan.refusals} == {"RC-exposure-limit", "RC-consent-required"}
    assert all("In Python: limits=Limits(" in str(refused.hint) for refused in plan.refusals)
    with pytest.raises(reconciler.Refused) as refused:
        project.apply(plan)
    assert [reason.id for reason in refused.value.reasons] == [reason.id for reason in plan.refusals]
    assert all(reason.message in refused.value.message for reason in refused.value.reasons)
    way = str(refused.value.hint).rpartition("In Python: ")[2]
    limits = eval(way.removeprefix("limits="), {"Limits": reconciler.Limits, "Glob": reconciler.Glob})
    assert project.plan().pending, "nothing was applied"
    assert project.apply(plan, limits=limits).done


def test_a_plan_that_holds_what_is_refused_applies_the_rest(project: reconciler.OpenedProject) -> None:
    applied(project)
    edit(project, "structure: [guides, api]", "structure: [guides, api]\n        published: true\n        visibility: public")
    edit(project, "title: Guides", "title: All guides")
    assert project.plan().refusals
    plan = project.plan(hold=True)
    assert plan.refusals == ()
    assert [(str(change.address), change.refused) for change in plan.held] == [("example/site/docs", True)]
    assert project.apply(plan).done
    assert [str(change.address) for change in project.plan().changes] == ["example/site/docs"]


def test_the_limits_of_open_are_those_of_every_method(tmp_path: Path) -> None:
    everything = reconciler.Limits(exposures=(reconciler.Glob.parse("**"),))
    with reconciler.open(copied(tmp_path), sandbox=":memory:", limits=everything) as project:
        applied(project)
        edit(project, "structure: [guides, api]", "structure: [guides, api]\n        published: true\n        visibility: public")
        plan = project.plan()
        assert plan.exposures
        assert plan.refusals == ()
        assert project.apply(plan).done
        edit(project, "title: Documentation", "title: Docs")
        applied(project)
        assert project.undo().code == 0
        assert project.plan().pending


def test_every_method_answers_with_a_document_of_its_schema_a_text_and_a_page(project: reconciler.OpenedProject) -> None:
    applied(project)
    edit(project, "title: Documentation", "title: Docs")
    plan = project.plan()
    results: dict[str, Any] = {
        "plan": plan, "drift": project.drift(coverage=True), "access": project.access(reader="anyone"), "rehearsal": project.rehearse(),
        "health": project.health(), "tests": project.test(), "outcome": project.apply(plan), "undo": project.undo(),
    }  # fmt: skip
    printed = [schema for name, schema in schemas().items() if name != "saved-plan.schema.json" and "format" in schema["properties"]]
    known = {schema["properties"]["format"].get("const"): schema for schema in printed}
    for name, result in results.items():
        document = result.as_document()
        assert document["format"] == f"reconciler.{name}/1"
        jsonschema.validate(document, known[document["format"]])
        json.dumps(document)
        assert str(result).strip()
        page = result._repr_html_()
        assert page.startswith("<iframe ")
        assert "<!doctype html>" in page
        assert "prefers-color-scheme: dark" in page
        with pytest.raises(AttributeError):
            result.made_at = None
    jsonschema.validate(project.urls().as_document(), known["reconciler.urls/1"])
    assert project.urls(ended=True).records == ()


def test_the_tests_of_a_project_run_without_a_service(tmp_path: Path) -> None:
    project = reconciler.open(copied(tmp_path))
    assert project.test(name="*").passed
    with pytest.raises(reconciler.UsageError, match="no test is called"):
        project.test(name="of nothing")
    assert not (project.path / ".reconciler").exists()


def test_the_page_of_a_plan_is_the_one_that_the_command_writes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    initialised(cli)
    written = cli("plan", "p", "--report", "html=plan.html", code=0)
    assert written.exit_code == 0
    page = (cli.root / "plan.html").read_text(encoding="utf-8")
    monkeypatch.chdir(cli.root)
    shown = reconciler.open("p").plan()._repr_html_()
    frame = shown.partition('srcdoc="')[2].partition('" style=')[0].replace("&quot;", '"').replace("&amp;", "&")

    def without_time(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if 'class="when"' not in line)

    assert without_time(frame) == without_time(page)


def test_drift_is_found_and_accepted_into_the_files(cli: Cli) -> None:
    project = reconciler.open(applied_project(cli).root / "p")
    team = json.loads(cli("state", "list", "p", "--format", "json", code=0).stdout)["bindings"]
    (writers,) = [binding for binding in team if binding["address"].endswith("/team/writers")]
    organization = next(binding["id"] for binding in team if binding["kind"] == "organization")
    path = f"/orgs/{organization}/teams/{writers['id']}"
    sandbox = next((cli.root / "p" / ".reconciler").glob("*sandbox*.db"))
    cli("api", "PATCH", path, "-f", "title=Authors", "--sandbox", str(sandbox), code=0)
    drift = project.drift()
    assert (drift.code, len(drift.groups)) == (2, 1), str(drift)
    accepted = project.accept()
    assert len(accepted.lines) == 1
    assert accepted.left == ()
    assert "title: Authors" in (cli.root / "p" / "reconciler.yaml").read_text(encoding="utf-8")
    assert project.drift().code == 0 or not project.plan().pending
    assert project.accept().lines == ()


def test_what_nobody_declares_is_found_and_written_as_files_in_memory(project: reconciler.OpenedProject) -> None:
    applied(project)
    edit(project, "          - {space: api, title: API reference, duplicateOf: blank}\n", "")
    edit(project, "structure: [guides, api]", "structure: [guides]")
    before = (project.path / "reconciler.yaml").read_text(encoding="utf-8")
    found = project.find("API reference")
    assert [known.declared for known in found.objects if known.kind == "space"] == [None]
    assert project.find("api", kind="team").objects == ()
    imported = project.imported()
    assert any("API reference" in text for text in imported.files.values())
    assert (project.path / "reconciler.yaml").read_text(encoding="utf-8") == before


def test_target_exclude_and_variables_are_those_of_the_command(tmp_path: Path) -> None:
    project = reconciler.open(copied(tmp_path), sandbox=":memory:", target="example/space/*", exclude=["example/space/api"])
    assert {str(change.address) for change in project.plan().changes} >= {"example/space/guides"}
    assert not any(str(change.address) == "example/space/api" for change in project.plan().changes)
    edit(project, "title: Documentation", "title: ${{ vars.title }}")
    edit(project, "project: minimal", "project: minimal\nvars: {title: {}}")
    titled = reconciler.open(project.path, sandbox=":memory:", vars={"title": "Handbook"}).plan()
    assert "Handbook" in str(titled.as_document())


def test_wrong_arguments_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = copied(tmp_path)
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: reconciler.open(tmp_path / "nowhere"), "RC-no-project"),
        (lambda: reconciler.open(path, sandbox=":memory:", state="sqlite:///x.db"), "RC-options-conflict"),
        (lambda: reconciler.open(path, sandbox="x.db", service="https://docs.example"), "RC-options-conflict"),
        (lambda: reconciler.open(path, target="a//b"), "RC-option-value"),
        (lambda: reconciler.open(path, limits=reconciler.Limits(deletions=-1)), "RC-option-value"),
        (lambda: reconciler.open(path, limits=reconciler.Limits(exposures=("acme",))), "RC-option-value"),  # type: ignore[arg-type]
        (lambda: reconciler.open(path, service="https://docs.example").plan(), "RC-no-token"),
    ]
    for call, id in wrong:
        with pytest.raises(reconciler.ReconcilerError) as refused:
            call()
        assert refused.value.id == id, refused.value.message


def test_the_problems_of_files_have_their_positions(project: reconciler.OpenedProject) -> None:
    edit(project, "title: Documentation", "titel: Documentation")
    with pytest.raises(reconciler.ConfigError) as invalid:
        project.plan()
    assert [(problem.file, problem.line > 0) for problem in invalid.value.problems] == [("reconciler.yaml", True)]


def test_a_closed_project_says_so(project: reconciler.OpenedProject) -> None:
    with project:
        project.plan()
    with pytest.raises(reconciler.UsageError) as closed:
        project.plan()
    assert closed.value.id == "RC-project-closed"


# -- what it does not do -----------------------------------------------------------------------------------------------------------------


def test_relative_paths_are_relative_to_the_folder_in_which_the_project_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied(tmp_path)
    monkeypatch.chdir(tmp_path)
    project = reconciler.open("minimal", sandbox="box.db", state="sqlite:///state.db", create_state=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert project.apply(project.plan()).done
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".db") == ["box.db", "state.db"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_every_call_is_silent_and_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    copied(tmp_path)
    ended = script(
        """
        import os, signal, reconciler
        from pathlib import Path
        handlers = [signal.getsignal(number) for number in range(1, 32)]
        environ, folder = dict(os.environ), os.getcwd()
        with reconciler.open("minimal", sandbox="box.db") as project:
            plan = project.plan()
            project.apply(plan)
            for call in (project.drift, project.access, project.rehearse, project.imported, project.urls, project.health, project.test,
                         project.find, project.accept):
                call()
            project.undo(limits=reconciler.Limits(deletions=9, exposures=(reconciler.Glob.parse("**"),)))
        assert handlers == [signal.getsignal(number) for number in range(1, 32)]
        assert environ == dict(os.environ)
        assert folder == os.getcwd()
        """,
        tmp_path,
    )
    assert (ended.stdout, ended.stderr) == ("", "")


def test_in_memory_nothing_is_written_to_a_disk(tmp_path: Path) -> None:
    """Every file that Python or SQLite opens to write, every folder and every link is heard of by an audit hook."""
    copied(tmp_path)
    ended = script(
        """
        import os, sys
        import reconciler
        reconciler.open  # what is compiled first is of Python
        written = []
        def hear(event, arguments):
            if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                written.append(arguments[0])
            if event in ("os.mkdir", "os.rename", "os.link", "os.symlink", "os.remove", "shutil.move"):
                written.append((event, *arguments))
            if event == "sqlite3.connect":
                written.extend(name for name in [str(arguments[0])] if name != ":memory:")
        sys.dont_write_bytecode = True
        sys.addaudithook(hear)
        with reconciler.open("minimal", sandbox=":memory:") as project:
            project.apply(project.plan())
            for call in (project.plan, project.drift, project.access, project.imported, project.urls, project.health, project.find):
                call()
            project.undo(limits=reconciler.Limits(deletions=9, exposures=(reconciler.Glob.parse("**"),)))
        assert written == [], written
        """,
        tmp_path,
    )
    assert (ended.stdout, ended.stderr) == ("", "")
    assert sorted(path.name for path in (tmp_path / "minimal").iterdir()) == ["expected-plan.txt", "reconciler.yaml", "tests"]


def test_the_sandbox_of_a_command_is_never_in_memory(cli: Cli) -> None:
    answer = initialised(cli)("plan", "p", "--sandbox", ":memory:")
    assert answer.exit_code == 3
    assert "[RC-not-a-sandbox-file]" in answer.stderr
    assert not (cli.root / ":memory:").exists()


def test_sentences_are_heard_by_the_voice_alone_and_without_secrets(tmp_path: Path) -> None:
    heard: list[str] = []
    project = reconciler.open(copied(tmp_path), sandbox=":memory:", voice=heard.append)
    project.plan()
    assert "Planning" not in heard[0]
    assert any(text.startswith("Reading minimal from the sandbox in memory") for text in heard)
    assert not any("GET /" in text for text in heard), "requests are for a log"


# -- beside other code -------------------------------------------------------------------------------------------------------------------


def test_it_works_beside_a_running_event_loop_and_two_at_once(tmp_path: Path) -> None:
    first, second = copied(tmp_path / "a"), copied(tmp_path / "b")

    async def notebook() -> tuple[bool, bool]:
        with reconciler.open(first, sandbox=":memory:") as one, reconciler.open(second, sandbox=":memory:") as other:
            here = one.apply(one.plan()).done  # in a cell: the loop of the notebook runs
            there, again = await asyncio.gather(
                asyncio.to_thread(lambda: other.apply(other.plan()).done), asyncio.to_thread(lambda: one.plan().pending)
            )
            return here and not again, there

    assert asyncio.run(notebook()) == (True, True)


def test_two_projects_on_files_run_at_the_same_time_in_threads(tmp_path: Path) -> None:
    done: list[bool] = []

    def work(folder: Path) -> None:
        project = reconciler.open(copied(folder))
        done.append(project.apply(project.plan()).done)

    threads = [threading.Thread(target=work, args=(tmp_path / name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True, True, True]


def test_a_second_apply_of_the_same_state_is_locked_in_memory_too(tmp_path: Path) -> None:
    refused: list[str] = []

    def voice(text: str) -> None:
        if plans and text.startswith("Applying"):
            plan = plans.pop()
            try:
                project.apply(plan)
            except reconciler.Locked as error:
                refused.append(error.id)

    plans: list[reconciler.PlanResult] = []
    project = reconciler.open(copied(tmp_path), sandbox=":memory:", voice=voice)
    plan = project.plan()
    plans.append(plan)
    assert project.apply(plan).done
    assert refused == ["RC-locked"]


def free(path: Path) -> bool:
    """Whether nobody holds the lease of a project's state."""
    return not file_holder(path / ".reconciler" / "state.db")[0]


class Stopped(Exception):
    """Raised in the middle."""


@pytest.mark.parametrize("where", ["Reading minimal", "Applying", "Reading again"])
def test_an_exception_of_the_voice_is_the_callers_and_leaves_no_lease(tmp_path: Path, where: str) -> None:
    path, armed = copied(tmp_path), list[bool]()

    def voice(text: str) -> None:
        if armed and text.startswith(where):
            raise Stopped(text)

    project = reconciler.open(path, voice=voice)
    plan = project.plan()
    armed.append(True)
    with pytest.raises(Stopped):
        project.apply(plan)
    assert free(path)
    armed.clear()
    assert project.apply(project.plan()).done
    assert not project.plan().pending


@pytest.mark.parametrize("moment", ["Reading minimal", "Applying"])
def test_ctrl_c_in_the_middle_is_raised_when_the_lease_is_free_and_the_next_apply_continues(tmp_path: Path, moment: str) -> None:
    copied(tmp_path)
    script(
        f"""
        import os, signal, reconciler
        from pathlib import Path
        from reconciler.state.lease import file_holder
        plans = []
        def voice(text):
            if plans and text.startswith({moment!r}):
                assert file_holder(Path("minimal/.reconciler/state.db"))[0], "the apply has the lease"
                os.kill(os.getpid(), signal.SIGINT)
        project = reconciler.open("minimal", voice=voice)
        plans.append(project.plan())
        try:
            project.apply(plans[0])
        except KeyboardInterrupt:
            assert not file_holder(Path("minimal/.reconciler/state.db"))[0]
        else:
            raise SystemExit("it was not interrupted")
        plans.clear()
        assert project.apply(project.plan()).done
        """,
        tmp_path,
    )


def test_a_kill_in_the_middle_leaves_no_lease_and_the_next_apply_continues(tmp_path: Path) -> None:
    path = copied(tmp_path)
    script(
        """
        import os, signal, reconciler
        plans = []
        def voice(text):
            if plans and text.startswith("Applying"):
                os.kill(os.getpid(), signal.SIGKILL)
        project = reconciler.open("minimal", voice=voice)
        plans.append(project.plan())
        project.apply(plans[0])
        """,
        tmp_path,
        code=-signal.SIGKILL,
    )
    assert free(path)
    project = reconciler.open(path)
    assert project.apply(project.plan()).done
