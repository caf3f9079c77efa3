"""Who owns a file of a repository, as its CODEOWNERS says: the last pattern that matches decides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reconciler.text.patterns import PathPattern

FILES: Final = ("CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS")
MOST: Final = 1_000_000  # bytes; forges refuse larger ones too


@dataclass(frozen=True)
class Owners:
    """The rules of a repository, in their order. `folder`: of the project in it, with `/` at its end; "" for its top."""

    rules: tuple[tuple[PathPattern, tuple[str, ...]], ...] = ()
    folder: str = ""

    @classmethod
    def of(cls, root: Path) -> Owners:
        """The owners in the repository around a project; none outside a repository, or without such a file."""
        root = root.resolve()
        top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
        file = next((top / name for name in FILES if (top / name).is_file()), None) if top is not None else None
        if top is None or file is None or file.stat().st_size > MOST:
            return cls()
        inside = root.relative_to(top).as_posix()
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        return cls(tuple(rule for line in lines if (rule := _rule(line)) is not None), "" if inside == "." else f"{inside}/")

    def of_file(self, name: str) -> tuple[str, ...]:
        """The owners of a file, by its path in the project."""
        path = f"{self.folder}{name}"
        return next((owners for pattern, owners in reversed(self.rules) if pattern.matches(path)), ())


def _rule(line: str) -> tuple[PathPattern, tuple[str, ...]] | None:
    words = line.partition("#")[0].split()
    if not words or words[0].startswith(("[", "^[")):  # a section of GitLab
        return None
    return _pattern(words[0]), tuple(words[1:])


def _pattern(text: str) -> PathPattern:
    """A pattern of .gitignore: with a `/` before its end it begins at the top, else anywhere; a folder includes what is in it."""
    begin = "" if "/" in text.rstrip("/") else "**/"
    return PathPattern.parse(f"{begin}{text.strip('/')}/**", "*?")
