"""Documents are UTF-8, whatever the encoding of the terminal or of the pipeline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.cli.conftest import Cli

PROJECT = """\
version: 1
project: case
service: {sandbox: sb.db}
vars: {title: {default: "Zürich → 東京 😀"}}
organizations:
  acme:
    id: org_acme
    title: Acme
    teams: {writers: {title: "${{ vars.title }}"}}
"""
TITLE = "Zürich → 東京 😀"
STREAMS = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii, strict": {"PYTHONIOENCODING": "ascii:strict"},
    "utf-16": {"PYTHONIOENCODING": "utf-16"},
    "LANG=C": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "utf-8": {"PYTHONUTF8": "1"},
}


@pytest.fixture(params=STREAMS)
def run(request: pytest.FixtureRequest, cli: Cli) -> object:
    cli.write("reconciler.yaml", PROJECT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG", "RECONCILER"))}

    def started(*words: str) -> tuple[bytes, bytes]:
        done = subprocess.run(
            [sys.executable, "-m", "reconciler", *words],
            cwd=cli.root,
            capture_output=True,
            check=False,
            env={**environment, **cli.user, **STREAMS[request.param]},
        )
        assert b"Traceback" not in done.stderr
        return done.stdout, done.stderr

    return started


def test_every_document_is_utf_8_and_keeps_its_letters(run: object) -> None:
    assert callable(run)
    document = json.loads(run("plan", "--format", "json")[0].decode("utf-8"))
    assert TITLE in json.dumps(document, ensure_ascii=False)
    assert json.loads(run("apply", "--yes", "--format", "json")[0].decode("utf-8"))["format"].startswith("reconciler.")
    assert TITLE in run("api", "GET", "/orgs/org_acme/teams", "--sandbox", "sb.db")[0].decode("utf-8")
    pulled = json.loads(run("state", "pull")[0].decode("utf-8"))
    assert TITLE in json.dumps(pulled, ensure_ascii=False)
    assert TITLE in run("config", "render")[0].decode("utf-8")
    for words in (("state", "list"), ("history",), ("show", "last"), ("drift",), ("validate",)):
        json.loads(run(*words, "--format", "json")[0].decode("utf-8"))
    for form in ("markdown", "html"):
        run("plan", "--format", form)[0].decode("utf-8")
    ElementTree.fromstring(run("validate", "--format", "junit")[0].decode("utf-8"))
    for line in run("plan", "--log-format", "json")[1].decode("utf-8").splitlines():
        json.loads(line)
