"""The URL of a state, as the YAML may name it.

In: the URL. Out: what is wrong with it. libpq reads hosts, passwords and settings from the query of a URL too, where nobody looks for
them: the YAML may only write what chooses neither a server nor a file with a password. The command line may write anything. Pure.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from reconciler.config.source.problems import Mistake, shown
from reconciler.text.backends import BUCKET, POSTGRES, backend_of, file_of, forms, url_of
from reconciler.text.names import one_of

# libpq reads a password from the query too, in either spelling, and in any case of its letters.
SECRETS: Final = ("password", "passwd", "sslpassword", "token", "secret")  # keys of a URL's query that may contain a secret
# Not `host`, `hostaddr`, `port`, `user`, `service` or `passfile`: each would connect to another server than the URL shows, with the
# password that RECONCILER_STATE or a password file has for this one.
KEYS: Final = ("sslmode", "sslrootcert", "application_name", "connect_timeout")
ELSEWHERE: Final = "set the whole URL in RECONCILER_STATE, or pass it as --state"
_HOST: Final = r"(?:[A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
# Nothing encoded (%40) and no list of hosts: a reviewer has to see where a password goes.
_FORM: Final = re.compile(rf"postgresql(?:\+psycopg)?://(?:[\w.~-]+@)?{_HOST}(?:/[\w.~-]*)?(?:\?[\w.&=/:~-]*)?", re.ASCII)


def mistake(url: str) -> Mistake | None:
    """What is wrong with the URL of a state; None if nothing is."""
    backend = backend_of(url)
    if backend is None or "://" not in url:
        wrong = f"state is {without_secrets(url)}; it must be {forms(yaml=True)}"
        return Mistake("RC-state-url", wrong)
    if backend.is_file:
        path = file_of(url)
        if path and url == url_of(path) and "?" not in path:
            return None
        return Mistake("RC-state-url", f"state is {shown(url)}; write sqlite:///FILE for a file, relative to the project")
    try:
        parts = urlsplit(url)
        keys = [key for key, _ in parse_qsl(parts.query, keep_blank_values=True)]
        password = parts.password is not None
    except ValueError:
        return Mistake("RC-state-url", f"state is not a valid URL; it must be {POSTGRES.yaml_form} or {BUCKET.yaml_form}")
    if password or any(key.lower() in SECRETS for key in keys):
        wrong = "state contains a password, which is not allowed in the YAML; set the whole URL in RECONCILER_STATE"
        return Mistake("RC-state-password", wrong)
    return _of_postgres(url, keys) if backend is POSTGRES else None


def without_secrets(url: str) -> str:
    """A URL inside a sentence, without what could be a secret."""
    return shown(re.sub(r"//[^/@]*@", "//…@", url).partition("?")[0])


def _of_postgres(url: str, keys: list[str]) -> Mistake | None:
    other = next((key for key in keys if key not in KEYS), None)
    if other is not None:
        wrong = f"state sets {shown(other)}, which is not allowed in the YAML; {one_of(KEYS)}; {ELSEWHERE}"
        return Mistake("RC-state-url-key", wrong)
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        return Mistake("RC-state-url-key", f"state sets {twice} twice; remove one of them")
    if _FORM.fullmatch(url) is None:
        wrong = f"state must be postgresql+psycopg://USER@HOST:PORT/DATABASE in the YAML, with one host and nothing encoded; {ELSEWHERE}"
        return Mistake("RC-state-url", wrong)
    return None
