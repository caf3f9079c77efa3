"""A plan as `plan --out` saves it: its document, its inputs, and a digest for whatever a step relies on. Pure.

It contains no secret. The changes contain the values that are not secret; requests and reads are stored as digests only. If the state has a
key the digests are keyed, so that nobody can find a secret by trying; without a state yet, secrets are left out of them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from reconciler.address import Address
from reconciler.model import Actual, Change, Consent, Plan, Step
from reconciler.model.state import ENDS_WORK
from reconciler.report.documents import plan_document
from reconciler.report.schemas.plan import ConsentData, OptionsData, OriginData, PlanData, RulesFromData, SavedPlanDocument
from reconciler.resource import UNSET, Foreign, Kind, Kinds

NAMES: Final = {"format", "project", "environment", "createdAt", "address", "kind", "actions", "cause", "verb", "method"}
SHOWN: Final = frozenset(NAMES | {"flag", "of", "parent", "previous", "sort", "rule", "level"})
"""Keys whose values are our own names: never a secret, even if a secret has the same text."""

# What hides the secrets of this run; a function, because this module must not know any.
Mask = Callable[[Any], Any]


@dataclass(frozen=True)
class PlanInputs:
    """The inputs of a plan.

    `version`: of this program. `service`: the service of the ids. `configuration`: a digest in memory. `lineage`: "" without a state.
    `options`: of the command line. `rules`: the commit whose rules judged it, None for those of its own files.
    """

    version: str
    service: str
    configuration: str
    lineage: str
    serial: int
    options: OptionsData
    origin: OriginData | None = None
    rules: RulesFromData | None = None


@dataclass(frozen=True)
class Digests:
    """Digests of values. `key`: the state's, None if it has none; texts that `mask` hides are then left out."""

    key: bytes | None
    mask: Mask

    def of(self, value: Any) -> str:
        """The digest of a value, independent of the order of its keys."""
        plain = value if self.key is not None else self.mask(json.loads(canonical(value)))
        text = canonical(plain).encode()
        if self.key is not None:
            return "hmac-sha256:" + hmac.new(self.key, text, hashlib.sha256).hexdigest()
        return "sha256:" + hashlib.sha256(text).hexdigest()

    def request(self, kind: Kind, step: Step) -> str:
        """The digest of everything that a request does."""
        # Without a key anybody could try secrets against the digest, so they are not in it: a changed secret is then not noticed.
        secret = {name for name, field in kind.fields.items() if field.sensitive and self.key is None}
        wires = {kind.fields[name].wire for name in secret}
        writes = {name: value for name, value in step.writes.items() if name not in secret}
        identity = {name: value for name, value in step.identity.items() if name not in secret}
        body = {name: value for name, value in step.body.items() if name not in wires} if isinstance(step.body, Mapping) else step.body
        return self.of([body, writes, identity, step.path, step.target, step.source, step.brings, step.takes])

    def consent(self, kinds: Kinds, consent: Consent) -> ConsentData:
        """A consent with a digest of its value."""
        field = kinds.of(Address.parse(consent.address)).fields.get(consent.field)
        hidden = field is not None and field.sensitive and self.key is None
        texts = {name: self.mask(text) for name, text in vars(consent).items()} | {"value": "" if hidden else self.of(consent.value)}
        return cast("ConsentData", texts)

    def seen(self, kinds: Kinds, actual: Actual, change: Change) -> str | None:
        """The digest of the object of a change as it was read, without sensitive fields; None if it does not exist yet."""
        observed = actual.find(change.kind, change.id) if change.id is not None else None
        if observed is None:
            return None
        fields = kinds[change.kind].fields
        shown = {name: value for name, value in observed.values.items() if not (fields[name].sensitive or fields[name].incidental)}
        return self.of([shown, observed.deleted_at])


def saved_plan(
    plan: Plan, kinds: Kinds, actual: Actual, *, created_at: datetime, inputs: PlanInputs, digests: Digests
) -> SavedPlanDocument:
    """The whole file as data."""
    # The whole configuration contains secrets, so without a key it has no digest.
    configuration = digests.of(inputs.configuration) if digests.key is not None else None
    masked: PlanData = _masked(plan_document(plan, created_at=created_at), digests.mask)
    document: SavedPlanDocument = {
        **masked,  # type: ignore[typeddict-item]  # absent keys are absent in the plan too
        "madeBy": inputs.version,
        "service": inputs.service,
        "options": inputs.options,
        "digests": {"configuration": configuration, "lineage": inputs.lineage, "serial": inputs.serial},
        "preconditions": [
            {"address": str(change.address), "id": digests.mask(change.id), "seen": digests.seen(kinds, actual, change)}
            for change in plan.changes
        ],
        "consents": [digests.consent(kinds, consent) for consent in _own(plan)],
        "requests": [{"step": step.id, "digest": digests.request(kinds[step.kind], step)} for step in plan.steps],
    }
    if inputs.origin is not None:
        document["origin"] = {**inputs.origin, "actor": digests.mask(inputs.origin["actor"]), "run": digests.mask(inputs.origin["run"])}
    if inputs.rules is not None:
        document["rulesFrom"] = inputs.rules
    return document


def _own(plan: Plan) -> list[Consent]:
    """The consents that belong to a line of the plan, or to an object that it creates: no other address of the file depends on them."""
    shown = {consent for exposure in plan.exposures for consent in exposure.consents}
    shown |= {consent for consent in plan.consents if consent.field == ENDS_WORK}
    creates = [step for step in plan.steps if step.verb == "create"]
    created = {str(address) for step in creates for address in (step.address, *(child for _, _, child in step.brings))}
    return [consent for consent in plan.consents if consent in shown or consent.address in created]


def digest_of(document: Mapping[str, Any]) -> str:
    """The digest that identifies a saved plan; independent of layout and order of keys."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()


def canonical(value: Any) -> str:
    """The JSON text of a value, independent of the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_encoded)


def _encoded(value: Any) -> Any:
    """Values that JSON cannot represent; a reference is never mistaken for a text."""
    match value:
        case Address():
            return {"address": str(value)}
        case Foreign():
            return {"id": value.id}
        case Mapping():
            return dict(value)
        case set() | frozenset():
            return {"set": sorted(canonical(part) for part in value)}
        case datetime():
            return value.isoformat()
        case _ if value is UNSET:
            return {"unset": True}
        case _:
            return repr(value)


def _masked(value: Any, mask: Mask) -> Any:
    """The document with its secrets masked; its names are unchanged."""
    match value:
        case dict():
            return {key: part if key in SHOWN else _masked(part, mask) for key, part in value.items()}
        case list():
            return [_masked(part, mask) for part in value]
        case _:
            return mask(value)
