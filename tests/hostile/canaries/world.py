"""A user with secrets: a project that uses them, an environment that holds them, and everything the program wrote or said."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from click.testing import CliRunner

from reconciler import kinds
from reconciler.assembled import main
from reconciler.kinds.saml import Saml
from reconciler.resource import Kinds
from tests import processes
from tests.hostile.canaries.birds import CANARIES, PEM, found
from tests.sops import as_encrypted, printing

PLAIN = kinds.load
PROJECT = """\
version: 1
project: canaries
secrets: secrets.enc.yaml
service: {member: ada@acme.example}
protect: []
recovery: {settle: 0}
vars:
  pem: {env: RECONCILER_VAR_PEM}
  whole: {env: RECONCILER_VAR_WHOLE}
  part: {env: RECONCILER_VAR_PART}
  derived: {env: RECONCILER_VAR_DERIVED}
  given: {default: nothing}
defaults: {space: {duplicateOf: blank}}
organizations:
  acme:
    id: org_acme
    title: Acme
    members: {ada@acme.example: admin, linus@acme.example: edit}
    teams: {writers: {title: Writers, members: [linus@acme.example]}}
    content:
      - {space: blank, id: spc_blank, title: Blank, template: true}
      - {space: guides, title: Guides}
    saml:
      one: {label: One, entityID: "http://one", ssoURL: "https://one/sso", certificate: "${{ vars.pem }}"}
      two: {label: Two, entityID: "http://two", ssoURL: "https://two/sso", certificate: "${{ vars.part }}x"}
      three: {label: Three, entityID: "http://three", ssoURL: "https://three/sso", certificate: "${{ 'a' ~ vars.derived + 'b' }}"}
      four: {label: Four, entityID: "http://four", ssoURL: "https://four/sso", certificate: "a ${{ vars.given }} b"}
      five: {label: Five, entityID: "http://five", ssoURL: "https://five/sso", certificate: "${{ vars.whole }}"}
      six: {label: Six, entityID: "http://six", ssoURL: "https://six/sso", certificate: "${{ file('six.pem') }}"}
      seven: {label: Seven, entityID: "http://seven", ssoURL: "https://seven/sso", certificate: "${{ secrets.okta.pem }}"}
    integrations:
      charts: {title: Charts, script: export default 1, secrets: {pem: "${{ vars.pem }}", part: "x${{ vars.part }}"}}
    sites:
      docs:
        title: Docs
        visibility: share-link
        basename: docs
        published: true
        structure: [guides]
        shareLinks: {partners: {name: Partners, active: true}}
"""
GIVEN = ("--var", f"given={CANARIES['given']}")
JOINING = ("--allow-exposure", "acme/saml/*")
"""The consent to the providers of the project, which let people join."""


@cache
def secretive() -> Kinds:
    """The kinds, with one more field that is declared a secret, which the service shows, and may be any text."""
    known = dict(PLAIN())
    saml = known["saml"]
    certificate = replace(saml.fields["certificate"], sensitive=True, type=str)
    return Kinds(
        [*(one for name, one in known.items() if name != "saml"), replace(saml, fields={**saml.fields, "certificate": certificate})]
    )


@contextlib.contextmanager
def with_secretive() -> Iterator[None]:
    """Let every command of this process use these kinds. The modules of commands hold `kinds.load` itself, so what it returns changes."""
    plain = Saml.kind
    Saml.kind = secretive()["saml"]
    PLAIN.cache_clear()
    try:
        yield
    finally:
        Saml.kind = plain
        PLAIN.cache_clear()


@dataclass
class World:
    """A folder with a home and a project; `heard` is everything that was printed, by what printed it."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    heard: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.write("p/reconciler.yaml", PROJECT)
        self.write("p/six.pem", PEM)
        hidden = {"okta": {"pem": CANARIES["encrypted"]}}
        self.write("p/secrets.enc.yaml", as_encrypted(hidden))
        self.env = {
            "HOME": str(self.root / "home"),
            "XDG_CONFIG_HOME": str(self.root / "home" / ".config"),
            "RECONCILER_TOKEN": CANARIES["token"],
            "RECONCILER_VAR_PEM": PEM,
            "RECONCILER_VAR_WHOLE": CANARIES["variable"],
            "RECONCILER_VAR_PART": CANARIES["part"],
            "RECONCILER_VAR_DERIVED": CANARIES["derived"],
            **printing(self.root / "bin", hidden),
        } | self.env

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def __call__(self, *words: str, env: Mapping[str, str] = {}, input: str | None = None) -> int:
        """Run a command; its exit code."""
        words = (*words, "--create-state", *JOINING) if words[0] == "apply" else words
        clean: dict[str, str | None] = {"RECONCILER_STATE": None, "RECONCILER_BASE_URL": None, "TERM": None, "COLUMNS": "60"}
        with contextlib.chdir(self.root):
            result = CliRunner().invoke(main, list(words), env={**clean, **self.env, **env}, input=input)
        self.heard += [(f"stdout of {' '.join(words)}", result.stdout), (f"stderr of {' '.join(words)}", result.stderr)]
        print(result.output)  # shown where a test fails
        return result.exit_code

    def process(self, *words: str, env: Mapping[str, str] = {}) -> subprocess.Popen[str]:
        """Start the command as a process of its own, with the same kinds."""
        code = (
            "from tests.hostile.canaries.world import with_secretive; from reconciler.assembled import main\nwith with_secretive(): main()"
        )
        path = str(Path(__file__).parents[3])
        environ = {**os.environ, **self.env, **env, "PYTHONPATH": path}
        started = processes.Popen(
            [sys.executable, "-c", code, *words], cwd=self.root, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.env.setdefault("COLUMNS", "60")
        return started

    def ended(self, process: subprocess.Popen[str], what: str) -> int:
        """Wait for a process, and keep what it said."""
        out, err = process.communicate(timeout=60)
        self.heard += [(f"stdout of {what}", out), (f"stderr of {what}", err)]
        return process.returncode

    def leaks(self, *databases: str) -> list[str]:
        """Every secret in what was printed, in a file's name or content, in a table; `databases`: PostgreSQL's addresses."""
        bad = [leak for what, text in self.heard for leak in found(what, text.encode("utf-8", "surrogatepass"))]
        for path in sorted(self.root.rglob("*")):
            bad += found("the name of a file", str(path.relative_to(self.root)).encode())
            if path.is_file():
                bad += found(str(path), path.read_bytes())
            if path.suffix == ".db" and path.is_file():
                bad += [leak for line in _tables(path) for leak in found(f"{path} table", line)]
        for address in databases:
            bad += [leak for line in _rows(address) for leak in found(f"a table of {address.rpartition('@')[2]}", line)]
        return bad


def _tables(path: Path) -> list[bytes]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [line.encode("utf-8", "surrogatepass") for line in connection.iterdump()]


def _rows(address: str) -> list[bytes]:
    with psycopg.connect(address) as connection:
        names = [row[0] for row in connection.execute("select table_name from information_schema.tables where table_schema = 'reconciler'")]
        return [str(row).encode() for name in names for row in connection.execute(f'select "{name}"::text from reconciler."{name}"')]


def crash(secrets: Mapping[str, str]) -> Callable[..., Any]:
    """A defect whose message, cause and notes hold everything there is to know."""

    def broken(*_: Any, **__: Any) -> Any:
        try:
            raise ValueError({"environ": dict(os.environ), "all": dict(secrets)})
        except ValueError as error:
            raise RuntimeError("\n".join(secrets.values())) from error

    return broken
