"""`plan` if nothing has changed, neither in the files nor on the service: it prints the earlier result.

In: a project, a state and a service that may all be as they were when a plan found nothing to do. Out: what that plan printed. What is
compared: everything of `checked`, the bytes of the state, the user's token, and every byte that the service answers. So the requests are
the same; YAML is not read, and nothing is matched or compared. Only a plan without changes is stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring import trust
from reconciler.cli.wiring.checked import CheckedProject
from reconciler.cli.wiring.connect import ConnectedService, state_file
from reconciler.cli.wiring.sealed import STATE, written_state
from reconciler.client import ClientSettings, KnownAnswers, Listener, Reader
from reconciler.config import Project
from reconciler.model import Plan
from reconciler.regular_file import open_regular
from reconciler.report.layout import ReportPage, environment_header
from reconciler.report.plan import summary

FILE: Final = "unchanged.json"
SAYS_NOTHING: Final = frozenset({"project", "environment", "managed", "unmanaged", "places", "objects"})  # of a plan without changes
TOKEN, BASE_URL = "RECONCILER_TOKEN", "RECONCILER_BASE_URL"
DEFAULTS: Final = ("sandbox", "target", "exclude", "allow_replace", "allow_exposure", "allow_delete", "accept_gone", "rules_from")


class Unchanged:
    """A plan with a possibly stored result. `answers`: the answers of the service in this run; no request is sent twice."""

    def __init__(self, checked: CheckedProject, options: Options, answers: KnownAnswers, file: Path) -> None:
        self.checked, self.options, self.answers, self.file = checked, options, answers, file
        self.state = _digest(file)

    @classmethod
    def of(cls, options: Options) -> Unchanged | None:
        """None if a plan is limited to a part, may do more than usual, or is not only for a screen, or if its state is not a file."""
        token = os.environ.get(TOKEN)
        plain = type(options)()
        if not token or options.format != "text" or any(getattr(options, name) != getattr(plain, name) for name in DEFAULTS):
            return None
        checked = CheckedProject.of(options, token, options.base_url, os.environ.get(BASE_URL))
        file = written_state(checked.root, checked.text, options.state or os.environ.get(STATE)) if checked is not None else None
        return None if checked is None or file is None else cls(checked, options, KnownAnswers(), file)

    def recall(self, screen: Screen) -> Sequence[tuple[str, str]] | None:
        """The stored result, laid out for this screen; None if a plan is needed."""
        known = self.checked.recall(FILE)
        if known is None or not self.state or known["state"] != self.state:
            return None

        screen.hide([os.environ[TOKEN]])
        url, root = known["url"], self.checked.root
        if known["confirmed"] and not trust.confirmed(root, url):
            return None
        narration = Narration(screen)
        with narration.phase(f"Checking {url} for changes"):
            same = asyncio.run(self._same(screen, known, narration))
        if not same:
            return None
        for warning in self.checked.warnings:
            screen.warn(warning, id="RC-unused-variable")

        page = ReportPage(screen.width)
        page.line(known["says"])
        return (*environment_header(self.options.env), *page.spans)

    async def _same(self, screen: Screen, known: Mapping[str, Any], listener: Listener) -> bool:
        settings = ClientSettings(
            known["url"], os.environ[TOKEN], timeout=known["timeout"], max_rps=self.options.max_rps, secrets=screen.hidden
        )  # fmt: skip
        if self.options.max_concurrency is not None:
            settings = replace(settings, max_concurrency=self.options.max_concurrency)
        async with Reader(settings, listener=listener, answers=self.answers) as reader:
            return await reader.same(known["answers"])

    def remember(self, screen: Screen, project: Project, service: ConnectedService, plan: Plan) -> None:
        """Store the result of a plan without changes, unless an answer is missing, a secret is masked, or the project names encrypted
        files: what `sops` needs to decrypt them, such as a key or a server, is not compared."""
        empty = type(plan)(plan.project, plan.environment)
        said = any(getattr(plan, field.name) != getattr(empty, field.name) for field in fields(plan) if field.name not in SAYS_NOTHING)
        digests, says, used = self.answers.digests, summary(plan), state_file(self.options, project)
        same = used is not None and used.resolve() == self.file.resolve() and self.state == _digest(self.file) != ""
        if said or service.embedded or project.encrypted or not same or None in digests.values() or screen.masked(says) != says:
            return
        found = {
            "url": service.settings.base_url,
            "confirmed": not (self.options.base_url or os.environ.get(BASE_URL)),
            "timeout": service.settings.timeout,
            "state": self.state,
            "answers": digests,
            "says": says,
        }
        self.checked.remember(FILE, project, found)


def _digest(state: Path) -> str:
    """The digest of a state and of its logs of writes; "" if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open_regular(state) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
        for log in ("wal", "journal"):
            with suppress(FileNotFoundError), open_regular(Path(f"{state}-{log}")) as file:
                digest.update(f"{log} {hashlib.file_digest(file, 'sha256').hexdigest()}".encode())
    except OSError:
        return ""
    return digest.hexdigest()
