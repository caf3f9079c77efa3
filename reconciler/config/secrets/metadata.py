"""What the metadata of SOPS may contain: the keys that SOPS writes, and values that name nothing but a key.

A pull request writes the metadata, and SOPS uses your credentials for what they say. In: the metadata. Out: what is not allowed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

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
