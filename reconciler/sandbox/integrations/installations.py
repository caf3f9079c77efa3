"""Installations of integrations: what they reach, the events they leave, and how all of it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from reconciler.sandbox.integrations.integrations import EVENT, INSTALLATION, administrates
from reconciler.sandbox.service import Caller
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

OTHERS = {"space": "site", "site": "space"}


def install(caller: Caller, integration: Object, organization: str) -> Object:
    """Install an integration into an organization, once; an existing installation does not change."""
    name, store = integration["name"], caller.store
    existing = next((item for item in _all(caller, name) if item["organization"] == organization), None)
    if existing is not None:
        return existing
    account = integration["configurations"].get("account", {})
    defaults = {key: item["default"] for key, item in account.get("properties", {}).items() if item.get("default") is not None}
    now = store.stamp()
    installation = {
        "id": store.new_id("ins"),
        "status": "active" if defaults.keys() >= set(account.get("required", [])) else "pending",
        "space_selection": "all",
        "site_selection": "all",
        "configuration": defaults,
        "createdAt": now,
        "updatedAt": now,
        "externalIds": [f"{name}:{organization}"],
        "organization": organization,
        "_integration": name,
    }
    store.add(INSTALLATION, organization, f"{INSTALLATION}:{name}", installation)
    _record(caller, integration, installation)
    return installation


def _record(caller: Caller, integration: Object, installation: Object) -> None:
    """Leave the event of an installation; nothing is sent anywhere."""
    id, now, name = caller.store.new_id("evt"), caller.store.stamp(), integration["name"]
    tunnel = integration.get("_dev")
    tunnelled = tunnel is not None and (tunnel["all"] or installation["organization"] == integration["_organization"])
    to = "the development tunnel" if tunnelled else f"version {integration['version']}"
    payload = {"eventId": id, "type": "installation_setup", "installationId": installation["id"], "status": installation["status"]}
    event = {
        "id": id,
        "integrationId": name,
        "installationId": installation["id"],
        "createdAt": now,
        "payload": {**payload, "previous": {"status": "pending", "configuration": {}}},
        "status": "success",
        "organization": installation["organization"],
        "_logs": [{"message": f"installation_setup goes to {to} of {name}", "timestamp": now, "level": "debug"}],
    }
    caller.store.add(EVENT, installation["organization"], f"{EVENT}:{name}", event)


def _all(caller: Caller, name: str) -> list[Object]:
    return caller.store.select(INSTALLATION, container=f"{INSTALLATION}:{name}")


def _mine(caller: Caller, items: list[Object]) -> list[Object]:
    """Those in organizations whose installations the caller may list."""
    may = {organization: administrates(caller, organization) for organization in {item["organization"] for item in items}}
    return [item for item in items if may[item["organization"]]]


def listed(caller: Caller, name: str, external: str | None = None) -> list[Object]:
    """The installations of an integration the caller may list."""
    return [item for item in _mine(caller, _all(caller, name)) if external is None or external in item["externalIds"]]


def events(caller: Caller, name: str) -> list[Object]:
    """The events of an integration the caller may list, the newest first."""
    return _mine(caller, caller.store.select(EVENT, container=f"{EVENT}:{name}", newest=True))


class Reached(Sequence[tuple[Object, Object]]):
    """The spaces or sites of some installations, each with its installation; read where they are looked at."""

    def __init__(self, parts: list[tuple[Object, Sequence[Object]]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self.parts)

    @overload
    def __getitem__(self, index: int) -> tuple[Object, Object]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[Object, Object]]: ...

    def __getitem__(self, index: int | slice) -> tuple[Object, Object] | list[tuple[Object, Object]]:
        if not isinstance(index, slice):
            return self[index : index + 1][0]
        pairs, (start, stop, _) = [], index.indices(len(self))
        for installation, rows in self.parts:
            pairs += [(installation, thing) for thing in rows[max(start, 0) : max(stop, 0)]]
            start, stop = start - len(rows), stop - len(rows)
        return pairs


def reached(caller: Caller, integration: Object, kind: str, external: str | None) -> Reached:
    """The spaces or sites of each installation, with the installation."""
    name = integration["name"]
    if integration["target"] == OTHERS[kind]:
        return Reached([])
    parts: list[tuple[Object, Sequence[Object]]] = []
    for installation in listed(caller, name):
        rows = caller.store.rows(kind, organization=installation["organization"], alive=kind == "space")
        parts.append((installation, rows if external is None else [thing for thing in rows if external == f"{name}:{thing['id']}"]))
    return Reached(parts)


def show_event(event: Object) -> Object:
    return {key: value for key, value in event.items() if not key.startswith("_") and key != "organization"}


def show(caller: Caller, integration: Object, installation: Object) -> Object:
    """The installation as the service shows it."""
    name, id, base = installation["_integration"], installation["id"], caller.service.base
    kept = {key: value for key, value in installation.items() if not key.startswith("_") and key != "organization"}
    urls = {
        "location": f"{base}/v1/integrations/{name}/installations/{id}",
        "app": f"{base}/app/o/{installation['organization']}/integrations/{name}",
        "publicEndpoint": f"{base}/integrations/{name}/{id}",
    }
    spaces = 0 if integration["target"] == "site" else caller.store.count("space", installation["organization"])
    return {**kept, "spaces": spaces, "urls": urls, "target": {"organization": installation["organization"]}}


def show_item(view: View, kind: str, extended: bool, pair: tuple[Object, Object]) -> Object:
    """A space or a site of an installation: its id, or all of it."""
    installation, thing = pair
    name, id = installation["_integration"], installation["id"]
    shown: Any = thing["id"] if not extended else view.space(thing) if kind == "space" else view.site(thing)
    path = f"integrations/{name}/installations/{id}/{kind}s/{thing['id']}"
    return {
        "integration": name,
        "installation": id,
        "status": installation["status"],
        "configuration": {},
        "externalIds": [f"{name}:{thing['id']}"],
        "urls": {
            "location": f"{view.base}/v1/{path}",
            "publicEndpoint": f"{view.base}/integrations/{name}/{id}/{kind}s/{thing['id']}",
        },
        kind: shown,
    }
