"""The command line in a folder of its own, with an environment of its own."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from reconciler import exits
from reconciler.assembled import main
from reconciler.cli.program import LazyGroup
from reconciler.cli.terminal.screen import Screen
from reconciler.client.pacing import Clock
from reconciler.run.supervision import Supervision
from tests.request_bodies import foreign

CLEAN = dict.fromkeys(
    (
        "RECONCILER_TOKEN", "RECONCILER_BASE_URL", "RECONCILER_STATE", "OTEL_EXPORTER_OTLP_ENDPOINT",
        "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM",
    ),
    None,
)  # fmt: skip


def documented(words: Sequence[str]) -> frozenset[int]:
    """The exit codes in the help of the command that these words name."""
    group: LazyGroup | None = main
    codes: Collection[int] = main.codes()
    for word in words:
        if group is None or word not in group.by_name:
            continue
        command, codes = group.get_command(click.Context(group), word), group.by_name[word].codes
        group = command if isinstance(command, LazyGroup) else None
        if group is not None:
            codes = group.codes()
    return frozenset({*exits.ALWAYS, *codes})


@dataclass
class Cli:
    """Runs command lines inside `root`. `home`: the user's, None for one in `root`. `clock`: of the client, None for the machine's;
    with `Still` of the harness, a request that fails is sent again at once.
    """

    root: Path
    env: dict[str, str | None] = field(default_factory=dict)
    home: Path | None = None
    clock: Clock | None = None

    @property
    def user(self) -> dict[str, str]:
        """Whose folders are used: `home`, else one in `root`."""
        home = self.home or self.root / "home"
        return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_STATE_HOME": str(home / ".state")}

    def __call__(self, *words: str, env: Mapping[str, str | None] = {}, input: str | None = None, code: int | None = None) -> Result:
        """What a command line answers. `code`: the exit code that it must have; None for any that its help lists."""
        with contextlib.chdir(self.root), foreign() if words[:1] == ("api",) else contextlib.nullcontext():
            screen = Screen(Supervision(clock=self.clock))
            line, environ = [str(word) for word in words], {**CLEAN, **self.user, **self.env, **env}
            result = CliRunner().invoke(main, line, env=environ, input=input, obj=screen)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.stderr + result.stdout
        assert result.exit_code in documented(words), f"the help of {words} does not list exit code {result.exit_code}"
        assert result.exit_code == exits.DONE or result.output, f"{words} ended with {result.exit_code} without a word"
        if result.exit_code != exits.DONE:
            print(result.stderr)  # pytest shows it where a test fails later, because there is nothing on stdout
        if code is not None:
            assert result.exit_code == code, f"{words} ended with {result.exit_code}:\n{result.stdout}{result.stderr}"
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


# -- what many tests begin with ----------------------------------------------------------------------------------------------------------


def prepared(prepare: Callable[[Cli], Cli]) -> Callable[[Cli], Cli]:
    """The same preparation of a command line's folder, run once in this process; later the folder that it left is copied."""
    kept: list[tempfile.TemporaryDirectory[str]] = []

    @functools.wraps(prepare)
    def copied(cli: Cli) -> Cli:
        if kept:
            shutil.copytree(kept[0].name, cli.root, symlinks=True, dirs_exist_ok=True)
            return cli
        assert prepare(cli) is cli
        image = tempfile.TemporaryDirectory(prefix="prepared-", ignore_cleanup_errors=True)
        shutil.copytree(cli.root, image.name, symlinks=True, dirs_exist_ok=True)
        kept.append(image)
        return cli

    return copied


@prepared
def initialised(cli: Cli) -> Cli:
    """The project `p` on a sandbox of its own, not applied yet."""
    assert cli("init", "p", "--sandbox").exit_code == 0
    return cli


@prepared
def applied_project(cli: Cli) -> Cli:
    """The same, applied."""
    assert initialised(cli)("apply", "p", "--yes", code=0).stdout.endswith("Applied 11 requests. The plan is now empty.\n")
    return cli


@prepared
def retitled(cli: Cli) -> Cli:
    """The same, applied again with another title of a team."""
    applied_project(cli).edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert cli("apply", "p", "--yes").exit_code == 0
    return cli
