"""Names of files that attack: whoever reads a report or a log of a pull request takes none of them for a command or for markup."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reconciler.text.escape import is_plain
from tests.command_line import Cli
from tests.hostile.repositories import git
from tests.hostile.sinks import controls, in_a_comment, in_a_page, orders
from tests.proofs import costly

NAMES = (
    "::error file=a,line=1::no.yaml", "::add-mask::e.yaml", "##[error]no.yaml", "##vso[task.setvariable variable=a]b.yaml", "x\n::error::no.yaml",
    "x\r::stop-commands::t.yaml", "x%0A::set-output name=a::b.yaml", "\x1b[2J\x1b[31m.yaml", "\x1b]0;t\x07.yaml", "\u202etxt.yaml", "a\u2028b.yaml",
    "]]>.yaml", "<![CDATA[x]]>.yaml", "<b>&amp;\"'.yaml", "--><script>x.yaml", "`` ` ```.yaml", "@all #1 www.evil.example.yaml", "a,b:c.yaml",
    "section_start:0:x\r\x1b[0K.yaml", "\x01\x08\x0b.yaml", "\ufffe\uffff.yaml", "a|b|c.yaml", "$(id)`id`.yaml", " .yaml", "%.yaml",
    os.fsdecode(b"\x80\xff.yaml"), "\\x1b[2J.yaml", "![CDATA[.yaml", "a\tb.yaml", "'--'.yaml",
)  # fmt: skip
PRINTABLE = tuple(name for name in NAMES if all(map(is_plain, name)))
UNPRINTABLE = tuple(name for name in NAMES if name not in PRINTABLE)
REPORTS = {"json": "json", "junit": "xml", "sarif": "sarif", "codequality": "json", "github": "txt", "markdown": "md", "html": "html"}
OURS = re.compile(r"::(error|warning|notice) ((file|line|col|title)=[^,:\n]+,?)*::[^\n]*")


@pytest.fixture
def project(tmp_path: Path) -> Cli:
    """A project with an invalid file of each name that can be included."""
    cli = Cli(tmp_path)
    assert cli("init", "p", "--sandbox").exit_code == 0
    cli.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: ['*.yaml']\n")
    for name in PRINTABLE:
        (cli.root / "p" / name).write_text("wrong: 1\nsites: [\n")
    return cli


def look(name: str, text: str) -> list[str]:
    """What is wrong with a report."""
    match name:
        case "github":
            return controls(text) + [line for line in text.splitlines() if not OURS.fullmatch(line)]
        case "markdown":
            return in_a_comment(text)
        case "html":
            return in_a_page(text)
        case "junit":
            root = ElementTree.fromstring(text)  # raises for what is not XML
            texts = [value for element in root.iter() for value in (*element.attrib.values(), element.text or "", element.tail or "")]
            return controls(text) + orders(text) + [found for value in texts for found in controls(value)]
        case _:
            json.loads(text)
            return controls(text) + orders(text)


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def test_a_name_is_text_in_every_report_and_log(project: Cli) -> None:
    reports = ("json", "junit", "sarif", "codequality", "github")
    done = project("validate", "p", *[f"--report={name}=r.{name}" for name in reports], "--log-file", "log", code=3)
    assert "add-mask" in done.stderr + done.stdout
    wrong = [("stderr", found) for found in controls(done.stderr) + orders(done.stderr)]
    wrong += [("stdout", found) for found in controls(done.stdout) + orders(done.stdout)]
    wrong += [("log", found) for found in controls(read(project.root / "log")) + orders(read(project.root / "log"))]
    for name in reports:
        wrong += [(name, found) for found in look(name, read(project.root / f"r.{name}"))]
    assert wrong == []


@pytest.mark.parametrize("format", ["text", "json", "junit", "sarif", "codequality", "github"])
def test_a_name_is_text_on_standard_output(project: Cli, format: str) -> None:
    done = project("validate", "p", "--format", format, code=3)
    found = controls(done.stdout) + controls(done.stderr) + orders(done.stderr)
    assert found + (look(format, done.stdout) if format != "text" else orders(done.stdout)) == []


def test_a_name_is_text_in_the_log_and_the_summary_of_a_job(project: Cli) -> None:
    summary, output = project.root / "summary", project.root / "output"
    job = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "push", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    done = project("pipeline", "plan", "p", env=job)
    text = done.stdout + done.stderr
    assert controls(text) == []
    assert [line for line in orders(text) if not OURS.fullmatch(line)] == []
    assert in_a_comment(read(summary)) == []
    assert [line for line in read(output).splitlines() if not re.fullmatch(r"[a-z-]+=[^\n]*", line)] == []


def test_a_name_of_a_folder_is_text(project: Cli) -> None:
    for number, name in enumerate(name.removesuffix(".yaml") for name in NAMES if "/" not in name):
        folder = project.root / name
        if not folder.exists():
            folder.mkdir()
            (folder / "reconciler.yaml").write_text("version: 1\nnonsense: 1\n")
        reports = ("junit", "sarif", "codequality", "github")
        done = project("validate", f"./{name}", *(f"--report={kind}=r{number}.{kind}" for kind in reports), code=3)
        assert controls(done.stderr) + orders(done.stderr) == [], name
        for kind in reports:
            assert look(kind, read(project.root / f"r{number}.{kind}")) == [], (kind, name)


@costly
@pytest.mark.parametrize("place", ["environments", "file()", "not included", "a plan", "reports"])
def test_a_name_is_text_in_other_errors(project: Cli, place: str) -> None:
    for path in (project.root / "p").glob("*.yaml"):
        if path.name != "reconciler.yaml":
            path.unlink()
    project.edit("p/reconciler.yaml", "include: ['*.yaml']\n", "")
    if place == "environments":
        (project.root / "p/environments").mkdir()
        for name in NAMES:
            (project.root / "p/environments" / name).write_text("")
        lines = [project("validate", "p", "--env", "x")]
    elif place == "file()":
        (project.root / "p/link").symlink_to(os.fsencode(str(project.root / NAMES[4])))
        project.edit("p/reconciler.yaml", "title: Writers", "title: \"${{ file('link') }}\"")
        lines = [project("validate", "p")]
    elif place == "not included":
        project.edit("p/reconciler.yaml", "version: 1\n", f"version: 1\ninclude: {json.dumps(list(map(ascii, NAMES)))}\n")
        lines = [project("validate", "p")]
    elif place == "a plan":
        lines = [project("apply", "p", "--plan", name) for name in NAMES]
    else:
        lines = [project("plan", "p", "--report", f"json=none/{name}") for name in NAMES]
    for done in lines:
        text = done.stdout + done.stderr
        assert done.exit_code != 0
        assert controls(text) + orders(text) == []


@costly
def test_a_name_in_a_crafted_commit_is_text(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert cli("init", "p", "--sandbox").exit_code == 0
    git(cli.root, "init", "-q", "-b", "main")
    for name in NAMES:
        folder = cli.root / "p" / f"x{name}".removesuffix(".yaml") / "git~1"
        folder.mkdir(parents=True)
        (folder / "x").write_text("")
        for words in (("add", "-A"), ("commit", "-q", "-m", "one", "--allow-empty")):
            git(cli.root, "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", *words)
        done = cli("diff", "p", "--from", "HEAD", "--to", "HEAD")
        assert (done.exit_code, controls(done.stderr) + orders(done.stderr)) == (1, []), done.stderr
        (folder / "x").unlink()


@pytest.mark.parametrize("name", UNPRINTABLE, ids=ascii)
def test_a_name_that_could_forge_a_line_is_refused(tmp_path: Path, name: str) -> None:
    cli = Cli(tmp_path)
    assert cli("init", "p", "--sandbox").exit_code == 0
    (cli.root / "p" / name).write_text("vars: {a: x}\n")
    (cli.root / "p/environments").mkdir()
    for include in ("version: 1\ninclude: ['*.yaml']\n", "version: 1\n"):
        cli.edit("p/reconciler.yaml", "version: 1\n", include)
        done = cli(
            "validate", "p", "--env", "x", "--report", "junit=r.xml", "--report", "sarif=r.sarif", "--report", "github=r.txt", code=3
        )
        assert controls(done.stderr) + orders(done.stderr) == []
        assert done.stderr.splitlines()[-1] == "error: 1 problem in the project; nothing was sent"
        assert len(done.stderr.splitlines()) == 3, done.stderr  # with the one that names the reports
        for report, kind in (("r.xml", "junit"), ("r.sarif", "sarif"), ("r.txt", "github")):
            assert look(kind, read(cli.root / report)) == []
        if include != "version: 1\n":
            cli.edit("p/reconciler.yaml", include, "version: 1\n")
            (cli.root / "p" / name).rename(cli.root / "p/environments" / name)


@pytest.fixture
def valid(tmp_path: Path) -> Cli:
    """A project with a valid file of each name, which declares a team."""
    cli = Cli(tmp_path, env={"COLUMNS": "60"})
    assert cli("init", "p", "--sandbox").exit_code == 0
    cli.edit(
        "p/reconciler.yaml",
        "    teams:\n      writers: {title: Writers, members: [ada@acme.example]}\n",
        "    teams: {include: ['teams/*.yaml']}\n",
    )
    (cli.root / "p/teams").mkdir()
    for number, name in enumerate(PRINTABLE):
        (cli.root / "p/teams" / name).write_text(f"t{number}: {{title: T{number}}}\n")
    return cli


@pytest.mark.parametrize("command", ["plan", "apply", "drift"])
def test_a_name_is_text_in_every_report_about_what_it_declares(valid: Cli, command: str) -> None:
    words = {"apply": ("--yes",), "drift": ("--full",)}.get(command, ())
    if command == "drift":
        assert valid("apply", "p", "--yes").exit_code == 0
        with closing(sqlite3.connect(valid.root / "p/.reconciler/sandbox.db")) as database, database:
            database.execute("update objects set data = json_set(data, '$.title', 'changed ' || id) where kind = 'team'")
    done = valid(command, "p", *words, *(f"--report={name}=r.{name}" for name in REPORTS), "--log-file", "log", "-v")
    assert done.exit_code == (2 if command == "drift" else 0), done.stderr
    assert command != "drift" or "add-mask" in read(valid.root / "r.junit")
    assert command == "apply" or "add-mask" in read(valid.root / "r.json")
    wrong = [("stderr", found) for found in controls(done.stderr) + orders(done.stderr)]
    wrong += [("stdout", found) for found in controls(done.stdout) + orders(done.stdout)]
    wrong += [("log", found) for found in controls(read(valid.root / "log")) + orders(read(valid.root / "log"))]
    for name in REPORTS:
        wrong += [(name, found) for found in look(name, read(valid.root / f"r.{name}"))]
    assert wrong == []


@pytest.mark.parametrize(
    "words",
    [("config", "render", "p"), ("graph", "p"), ("graph", "p", "--format", "dot"), ("fmt", "p"), ("fmt", "p", "--diff"), ("access", "p"),
     ("explain", "acme/team/t1", "p"), ("validate", "p", "--lint"), ("diff", "p"), ("doctor", "p"), ("policy", "list", "p")],
    ids=" ".join,
)  # fmt: skip
def test_a_name_is_text_in_what_other_commands_print(valid: Cli, words: tuple[str, ...]) -> None:
    git(valid.root, "init", "-q", "-b", "main")
    git(valid.root, "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "add", "p/reconciler.yaml")
    git(valid.root, "commit", "-q", "-m", "one")
    done = valid(*words)
    assert controls(done.stdout) + controls(done.stderr) + orders(done.stdout) + orders(done.stderr) == []
