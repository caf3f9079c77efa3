"""What a member is known by on the sites of an organization: a JWT signed with a key of the file."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from typing import Any

from reconciler.sandbox.store import Object, Store

KEY = "visitor-key"


def visitor_claims(store: Store, organization: str, member: Object) -> str:
    """The token (HS256) of a member; its time is the service's."""
    with store.write():
        key = store.meta(KEY)
        if key is None:
            key = secrets.token_hex(32)
            store.set_meta(KEY, key)
    claims = {"sub": member["id"], "organization": organization, "role": member["role"], "iat": int(store.now().timestamp())}
    signed = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
    return f"{signed}.{_text(hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest())}"


def _part(data: dict[str, Any]) -> str:
    return _text(json.dumps(data, separators=(",", ":")).encode())


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
