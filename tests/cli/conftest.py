"""The command line in a folder of its own, with an environment of its own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from reconciler.cli import main
from reconciler.report.schemas.documents import schemas
from tests.request_bodies import foreign

CLEAN = dict.fromkeys(
    ("RECONCILER_TOKEN", "RECONCILER_BASE_URL", "RECONCILER_STATE", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"), None
)  # fmt: skip


@dataclass
class Cli:
    """Runs command lines inside `root`."""

    root: Path
    env: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, *words: str, env: Mapping[str, str | None] = {}, input: str | None = None) -> Result:
        home = {"HOME": str(self.root / "home"), "XDG_CONFIG_HOME": str(self.root / "home" / ".config")}
        with contextlib.chdir(self.root), foreign() if words[:1] == ("api",) else contextlib.nullcontext():
            result = CliRunner().invoke(main, [str(word) for word in words], env={**CLEAN, **home, **self.env, **env}, input=input)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.stderr + result.stdout
        return result

    def json(self, *words: str) -> Any:
        return self.json_of(*words)

    def json_of(self, *words: str, env: Mapping[str, str | None] = {}) -> Any:
        """The same with an environment."""
        return json.loads(self(*words, "--format", "json", env=env).stdout)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


def valid(document: Any, name: str) -> Any:
    """The document, which is as its schema says."""
    schema = schemas()[f"{name}.schema.json"]
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(document)
    return document


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
