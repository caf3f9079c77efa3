"""Log in with an OpenID Connect provider: authorization code with PKCE, state and nonce; the ID token is verified.

Authlib builds the requests and validates the claims; the signature is verified with the keys that the provider publishes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import httpx2
from authlib.common.security import generate_token
from authlib.oauth2.base import OAuth2Error
from authlib.oauth2.client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from reconciler.certificates import tls_context
from reconciler.errors import ReconcilerError, Refused
from reconciler.fleet.secrets import resolved
from reconciler.fleet.serve.grants import ClaimsGrant, grant_of
from reconciler.fleet.serve.settings import Oidc

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")  # none of shared secrets
TIMEOUT: Final = httpx2.Timeout(10.0, connect=3.0)
LEEWAY: Final = 60  # seconds by which clocks may differ
DISCOVERY_SECONDS: Final = 3_600.0
KNOWN_SECONDS: Final = 86_400.0  # for which an older document is used if the provider returns no new one
AGAIN_SECONDS: Final = 5.0  # after which an unreachable provider is tried again
KEYS_SECONDS: Final = 30.0  # after which an unknown key is looked for again
VALUES_MAX: Final = 1_000
EXPIRED: Final = (400, 401, 403)  # how providers answer with a token that has expired


class LoginFailed(ReconcilerError):
    """The provider identified nobody. The message contains no data of the provider or the browser."""


class Undiscovered(Exception):
    """The discovery document of a provider could not be read. The message is for the log."""


@dataclass(frozen=True)
class BegunLogin:
    """A started login: the data that the browser brings back, and `url`, where it is sent."""

    url: str
    state: str
    nonce: str
    verifier: str


@dataclass
class Provider:
    """Cached documents of providers, by issuer. Thread-safe."""

    _documents: dict[str, tuple[float, Mapping[str, Any]]] = field(default_factory=dict)
    _failures: dict[str, tuple[float, Undiscovered]] = field(default_factory=dict)
    _keys: dict[str, tuple[float, KeySet]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def begin(self, oidc: Oidc, redirect: str) -> BegunLogin:
        """Start a login."""
        state, nonce, verifier = generate_token(43), generate_token(43), generate_token(64)
        with _http() as http:
            endpoint = self._document(oidc, http)["authorization_endpoint"]
            client = self._client(oidc, http, redirect)
            url, _ = client.create_authorization_url(endpoint, state=state, code_verifier=verifier, nonce=nonce)
        return BegunLogin(url, state, nonce, verifier)

    def finish(self, oidc: Oidc, redirect: str, begun: BegunLogin, *, code: str) -> tuple[dict[str, Any], ClaimsGrant | None]:
        """The person of a code, as a session stores them, and what reads their claims again. Raises `LoginFailed`."""
        try:
            with _http() as http:
                document = self._document(oidc, http)
                client = self._client(oidc, http, redirect)
                given = client.fetch_token(
                    document["token_endpoint"], grant_type="authorization_code", code=code, code_verifier=begun.verifier, **_auth(oidc)
                )
                claims = self._verified(oidc, http, begun, given)
        except (OAuth2Error, JoseError, httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise LoginFailed(
                f"the provider did not confirm who you are ({type(error).__name__})", id="RC-fleet-login", hint="Log in again."
            ) from error
        return _person(oidc, claims), grant_of(given)

    def again(self, oidc: Oidc, grant: ClaimsGrant, subject: str) -> tuple[dict[str, Any], ClaimsGrant]:
        """The person with a subject as the provider describes them now, and the grant for the next time. Raises `Refused`."""
        try:
            with _http() as http:
                document = self._document(oidc, http)
                url = document["userinfo_endpoint"]
                if not url.startswith(f"{oidc.issuer.partition('://')[0]}://"):
                    raise ValueError(url)
                answer = _userinfo(http, url, grant)
                if answer.status_code in EXPIRED and grant.refresh is not None:
                    given = OAuth2Client(http, client_id=oidc.client).refresh_token(
                        document["token_endpoint"], refresh_token=grant.refresh, **_auth(oidc)
                    )
                    grant = ClaimsGrant(given["access_token"], given.get("refresh_token") or grant.refresh)
                    answer = _userinfo(http, url, grant)
                claims = answer.raise_for_status().json()
                if claims["sub"] != subject or _value(claims, oidc.claim) is None:
                    raise KeyError(oidc.claim)
        except (OAuth2Error, JoseError, httpx2.HTTPError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(
                f"the provider does not say now what gives you your role ({type(error).__name__})",
                id="RC-fleet-groups",
                hint="Log out and in again, and approve within 5 minutes.",
            ) from error
        return _person(oidc, claims), grant

    def _client(self, oidc: Oidc, http: httpx2.Client, redirect: str) -> OAuth2Client:
        scope = " ".join(oidc.scopes)
        return OAuth2Client(http, client_id=oidc.client, scope=scope, redirect_uri=redirect, code_challenge_method="S256")

    def _document(self, oidc: Oidc, http: httpx2.Client) -> Mapping[str, Any]:
        """The provider's discovery document, which must be of this issuer."""
        # a page load sends several requests; one of them asks the provider, and the others get the same answer
        with self._lock:
            known, failed, now = self._documents.get(oidc.issuer), self._failures.get(oidc.issuer), time.monotonic()
            if known is not None and now - known[0] < DISCOVERY_SECONDS:
                return known[1]
            if failed is None or now - failed[0] >= AGAIN_SECONDS:
                try:
                    document = _discovered(oidc.issuer, http)
                except Undiscovered as error:
                    failed = self._failures[oidc.issuer] = (time.monotonic(), error)
                else:
                    self._failures.pop(oidc.issuer, None)
                    self._documents[oidc.issuer] = (now, document)
                    return document
        # a provider is down more often than it moves its endpoints, so an older document lets people log in meanwhile
        if known is not None and now - known[0] < KNOWN_SECONDS:
            return known[1]
        raise LoginFailed(
            "the provider cannot be reached, or is another one than dashboard.oidc.issuer says",
            id="RC-fleet-login",
            hint="Try again. If it stays so, compare dashboard.oidc.issuer with the provider's discovery document.",
        ) from failed[1]

    def _verified(self, oidc: Oidc, http: httpx2.Client, begun: BegunLogin, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The claims of an ID token whose signature, issuer, audience, times and nonce are right."""
        text = given["id_token"]
        try:
            token = jwt.decode(text, self._key_set(oidc, http), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            token = jwt.decode(text, self._key_set(oidc, http, again=True), algorithms=ALGORITHMS)
        required = {"iss": {"essential": True, "value": oidc.issuer}, "aud": {"essential": True, "value": oidc.client}}
        params = {"nonce": begun.nonce, "client_id": oidc.client, "access_token": given.get("access_token")}
        claims = CodeIDToken(token.claims, token.header, required, params)
        claims.validate(leeway=LEEWAY)
        return token.claims

    def _key_set(self, oidc: Oidc, http: httpx2.Client, *, again: bool = False) -> KeySet:
        """The keys of a provider. `again`: read them again, because they may have changed."""
        with self._lock:
            known, now = self._keys.get(oidc.issuer), time.monotonic()
            if known is not None and (not again or now - known[0] < KEYS_SECONDS) and now - known[0] < DISCOVERY_SECONDS:
                return known[1]
            keys = KeySet.import_key_set(http.get(self._document(oidc, http)["jwks_uri"]).raise_for_status().json())
            self._keys[oidc.issuer] = (now, keys)
            return keys


def _http() -> httpx2.Client:
    return httpx2.Client(timeout=TIMEOUT, verify=tls_context())


def _discovered(issuer: str, http: httpx2.Client) -> Mapping[str, Any]:
    """The discovery document of a provider, which must be of this issuer. Raises `Undiscovered`."""
    url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        document = http.get(url).raise_for_status().json()
        own = document["issuer"] == issuer
        scheme = issuer.partition("://")[0]
        fits = all(document[key].startswith(f"{scheme}://") for key in ("authorization_endpoint", "token_endpoint", "jwks_uri"))
    except httpx2.HTTPStatusError as error:
        raise Undiscovered(f"{url} answers {error.response.status_code}") from error
    except httpx2.HTTPError as error:
        raise Undiscovered(f"{url} cannot be reached ({type(error).__name__})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Undiscovered(f"{url} is not a discovery document") from error
    if not own:
        raise Undiscovered(f"{url} is of another issuer than dashboard.oidc.issuer says")
    if not fits:
        raise Undiscovered(f"{url} names endpoints that are not {scheme}")
    return cast(Mapping[str, Any], document)


def _auth(oidc: Oidc) -> dict[str, Any]:
    """How the client authenticates to the token endpoint."""
    if oidc.secret is None:
        return {"client_id": oidc.client, "auth": httpx2.Auth()}
    return {"auth": (oidc.client, resolved(oidc.secret, "dashboard.oidc.clientSecret", where="this machine"))}


def _userinfo(http: httpx2.Client, url: str, grant: ClaimsGrant) -> httpx2.Response:
    return http.get(url, headers={"Authorization": f"Bearer {grant.access}", "Accept": "application/json"})


def _person(oidc: Oidc, claims: Mapping[str, Any]) -> dict[str, Any]:
    """The data that a session stores: who the person is, a name to read, their address if the provider verified it, and the values that
    give roles."""
    email, subject, verified = claims.get("email"), claims["sub"], claims.get("email_verified")
    if not isinstance(subject, str) or not subject:
        raise LoginFailed("the provider names nobody", id="RC-fleet-login", hint="Its ID tokens need the claim sub.")
    has_email = isinstance(email, str) and "@" in email
    if has_email and verified not in (True, "true", None):
        raise LoginFailed(
            "the provider has not verified your e-mail address", id="RC-fleet-login", hint="Verify it there, and log in again."
        )
    addresses = [_text(str(email))] if has_email and verified is not None else []
    return {
        "way": oidc.issuer,
        "subject": _text(subject),
        "name": addresses[0] if addresses else _text(subject),
        "addresses": addresses,
        "values": sorted(_values(claims, oidc.claim))[:VALUES_MAX],
    }


def _text(value: str) -> str:
    """A text that PostgreSQL can store."""
    return value[:320].replace("\0", "")


def _values(claims: Mapping[str, Any], claim: str) -> set[str]:
    """The values of a claim."""
    value = _value(claims, claim)
    values = value if isinstance(value, list) else [value]
    return {item for item in values if isinstance(item, str)}


def _value(claims: Mapping[str, Any], claim: str) -> Any:
    """The value of a claim, None if there is none; its name may be a path such as `realm_access.roles`."""
    value: Any = claims.get(claim)
    if value is None:
        value = claims
        for part in claim.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    return value
