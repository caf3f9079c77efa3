"""The JSON Schema of fleet.yaml, for editors. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reconciler.fleet.declared import keys
from reconciler.fleet.people import ALL

Schema = dict[str, Any]

EACH: Final[Schema] = {"type": "string", "pattern": r"\$\{\{"}
NAME: Final[Schema] = {"type": ["string", "integer"], "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"}
CLAIM: Final[Schema] = {"type": ["string", "integer"], "pattern": "^([A-Za-z0-9._-]{1,100}\\*?|\\*)$"}
DURATION: Final[Schema] = {"type": "string", "pattern": "^[1-9][0-9]*(s|m|h|d)$"}
TIME: Final[Schema] = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
WHEN: Final[Schema] = {"type": "string", "pattern": "^(now|never|([01][0-9]|2[0-3]):[0-5][0-9])$"}
TEXT: Final[Schema] = {"type": "string", "minLength": 1}
REFERENCE: Final[Schema] = {"$ref": "#/$defs/reference"}
VALUE: Final[Schema] = {"type": ["string", "number", "boolean"]}
TENANTS: Final[Schema] = {"type": "array", "items": {"anyOf": [NAME, {"const": ALL}]}}


def schema() -> Schema:
    """What a fleet file may contain."""
    project, generator = _project(), _generator()
    template = {key: value if key == "windows" else {"anyOf": [value, EACH]} for key, value in project.items()}
    reference = {
        **_map(keys.REFERENCE, {"env": {**TEXT, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, "file": {**TEXT, "pattern": "^/"}}),
        "minProperties": 1,
    }
    top = {
        "version": {"const": 1},
        "defaults": _map(keys.PROJECT, {key: value for key, value in project.items() if key != "name"}),
        "projects": {"type": "array", "items": _map(keys.PROJECT, project, ("name",))},
        "generators": {
            "type": "array",
            "items": {**_map(keys.GENERATOR, generator, ("template",)), "minProperties": 2, "maxProperties": 2},
        },
        "soak": DURATION,
        "refresh": DURATION,
        "expiresSoon": DURATION,
        "notifications": {"type": "array", "items": _notification()},
        "notify": _map(keys.NOTIFY, {name: TEXT if name == "zone" else WHEN for name in keys.NOTIFY}),
        "dashboard": _dashboard(),
        "people": {
            "type": "array",
            "items": _map(keys.PERSON, {"subject": TEXT, "addresses": {"type": "array", "minItems": 1, "items": TEXT}}, ("addresses",)),
        },
        "webhooks": _map(keys.WEBHOOKS, dict.fromkeys(keys.WEBHOOKS, _webhook())),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:docs-reconciler:fleet-file:1",
        "title": "A fleet of Reconciler",
        **_map(keys.TOP, top, ("version",)),
        "$defs": {"reference": {**reference, "maxProperties": 1}, "template": _map(keys.PROJECT, template)},
    }


def _project() -> dict[str, Schema]:
    days = {"type": "array", "items": {"enum": list(keys.DAYS)}}
    window = _map(keys.WINDOW, {"days": days, "from": TIME, "until": TIME, "zone": TEXT}, ("from", "until"))
    approval = {"enum": [approval.value for approval in keys.APPROVALS]}
    return {
        "name": NAME,
        "source": _map(keys.SOURCE, {"git": TEXT, "ref": TEXT, "path": TEXT}),
        "baseUrl": TEXT,
        "token": REFERENCE,
        "project": CLAIM,
        "state": REFERENCE,
        "environment": NAME,
        "every": DURATION,
        "mode": {"enum": [mode.value for mode in keys.MODES]},
        "revertDrift": {"type": "boolean"},
        "rulesFrom": TEXT,
        "windows": {"type": "array", "items": window},
        "approvals": {
            "type": "object",
            "properties": {**{change.value: approval for change in keys.CHANGES}, keys.VALID_FOR: DURATION},
            "additionalProperties": False,
        },
        "rehearse": {"enum": [rule.value for rule in keys.REHEARSALS]},
        "tenant": NAME,
        "vars": {"type": "object", "additionalProperties": VALUE},
        "secretVars": {"type": "object", "additionalProperties": REFERENCE},
        "sops": {
            "type": "object",
            "propertyNames": {"pattern": "^(SOPS|AWS|GOOGLE|AZURE|VAULT)_[A-Z0-9_]+$"},
            "additionalProperties": REFERENCE,
        },
        "wave": {"type": "integer", "minimum": 0, "maximum": keys.WAVE_MAX},
    }


def _notification() -> Schema:
    events = {"type": "array", "minItems": 1, "items": {"enum": [event.value for event in keys.EVENTS]}}
    values: dict[str, Schema] = {
        "url": {"$ref": "#/$defs/reference"},
        "on": events,
        "tenants": {"type": "array", "minItems": 1, "items": NAME},
    }
    return _map(keys.NOTIFICATION, values, ("url",))


def _dashboard() -> Schema:
    oidc = {"issuer": TEXT, "clientId": TEXT, "clientSecret": REFERENCE, "claim": TEXT, "scopes": {"type": "array", "items": TEXT}}
    role = {"value": TEXT, "role": {"enum": [role.value for role in keys.ROLES]}, "tenants": TENANTS}
    values = {
        "url": TEXT,
        "oidc": _map(keys.OIDC, oidc, ("issuer", "clientId")),
        "roles": {"type": "array", "items": _map(keys.ROLE, role, ("value", "role"))},
        "metrics": REFERENCE,
    }
    return _map(keys.DASHBOARD, values)


def _webhook() -> Schema:
    secret = _map(keys.WEBHOOK, {"secret": REFERENCE, "tenants": {**TENANTS, "minItems": 1}}, ("secret",))
    return {"anyOf": [secret, {"type": "array", "minItems": 1, "items": secret}]}


def _generator() -> dict[str, Schema]:
    element = {"anyOf": [VALUE, {"type": "object", "additionalProperties": VALUE}]}
    return {
        "list": {"type": "array", "items": element},
        "directories": _map(keys.DIRECTORIES, dict.fromkeys(keys.DIRECTORIES, TEXT)),
        "organizations": _map(keys.ORGANIZATIONS, {"baseUrl": TEXT, "token": REFERENCE, "match": TEXT}),
        "template": {"$ref": "#/$defs/template"},
    }


def _map(docs: Mapping[str, str], values: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    described = {key: {"description": docs[key], **value} for key, value in values.items()}
    return {"type": "object", "properties": described, "additionalProperties": False, **({"required": list(required)} if required else {})}


def dumped() -> str:
    """The same as the text of `schemas/fleet.schema.json`."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
