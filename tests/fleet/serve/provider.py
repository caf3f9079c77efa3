"""An OpenID Connect provider: real HTTP, real RS256 signatures, and whatever goes wrong with them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "fleet", "oidc-canary-secret-0123456789"


@dataclass
class Provider:
    """`claims`: of whoever logs in next. `wrong`: claims that are wrong, over the right ones. `key`: that signs; `published`: that is
    published."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    wrong: dict[str, Any] = field(default_factory=dict)
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, parameters={"kid": "one"}))
    published: list[RSAKey] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    landed: Any = None
    """Where the browser is after the last login."""
    is_down: bool = False
    has_userinfo: bool = True
    access: str = "opaque"
    """The token that is valid now; `refresh` gets another one."""
    refresh: str | None = None
    discovered: int = 0
    """How often its discovery document was asked for."""

    def document(self) -> dict[str, Any]:
        ends = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        ends |= {"userinfo_endpoint": "/userinfo"} if self.has_userinfo else {}
        return {"issuer": self.issuer, **{name: self.issuer + path for name, path in ends.items()}}

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent: whoever comes is logged in."""
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        code = f"code-{next(self.numbers)}"
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The tokens for a code, which works once, for the client that began, with its verifier."""
        if form.get("grant_type") == "refresh_token":
            if self.refresh is None or form["refresh_token"] != self.refresh:
                return None
            self.access += "-again"
            return {"access_token": self.access, "token_type": "Bearer"}
        begun = self.codes.pop(form.get("code", ""), None)
        expected = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        if (
            begun is None
            or authorization != expected
            or begun["code_challenge"] != challenge
            or begun["redirect_uri"] != form["redirect_uri"]
        ):
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "42", "iat": now, "exp": now + 300, "nonce": begun["nonce"]}
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims | self.claims | self.wrong, self.key)
        more = {"refresh_token": self.refresh} if self.refresh is not None else {}
        return {"access_token": self.access, "token_type": "Bearer", "id_token": signed, **more}

    def userinfo(self, authorization: str) -> dict[str, Any] | None:
        """What is known about whoever logged in, for the token that is valid now."""
        return {"sub": "42", **self.claims} if authorization == f"Bearer {self.access}" else None


@contextlib.contextmanager
def provided() -> Iterator[Provider]:
    """A provider that ends with the block."""
    made = Provider()
    made.published = [made.key]

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: Any) -> None:
            pass

        def answer(self, data: Any, status: int = 200) -> None:
            body = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", made.authorize({name: values[0] for name, values in parse_qs(parts.query).items()}))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif parts.path == "/userinfo":
                known = made.userinfo(self.headers.get("Authorization", ""))
                self.answer(known or {"error": "invalid_token"}, 200 if known else 401)
            elif parts.path == "/keys":
                self.answer({"keys": [key.as_dict(private=False) for key in made.published]})
            else:
                made.discovered += 1
                self.answer({} if made.is_down else made.document(), 503 if made.is_down else 200)

        def do_POST(self) -> None:
            form = {name: values[0] for name, values in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()}
            given = made.token(form, self.headers.get("Authorization", ""))
            self.answer(given or {"error": "invalid_grant"}, 200 if given else 400)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
