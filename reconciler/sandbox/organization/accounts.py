"""People apart from their memberships: their e-mail address, and the organizations it lets them join."""

from __future__ import annotations

from reconciler.sandbox.service import Caller
from reconciler.sandbox.store import Object, Store


def account(store: Store, user: str | None) -> Object | None:
    """The id, address and name of someone who is or was a member anywhere."""
    if user is None:
        return None
    member = next((item for item in store.select("member") if item["id"] == user), None) or store.find("account", user)
    return {name: member[name] for name in ("id", "email", "displayName")} if member else None


def keep(store: Store, member: Object) -> None:
    """Remember who leaves an organization."""
    store.add("account", "", "accounts", {name: member[name] for name in ("id", "email", "displayName")})


def domain(address: str) -> str:
    """The domain of an e-mail address, nothing where it has none."""
    return address.rpartition("@")[2].lower() if "@" in address else ""


def lets_in(organization: Object, at: str) -> bool:
    """Whether whoever has an address at that domain may join."""
    domains = organization["emailDomains"]
    return bool(at) and isinstance(domains, list) and at in [str(item).lower().lstrip("@") for item in domains]


def own_domain(caller: Caller) -> str:
    """The domain of the caller's address; the control token has none. Every address is taken as verified."""
    member = account(caller.store, caller.user)
    return domain(member["email"]) if member else ""
