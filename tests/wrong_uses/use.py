"""One wrong use: a small project with one mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconciler.config import load
from reconciler.config.keys import is_encrypted
from reconciler.config.project import FileAccess
from reconciler.config.source.nodes import plain
from reconciler.config.source.reader import read
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.documents import configuration
from tests.sops import as_encrypted

PROJECT = "reconciler.yaml"
STAGING = "environments/staging.yaml"
HEAD = "version: 1\nproject: docs\n"
ORGANIZATION = """\
organizations:
  acme:
    id: org_acme
    title: Acme
"""
CONTENT = """\
    content:
      - {space: blank, id: spc_blank, title: Blank}
"""
SITES = """\
    teams: {writers: {title: Writers}}
    sites:
      docs: {title: Docs, structure: [blank], shareLinks: {partners: {name: Partners}}}
"""
FILES = {
    "secrets.enc.yaml": as_encrypted({"client": "x", "okta": {"pem": "x"}}),
    "products.json": '["pay", "id"]',
}


def data(folder: Path, name: str) -> Any:
    """A file as an editor sees it: expressions as they are written; None where it is no YAML."""
    node = read((folder / name).read_bytes(), name).data
    return None if node is None else plain(node)


@dataclass(frozen=True)
class Use:
    """`text`: of the project file. `files`: more files. `options`: what `load` is given."""

    text: str
    files: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> list[str]:
        """Write the project; the names of its own files."""
        files = {PROJECT: self.text, **self.files}
        for name, text in {**FILES, **files}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(files)

    def said(self, folder: Path) -> list[str]:
        """What `load` says of it."""
        given = dict(self.options)
        variables = tuple((name, text.encode()) for name, text in given.pop("var_file", {}).items())
        try:
            load(folder, kinds(), access=FileAccess(variables, decrypt=False), **given)
        except ConfigError as error:
            return [f"{problem} [{problem.id}]" for problem in error.problems]
        return []

    def marked(self, folder: Path) -> bool:
        """Whether editors mark one of its own files, by the published schema."""
        return any(not configuration().is_valid(data(folder, name)) for name in {PROJECT, *self.files} if not is_encrypted(name))

    @property
    def words(self) -> list[str]:
        """The options as they are typed."""
        given = {"--env": self.options.get("environment")}
        pairs = [f"--var={name}={value}" for name, value in self.options.get("variables", {}).items()]
        return [word for name, value in given.items() if value is not None for word in (name, value)] + pairs


def top(line: str, **more: Any) -> Use:
    """Something at line 3 of the project file."""
    return Use(f"{HEAD}{line}\n{ORGANIZATION}{CONTENT}{SITES}", **more)


def organization(line: str, *, before: str = "", **more: Any) -> Use:
    """Something at the end of the organization: line 7, or further below by the lines of `before` at the top."""
    return Use(f"{HEAD}{before}{ORGANIZATION}{line}\n", **more)


def node(line: str, *, before: str = "", **more: Any) -> Use:
    """An item of content, at line 9."""
    return Use(f"{HEAD}{before}{ORGANIZATION}{CONTENT}      - {line}\n", **more)


def environment(text: str, *, before: str = "", **more: Any) -> Use:
    """The file of the environment that is chosen."""
    files = {STAGING: text, **more.pop("files", {})}
    return Use(f"{HEAD}{before}{ORGANIZATION}{CONTENT}{SITES}", files=files, options={"environment": "staging"}, **more)


def patch(line: str, **more: Any) -> Use:
    """A patch, at line 2 of the environment."""
    return environment(f"patch:\n  - {line}\n", **more)
