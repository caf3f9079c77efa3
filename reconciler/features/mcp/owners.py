"""Who owns a file of a repository, as its CODEOWNERS says: the last pattern that matches decides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reconciler.links import read_file, repository
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
        """The owners in the repository around a project; none outside a repository, or without such a file. As on forges, a link in its
        place is none."""
        root = root.resolve()
        top = repository(root)
        content = next((content for name in FILES if (content := _content(top, name)) is not None), None) if top is not None else None
        if top is None or content is None or len(content) > MOST:
            return cls()
        inside = root.relative_to(top).as_posix()
        lines = content.decode("utf-8", "replace").splitlines()
        return cls(tuple(rule for line in lines if (rule := _rule(line)) is not None), "" if inside == "." else f"{inside}/")

    def of_file(self, name: str) -> tuple[str, ...]:
        """The owners of a file, by its path in the project."""
        path = f"{self.folder}{name}"
        return next((owners for pattern, owners in reversed(self.rules) if pattern.matches(path)), ())


def _content(top: Path, name: str) -> bytes | None:
    """The content of a file of a repository; None if there is none, or a link leads to it."""
    try:
        return read_file(top / name, MOST) if (top / name).resolve() == top / name else None
    except OSError:
        return None


def _rule(line: str) -> tuple[PathPattern, tuple[str, ...]] | None:
    words = line.partition("#")[0].split()
    if not words or words[0].startswith(("[", "^[")):  # a section of GitLab
        return None
    return _pattern(words[0]), tuple(word for word in words[1:] if "@" in word)


def _pattern(text: str) -> PathPattern:
    """A pattern of .gitignore: with a `/` before its end it begins at the top, else anywhere; a folder includes what is in it."""
    begin = "" if "/" in text.rstrip("/") else "**/"
    return PathPattern.parse(f"{begin}{text.strip('/')}/**", "*?")
