"""The signature of a saved plan: an HMAC-SHA256 of its contents, with a key that only the jobs of a pipeline have.

In: the document, the variables of the environment. Out: a signature, or a refusal. A signature proves that the file comes from an owner of
the key; it does not prove that anybody approved it, and no file is executed because of it (decision 0006).
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused, UsageError
from reconciler.report.saved import canonical

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


def signing_key(screen: Screen, environ: Mapping[str, str] = os.environ) -> bytes | None:
    """The key for the signatures of new plans; None if none is set. Raises `UsageError` for one that is too short."""
    return _key(screen, KEY, environ)


def check(screen: Screen, path: Path, document: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> None:
    """Raise `Refused` if a key is set and the file was not signed with it, or with the old one. Without a key nothing is checked."""
    key, old = _key(screen, KEY, environ), _key(screen, OLD, environ)
    signature = document.get(NAME)
    if key is None:
        if old is not None:
            raise UsageError(f"{OLD} is set without {KEY}", id="RC-plan-key", hint=f"Set {KEY} to the new key, or to this one.")
        if signature is not None:
            screen.say(f"The signature of {path} was not checked, because {KEY} is not set.")
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


def _key(screen: Screen, name: str, environ: Mapping[str, str]) -> bytes | None:
    """The key in a variable. Raises `UsageError`; a variable that is set and empty is a secret that the pipeline does not have."""
    text = environ.get(name)
    if text is None or (text == "" and name == OLD):
        return None
    key = text.strip().encode("utf-8", "surrogateescape")
    if not key:
        raise UsageError(f"{name} is set and empty", id="RC-plan-key", hint=f"Is the secret missing? Set it, or remove the variable. {HOW}")
    screen.hide([text, text.strip()])
    if len(key) < BYTES_MIN:
        raise UsageError(f"{name} has {len(key)} bytes, and at least {BYTES_MIN} are required", id="RC-plan-key", hint=HOW)
    return key
