"""The files of redirects that an apply writes into the project.

They are written after the plan is confirmed and before the first request: a run that is killed leaves pages moved, and the next plan no
longer knows where from. A run that did nothing takes them back. Committing them is the reader's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError, os_reason
from reconciler.links import checkout, open_regular
from reconciler.model import Outcome, RedirectFile, RedirectPlan, StepStatus
from reconciler.report.words import listed
from reconciler.urls.formats import is_ours
from reconciler.writing import FolderChange, checked_path

NAMED = 5  # files of a sentence


class WrittenRedirects:
    """The files of a run. `root`: the directory of the project."""

    def __init__(self, screen: Screen, root: Path, files: Sequence[RedirectFile]) -> None:
        self.screen, self.root, self.files = screen, root, files
        self._change = FolderChange(root)

    def write(self) -> None:
        """Write all of them, or none. Raises `UsageError`."""
        try:
            for file in self.files:
                checked_path(file.path)
                self._check(file)
                self._change.write(file.path, file.text or "")
        except (OSError, ValueError) as error:
            self._change.take_back()
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            raise UsageError(
                f"{file.path} cannot be written: {reason}",
                id="RC-file-not-written",
                hint="Nothing was sent. Correct it, or choose another folder: urls: {to: FOLDER}",
            ) from error
        except BaseException:
            self._change.take_back()
            raise

    def _check(self, file: RedirectFile) -> None:
        """Raise `UsageError` if somebody else's file is there, which the loading of the project did not see."""
        path = self.root / file.path
        link = next((part for part in (path, *path.parents) if part != self.root and self.root in part.parents and part.is_symlink()), None)
        if link is not None:
            raise UsageError(
                f"{file.path} cannot be written: {link} is a link",
                id="RC-link-not-written",
                hint="Nothing was sent. Replace the link by what it leads to.",
            )
        if not path.exists():
            return
        with open_regular(path, follow=False) as existing:
            ours = is_ours(file.format, existing.read().decode("utf-8", "replace"))
        if not ours:
            raise UsageError(
                f"{file.path} was not written by Reconciler, which would replace it",
                id="RC-file-of-others",
                hint="Nothing was sent. Move it, or choose another folder: urls: {to: FOLDER}",
            )

    def settle(self, outcome: Outcome) -> None:
        """Keep the files if anything was done, and say what to do with them; else restore what was there."""
        if outcome.results and not any(result.status in (StepStatus.DONE, StepStatus.IN_DOUBT) for result in outcome.results):
            self._change.take_back()
            return
        self.keep("where the old URLs are served" if outcome.went_through else "once an apply has gone through")

    def keep(self, install: str = "where the old URLs are served") -> None:
        """Keep the files, and say what to do with them. `install`: where or when, as the end of a sentence."""
        self._change.keep()
        names = listed([file.path for file in self.files], NAMED)
        commit = " and commit" if checkout(self.root.resolve()) is not None else ""
        self.screen.say(f"Wrote {names}. Review{commit} them, and install them {install}.")


def written_redirects(screen: Screen, root: Path, redirects: RedirectPlan | None) -> WrittenRedirects | None:
    """Write the files of redirects that differ; None if none does. Raises `UsageError`."""
    files = redirects.written if redirects is not None else ()
    if not files:
        return None
    written = WrittenRedirects(screen, root, files)
    written.write()
    return written
