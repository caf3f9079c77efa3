"""Plans as files: written by `plan --out`, and read by `apply --plan`, which does not trust them."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from reconciler import __version__
from reconciler.config import Project
from reconciler.errors import Refused, UsageError, os_reason
from reconciler.json_file import read_json
from reconciler.model import State
from reconciler.report.documents import PLAN_FORMAT
from reconciler.report.saved import Digests, PlanInputs, canonical, digest_of, saved_plan
from reconciler.report.schemas.documents import problem
from reconciler.report.schemas.plan import OptionsData, OriginData, PlanDocument, RulesFromData, SavedPlanDocument
from reconciler.run.stages import Planned
from reconciler.run.voice import Voice
from reconciler.text.escape import as_json
from reconciler.text.masks import Masks
from reconciler.writing import write_whole

SIZE_MAX: Final = 20 * 1024 * 1024  # bytes; a plan of 10,000 objects has about 13 million
PARTS_MAX: Final = 1_500_000  # commas, colons and opening brackets, which decoding takes memory for; that plan has about 1,100,000
HINT: Final = "Create a new one: reconciler plan --out FILE."


@dataclass(frozen=True)
class Saved:
    """A plan file: the document, and the digest under which its use is recorded."""

    path: Path
    document: SavedPlanDocument
    digest: str


def write(voice: Voice, path: Path, planned: Planned, *, inputs: PlanInputs, digests: Digests, created_at: datetime) -> None:
    """Save a plan in a file that only its owner can read; signed if the environment has a key."""
    key = signing_key(voice.masks)
    document = saved_plan(planned.plan, planned.kinds, planned.actual, created_at=created_at, inputs=inputs, digests=digests)
    text = as_json(document, indent=1) + "\n"
    if key is not None:
        # Not of `document` itself: numbers and texts can change on their way through JSON, and whoever checks has only the file.
        document["signature"] = sign(json.loads(text), key)  # of what a reader of the file gets
        text = as_json(document, indent=1) + "\n"
    if _too_large(text.encode("utf-8", "replace")):
        raise UsageError("the plan is too large to be saved", id="RC-plan-too-large", hint="Save it in parts: --target GLOB.")
    try:
        write_whole(path, text)
    except OSError as error:
        wrong = f"the plan cannot be saved to {path}: {os_reason(error)}"
        raise UsageError(wrong, id="RC-file-not-written") from error
    voice.say(f"Saved the {'signed ' if key is not None else ''}plan to {path}.")


def plan_inputs(
    recorded: OptionsData,
    project: Project,
    state: State,
    service: str,
    origin: OriginData | None = None,
    rules: RulesFromData | None = None,
) -> PlanInputs:
    """The inputs of a plan that is created now. `recorded`: the options of the run that a file has. `service`: its identity. `origin`: who
    creates it from which commit, if it is saved. `rules`: the commit whose rules judged it, None for those of its own files.
    """
    return PlanInputs(__version__, service, project.digest, state.lineage, state.serial, recorded, origin, rules)


def digests_of(voice: Voice, lineage: str, key: bytes) -> Digests:
    """The digests of a file: with a key if it was created from a state."""
    return Digests(key if lineage else None, voice.masks.data)


def read(path: Path) -> Saved:
    """Read a plan file. Raises `UsageError` for any other file; only its form is checked here."""
    document = _document(path)
    if "requests" not in document and "preconditions" not in document:
        says = f"{path} is a printed plan, not a saved one"
        raise UsageError(says, id="RC-printed-plan", hint="Use plan --out FILE to save a plan; --format json only prints it.")
    _check_form(path, document, SavedPlanDocument)
    return Saved(path, cast("SavedPlanDocument", document), digest_of(document))


def read_to_show(path: Path) -> Mapping[str, Any]:
    """A saved or printed plan, for people to read: nothing is applied from it. Raises `UsageError` for any other file."""
    document = _document(path)
    _check_form(path, document, PlanDocument)
    return document


def _document(path: Path) -> dict[str, Any]:
    """The data of a plan file, whose format this version reads."""
    try:
        document = read_json(path, most=SIZE_MAX, parts=PARTS_MAX)
    except OSError as error:
        raise UsageError(f"the plan {path} cannot be read: {error}", id="RC-file-not-read") from error
    except ValueError as error:
        raise _no_plan(path, str(error)) from None
    format = document.get("format") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(format, str):
        raise _no_plan(path, "it has no format")
    # Before anything else is checked: of a newer format, everything else would be reported as wrong.
    if format != PLAN_FORMAT:
        raise UsageError(
            f"{path} has the format {format[:60]!r}, and this reconciler reads {PLAN_FORMAT}", id="RC-saved-plan-version", hint=HINT
        )
    return document


def _check_form(path: Path, document: Mapping[str, Any], shape: type) -> None:
    wrong = problem(shape, document)
    if wrong is not None:
        raise _no_plan(path, wrong)


def _no_plan(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is not a saved plan: {why}", id="RC-not-a-saved-plan", hint=HINT)


def _too_large(text: bytes) -> bool:
    return len(text) > SIZE_MAX or sum(map(text.count, (b",", b":", b"[", b"{"))) > PARTS_MAX


KEY: Final = "RECONCILER_PLAN_KEY"
OLD: Final = "RECONCILER_PLAN_KEY_OLD"
BYTES_MIN: Final = 32
NAME: Final = "signature"
ALGORITHM: Final = "hmac-sha256"
PURPOSE: Final = b"reconciler: saved plan\n"  # the same key may sign other data elsewhere
HOW: Final = "Create one with `openssl rand -hex 32`, and store it as a secret of the pipeline."


def sign(document: Mapping[str, Any], key: bytes) -> str:
    """The signature of a document, independent of its present signature, its layout and the order of its keys."""
    text = canonical({name: value for name, value in document.items() if name != NAME})
    return f"{ALGORITHM}:{hmac.digest(key, PURPOSE + text.encode(), 'sha256').hex()}"


def signing_key(masks: Masks, environ: Mapping[str, str] = os.environ) -> bytes | None:
    """The key for the signatures of new plans; None if none is set. Raises `UsageError` for one that is too short."""
    return _key(masks, KEY, environ)


def check(voice: Voice, path: Path, document: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> None:
    """Raise `Refused` if a key is set and the file was not signed with it, or with the old one. Without a key nothing is checked."""
    key, old = _key(voice.masks, KEY, environ), _key(voice.masks, OLD, environ)
    signature = document.get(NAME)
    if key is None:
        if old is not None:
            raise UsageError(f"{OLD} is set without {KEY}", id="RC-plan-key", hint=f"Set {KEY} to the new key, or to this one.")
        if signature is not None:
            voice.say(f"The signature of {path} was not checked, because {KEY} is not set.")
        return
    if signature is None:
        raise Refused(
            f"{path} is not signed, and {KEY} is set",
            id="RC-plan-not-signed",
            hint=f"Create it in a job that has {KEY}: reconciler plan --out FILE.",
        )
    # Both are tried while a key is replaced: plans that were signed before wait for their approval.
    keys = [key, *([old] if old is not None else [])]
    given = str(signature).encode("utf-8", "surrogatepass")
    if not any(hmac.compare_digest(sign(document, candidate).encode(), given) for candidate in keys):
        raise Refused(
            f"the signature of {path} is wrong: it was signed with another key, or changed afterwards",
            id="RC-plan-signature",
            hint=f"If the key was replaced, set {OLD} to the one before. Otherwise create a new plan: reconciler plan --out FILE.",
        )


def _key(masks: Masks, name: str, environ: Mapping[str, str]) -> bytes | None:
    """The key in a variable. Raises `UsageError`; a variable that is set and empty is a secret that the pipeline does not have."""
    text = environ.get(name)
    if text is None or (text == "" and name == OLD):
        return None
    key = text.strip().encode("utf-8", "surrogateescape")
    if not key:
        raise UsageError(f"{name} is set and empty", id="RC-plan-key", hint=f"Is the secret missing? Set it, or remove the variable. {HOW}")
    masks.hide([text, text.strip()])
    if len(key) < BYTES_MIN:
        raise UsageError(f"{name} has {len(key)} bytes, and at least {BYTES_MIN} are required", id="RC-plan-key", hint=HOW)
    return key
