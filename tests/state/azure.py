"""Azure Blob Storage of the tests' own: Azurite in a process, behind the proxy that goes wrong (`tests/state/s3.py`)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from types import MappingProxyType

import pytest

from tests.state import s3

CONTAINER = "states"
ACCOUNT = "devstoreaccount1"  # of the emulator, and so is its key
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SIGNED = (
    "content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range",
)  # fmt: skip
"""Headers that are signed by their place, without their names."""


MISSING = "there is no Azurite on this machine: npm install --global azurite, or name its program azurite-blob in AZURITE"


def program() -> str | None:
    """Azurite's server of blobs; None where there is none on this machine."""
    path = os.environ.get("AZURITE") or shutil.which("azurite-blob")
    return path if path and os.access(path, os.X_OK) else None


def missing() -> None:
    """Skip, unless the tests of Azure are required."""
    s3.missing()
    if program() is None:
        if "azurite" in os.environ.get(s3.REQUIRE, "").split(","):
            pytest.fail(f"{s3.REQUIRE} asks for Azurite, but {MISSING}")
        pytest.skip(MISSING)


class Plain(s3.Plain):
    """The same objects over plain HTTP, past the proxy; the emulator verifies signatures."""

    def __init__(self, server: int, prefix: str) -> None:
        super().__init__(server, prefix)
        self._prefix = f"/{ACCOUNT}/{CONTAINER}/{prefix}"

    def headers(self, method: str, path: str, content: bytes | None, given: Mapping[str, str]) -> dict[str, str]:
        kind = {"x-ms-blob-type": "BlockBlob"} if content is not None else {}
        return signed(method, path, {**{name.lower(): value for name, value in given.items()}, **kind}, len(content or b""))


def signed(method: str, path: str, given: Mapping[str, str] = MappingProxyType({}), length: int = 0) -> dict[str, str]:
    """The headers of a request, with its signature."""
    headers = {**given, "x-ms-date": formatdate(usegmt=True), "x-ms-version": "2023-11-03"}
    if length:
        headers |= {"content-length": str(length), "content-type": "application/octet-stream"}
    path, _, query = path.partition("?")
    lines = [method, *(headers.get(name, "") for name in SIGNED)]
    lines += [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-ms-")]
    lines += [f"/{ACCOUNT}{path}", *sorted(query.replace("=", ":", 1).split("&") if query else [])]
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()).decode()
    return {**headers, "Authorization": f"SharedKey {ACCOUNT}:{signature}"}


@contextmanager
def running() -> Iterator[s3.Proxy]:
    """The proxy before an emulator with one empty container; variables of the environment let the program find it."""
    options = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    container = f"/{ACCOUNT}/{CONTAINER}?restype=container"
    with s3.serving(
        lambda port: [program() or "azurite-blob", *options, "--blobHost", "127.0.0.1", "--blobPort", str(port)],
        container,
        lambda: {**signed("PUT", container), "Content-Length": "0"},
        variables,
    ) as proxy:
        yield proxy


def variables(url: str) -> dict[str, str]:
    """What the program must be told to take it for Azure."""
    account = {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_ALLOW_HTTP": "true"}
    return {**account, "AZURITE_BLOB_STORAGE_URL": url}
