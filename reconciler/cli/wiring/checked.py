"""Results about a project that are reused as long as every byte that they depend on is the same.

In: the command line, the environment, the files. Out: what a command stored. What is compared: the names of all files of the project,
the text of each file that was read (also by `file()`), where files outside it are, variables, environment, this program and its kinds.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import VARIABLES
from reconciler.cli.wiring.sealed import SIZE_MAX, Seal, digests, listing, places_outside
from reconciler.config import Project
from reconciler.config.keys import project_file
from reconciler.regular_file import open_regular


@dataclass(frozen=True)
class CommandInputs:
    """The inputs of a command: the folder of the project, the text of the project file, and a digest of all others."""

    root: Path
    text: bytes
    seal: Seal
    digest: str

    @classmethod
    def of(cls, options: Options, *more: object) -> CommandInputs | None:
        """None without a project file, or if nothing can be stored for the project. `more`: other inputs of the command."""
        file = project_file(options.project)
        try:
            root = file.parent.resolve()
            with open_regular(file) as opened:
                text = opened.read(SIZE_MAX)
        except (OSError, RuntimeError):
            return None
        seal = Seal.of(root, options.state)
        if seal is None:
            return None
        variables = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        files = [[name, sha256(text).hexdigest()] for name, text in options.var_file]
        today = datetime.now(UTC).date().isoformat()  # exceptions to policies expire
        elsewhere = [today, str(root), file.name, options.env, dict(options.var), files, sorted(options.public_var), variables, *more]
        elsewhere += [str(path.resolve()) for path in options.allow_file]
        return cls(root, text, seal, seal.digest(elsewhere))


class CheckedProject:
    """A project with possibly stored results. `warnings`: those of the project whose results were read."""

    def __init__(self, given: CommandInputs, names: str) -> None:
        self.root, self.text, self.seal, self.given, self.names = given.root, given.text, given.seal, given.digest, names
        self.warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Options, *more: object) -> CheckedProject | None:
        """None if nothing can be stored for the project. `more`: other inputs of the command."""
        given = CommandInputs.of(options, *more)
        names = listing(given.root) if given is not None else None
        return None if given is None or names is None else cls(given, names)

    def recall(self, name: str) -> Any:
        """The result that was stored under a name; None if there is none, or something changed."""
        known = self.seal.read(name)
        if not isinstance(known, dict) or known.get("given") != self.given or known.get("names") != self.names:
            return None
        files: dict[str, str] = known["files"]
        if places_outside(self.root, files) != known["outside"] or digests(self.root, files) != files:
            return None
        self.warnings = tuple(known["warnings"])
        return known["found"]

    def remember(self, name: str, project: Project, found: Any) -> None:
        """Store a result and the warnings of the project, unless a file has changed meanwhile."""
        if listing(self.root) == self.names:
            files = dict(project.texts)
            known = {"given": self.given, "names": self.names, "files": files, "outside": places_outside(self.root, files)}
            self.seal.write(name, {**known, "warnings": list(project.warnings), "found": found})
