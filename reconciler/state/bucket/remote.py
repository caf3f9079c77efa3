"""Objects in a bucket of S3, Google Cloud Storage or Azure Blob Storage, through obstore.

In: a URL; credentials come from the environment, as each service's own tools take them. Out: `Objects`. Forbidden: retries, which would
hide that a request may have had its effect; passwords in a URL; deciding by an error's text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from reconciler.errors import StateError
from reconciler.state.bucket.objects import Unreachable
from reconciler.text.install import installing, installing_extra

REQUEST_SECONDS: Final = 10
SHOWN: Final = 300  # characters of what the library says
VARIABLES: Final = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}
NO_RETRIES: Final = {"max_retries": 0, "retry_timeout": timedelta(seconds=1)}

T = TypeVar("T")


class Remote:
    """A prefix in a bucket. `where` names it in messages."""

    def __init__(self, url: str, where: str) -> None:
        if find_spec("obstore") is None:
            hint = f"Install it: {installing('obstore>=0.8')}. It is the extra `bucket`: {installing_extra('bucket')}"
            raise StateError("a state in a bucket requires obstore", id="RC-package-missing", hint=hint)
        from obstore import exceptions
        from obstore.store import from_url

        self._where = where
        self._variables = VARIABLES[url.partition(":")[0]]
        self._exceptions = exceptions
        options: Any = {"timeout": f"{REQUEST_SECONDS}s", "connect_timeout": "5s"}
        if os.environ.get(f"{self._variables}ALLOW_HTTP") == "true":  # a server of one's own, or a test's
            options["allow_http"] = True
        retries: Any = NO_RETRIES
        try:
            self._store = from_url(url, client_options=options, retry_config=retries)
        except (exceptions.BaseError, ValueError) as error:
            raise StateError(f"{where} cannot be used: {_first_line(error)}", id="RC-bucket-settings", hint=self._configure) from error

    def get(self, name: str) -> bytes | None:
        return self._request(lambda: bytes(self._store.get(name).bytes()), None)

    def create(self, name: str, content: bytes) -> bool:
        def send() -> bool:
            try:
                self._store.put(name, content, mode="create", use_multipart=False)
            except (self._exceptions.AlreadyExistsError, self._exceptions.PreconditionError):
                return False
            return True

        created = self._request(send, None)
        if created is None:
            raise self._missing()
        return created

    def put(self, name: str, content: bytes) -> None:
        if self._request(lambda: self._store.put(name, content), None) is None:
            raise self._missing()

    def modified(self, name: str) -> float:
        seconds = self._request(lambda: self._store.head(name)["last_modified"].timestamp(), None)
        if seconds is None:
            wrong = f"an object of {self._where} was deleted: {name}"
            raise StateError(wrong, id="RC-bucket-object-deleted", hint="Nothing but Reconciler may delete objects there.")
        return seconds

    def check(self) -> None:
        try:
            self._request(lambda: next(iter(self._store.list(chunk_size=1)), None), None)
        except Unreachable as error:
            raise StateError(
                f"the bucket of {self._where} does not exist, or cannot be listed: {error}", id="RC-bucket-missing", hint=self._configure
            ) from error

    def _request(self, send: Callable[[], T], missing: None) -> T | None:
        """The result of a request; `missing` where there is no such object, or no such bucket."""
        try:
            return send()
        except (FileNotFoundError, self._exceptions.NotFoundError):
            return missing
        except (PermissionError, self._exceptions.PermissionDeniedError, self._exceptions.UnauthenticatedError) as error:
            raise StateError(f"{self._where} denies access", id="RC-bucket-denied", hint=self._denied) from error
        except (self._exceptions.BaseError, OSError) as error:
            raise Unreachable(_first_line(error)) from error

    def _missing(self) -> StateError:
        hint = "Create the bucket, or pass another with --state; Reconciler creates objects, never buckets."
        return StateError(f"the bucket of {self._where} does not exist", id="RC-bucket-missing", hint=hint)

    @property
    def _configure(self) -> str:
        return (
            f"Check the name of the bucket and the variables {self._variables}… that give region, endpoint and credentials; "
            "docs/state.md lists them."
        )

    @property
    def _denied(self) -> str:
        return (
            f"Check the credentials in {self._variables}…: they must be allowed to get and create objects there, and to list them. "
            "Check the clock of this machine too: a request whose time differs by more than a few minutes is denied."
        )


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
