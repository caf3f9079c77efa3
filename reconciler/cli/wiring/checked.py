"""`validate` where nothing changed: what it said of the same project, if every byte that it depends on is the same.

In: the command line, the environment, the files. Out: the sentence. What is compared: the names of all files of the project, the text of
each file that was read (also by `file()`), variables, environment, this program and its kinds. Only "valid" is ever remembered.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.cli.terminal.screen import VARIABLES
from reconciler.cli.wiring.sealed import Seal, digests, listing

if TYPE_CHECKING:
    from reconciler.cli.options import Options
    from reconciler.cli.terminal.screen import Screen
    from reconciler.config import Project

FILE: Final = "valid.json"
PROJECT_FILE: Final = "reconciler.yaml"


class Checked:
    """A project that may have been found valid before."""

    def __init__(self, root: Path, seal: Seal, given: str, names: str) -> None:
        self.root, self.seal, self.given, self.names = root, seal, given, names

    @classmethod
    def of(cls, options: Options) -> Checked | None:
        """None where nothing can be remembered of the project."""
        file = options.project / PROJECT_FILE if options.project.is_dir() else options.project
        try:
            text, root = file.read_bytes(), file.parent.resolve()
        except OSError:
            return None
        seal = Seal.of(root, text)
        names = listing(root) if seal is not None else None
        if seal is None or names is None:
            return None
        variables = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        given = [str(root), file.name, options.env, dict(options.var), sorted(options.public_var), variables]
        return cls(root, seal, seal.digest(given), names)

    def sentence(self) -> str | None:
        """What was said of it; None where it was not valid, or something changed."""
        known = self.seal.read(FILE)
        if not isinstance(known, dict) or known.get("given") != self.given or known.get("names") != self.names:
            return None
        files: dict[str, str] = known["files"]
        return str(known["sentence"]) if digests(self.root, files) == files else None

    def remember(self, screen: Screen, project: Project, sentence: str) -> None:
        """That the project is valid, and what was said of it; not where a secret is masked in that, or a file changed meanwhile."""
        if project.warnings or screen.masked(sentence) != sentence or listing(self.root) != self.names:
            return
        known: dict[str, Any] = {"given": self.given, "names": self.names, "files": dict(project.texts), "sentence": sentence}
        self.seal.write(FILE, known)
