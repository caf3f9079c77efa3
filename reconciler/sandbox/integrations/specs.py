"""How an OpenAPI document is processed: pending, progress, complete by the service's clock, and what it ends with. Nothing is fetched."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import yaml

from reconciler.sandbox.file import iso
from reconciler.sandbox.service import Caller
from reconciler.sandbox.store import Object, Store
from reconciler.sandbox.views import View

PROGRESS, COMPLETE = 1.0, 2.0  # seconds of the service's clock after the request
FIXTURES = {  # addresses the service knows, by what their processing ends with
    "https://fixtures.example/openapi.json": "",
    "https://fixtures.example/broken.json": "PARSE_ERROR",
    "https://fixtures.example/slow.json": "FETCH_TIMEOUT",
}
SAID = {
    "FETCH_ERROR": "cannot be fetched by an embedded service",
    "FETCH_TIMEOUT": "did not answer in time",
    "PARSE_ERROR": "is not an OpenAPI document",
}
RESULTS = ("lastVersion", "lastProcessedAt", "lastProcessErrorCode", "lastProcessedErrors")


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def give(store: Store, organization: str, url: str, text: str) -> None:
    """Set the document at an address for the specifications of an organization, from their next processing on."""
    file = {"id": url, "_pk": f"{organization}:{url}", "organization": organization, "text": text}
    store.add("spec-file", organization, f"spec-files:{organization}", file)


def keep_file(store: Store, spec: Object) -> None:
    """A file that came with a specification belongs to its address from now on."""
    text = spec.pop("_file", "")
    if text and "sourceURL" in spec:
        give(store, spec["organization"], spec["sourceURL"], text)


def begin(store: Store, spec: Object, url: str, text: str = "") -> Object:
    """Process the document at an address, or a text; what the last processing ended with is shown until this one ends."""
    now = store.now().timestamp()
    spec |= {"_last": _results(now, spec)[1]} if "_started" in spec else {}
    keep_file(store, spec)
    spec.pop("sourceURL", None)
    spec.pop("_shown", None)
    return spec | {
        **({} if text else {"sourceURL": url}),
        "updatedAt": store.stamp(),
        "_runs": spec.get("_runs", 1) + 1 if "_started" in spec else 1,
        "_started": now,
        "_outcome": _parsed(text) if text else _outcome(store, spec["organization"], url),
    }


def show(caller: Caller, spec: Object, view: View | None = None) -> Object:
    """The specification as the service shows it now."""
    shown = (view or View(caller)).openapi(spec)
    state, results = _results(caller.store.now().timestamp(), spec)
    return {**{key: value for key, value in shown.items() if key not in RESULTS}, "processingState": state, **results}


def _outcome(store: Store, organization: str, url: str) -> str:
    """The error the processing of an address ends with, or nothing."""
    given = store.find("spec-file", f"{organization}:{url}")
    if given is None:
        seeded = (spec for spec in store.select("openapi", organization=organization) if spec.get("_file") and spec.get("sourceURL") == url)
        given = {"text": spec["_file"]} if (spec := next(seeded, None)) is not None else None
    if given is None:
        return FIXTURES.get(url, "FETCH_ERROR")
    return _parsed(given["text"])


def _parsed(text: str) -> str:
    return "" if _is_openapi(text) else "PARSE_ERROR"


def _is_openapi(text: str) -> bool:
    try:
        content = json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, Loader=_LOADER)  # noqa: S506  a safe one
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError):
        return False
    return isinstance(content, dict) and any(isinstance(content.get(name), str | float | int) for name in ("openapi", "swagger"))


def _results(now: float, spec: Object) -> tuple[str, Object]:
    """How far the processing has come, and the results that are shown."""
    # a copy of a specification has no run of its own: what the other service said of it stays
    if "_shown" in spec:
        return "complete", spec["_shown"]
    age = now - float(spec["_started"])
    last = spec.get("_last", {})
    if age < COMPLETE:
        return ("pending" if age < PROGRESS else "progress"), last
    code = spec.get("_outcome")
    # a seeded specification has no run of its own: what the seed says of it stays
    if code is None:
        code = FIXTURES.get(spec.get("sourceURL", ""), "FETCH_ERROR")
        if spec.get("_file"):
            code = "" if _is_openapi(spec["_file"]) else "PARSE_ERROR"
    ended = {"lastProcessedAt": iso(datetime.fromtimestamp(float(spec["_started"]) + COMPLETE, UTC))}
    runs = spec.get("_runs", 1)
    if not code:
        return "complete", {"lastVersion": f"ver_{spec['id']}" + (f"_{runs}" if runs > 1 else ""), **ended}
    version = {"lastVersion": last["lastVersion"]} if "lastVersion" in last else {}
    errors = [{"message": f"{spec.get('sourceURL', 'the document')} {SAID[code]}", "code": code}]
    return "complete", {**version, **ended, "lastProcessErrorCode": code, "lastProcessedErrors": errors}
