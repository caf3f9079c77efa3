"""What a provider gave a session to read its person's claims again, encrypted with the cookie: nobody who reads the table can use it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey


@dataclass(frozen=True)
class ClaimsGrant:
    """`access`: the token of the provider's userinfo endpoint. `refresh`: the token for a new one, None if there is none."""

    access: str
    refresh: str | None = None


def grant_of(given: Mapping[str, object]) -> ClaimsGrant | None:
    """The grant in an answer of a token endpoint; None if there is none."""
    access, refresh = given.get("access_token"), given.get("refresh_token")
    return ClaimsGrant(access, refresh if isinstance(refresh, str) else None) if isinstance(access, str) and access else None


def seal(cookie: str, grant: ClaimsGrant) -> str:
    text = json.dumps({"access": grant.access, "refresh": grant.refresh}).encode()
    return jwe.encrypt_compact({"alg": "dir", "enc": "A256GCM"}, text, _key(cookie))


def unseal(cookie: str, sealed: str) -> ClaimsGrant | None:
    """The grant that was sealed with this cookie; None for anything else."""
    try:
        text = jwe.decrypt_compact(sealed, _key(cookie)).plaintext
        return ClaimsGrant(**json.loads(text or b"null"))
    except (JoseError, ValueError, TypeError):
        return None


def _key(cookie: str) -> OctKey:
    return OctKey.import_key(hashlib.sha256(f"reconciler.grant/1\0{cookie}".encode()).digest())
