"""A copy of a repository that somebody else wrote decides nothing about a fetch: not in a checkout, and not where our own copies are.

The server is git's own, over HTTP, and wants a login. Each setting is shown to work with plain git first.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from reconciler.own_files import OwnFolder
from tests.command_line import Cli
from tests.hostile.repositories import git
from tests.proofs import costly

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
NUMBER = "0123456789abcdef"
LOGIN = "Basic YWRhOnB3"  # ada:pw


class Smart(BaseHTTPRequestHandler):
    """`git http-backend` behind a login."""

    root: Path

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != LOGIN:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environ = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command,
            "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_USER": "ada",
            "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "GIT_CONFIG_GLOBAL": os.devnull, "REMOTE_ADDR": "127.0.0.1",
        }  # fmt: skip
        done = subprocess.run(["git", "-c", "safe.directory=*", "http-backend"], input=body, env=environ, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()


@dataclass(frozen=True)
class Place:
    """`url`: of a repository on the server. `marker`: exists once a hostile program has run. `asked`: what went to a hostile proxy."""

    folder: Path
    url: str
    proxy: int
    marker: Path
    asked: list[bytes]

    @property
    def program(self) -> Path:
        return self.folder / "evil.sh"

    def happened(self) -> bool:
        """Whether the hostile program or proxy was used since the last time."""
        used = self.marker.exists() or bool(self.asked)
        self.marker.unlink(missing_ok=True)
        self.asked.clear()
        return used


@contextmanager
def proxied() -> Iterator[tuple[int, list[bytes]]]:
    """A port that notes what it is asked, and answers nothing."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(1_000))

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], asked
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    origin = tmp_path / "served/docs.git"
    (origin / "orgs/acme").mkdir(parents=True)
    (origin / "orgs/acme/reconciler.yaml").write_text("version: 1\nproject: acme\n")
    git(origin, "init", "-q", "-b", "main")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "one")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "operator"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "operator").write_text('[credential]\n helper = "!f() { echo username=ada; echo password=pw; }; f"\n')
    (tmp_path / "evil.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho username=ada; echo password=pw\n")
    (tmp_path / "evil.sh").chmod(0o755)
    handler = type("Handler", (Smart,), {"root": tmp_path / "served"})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, proxied() as (proxy, asked):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Place(tmp_path, f"http://127.0.0.1:{server.server_address[1]}/docs.git", proxy, tmp_path / "ran", asked)
        server.shutdown()


SETTINGS = {
    "a credential helper": '[credential]\n helper =\n helper = "!{program}"\n',
    "a credential helper of a URL": '[credential "{url}"]\n helper = "!{program}"\n',
    "a helper that asks for passwords": '[credential]\n helper =\n[core]\n askPass = {program}\n',
    "a proxy": "[http]\n proxy = http://127.0.0.1:{proxy}\n",
    "another server": '[url "http://127.0.0.1:{proxy}/"]\n insteadOf = {server}\n',
    "an included file": "[include]\n path = evil.config\n",
    "a hook": "",
    "a list of the references of another repository": "[core]\n alternateRefsCommand = {program}\n",
}  # fmt: skip


def planted(place: Place, setting: str, repositories: Path) -> Path:
    """A copy as an earlier version left one, with everything in it that could decide what runs."""
    name = hashlib.sha256(place.url.encode()).hexdigest()[:32]
    copy = repositories / f"{name}.{NUMBER}.git"
    repositories.mkdir(parents=True, exist_ok=True)
    git(place.folder, "clone", "-q", "--mirror", str(place.folder / "served/docs.git"), str(copy))
    text = SETTINGS[setting].format(program=place.program, url=place.url, proxy=place.proxy, server=place.url.rpartition("/")[0] + "/")
    with (copy / "config").open("a") as config:
        config.write(text)
    (copy / "evil.config").write_text(SETTINGS["a credential helper"].format(program=place.program))
    (copy / "hooks").mkdir(exist_ok=True)
    if setting == "a hook":
        shutil.copy(place.program, copy / "hooks/reference-transaction")
    (copy / "objects/info").mkdir(exist_ok=True)
    (copy / "objects/info/alternates").write_text(f"{place.folder}/served/docs.git/.git/objects\n")
    (repositories / f"{name}.lock").write_text(f"{NUMBER} 1\n")
    return copy


def fleet(cli: Cli, place: Place) -> None:
    generator = {"directories": {"path": "orgs/*"}, "template": {"name": "${{ each.name }}", "project": "acme-*"}}
    shared = {"source": {"git": place.url, "ref": "main"}, "baseUrl": "https://api.example.com", "token": {"env": "ACME_TOKEN"}}
    cli.write("fleet.yaml", json.dumps({"version": 1, "defaults": shared, "generators": [generator]}))


def shows_the_project(cli: Cli, *words: str) -> None:
    done = cli("fleet", "plan", *words, code=0)
    assert "acme" in done.stdout


@costly
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_copy_that_somebody_else_wrote_decides_nothing(place: Place, setting: str) -> None:
    cli = Cli(place.folder / "here")
    fleet(cli, place)
    data = place.folder / "data"
    copy = planted(place, setting, data / "repositories")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", f"--git-dir={copy}", "fetch", "-q", place.url, "+main:refs/kept/x"]
    operator = {"GIT_CONFIG_GLOBAL": os.environ["GIT_CONFIG_GLOBAL"], "GIT_TERMINAL_PROMPT": "0"}
    subprocess.run(words, env={**clean, **operator}, capture_output=True, check=False)
    assert place.happened(), "plain git does not use it, so this shows nothing"
    for _ in range(2):
        shows_the_project(cli, "--data", str(data))
        (place.folder / "served/docs.git/more.txt").write_text("x")
        git(place.folder / "served/docs.git", "add", "-A")
        git(place.folder / "served/docs.git", "commit", "-q", "--allow-empty", "-m", "two")
    assert not place.happened()
    assert copy.exists(), "it is not lost either"


@costly
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_a_checkout_brings_no_copy_that_is_used(place: Place, umask: int) -> None:
    """The whole folder of another machine, with its key: where copies were before, and below a home directory that is a checkout."""
    cli = Cli(place.folder / "here")
    fleet(cli, place)
    theirs = place.folder / "theirs"
    shows_the_project(cli, "--data", str(theirs))
    (signed,) = (theirs / "repositories").glob("*.git")
    with (signed / "config").open("a") as config:
        config.write(SETTINGS["a credential helper"].format(program=place.program))
    digest = hashlib.sha256(os.fsencode(cli.root.resolve())).hexdigest()[:16]
    state = Path(cli.user["XDG_STATE_HOME"]) / "reconciler"
    before = os.umask(umask)
    try:
        for target in (cli.root / ".reconciler/fleet", state / "fleets" / digest):
            _checked_out(theirs, target)
        refused = cli("fleet", "plan", code=3).stderr
        assert "it is not used" in refused
        assert not place.happened()
        shutil.rmtree(cli.root / ".reconciler")
        done = cli("fleet", "plan")
        assert done.exit_code == (0 if umask == 0o077 else 3), done.stderr
        assert not place.happened()
    finally:
        os.umask(before)


def _checked_out(source: Path, target: Path) -> None:
    """A folder as git writes it: its own permissions are not kept."""
    target.mkdir(parents=True)
    for path in sorted(source.rglob("*")):
        copy = target / path.relative_to(source)
        copy.mkdir(exist_ok=True) if path.is_dir() else copy.write_bytes(path.read_bytes())


def test_a_copy_takes_over_objects_only_from_the_one_before(place: Place) -> None:
    """Also from one of our own, so that nothing that ever got into it stays."""
    cli = Cli(place.folder / "here")
    fleet(cli, place)
    data = place.folder / "data"
    shows_the_project(cli, "--data", str(data))
    (first,) = (data / "repositories").glob("*.git")
    with (first / "config").open("a") as config:
        config.write("[evil]\n setting = true\n")
    for name in ("hooks/reference-transaction", "info/attributes", "objects/info/alternates", "refs/heads/evil", "packed-refs"):
        (first / name).parent.mkdir(exist_ok=True)
        (first / name).write_text("evil\n" if name != "objects/info/alternates" else f"{place.folder}/served/docs.git/.git/objects\n")
    (first / "objects/pack/evil.pack").write_text("evil")
    git(place.folder / "served/docs.git", "commit", "-q", "--allow-empty", "-m", "two")
    shows_the_project(cli, "--data", str(data))
    (second,) = set((data / "repositories").glob("*.git")) - {first}
    assert "evil" not in (second / "config").read_text()
    names = {path.relative_to(second).as_posix() for path in second.rglob("*") if path.is_file()}
    assert not {name for name in names if "evil" in name or name.startswith(("hooks/", "info/", "objects/info/alternates", "packed-refs"))}
    packs = {path.stat().st_ino for path in (first / "objects/pack").glob("pack-*.pack")}
    assert packs & {path.stat().st_ino for path in (second / "objects/pack").glob("pack-*.pack")}, "objects are shared"


def test_what_is_signed_counts_in_its_folder_and_with_its_content_only(tmp_path: Path) -> None:
    own = OwnFolder.create(tmp_path / "data")
    own.write("a.json", {"a": 1})
    assert own.read("a.json") == {"a": 1}
    assert OwnFolder.create(tmp_path / "data").read("a.json") == {"a": 1}
    shutil.copy(own.path / "a.json", own.path / "b.json")
    assert own.read("b.json") is None
    for change in ({"a": 2}, {"a": 1, "b": 2}, {}):
        document: dict[str, Any] = json.loads((own.path / "a.json").read_text())
        (own.path / "c.json").write_text(json.dumps({**change, "signature": document["signature"]}))
        (own.path / "c.json").chmod(0o600)
        assert own.read("c.json") is None
    shutil.copytree(own.path, tmp_path / "copy")
    assert OwnFolder.existing(tmp_path / "copy") is None, "its key was created in another folder"
    assert OwnFolder.create(tmp_path / "copy").read("a.json") is None
    (own.path / "a.json").chmod(0o640)
    assert own.read("a.json") is None


def test_a_folder_with_the_number_that_somebody_foresaw_is_not_ours(tmp_path: Path) -> None:
    """In an empty file system, such as a tmpfs, the numbers of what a checkout creates are always the same."""
    own = OwnFolder.create(tmp_path / "data")
    own.write("a.json", {"a": 1})
    content = {path: path.read_bytes() for path in own.path.iterdir()}
    for path in content:
        path.unlink()
    for path, text in content.items():
        path.touch(mode=0o600)
        path.write_bytes(text)
    assert OwnFolder.existing(own.path) is None
    assert OwnFolder.create(own.path).read("a.json") is None
