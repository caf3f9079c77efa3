"""Plans as files: written by `plan --out`, and read by `apply --plan`, which does not trust them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from reconciler import __version__
from reconciler.cli.json_file import NotJson, Unreadable, read_json
from reconciler.cli.options import Options
from reconciler.cli.saved import signature
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.run import Planned
from reconciler.cli.wiring.trust import write_private
from reconciler.config import Project
from reconciler.errors import UsageError, os_reason
from reconciler.model import State
from reconciler.report.documents import PLAN_FORMAT
from reconciler.report.saved import Digests, PlanInputs, digest_of, saved_plan
from reconciler.report.schemas.check import problem
from reconciler.report.schemas.plan import OptionsData, OriginData, RulesFromData, SavedPlanDocument
from reconciler.resource import Kinds
from reconciler.text.escape import as_json

SIZE_MAX: Final = 20 * 1024 * 1024  # bytes; a plan of 10,000 objects has about 13 million
PARTS_MAX: Final = 1_500_000  # commas, colons and opening brackets, which decoding takes memory for; that plan has about 1,100,000
HINT: Final = "Create a new one: reconciler plan --out FILE."


@dataclass(frozen=True)
class Saved:
    """A plan file: the document, and the digest under which its use is recorded."""

    path: Path
    document: SavedPlanDocument
    digest: str


def write(screen: Screen, path: Path, planned: Planned, kinds: Kinds, *, made: PlanInputs, digests: Digests, created_at: datetime) -> None:
    """Save a plan in a file that only its owner can read; signed if the environment has a key."""
    key = signature.signing_key(screen)
    document = saved_plan(planned.plan, kinds, planned.actual, created_at=created_at, inputs=made, digests=digests)
    text = as_json(document, indent=1) + "\n"
    if key is not None:
        document["signature"] = signature.sign(json.loads(text), key)  # of what a reader of the file gets
        text = as_json(document, indent=1) + "\n"
    if _too_large(text.encode("utf-8", "replace")):
        raise UsageError("the plan is too large to be saved", id="RC-plan-too-large", hint="Save it in parts: --target GLOB.")
    try:
        write_private(path, text)
    except OSError as error:
        wrong = f"the plan cannot be saved to {path}: {os_reason(error)}"
        raise UsageError(wrong, id="RC-file-not-written") from error
    screen.say(f"Saved the {'signed ' if key is not None else ''}plan to {path}.")


def plan_inputs(
    options: Options, project: Project, state: State, service: str, origin: OriginData | None = None, rules: RulesFromData | None = None
) -> PlanInputs:
    """The inputs of a plan that is created now. `service`: its identity. `origin`: who creates it from which commit, if it is saved.

    `rules`: the commit whose rules judged it, None for those of its own files.
    """
    said: OptionsData = {
        "target": [str(glob) for glob in options.target],
        "exclude": [str(glob) for glob in options.exclude],
        "allowReplace": [str(glob) for glob in options.allow_replace],
        "allowDelete": options.allow_delete,
        "allowExposure": [str(glob) for glob in options.allow_exposure],
    }
    return PlanInputs(__version__, service, project.digest, state.lineage, state.serial, said, origin, rules)


def digests_of(screen: Screen, lineage: str, key: bytes) -> Digests:
    """The digests of a file: with a key if it was created from a state."""
    return Digests(key if lineage else None, screen.masked_data)


def read(path: Path) -> Saved:
    """Read a plan file. Raises `UsageError` for any other file; only its form is checked here."""
    try:
        document = read_json(path, most=SIZE_MAX, parts=PARTS_MAX)
    except Unreadable as error:
        raise UsageError(f"the plan {path} cannot be read: {error}", id="RC-file-not-read") from error
    except NotJson as error:
        raise _no_plan(path, str(error)) from None
    found = document.get("format") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(found, str):
        raise _no_plan(path, "it has no format")
    if found != PLAN_FORMAT:
        raise UsageError(
            f"{path} has the format {found[:60]!r}, and this reconciler reads {PLAN_FORMAT}", id="RC-saved-plan-version", hint=HINT
        )
    if "requests" not in document and "preconditions" not in document:
        says = f"{path} is a printed plan, not a saved one"
        raise UsageError(says, id="RC-printed-plan", hint="Use plan --out FILE to save a plan; --format json only prints it.")
    wrong = problem(SavedPlanDocument, document)
    if wrong is not None:
        raise _no_plan(path, wrong)
    return Saved(path, cast("SavedPlanDocument", document), digest_of(document))


def _no_plan(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is not a saved plan: {why}", id="RC-not-a-saved-plan", hint=HINT)


def _too_large(text: bytes) -> bool:
    return len(text) > SIZE_MAX or sum(map(text.count, (b",", b":", b"[", b"{"))) > PARTS_MAX
