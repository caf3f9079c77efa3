"""An encrypted file before decryption: the names of its values, which SOPS does not encrypt, and the servers that it names.

In: the text of a file. Out: its names, without decrypting anything, and the document to decrypt: what was checked, written again. Pure.

SOPS reads a file with another parser, which for example ignores the case of keys in JSON: of the file itself, it could read something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.config.language.bounds import Path
from reconciler.config.source.nodes import UNREAD, List, Map, Node, plain
from reconciler.config.source.reader import read
from reconciler.text.names import did_you_mean

METADATA: Final = "sops"
VAULT_ADDRESS: Final = "vault_address"
_GROUPS: Final = "key_groups"
_CONTEXT: Final = "context"  # the only value that is a map

_OWN: Final = frozenset(
    {
        "shamir_threshold", "lastmodified", "mac", "mac_only_encrypted", "version", "unencrypted_suffix", "encrypted_suffix",
        "unencrypted_regex", "encrypted_regex", "unencrypted_comment_regex", "encrypted_comment_regex",
    }
)  # fmt: skip
_ENCRYPTED: Final = frozenset({"created_at", "enc"})
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "age": _ENCRYPTED | {"recipient"},
    "pgp": _ENCRYPTED | {"fp"},
    "kms": _ENCRYPTED | {"arn", "role", _CONTEXT, "aws_profile"},
    "gcp_kms": _ENCRYPTED | {"resource_id"},
    "azure_kv": _ENCRYPTED | {"vault_url", "name", "version"},
    "hc_vault": _ENCRYPTED | {VAULT_ADDRESS, "engine_path", "key_name"},
    "hckms": _ENCRYPTED | {"key_id"},
}
_AZURE: Final = r"(?:vault|managedhsm)\.(?:azure\.net|azure\.cn|usgovcloudapi\.net|microsoftazure\.de)"
_VALUES: Final = {  # the form of values that become a part of an address or of a command
    "arn": r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]+:(?:key|alias)/[\w/:-]+",
    "role": r"(?:arn:aws[a-z-]*:iam::[0-9]+:role/[\w+=,.@/-]+)?",
    "aws_profile": r"[\w. @-]*",
    "resource_id": r"projects/[\w.:/-]+",
    "vault_url": rf"https://[a-z0-9-]+\.{_AZURE}/?",
    "engine_path": r"[\w./-]+",
    "key_name": r"[\w.-]+",
    "key_id": r"[\w:-]+",
    "fp": r"[0-9A-Fa-f]+",
    "recipient": r"[\w.+=/ @:-]+",
}
_FORMS: Final = {name: re.compile(form, re.ASCII) for name, form in _VALUES.items()}


def unknown_part(metadata: Mapping[str, Any]) -> str | None:
    """What SOPS does not write, as a sentence; None if everything is known."""
    return next(_unknown_parts(metadata), None)


def _unknown_parts(metadata: Mapping[str, Any]) -> Iterator[str]:
    for name, value in metadata.items():
        if name in _OWN:
            yield from _of_value(METADATA, name, value)
        elif name == _GROUPS:
            yield from _of_groups(value)
        else:
            yield from _of_keys(METADATA, name, value)


def _of_groups(groups: Any) -> Iterator[str]:
    where = f"{METADATA}.{_GROUPS}"
    if groups is not None and not isinstance(groups, list):
        yield f"{where} is not a list"
        return
    for index, group in enumerate(groups or ()):
        if not isinstance(group, Mapping):
            yield f"{where}[{index}] is not a map"
            continue
        for name, value in group.items():
            yield from _of_keys(f"{where}[{index}]", name, value)


def _of_keys(where: str, kind: str, keys: Any) -> Iterator[str]:
    """The unknown parts of all keys of one kind."""
    if kind not in _KEYS:
        yield f'"{kind}" in {where} is not a key that SOPS writes'
    elif keys is not None and not isinstance(keys, list):
        yield f"{where}.{kind} is not a list"
    else:
        for index, key in enumerate(keys or ()):
            place = f"{where}.{kind}[{index}]"
            if not isinstance(key, Mapping):
                yield f"{place} is not a map"
                continue
            for name, value in key.items():
                if name not in _KEYS[kind]:
                    yield f'"{name}" in {place} is not a key that SOPS writes'
                elif name == _CONTEXT and isinstance(value, Mapping):
                    for part in value:
                        yield from _of_value(f"{place}.{_CONTEXT}", part, value[part])
                else:
                    yield from _of_value(place, name, value)


def _of_value(where: str, name: str, value: Any) -> Iterator[str]:
    form = _FORMS.get(name)
    if isinstance(value, Mapping | list):
        yield f"{where}.{name} is not a text"
    elif form is not None and value is not None and (form.fullmatch(str(value)) is None or "/../" in f"/{value}/"):
        yield f"{where}.{name} is not one that SOPS uses"


SUFFIXES: Final = (".yaml", ".yml", ".json")
VAULT: Final = "VAULT_ADDR"
_PORTS: Final = {"http": "80", "https": "443"}
_SERVER: Final = re.compile(r"(https?)://([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?((?:/[\w.~-]+)*)/*", re.ASCII | re.IGNORECASE)
_PLAIN: Final = re.compile(r"[-+.\w]+", re.ASCII)  # a scalar that means the same between brackets
_NOT_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # JSON allows them in quotes


class SecretsError(Exception):
    """Why a file cannot be used or decrypted: one sentence that follows its name, and the id of its cause."""

    def __init__(self, message: str, *, id: str) -> None:
        super().__init__(message)
        self.id = id


@dataclass(frozen=True)
class Encrypted:
    """`values`: the encrypted values by name. `servers`: the Vault servers that would be asked for the key. `document`: what to decrypt."""

    values: Mapping[str, Any]
    servers: tuple[str, ...] = ()
    document: str = ""


def encrypted(text: bytes, name: str) -> Encrypted:
    """The readable parts of an encrypted file. Raises `SecretsError`."""
    value, document = _json(text) if name.endswith(".json") else _yaml(text, name)
    if not isinstance(value, dict):
        raise SecretsError("it contains no map of names and values", id="RC-secrets-not-a-map")
    metadata = value.pop(METADATA, None)
    if not isinstance(metadata, dict) or not ("mac" in metadata and "version" in metadata):
        raise SecretsError(f"it is not encrypted; run: sops encrypt --in-place {name}", id="RC-not-encrypted")
    again = f"encrypt it again: sops decrypt {name}, then sops encrypt"
    second = next((key for key in value if key.casefold() == METADATA), None)
    if second is not None:
        raise SecretsError(f'it has "{second}" beside "{METADATA}", which SOPS could mistake for it; {again}', id="RC-secrets-metadata")
    wrong = unknown_part(metadata)
    if wrong is not None:
        raise SecretsError(f"{wrong}; {again}", id="RC-secrets-metadata")
    return Encrypted(value, tuple(dict.fromkeys(_servers(metadata))), document)


def _json(text: bytes) -> tuple[Any, str]:
    """The data of a JSON file, and the same as JSON."""
    try:
        data = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
        return data, json.dumps(data, allow_nan=False)
    except (ValueError, RecursionError):
        raise SecretsError("it is not JSON", id="RC-not-json") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in keys if names.count(key) > 1)
        raise SecretsError(f'the key "{twice}" is written twice', id="RC-declared-twice")
    return keys


def _yaml(text: bytes, name: str) -> tuple[Any, str]:
    """The data of a YAML file, and the same as YAML in the form of JSON."""
    document = read(text, name)
    for problem in document.problems:
        line = f" (line {problem.line})" if problem.line else ""
        raise SecretsError(f"it is not valid YAML{line}: {problem.message}", id=problem.id)
    return (None, "") if document.data is None else (plain(document.data), _in_brackets(document.data))


def _in_brackets(node: Node) -> str:
    """A node as YAML in the form of JSON. A plain scalar is not quoted, as its type depends on that."""
    if isinstance(node, Map):
        return "{" + ", ".join(f"{_quoted(key)}: {_in_brackets(entry.node)}" for key, entry in node.entries.items()) + "}"
    if isinstance(node, List):
        return "[" + ", ".join(map(_in_brackets, node.items)) + "]"
    if node.empty:
        return "null"
    return node.text if node.plain and node.value is UNREAD and _PLAIN.fullmatch(node.text) else _quoted(node.text)


def _quoted(text: str) -> str:
    return _NOT_IN_YAML.sub(lambda character: f"\\u{ord(character[0]):04x}", json.dumps(text, ensure_ascii=False))


def _servers(metadata: Any) -> Iterator[str]:
    """The Vault servers in the metadata, from each group of keys."""
    if isinstance(metadata, dict):
        address = metadata.get(VAULT_ADDRESS)
        if address is not None:
            yield str(address)
        for group in metadata.values():
            yield from _servers(group)
    elif isinstance(metadata, list):
        for group in metadata:
            yield from _servers(group)


def refused_server(servers: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    """Why the file may not be decrypted: it would send the token of Vault to a server that only the file names."""
    known = _server(environ.get(VAULT, ""))
    other = next((server for server in servers if known is None or _server(server) != known), None)
    if other is None:
        return None
    way = f"set {VAULT}={other}" if _server(other) is not None else f"write its address as https://HOST:PORT, and set {VAULT} to it"
    return f"it names the Vault server {other}, and only a server that {VAULT} names gets your token; if it is yours, {way}"


def _server(address: str) -> tuple[str, str, str, str] | None:
    """The parts of an address that every program reads alike; None of any other, as one with a user, a query or a backslash."""
    parts = _SERVER.fullmatch(address)
    if parts is None or "/.." in address:
        return None
    scheme, host, port, path = parts.groups()
    return scheme.lower(), host.lower(), port or _PORTS[scheme.lower()], path


def part(values: Mapping[str, Any], path: Path) -> Any:
    """What the file shows at a path below `secrets`. Raises `SecretsError` if there is nothing, `LookupError` if it leads into a text."""
    here: Any = values
    name: Any
    for at, name in enumerate(path):
        if not isinstance(here, Mapping | list):
            raise LookupError(name)
        if (isinstance(here, Mapping) and name in here) or (isinstance(here, list) and isinstance(name, int) and name < len(here)):
            here = here[name]
        else:
            keys = [key for key in here if isinstance(key, str)] if isinstance(here, Mapping) else []
            before = ".".join(("secrets", *map(str, path[:at])))
            raise SecretsError(f'{before} has no "{name}"{did_you_mean(str(name), keys)}', id="RC-unknown-secret")
    return here


def same_structure(shown: Any, value: Any) -> bool:
    """Whether decrypted values have the names and the lists that the file shows: expressions rely on it."""
    if isinstance(shown, Mapping):
        return isinstance(value, Mapping) and shown.keys() == value.keys() and all(same_structure(shown[key], value[key]) for key in shown)
    if isinstance(shown, list):
        return isinstance(value, list) and len(shown) == len(value) and all(map(same_structure, shown, value))
    return not isinstance(value, Mapping | list)
