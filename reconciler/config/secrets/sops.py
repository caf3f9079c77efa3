"""`sops decrypt`: the values of an encrypted file.

In: the document as it was checked, the environment. Out: a map, or `SecretsError` in one sentence. The sentence contains the stderr of
the command, without any part of its stdout and without keys and passwords of the environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NoReturn

from reconciler.config.language.variables import is_usable, texts
from reconciler.config.secrets.command import program, run
from reconciler.config.secrets.encrypted import SecretsError
from reconciler.errors import os_reason
from reconciler.text.credentials import MASK
from reconciler.text.escape import replaced
from reconciler.text.redact import Mask
from reconciler.writing import write_whole

COMMAND: Final = "sops"
SECONDS: Final = 30.0
OUTPUT_MAX: Final = 1024 * 1024  # bytes
ERR_MAX: Final = 16_384  # bytes of stderr that are looked at
ERROR_TEXT_MAX: Final = 600  # characters of it in messages
MASKED_MAX: Final = 65_536  # bytes of output whose values are masked in every form; those of longer output only as they are
DEPTH_MAX: Final = 50
_SECRET_NAME: Final = re.compile(r"(?:KEY|TOKEN|SECRET|PASS|CREDENTIAL)(?!.*(?:FILE|PATH|DIR|CMD)$)", re.IGNORECASE)
_KEYS: Final = re.compile(r"AGE-SECRET-KEY-\S+|-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----.*?-----END [A-Z ]+-----", re.DOTALL)
_WORD: Final = re.compile(r"[^\s\"'{}\[\],:=]{6,}")  # a secret that was masked because it is also in the output
_FRAME: Final = re.compile(r"\s*(?:\|\s*)?\n[\s|]*")


def decrypted(document: str, name: str, folder: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """The values in a document, which SOPS gets as a file of its own: the one in the project could differ from what was checked.

    `name`: of the file in the project. Raises `SecretsError`."""
    command = program(COMMAND, environ)
    if command is None:
        raise SecretsError(
            f"it requires the command {COMMAND}, which is not on PATH; install it (https://getsops.io)", id="RC-sops-missing"
        )
    try:
        with TemporaryDirectory() as private:
            path = Path(private, name.rpartition("/")[2])
            write_whole(path, document.encode("utf-8", "surrogatepass"))
            argv = [command, "decrypt", "--output-type", "json", str(path)]
            ended = run(argv, environ=environ, folder=folder, seconds=SECONDS, most=OUTPUT_MAX)
    except OSError as error:
        raise SecretsError(f"{COMMAND} cannot be started: {os_reason(error)}", id="RC-sops-missing") from None
    if ended.large:
        raise SecretsError(
            f"{COMMAND} printed more than {OUTPUT_MAX // 2**20} MiB; put fewer or smaller values into the file", id="RC-sops-output"
        )
    err = ended.err[:ERR_MAX].replace(os.fsencode(path), os.fsencode(name))
    reason = _error_text(err, ended.out, environ) if ended.late or ended.code else ""
    if ended.late:
        raise SecretsError(f"{COMMAND} did not finish within {SECONDS:g} seconds{reason}", id="RC-sops-failed")
    if ended.code:
        how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
        raise SecretsError(f"{COMMAND} cannot decrypt it ({how}){reason}", id="RC-sops-failed")
    return _values(ended.out)


def _values(out: bytes) -> dict[str, Any]:
    """The output of the command as data; no message contains its text."""
    try:
        value = json.loads(out.decode("utf-8"), parse_constant=_refuse)
        size = _depth(value)
    except (ValueError, RecursionError):
        raise SecretsError(f"{COMMAND} printed something that is not JSON", id="RC-sops-output") from None
    if not isinstance(value, dict):
        raise SecretsError("it contains no map of names and values", id="RC-secrets-not-a-map")
    if size > DEPTH_MAX:
        raise SecretsError(f"its values are nested more than {DEPTH_MAX} levels deep", id="RC-sops-output")
    if not all(map(_is_text, texts(value))):
        raise SecretsError("one of its values contains a character that is not text", id="RC-sops-output")
    if not is_usable(value):
        raise SecretsError("one of its values is a number that is too large", id="RC-sops-output")
    return value


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\x00" not in value


def _depth(value: Any) -> int:
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + max(map(_depth, parts), default=0)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _error_text(err: bytes, out: bytes, environ: Mapping[str, str]) -> str:
    """The error of the command, on one line, without secrets."""
    text = _KEYS.sub("(hidden)", err.decode("utf-8", "replace"))
    text = Mask(_secrets(out, environ)).text(text)
    printed = out.decode("utf-8", "replace")
    text = _WORD.sub(lambda word: MASK if word[0] in printed else word[0], text)
    text = replaced(" ".join(_FRAME.sub(" ", text.strip()).split()))
    if not text:
        return ""
    return f": {text if len(text) <= ERROR_TEXT_MAX else text[: ERROR_TEXT_MAX - 1] + '…'}"


def _secrets(out: bytes, environ: Mapping[str, str]) -> Iterator[str]:
    """The texts to mask: the values in its output, and the keys, tokens and passwords of the environment."""
    yield from (value for name, value in environ.items() if _SECRET_NAME.search(name))
    if len(out) <= MASKED_MAX:
        with suppress(ValueError, RecursionError):
            yield from texts(json.loads(out))
