"""An encrypted file before decryption: the names of its values, which SOPS does not encrypt, and the servers that it names.

In: the text of a file. Out: its names, without decrypting anything. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from reconciler.config.language.compiler import Path
from reconciler.config.source.nodes import plain
from reconciler.config.source.reader import read
from reconciler.dataclass import dataclass
from reconciler.text.suggest import did_you_mean

METADATA: Final = "sops"
SUFFIXES: Final = (".yaml", ".yml", ".json")
VAULT: Final = "VAULT_ADDR"
NOWHERE: Final = ("", "", None)


class EncryptedError(Exception):
    """Why a file cannot be used: one sentence that follows its name, and the id of its cause."""

    def __init__(self, message: str, *, id: str) -> None:
        super().__init__(message)
        self.id = id


@dataclass(frozen=True)
class Encrypted:
    """`values`: the encrypted values by name. `servers`: the Vault servers that would be asked for the key."""

    values: Mapping[str, Any]
    servers: tuple[str, ...] = ()


def encrypted(text: bytes, name: str) -> Encrypted:
    """The readable parts of an encrypted file. Raises `EncryptedError`."""
    value = _json(text) if name.endswith(".json") else _yaml(text, name)
    if not isinstance(value, dict):
        raise EncryptedError("it contains no map of names and values", id="RC-secrets-not-a-map")
    metadata = value.pop(METADATA, None)
    if not isinstance(metadata, dict) or not ("mac" in metadata and "version" in metadata):
        raise EncryptedError(f"it is not encrypted; run: sops encrypt --in-place {name}", id="RC-not-encrypted")
    return Encrypted(value, tuple(dict.fromkeys(_servers(metadata))))


def _json(text: bytes) -> Any:
    try:
        return json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise EncryptedError("it is not JSON", id="RC-not-json") from None


def _yaml(text: bytes, name: str) -> Any:
    document = read(text, name)
    for problem in document.problems:
        line = f" (line {problem.line})" if problem.line else ""
        raise EncryptedError(f"it is not valid YAML{line}: {problem.message}", id=problem.id)
    return None if document.data is None else plain(document.data)


def _servers(metadata: Any) -> Iterator[str]:
    """The Vault servers in the metadata, from each group of keys."""
    if isinstance(metadata, dict):
        address = metadata.get("vault_address")
        if isinstance(address, str) and address:
            yield address
        for part in metadata.values():
            yield from _servers(part)
    elif isinstance(metadata, list):
        for part in metadata:
            yield from _servers(part)


def refused_server(servers: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    """Why the file may not be decrypted: it would send the token of Vault to a server that only the file names."""
    known = _host(environ.get(VAULT, ""))
    other = next((server for server in servers if known == NOWHERE or _host(server) != known), None)
    if other is None:
        return None
    return f"it names the Vault server {other}, and only a server that {VAULT} names gets your token; if it is yours, set {VAULT}={other}"


def _host(address: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(address)
        return (parts.scheme, parts.hostname, parts.port) if parts.hostname else NOWHERE
    except ValueError:
        return NOWHERE


def part(values: Mapping[str, Any], path: Path) -> Any:
    """What the file shows at a path below `secrets`. Raises `EncryptedError` if there is nothing, `LookupError` if it leads into a text."""
    here: Any = values
    for at, name in enumerate(path):
        if not isinstance(here, Mapping | list):
            raise LookupError(name)
        if (isinstance(here, Mapping) and name in here) or (isinstance(here, list) and isinstance(name, int) and name < len(here)):
            here = here[name]
        else:
            keys = [key for key in here if isinstance(key, str)] if isinstance(here, Mapping) else []
            before = ".".join(("secrets", *map(str, path[:at])))
            raise EncryptedError(f'{before} has no "{name}"{did_you_mean(str(name), keys)}', id="RC-unknown-secret")
    return here


def same_structure(shown: Any, value: Any) -> bool:
    """Whether decrypted values have the names and the lists that the file shows: expressions rely on it."""
    if isinstance(shown, Mapping):
        return isinstance(value, Mapping) and shown.keys() == value.keys() and all(same_structure(shown[key], value[key]) for key in shown)
    if isinstance(shown, list):
        return isinstance(value, list) and len(shown) == len(value) and all(map(same_structure, shown, value))
    return not isinstance(value, Mapping | list)
