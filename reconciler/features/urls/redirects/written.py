"""The files of redirects that an apply writes into the project.

They are written after the run, from what answers then: no file says what is not so. A run that is killed in between writes none; the ledger
has what answered before it, so the next apply writes them, or `urls export --write`. Committing them is the reader's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reconciler.errors import UsageError, os_reason
from reconciler.features.urls.model.redirects import RedirectFile, RedirectPlan
from reconciler.features.urls.redirects.formats import is_ours
from reconciler.features.urls.redirects.required import pattern_of, recorded_url
from reconciler.links import checkout, open_place
from reconciler.report.words import count, listed
from reconciler.run.voice import Voice
from reconciler.writing import FolderChange, checked_path

MOST_FILES = 5  # files of a sentence


class RedirectFiles:
    """The files of redirects of a project. `root`: its directory."""

    def __init__(self, root: Path, files: Sequence[RedirectFile]) -> None:
        self.root, self.files = root, files

    def check(self) -> None:
        """Raise `UsageError` if one of them cannot be written."""
        for file in self.files:
            with self._naming(file, "Nothing was sent."):
                checked_path(file.path)
                self._check(file)

    def write(self) -> None:
        """Write all of them, or none. Raises `UsageError`."""
        change = FolderChange(self.root)
        try:
            for file in self.files:
                with self._naming(file, "The redirects were not written."):
                    checked_path(file.path)
                    self._check(file)
                    change.write(file.path, file.text or "")
        except BaseException:
            change.take_back()
            raise
        change.keep()

    @contextmanager
    def _naming(self, file: RedirectFile, done: str) -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            raise UsageError(error.message, id=error.id, hint=f"{done} {error.hint}") from error
        except (OSError, ValueError) as error:
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            raise UsageError(
                f"{file.path} cannot be written: {reason}",
                id="RC-file-not-written",
                hint=f"{done} Correct it, or choose another folder: urls: {{to: FOLDER}}",
            ) from error

    def _check(self, file: RedirectFile) -> None:
        """Raise `UsageError` if somebody else's file is there, which the loading of the project did not see."""
        path = self.root / file.path
        link = next((part for part in (path, *path.parents) if part != self.root and self.root in part.parents and part.is_symlink()), None)
        if link is not None:
            raise UsageError(
                f"{file.path} cannot be written: {link} is a link",
                id="RC-link-not-written",
                hint="Replace the link by what it leads to.",
            )
        if not path.exists():
            return
        with open_place(path) as existing:
            ours = is_ours(file.format, existing.read().decode("utf-8", "replace"))
        if not ours:
            raise UsageError(
                f"{file.path} was not written by Reconciler, which would replace it",
                id="RC-file-of-others",
                hint="Move it, or choose another folder: urls: {to: FOLDER}",
            )


def check_redirects(root: Path, redirects: RedirectPlan | None) -> None:
    """Raise `UsageError` if a file that a run is about to need cannot be written."""
    RedirectFiles(root, redirects.written if redirects is not None else ()).check()


def write_redirects(voice: Voice, root: Path, redirects: RedirectPlan | None) -> bool:
    """Write the files that differ, and say what to do with them. Returns whether there were any. Raises `UsageError`."""
    files = redirects.written if redirects is not None else ()
    if not files:
        return False
    RedirectFiles(root, files).write()
    names = listed([file.path for file in files], MOST_FILES)
    commit = " and commit" if checkout(root.resolve()) is not None else ""
    voice.say(f"Wrote {names}. Review{commit} them, and install them where the old URLs are served.")
    return True


def settled_redirects(voice: Voice, root: Path, redirects: RedirectPlan | None, planned: RedirectPlan | None) -> bool:
    """Write the files after a run. Returns False, and says why, if they could not be written. `planned`: what the plan showed: URLs that it
    did not name as dead are named now."""
    if redirects is None:
        return True
    known = {recorded_url(url.url) for url in (*planned.dead, *planned.ended)} if planned is not None else set[str]()
    new = [url for url in (*redirects.dead, *redirects.ended) if recorded_url(url.url) not in known]
    if new:
        names = listed([pattern_of(url) for url in new], MOST_FILES)
        voice.warn(
            f"Nothing answers at {count(len(new), 'URL')} that {'was' if len(new) == 1 else 'were'} public: {names}", id="RC-dead-urls"
        )
    try:
        write_redirects(voice, root, redirects)
    except UsageError as error:
        voice.warn(f"{error.message}. {error.hint} Then: reconciler urls export --write", id=error.id)
        return False
    return True
