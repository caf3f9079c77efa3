"""Write the results of a command where the CI shows them: the log, the summary and the outputs of the job."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from reconciler import git
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError, os_reason
from reconciler.features.forges.pipeline.trigger import Ci
from reconciler.features.rehearsal.documents import RehearsalDocument
from reconciler.features.rehearsal.report import rehearsal_lines
from reconciler.report.formats.markdown import fenced
from reconciler.report.words import count
from reconciler.text.escape import github, terminal
from reconciler.writing import append, create_folder, write_whole

REPORTS: Final[Mapping[str, str]] = {
    "json": "report.json",
    "markdown": "report.md",
    "html": "report.html",
    "github": "annotations.txt",
    "junit": "junit.xml",
    "sarif": "reconciler.sarif",
    "codequality": "code-quality.json",
}
"""The file of each report in the folder of reports."""
PLAN: Final = "plan.json"
CHECKED: Final = "validate-"
"""The prefix of the reports of `validate` if another command runs after it."""
REHEARSAL: Final = "rehearsal-"
"""The prefix of the reports of `rehearse`."""
LEFT_OUT: Final[Mapping[str, tuple[str, ...]]] = {
    "validate": ("markdown", "html"),
    "rehearse": ("markdown", "github", "junit", "sarif", "codequality"),
}
"""The reports that a command does not write."""
_LAST: Final = re.compile(r"^::notice title=[^:]*::(.*)$", re.MULTILINE)
_WORDS: Final = re.compile(r"%(25|0A|0D)")


@dataclass(frozen=True)
class Results:
    """The folder of reports, and the CI that reads them."""

    screen: Screen
    folder: Path
    ci: Ci

    @classmethod
    def cleared(cls, screen: Screen, folder: Path, ci: Ci) -> Results:
        """Results in a directory without the reports of an earlier command. Raises `UsageError` if it cannot be written."""
        is_new = not folder.exists()
        try:
            create_folder(folder, mode=0o700)
            if is_new:  # reports are not committed; in a folder of somebody else, git does what they decided
                write_whole(folder / ".gitignore", "*\n", mode=None)
            _check_untracked(folder)
            for name in (PLAN, *REPORTS.values()):
                (folder / name).unlink(missing_ok=True)
                for prefix in (CHECKED, REHEARSAL):
                    (folder / (prefix + name)).unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"the directory {folder} cannot be written: {os_reason(error)}", id="RC-file-not-written") from error
        return cls(screen, folder, ci)

    def options(self, command: str, prefix: str = "") -> list[str]:
        """The options that make a command write its reports."""
        left_out = LEFT_OUT.get(command, ())
        return [f"--report={name}={self.folder / (prefix + file)}" for name, file in REPORTS.items() if name not in left_out]

    def annotate(self, prefix: str = "") -> None:
        """Print the annotations of a report to the log, if the CI reads them there."""
        file = self.folder / (prefix + REPORTS["github"])
        if self.ci is Ci.GITHUB and file.is_file():
            self.screen.raw(file.read_text(encoding="utf-8"))

    def say(self, level: str, text: str) -> None:
        """Print a message to the log of the job. `level`: notice or error."""
        if self.ci is Ci.GITHUB:
            self.screen.raw(f"::{level} title=Reconciler::{github(self.screen.masked(text))}\n")
        elif level == "notice":
            self.screen.say(text)

    def merge(self) -> None:
        """Put the code quality report of `validate` in front of the command's own: GitLab reads one file of a job."""
        first, second = self.folder / (CHECKED + REPORTS["codequality"]), self.folder / REPORTS["codequality"]
        if not first.is_file():
            return
        reports = [json.loads(file.read_text(encoding="utf-8")) for file in (first, second) if file.is_file()]
        entries = {entry["fingerprint"]: entry for report in reports for entry in report}
        write_whole(second, json.dumps([*entries.values()], indent=2) + "\n", mode=None)
        first.unlink()

    @property
    def file(self) -> Path | None:
        """The JSON report of the command, or of `validate` where that was the last one."""
        files = [self.folder / name for name in (REPORTS["json"], CHECKED + REPORTS["json"])]
        return next((file for file in files if file.is_file()), None)

    def document(self) -> dict[str, Any]:
        """The contents of the JSON report; empty if there is none."""
        document: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8")) if self.file is not None else {}
        return document

    def rehearsal(self) -> dict[str, Any]:
        """The document of the rehearsal; empty if there is none."""
        file = self.folder / (REHEARSAL + REPORTS["json"])
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return document

    def sentence(self) -> str:
        """The summary of the report; "" if there is none."""
        file = self.folder / REPORTS["github"]
        sentences = _LAST.findall(file.read_text(encoding="utf-8")) if file.is_file() else []
        if sentences:
            return _WORDS.sub(lambda match: " " if match[1] != "25" else "%", sentences[-1])
        summary = self.document().get("summary")
        if not isinstance(summary, dict) or "error" not in summary:
            return ""

        return f"{count(summary['error'], 'error')} and {count(summary['warning'], 'warning')} in the files."

    def summarize(self, sentence: str) -> None:
        """Append the report to the summary of the job."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if self.ci is not Ci.GITHUB or not path:
            return

        file = self.folder / REPORTS["markdown"]
        text = file.read_text(encoding="utf-8") if file.is_file() else f"### Reconciler\n\n{fenced([terminal(sentence)])}\n"
        append(Path(path), self.screen.masked(text) + "\n")
        if rehearsal := self.rehearsal():
            lines = fenced(list(map(terminal, rehearsal_lines(cast("RehearsalDocument", rehearsal)))))
            append(Path(path), self.screen.masked(f"#### Rehearsal\n\n{lines}\n"))

    def output(self, values: Mapping[str, str]) -> None:
        """Set the outputs of the step."""
        path = os.environ.get("GITHUB_OUTPUT")
        if self.ci is not Ci.GITHUB or not path:
            return
        lines = [f"{name}={' '.join(self.screen.masked(value).split())}\n" for name, value in values.items()]
        append(Path(path), "".join(lines))


def _check_untracked(folder: Path) -> None:
    """Raise `UsageError` if files in the folder are committed: whoever proposes a change could have put reports of their own there."""
    repository = git.around(folder)
    if repository is None or not git.is_installed():  # without git, nothing is known of commits; the writer follows no link in any case
        return
    path = folder.resolve().relative_to(repository.folder).as_posix()
    tracked = repository.run("ls-files", "-z", "--", path)
    if tracked.code == 0 and tracked.out:
        name = terminal(os.fsdecode(tracked.out.split(b"\0")[0]))
        raise UsageError(
            f"the directory {folder} contains committed files, {name} for example, and reports are not written there",
            id="RC-reports-committed",
            hint=f"Remove them with git rm -r {folder}, or name another directory: --reports DIR",
        )


def changes(document: Mapping[str, Any]) -> int:
    """The number of addresses that a plan would change, an apply changed, or that drifted or fail an assertion."""
    match document.get("format", "").partition("/")[0]:
        case "reconciler.plan":
            return len({change["address"] for change in document["changes"]})
        case "reconciler.outcome":
            return len({step["address"] for step in document["steps"] if step["status"] == "done"})
        case "reconciler.drift":
            return len({entry["address"] for entry in (*document["resources"], *document.get("violations", []))})
        case _:
            return 0
