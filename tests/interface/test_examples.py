"""The examples in Python, and the code of the page, run."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

import reconciler
from tests.browser import chromium
from tests.command_line import CLEAN, Cli
from tests.features.forges.github import GitHub
from tests.features.forges.server import Answer, Sent, User
from tests.sources import ROOT

EXAMPLES = ROOT / "examples" / "python"
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").partition("## Reference")[0]


def run(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=120, env={**environ(cwd), **env})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended


def environ(home: Path) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in CLEAN}
    return {**plain, "HOME": str(home), "GIT_CONFIG_GLOBAL": "/dev/null", "PYTHONPATH": str(ROOT)}


class Pulls(GitHub):
    """A GitHub that opens pull requests of branches that were pushed."""

    def __init__(self, origin: Path) -> None:
        super().__init__()
        self.origin, self.opened = origin, list[Any]()
        self.route("POST", "/repos/{owner}/{name}/pulls", self._open)

    def _open(self, user: User, sent: Sent, owner: str, name: str) -> Answer:
        assert (self.origin / "refs" / "heads" / sent.data["head"]).exists()
        self.opened.append(sent.data)
        return Answer(201, {"html_url": f"https://git.example/{owner}/{name}/pull/1"})


def test_the_bot_opens_a_request_on_drift_and_none_without(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    shutil.copytree(ROOT / "examples" / "minimal", tmp_path / "docs", ignore=shutil.ignore_patterns(".reconciler"))
    cli.write("docs/.gitignore", ".reconciler/\n")
    run("git", "init", "-q", "--bare", "origin.git", cwd=tmp_path)
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-C", "docs")
    for words in (("init", "-q", "-b", "main"), ("config", "user.name", "Bot"), ("config", "user.email", "bot@example.com"),
                  ("remote", "add", "origin", str(tmp_path / "origin.git")), ("add", "-A"), ("commit", "-qm", "Docs")):  # fmt: skip
        run(*git, *words, cwd=tmp_path)
    cli("apply", "docs", "--yes", code=0)
    with Pulls(tmp_path / "origin.git") as forge:
        bot = (sys.executable, str(EXAMPLES / "drift_bot.py"), "docs", "acme/docs")
        env = {"GITHUB_API_URL": forge.api, "GITHUB_TOKEN": forge.token()}
        assert run(*bot, cwd=tmp_path, **env).stdout == "\n"
        ids = {row["address"]: row["id"] for row in cli.json("state", "list", "docs")["bindings"]}
        site = f"/orgs/org_example/sites/{ids['example/site/docs']}"
        cli("api", "PATCH", site, "-f", "title=Handbook", "--sandbox", "docs/.reconciler/sandbox.db", code=0)
        ended = run(*bot, cwd=tmp_path, **env)
    assert (ended.stdout, ended.stderr) == ("https://git.example/acme/docs/pull/1\n", "")
    (request,) = forge.opened
    assert request["title"] == "Drift of minimal"
    assert "example/site/docs.title" in request["body"]
    shown = run("git", "-C", "origin.git", "show", "drift:reconciler.yaml", cwd=tmp_path).stdout
    assert "title: Handbook" in shown


def test_the_check_runs_in_pytest(tmp_path: Path) -> None:
    words = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--rootdir",
        str(tmp_path),
        "-c",
        "/dev/null",
    )
    assert "3 passed" in run(*words, str(EXAMPLES / "test_minimal.py"), cwd=tmp_path).stdout


def test_the_notebook_runs_as_a_script(tmp_path: Path) -> None:
    ended = run(sys.executable, str(EXAMPLES / "notebook.py"), cwd=tmp_path)
    assert ended.stdout.splitlines()[0].startswith("80 changes, 0 exposures")
    assert ended.stdout.splitlines()[-1] == "41 objects are public"
    assert ended.stderr == ""


def test_the_blocks_of_the_page_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The blocks are those of a person who types them, in a folder with the examples."""
    first, consent, fixture, bot = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shutil.copytree(ROOT / "examples" / "acme", tmp_path / "examples" / "acme", ignore=shutil.ignore_patterns(".reconciler"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(first, names)
    said = capfd.readouterr()
    assert said.out.startswith("acme update, adopt\n")
    assert "Asked for: anyone." in said.out
    assert said.err == ""
    shutil.copytree(ROOT / "examples" / "minimal", tmp_path / "minimal", ignore=shutil.ignore_patterns(".reconciler"))
    with reconciler.open("minimal", sandbox=":memory:") as project:
        exec(consent, {**names, "project": project, "plan": project.plan()})
        assert not project.plan().pending
    generator = {"pytest": pytest, **names}
    assert len(fixture.strip().splitlines()) == 5
    exec(fixture, generator)
    monkeypatch.chdir(tmp_path / "minimal")
    asked: list[dict[str, str]] = []
    exec(bot, {**names, "open_request": lambda **words: asked.append(words)})
    assert asked == []


def test_every_example_is_named_on_the_page() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*re.findall(r"examples/python/(\w+\.py)", PAGE)}
    assert runpy.run_path(str(EXAMPLES / "drift_bot.py"))["BRANCH"] == "drift"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_in_a_notebook_follows_its_reader_and_changes_nothing_around_it(tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    with reconciler.open(ROOT / "examples" / "minimal", sandbox=":memory:") as project:
        shown = project.plan()._repr_html_()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><body style='font: 12px serif'><p>A cell</p>{shown}</body>", encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(color_scheme=scheme)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(notebook.as_uri())
        frame = page.frame_locator("iframe")
        assert frame.locator("h1").inner_text() == "Plan for minimal"
        back = frame.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
        assert (back == "rgb(255, 255, 255)") is (scheme == "light")
        assert page.locator("body").evaluate("body => getComputedStyle(body).font") == "12px serif"
        assert said == []
