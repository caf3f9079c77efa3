"""Installations: integrations installed in an organization; no request configures or removes one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from reconciler.resource import POST, UNSET, Address, AttachedList, Keyed, Listing, Permission, Resource, To, Verbs, field, output, within


def _integration(raw: Mapping[str, Any]) -> Any:
    """The name, which the service shows only in the URL of the installation."""
    urls = raw.get("urls")
    match = re.search(r"/integrations/([^/]+)/installations/", str(urls.get("location"))) if isinstance(urls, Mapping) else None
    return match[1] if match is not None else UNSET


def _attached(kind: str) -> AttachedList:
    return AttachedList(
        kind,
        "installed integration",
        f"/integrations/{{integration}}/{kind}s",
        of=kind,
        settings="configuration",
        title="integration",
        all=(f"{kind}_selection", "all"),
    )


class Installation(
    Resource,
    kind="installation",
    place=Keyed("installations"),
    owner="target.organization",
    grants="the integration gets access to every space and site of the organization, as far as its scopes allow",
    create_permission=Permission("installIntegration", of="organization"),
    attached=(_attached("space"), _attached("site")),
):
    """An integration that is installed. It is created once: the service cannot configure or remove it."""

    reads = (Listing("/integrations/{integration}/installations", each="integration"),)
    # Sending it again answers with the same installation. The reference has no request that configures or removes one.
    api = Verbs(create=POST("/integrations/{integration}/installations", upsert=True))

    organization = within("organization", on="create")
    # Part of the path, so no body names it, and an integration of another organization can be installed.
    integration: Annotated[Address, To("integration", anywhere=True)] = field(
        "The integration. One of another organization is {id: its name}.", on=(), read=_integration, key=True, required=True
    )
    status = output()
