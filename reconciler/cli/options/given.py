"""The shared options of a command line as values, and the equivalent command line of another command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reconciler.address import Glob
from reconciler.cli.files import path_from_here
from reconciler.cli.options.declare import STDIN
from reconciler.cli.terminal.screen import Screen
from reconciler.config.language.variables import STANDARD_INPUT, VariableFile


@dataclass(frozen=True)
class Options:
    """The shared options of one command line; options that a command does not have keep their defaults."""

    project: Path = Path()
    env: str | None = None
    var: Mapping[str, str] = field(default_factory=dict)
    var_file: tuple[tuple[str, bytes], ...] = ()
    env_file: tuple[str, ...] = ()
    public_var: tuple[str, ...] = ()
    allow_file: tuple[Path, ...] = ()
    sandbox: Path | None = None
    base_url: str | None = None
    max_concurrency: int | None = None
    max_rps: float | None = None
    state: str | None = None
    target: tuple[Glob, ...] = ()
    exclude: tuple[Glob, ...] = ()
    allow_replace: tuple[Glob, ...] = ()
    allow_exposure: tuple[Glob, ...] = ()
    allow_delete: int | None = None
    accept_gone: int | None = None
    create_state: bool = False
    rules_from: str | None = None
    format: str = "text"
    directories: tuple[str, ...] = ()

    @classmethod
    def of(cls, screen: Screen, words: Mapping[str, Any]) -> Options:
        """The options among the parameters of a command; output options go to the screen."""
        screen.color = words.get("color", "auto")
        known = {name: value for name, value in words.items() if name in cls.__dataclass_fields__}
        return cls(**known, directories=screen.directories)

    @property
    def var_files(self) -> tuple[VariableFile, ...]:
        """The files of variables with their names in messages: relative to the project if they are in it."""
        if not self.var_file:
            return ()

        folder = Path(os.path.normpath((self.project if self.project.is_dir() else self.project.parent).absolute()))
        named = []
        for name, text in self.var_file:
            path = Path(os.path.normpath(Path(name).absolute()))
            inside = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else name
            named.append(VariableFile(STANDARD_INPUT if name == STDIN else inside, text))
        return tuple(named)

    def _globs(self) -> Mapping[str, tuple[Glob, ...]]:
        """The options whose values are patterns over addresses."""
        allowed = {"allow-replace": self.allow_replace, "allow-exposure": self.allow_exposure}
        return {"target": self.target, "exclude": self.exclude, **allowed}

    def saved_line(self, plan: Path) -> str:
        """The command line that applies a saved plan; the plan itself contains the rest."""
        rest = replace(self, target=(), exclude=(), allow_replace=(), allow_exposure=())
        return f"{rest.command_line('apply')} --plan {shlex.quote(str(plan))}"

    def command_line(self, command: str) -> str:
        """The same options for another command, as a user would type them."""
        words = ["reconciler", *(word for name in self.directories for word in ("-C", name)), *command.split()]
        if self.project != Path():
            words.append(str(self.project))
        words += [f"--env={self.env}"] if self.env else []
        words += [f"--var={name}={value}" for name, value in self.var.items()]
        words += [f"--var-file={name}" for name, _ in self.var_file]
        words += [f"--env-file={name}" for name in self.env_file]
        words += [f"--public-var={name}" for name in self.public_var]
        words += [f"--allow-file={path_from_here(path)}" for path in self.allow_file]
        for name, values in self._globs().items():
            words += [part for value in values for part in (f"--{name}", str(value))]
        words += ["--allow-delete", str(self.allow_delete)] if self.allow_delete is not None else []
        words += ["--accept-gone", str(self.accept_gone)] if self.accept_gone is not None else []
        words += ["--rules-from", self.rules_from] if self.rules_from is not None else []
        words += ["--sandbox", str(path_from_here(self.sandbox))] if self.sandbox is not None else []
        words += ["--base-url", self.base_url] if self.base_url else []
        words += ["--state", self.state] if self.state and "@" not in self.state else []
        return shlex.join(words)
