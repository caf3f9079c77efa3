"""The commands of a CI job: `plan`, `apply`, `drift` and `validate`, each with all its reports.

They run as from the command line, so that this module decides nothing about their behaviour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from re import sub
from typing import Final

import click

from reconciler import exits
from reconciler.cli.option_table import ROWS
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Locked, UsageError
from reconciler.features.forges.pipeline.approved import approved
from reconciler.features.forges.pipeline.results import CHECKED, PLAN, REHEARSAL, Results
from reconciler.features.forges.pipeline.trigger import PipelineEvent, Trigger
from reconciler.run.connection.connecting import TOKEN
from reconciler.writing import write_whole

JUDGED: Final = frozenset({"plan", "apply", "drift", "diff", "rehearse"})
"""The commands that judge the project by its rules."""
TARGET: Final = "target"
FAILING: Final[Mapping[str, tuple[str, str]]] = {
    "readers": ("readersGained", "somebody can read more"),
    "urls": ("deadUrls", "published URLs stop answering"),
}
"""What a rehearsal must not show where a pipeline asks for it: a number of its moments, and what it means."""
REHEARSED: Final = frozenset({"guards", "rules", "absences", "service", "state"})
"""The groups of options of `plan` that `rehearse` has too. What is selected is in the saved plan."""
PAUSE: Final = 5.0  # seconds between two attempts to take the lease


@dataclass(frozen=True)
class Works:
    """The commands on one project and environment. `rules`: the ref whose rules judge it, `target` for the target branch of a pull
    request, "" for its own. `more`: options for the command. `wait`: seconds for another run to end. `failing`: what a rehearsal of the
    plan must not show, of `FAILING`; None where nothing is rehearsed. `hold`: plan holds what is refused."""

    screen: Screen
    program: click.Group
    trigger: Trigger
    results: Results
    project: Path
    environment: str
    rules: str
    more: Sequence[str]
    wait: float
    failing: Collection[str] | None = None
    hold: bool = False

    def run(self, command: str) -> int:
        """Run a command. Returns its exit code, or raises what it raises."""
        flows: dict[str, Callable[[], int]] = {
            "plan": self._plan,
            "apply": self._apply,
            "drift": lambda: self._call("drift", *self.more),
            "validate": lambda: self._call("validate", "--lint", *self.more),
        }
        return flows[command]()

    def _call(self, command: str, *arguments: str, prefix: str = "") -> int:
        line = [command, str(self.project)]
        line += ["--env", self.environment] if self.environment else []
        line += ["--rules-from", self.judging] if self.judging and command in JUDGED else []
        line += [*self.results.options(command, prefix), *arguments]
        try:
            code = self.program.main(line, prog_name="reconciler", standalone_mode=False, obj=self.screen)
        finally:
            self.results.annotate(prefix)
        return code if isinstance(code, int) else exits.DONE

    def _plan(self) -> int:
        try:
            code = self._call("validate", "--lint", prefix=CHECKED)
        except BaseException:
            self.results.merge()
            raise
        if code == exits.DONE:
            files_only = self.trigger.event is PipelineEvent.PULL_REQUEST and not os.environ.get(TOKEN)
            code = (
                self._compare()
                if files_only
                else self._call("plan", "--out", str(self.file), *(["--hold"] if self.hold else []), *self.more)
            )
        self.results.merge()
        if self.failing is not None and self.file.is_file():
            code = exits.strongest([code, self._rehearse(self.failing)])
        return code

    def _rehearse(self, failing: Collection[str]) -> int:
        """Try the saved plan on a copy."""
        shared = {f"--{row.name}" for row in ROWS if row.group in REHEARSED and row.saved != "scope"}
        kept: list[str] = []
        keep = False
        for word in self.more:  # a word that begins with no dash is the value of the option before it
            keep = word.partition("=")[0] in shared if word.startswith("-") else keep
            kept += [word] if keep else []
        code = self._call("rehearse", "--plan", str(self.file), *kept, prefix=REHEARSAL)
        moments = self.results.rehearsal()["moments"]
        for number, meaning in (FAILING[name] for name in FAILING if name in failing):
            worst = next((moment for moment in moments if moment[number]), None)
            if worst is not None:
                when = f"after request {worst['after']} of {len(moments)} of the rehearsal"
                self.results.say("error", f"{meaning[:1].upper()}{meaning[1:]} {when}.")
                code = exits.strongest([code, exits.PENDING])
        return code

    @property
    def judging(self) -> str:
        """The ref whose rules judge the project; "" for those of its own files.

        It is the branch as it is now, and not the commit where the pull request began: whoever proposes a change chooses that one.
        Raises `UsageError` if the target branch of a pull request is not known.
        """
        if self.rules != TARGET:
            return self.rules
        if self.trigger.event is not PipelineEvent.PULL_REQUEST:
            return ""
        if not self.trigger.into:
            raise UsageError(
                "--rules-from target: the CI job does not say what the target branch is",
                id="RC-no-rules-there",
                hint="Name the branch, for example --rules-from origin/main.",
            )
        return f"origin/{self.trigger.into}"

    @property
    def file(self) -> Path:
        """The saved plan."""
        return self.results.folder / PLAN

    def _compare(self) -> int:
        """Compare the files of a pull request without the service."""
        why = "this comes from a fork, which gets no secrets" if self.trigger.fork else f"{TOKEN} is not set"
        self.results.say("notice", f"Only the files were compared, because {why}. There is no plan to approve.")
        return self._call("diff", "--from", self.trigger.base or "HEAD^1", *self.more)

    def _apply(self) -> int:

        plan, head, source = approved(self.trigger, artifact=artifact(self.project, self.environment), file=self.file.as_posix())
        write_whole(self.file, plan)
        self.screen.say(f"Applying the plan of {source}.")
        end, pause = time.monotonic() + self.wait, min(PAUSE, self.wait / 4)
        while True:
            try:
                return self._call("apply", "--plan", str(self.file), "--require-commit", head, *self.more)
            except Locked as error:
                if time.monotonic() + pause > end or not pause:
                    raise
                self.screen.say(f"{error.message[:1].upper()}{error.message[1:]}. Trying again in {pause:.0f} seconds.")
                time.sleep(pause)


def artifact(project: Path, environment: str) -> str:
    """The name of the plan's artifact, without the commit: different for each project and environment."""
    path = project.as_posix()
    slug = "-".join(sub(r"[^A-Za-z0-9_]+", "-", text).strip("-") for text in (path, environment) if text.strip("."))
    digest = sha256(f"{path}\n{environment}".encode()).hexdigest()[:8]
    return "-".join(filter(None, ("reconciler-plan", slug[:80], digest)))
