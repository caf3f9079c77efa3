"""What was found out about a project, as long as every byte that it depends on is the same.

In: the command line, the environment, the files. Out: what a command remembered. What is compared: the names of all files of the project,
the text of each file that was read (also by `file()`), variables, environment, this program and its kinds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.cli.terminal.screen import VARIABLES
from reconciler.cli.wiring.sealed import Seal, digests, listing

if TYPE_CHECKING:
    from reconciler.cli.options import Options
    from reconciler.config import Project

PROJECT_FILE: Final = "reconciler.yaml"


class Checked:
    """A project that may have been looked at before."""

    def __init__(self, root: Path, seal: Seal, given: str, names: str) -> None:
        self.root, self.seal, self.given, self.names = root, seal, given, names

    @classmethod
    def of(cls, options: Options, *more: object) -> Checked | None:
        """None where nothing can be remembered of the project. `more`: what else a command depends on."""
        file = options.project / PROJECT_FILE if options.project.is_dir() else options.project
        try:
            text, root = file.read_bytes(), file.parent.resolve()
        except OSError:
            return None
        seal = Seal.of(root, text, options.state)
        names = listing(root) if seal is not None else None
        if seal is None or names is None:
            return None
        variables = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        given = [str(root), file.name, options.env, dict(options.var), sorted(options.public_var), variables, *more]
        return cls(root, seal, seal.digest(given), names)

    def recall(self, name: str) -> Any:
        """What was remembered under that name; None where nothing was, or something changed."""
        known = self.seal.read(name)
        if not isinstance(known, dict) or known.get("given") != self.given or known.get("names") != self.names:
            return None
        files: dict[str, str] = known["files"]
        return known["found"] if digests(self.root, files) == files else None

    def remember(self, name: str, project: Project, found: Any) -> None:
        """Remember something of the project; not where it has warnings, or a file changed meanwhile."""
        if not project.warnings and listing(self.root) == self.names:
            self.seal.write(name, {"given": self.given, "names": self.names, "files": dict(project.texts), "found": found})
