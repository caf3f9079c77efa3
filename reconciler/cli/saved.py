"""Plans as files: the plan's document, digests of what it was made from, and what each change takes for granted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.cli.run import Planned
from reconciler.cli.screen import Screen
from reconciler.cli.trust import write_private
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.address import Address
    from reconciler.model import Desired
    from reconciler.resource import Kinds


def write(screen: Screen, path: Path, planned: Planned, desired: Desired, kinds: Kinds, *, created_at: datetime) -> None:
    """Save a plan where only its owner can read it."""
    from reconciler.report.documents import saved_plan
    from reconciler.report.escape import as_json

    digests = {"configuration": desired.digest, "lineage": planned.state.lineage, "serial": planned.state.serial}
    document = saved_plan(planned.plan, created_at=created_at, digests=digests, preconditions=preconditions(planned, kinds))
    try:
        write_private(path, as_json(screen.masked_data(document)) + "\n")
    except OSError as error:
        raise UsageError(f"the plan cannot be saved to {path}: {(error.strerror or 'unknown reason').lower()}") from error
    screen.say(f"Saved the plan to {path}.")


def preconditions(planned: Planned, kinds: Kinds) -> Mapping[Address, Mapping[str, Any]]:
    """For every change the object it is about, and a digest of what was seen of it; sensitive fields are left out."""
    found = {}
    for change in planned.plan.changes:
        kind = kinds[change.kind]
        seen = planned.actual.find(change.kind, change.id) if change.id is not None else None
        shown = {name: value for name, value in (seen.values if seen is not None else {}).items() if not kind.fields[name].sensitive}
        text = json.dumps(shown, sort_keys=True, default=repr)
        digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest() if seen is not None else None
        found[change.address] = {"id": change.id, "seen": digest}
    return found
