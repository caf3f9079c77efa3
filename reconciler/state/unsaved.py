"""Outcomes that the database could not store, in a file beside the project until it can.

In: endings. Out: a file of its owner alone, which the state's own key signs; or StateError. Forbidden: values of fields, and texts of the
service: what was created and what is no longer tracked is enough, the rest is read again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.links import open_regular
from reconciler.model import Binding, Origin
from reconciler.model.state import IntentEnding
from reconciler.state.errors import explaining
from reconciler.writing import sync_folder, write_whole

PREFIX: Final = "unsaved-"
SIZE_MAX: Final = 16 * 1024 * 1024  # bytes read of one file
STATUSES: Final = ("done", "failed")


class Spare:
    """The files of one state in a folder; `key` is the state's own, so that nobody else's file is believed."""

    def __init__(self, folder: Path, lineage: str, key: bytes) -> None:
        self._folder, self._lineage, self._key = folder, lineage, key
        self._endings: list[IntentEnding] = []
        self._taken: list[Path] = []

    def keep(self, run: str, endings: Sequence[IntentEnding]) -> Path:
        """Write these endings, and those kept before, so that a power cut leaves the old file or the new one."""
        self._endings += endings
        path = self._folder / f"{PREFIX}{run}.json"
        body = {"version": 1, "lineage": self._lineage, "run": run, "endings": [_data(ending) for ending in self._endings]}
        text = json.dumps({**body, "signature": self._sign(body)}, indent=1).encode()
        with explaining(f"the file {path}"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, text)
            sync_folder(self._folder)
        return path

    def unsaved_endings(self) -> tuple[tuple[str, IntentEnding], ...]:
        """The endings that earlier runs on this state kept, each with the run's id. Files of other states are skipped and not removed."""
        endings: list[tuple[str, IntentEnding]] = []
        with explaining(f"the folder {self._folder}"):
            paths = sorted(self._folder.glob(f"{PREFIX}*.json")) if self._folder.is_dir() else []
        for path in paths:
            body = self._read(path)
            if body is not None:
                endings += [(str(body["run"]), _ending(ending)) for ending in body["endings"]]
                self._taken.append(path)
        return tuple(endings)

    def discard(self) -> None:
        """Remove the files that were read."""
        with explaining(f"the folder {self._folder}"):
            for path in self._taken:
                path.unlink(missing_ok=True)
        self._taken = []

    def _sign(self, body: Any) -> str:
        return hmac.new(self._key, json.dumps(body, sort_keys=True).encode(), hashlib.sha256).hexdigest()

    def _read(self, path: Path) -> Any:
        with explaining(f"the file {path}"), open_regular(path, follow=False) as file:
            text = file.read(SIZE_MAX)
        try:
            body = json.loads(text)
            signature = body.pop("signature")
            known = hmac.compare_digest(str(signature), self._sign(body)) and body["lineage"] == self._lineage
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return body if known else None


def _data(ending: IntentEnding) -> dict[str, Any]:
    bound = [
        {
            "address": str(binding.address),
            "kind": binding.kind,
            "id": binding.id,
            "origin": binding.origin.value,
            "protected": binding.protected,
        }
        for binding in ending.bind
    ]
    return {"intent": ending.intent, "status": ending.status, "bound": bound, "forgotten": [str(address) for address in ending.forget]}


def _ending(data: Any) -> IntentEnding:
    bound = tuple(
        Binding(Address.parse(row["address"]), row["kind"], row["id"], Origin(row["origin"]), protected=row["protected"])
        for row in data["bound"]
    )
    failed = data["status"] == "failed"
    return IntentEnding(
        data["intent"], data["status"], "the service refused it" if failed else None, bound, tuple(map(Address.parse, data["forgotten"]))
    )


def save_or_warn(spare: Spare | None, run: str, endings: Sequence[IntentEnding], error: StateError) -> StateError:
    """The error to raise where endings cannot be stored: it says where they are kept, or that they are not."""
    endings = [ending for ending in endings if ending.status in STATUSES]
    if not endings:
        return error  # what was learned by reading can be read again
    lost = "their requests stay in doubt, and the next `reconciler apply` finds out what happened to them"
    number = f"{len(endings)} outcome{'s' if len(endings) != 1 else ''}"
    if spare is None:
        return StateError(f"{error.message}; {number} could not be stored, so {lost}", id=error.id, hint=error.hint)
    try:
        path = spare.keep(run, endings)
    except StateError as other:
        return StateError(
            f"{error.message}; {number} could not be stored next to the project either ({other.message}), so {lost}",
            id=error.id,
            hint=error.hint,
        )
    stored = f"{number} of requests that were sent {'is' if len(endings) == 1 else 'are'} stored in {path}"
    hint = f"{error.hint or ''} The next `reconciler apply` imports the file and removes it.".strip()
    return StateError(f"{error.message}; {stored}", id=error.id, hint=hint)
