"""The secrets, the forms in which each could come out, and the places where one may stand.

The forms are written down here once more, apart from the program's own: a test must not learn from what it tests.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from fnmatch import fnmatchcase
from urllib.parse import quote

PEM = "-----BEGIN CERTIFICATE-----\nQ2FuYXJ5UGVtTGluZU9uZQ7xKqW1zT\nTw0vLines/With+Slashes5hRjUe8bN\n-----END CERTIFICATE-----\n"
CANARIES = {
    "token": "tokenCanary/7f3A+9qZ-wK2",
    "sandbox": "sandboxCanary-5Rt8LmXw03Hd",
    "state": "stateCanary!4Gh7pQ&2w",
    "variable": 'variableCanary"8\\Kd<3>sVb',
    "part": "partCanary6Yh1NcT4x",
    "pem": PEM,
    "given": "givenCanary2Wf9Jk5Lr",
    "derived": "derivedCanary3Zq8Mn1B",
    "proxy": "proxyCanary0Tx6Vb4Sd",
    "user": "userCanary9Lp2Gf7Hw",
    "answer": "answerCanary1Ck5Xz8Qe",
    "redirect": "redirectCanary4Bn7Ws2Vy",
    "encrypted": "encryptedCanary8Jh3Pm6Rt",
}
BY_NATURE = {
    ("stdout of api *", "answer"): "`api` prints what the service answers; that is what it is for",
    ("*.pem", "pem"): "the user's own certificate file",
    ("*/baseurl/reconciler.yaml", "user"): "the user's own file, which is refused",
    ("*/bin/values.json", "encrypted"): "what the stand-in for sops decrypts",
    ("*/sandbox.db*", "*"): "the sandbox holds what a service holds",
    ("*/service.db*", "*"): "the sandbox holds what a service holds",
}


def whole(secret: str) -> list[str]:
    """What tells a secret: itself, or, of one with several lines, each line that is not its frame."""
    return [line for line in secret.splitlines() if line and not line.startswith("-----")]


def forms(secret: str) -> Iterator[tuple[str, bytes]]:
    """Every form of a secret in lower case, by name; white space left out, as is done with what is searched."""
    for one in whole(secret):
        yield from (
            (name, text.lower().encode())
            for name, text in {
                "plain": one,
                "json": json.dumps(one)[1:-1],
                "json with \\/": json.dumps(one)[1:-1].replace("/", "\\/"),
                "python": repr(one)[1:-1],
                "html": html.escape(one),
                "url": quote(one, safe=""),
                "markdown": re.sub(r"([\\`*_\[\]<>#!|~@&])", lambda found: f"&#{ord(found[0])};", one),
                "backwards": one[::-1],
            }.items()
        )
        for shift in range(3):
            for encode in (b64encode, urlsafe_b64encode):
                core = encode(b"x" * shift + one.encode())[-(-8 * shift // 6) : 8 * (shift + len(one)) // 6]
                yield f"base64 at {shift}", core.lower()


FORMS = {name: sorted(set(forms(secret))) for name, secret in CANARIES.items()}


def found(place: str, content: bytes) -> list[str]:
    """Which secrets stand in a content and may not; `place` says where it comes from."""
    squeezed = re.sub(rb"(?:\s|\x1b\[[0-9;]*m)+", b"", content.lower())
    leaks = []
    for name, known in FORMS.items():
        if any(fnmatchcase(place, where) and which in (name, "*") for where, which in BY_NATURE):
            continue
        for form, text in known:
            if text in content.lower() or text in squeezed:
                leaks.append(f"{place}: the secret {name!r}, {form}")
                break
    return leaks
