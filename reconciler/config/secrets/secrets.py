"""The `secrets` of a project and of its environment: the names are read at once, the values decrypted when an expression needs one.

In: the entries of both files. Out: values for expressions, or placeholders if nothing is decrypted. Reads files, and runs `sops`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NoReturn

from reconciler.config.keys import SECRETS
from reconciler.config.language.bounds import ExpressionError, NoValue, Path as KeyPath
from reconciler.config.language.files import ProjectFiles
from reconciler.config.language.variables import is_usable, texts
from reconciler.config.secrets.encrypted import SUFFIXES, Encrypted, SecretsError, encrypted, part, refused_server, same_structure
from reconciler.config.source.nodes import HOLE_OPENING, List, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, empty, shown
from reconciler.errors import Problem, os_reason
from reconciler.model import Source
from reconciler.programs import program, run
from reconciler.text.credentials import MASK
from reconciler.text.escape import replaced
from reconciler.text.names import did_you_mean
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
_FRAME: Final = re.compile(r"(?<!\s)\s*(?:\|\s*)?\n[\s|]*")


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


FORM: Final = f"write {SECRETS}: FILE or {SECRETS}: [FILE, …]"


@dataclass(eq=False)
class _File:
    """One encrypted file. `values`: None until it is decrypted; `failed`: decryption failed, which is reported."""

    name: str
    at: Source
    content: Encrypted
    values: Mapping[str, Any] | None = None
    failed: bool = False


@dataclass(eq=False)
class Secrets:
    """The encrypted files by the names of their values. `decrypt`: False if names are checked and values are not needed.

    `unreadable`: a file is missing or invalid, which is reported: it may contain unknown names.
    """

    files: ProjectFiles
    environ: Mapping[str, str]
    problems: Problems
    decrypt: bool
    by_name: dict[str, _File] = field(default_factory=dict)
    unreadable: bool = False
    _unchecked: set[str] = field(default_factory=set)

    # -- reading -------------------------------------------------------------------------------------------------------------------

    def add(self, entry: MapEntry) -> None:
        """Add the files that one document names; their values override those of earlier documents by name."""
        files: dict[str, _File] = {}
        nodes = entry.node.items if isinstance(entry.node, List) else [entry.node]
        for node in nodes:
            if isinstance(node, Scalar) and node.empty:
                self._wrong(node.at, empty(SECRETS), id="RC-no-value")
            elif not isinstance(node, Scalar) or not node.text or node.null:
                self._wrong(
                    node.at, f"{SECRETS} must be the name of a file, or a list of them, not {described(node)}; {FORM}", id="RC-wrong-form"
                )
            elif HOLE_OPENING in node.text:
                way = f"write {SECRETS} into each environments/NAME.yaml instead"
                wrong = f"{SECRETS} cannot contain an expression: files are read before expressions; {way}"
                self._wrong(node.at, wrong, id="RC-expression-not-allowed")
            else:
                self._read(node, files)
        self.by_name |= files

    def _read(self, node: Scalar, files: dict[str, _File]) -> None:
        name = node.text
        try:
            if not name.endswith(SUFFIXES):
                raise SecretsError(f"its name must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}", id="RC-secrets-file-name")
            content = encrypted(self.files.content(name, SECRETS + " " + shown(name)), name)
        except ExpressionError as error:
            self._wrong(node.at, error.message, id=error.id)
            return
        except SecretsError as error:
            self._wrong(node.at, f"{SECRETS} {shown(name)}: {error}", id=error.id)
            return
        file = _File(name, node.at, content)
        for key in content.values:
            other = files.setdefault(key, file)
            if other is not file:
                self._wrong(node.at, f"{shown(key)} is in {other.name} and in {name}; remove it from one of them", id="RC-secret-twice")

    def _wrong(self, at: Source, message: str, *, id: str) -> None:
        self.unreadable = True
        self.problems.add(at, message, id=id)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The files that were used without being decrypted."""
        return tuple(sorted(self._unchecked))

    @property
    def texts(self) -> frozenset[str]:
        """Every text that was decrypted."""
        values = [file.values for file in set(self.by_name.values()) if file.values is not None]
        return frozenset(text for value in values for text in texts(value) if text)

    # -- for expressions -----------------------------------------------------------------------------------------------------------

    def origins(self, paths: Collection[KeyPath]) -> frozenset[str]:
        """The names that an expression uses. Raises `ExpressionError` for a name that no file has."""
        for path in sorted(paths, key=str):
            if path and path[0] not in self.by_name:
                if self.unreadable:
                    raise NoValue
                names = ", ".join(dict.fromkeys(file.name for file in self.by_name.values()))
                hint = did_you_mean(str(path[0]), self.by_name)
                raise ExpressionError(f'there is no secret "{path[0]}" in {names or "any file"}{hint}', id="RC-unknown-secret")
        return frozenset(f"{SECRETS}.{path[0]}" if path else SECRETS for path in paths)

    def shown(self, path: KeyPath) -> Any:
        """What the files show of a value without the key: its structure, and its texts as they are encrypted. Raises `ExpressionError` for
        a path that does not exist, and `LookupError` for one that leads into a text."""
        try:
            return part({name: file.content.values[name] for name, file in self.by_name.items()}, path)
        except SecretsError as error:
            raise ExpressionError(f"{error} (in {self.by_name[str(path[0])].name})", id=error.id) from None

    def values(self, paths: Collection[KeyPath]) -> Mapping[str, Any] | None:
        """The values that an expression may use; None if nothing is decrypted. Raises `NoValue` if decryption fails."""
        if self.unreadable:
            raise NoValue
        if not self.decrypt:
            self._unchecked |= {file.name for name, file in self.by_name.items() if () in paths or (name,) in {path[:1] for path in paths}}
            return None
        names = self.by_name if () in paths else {str(path[0]): self.by_name[str(path[0])] for path in paths}
        return {name: self._decrypted(file)[name] for name, file in names.items()}

    def _decrypted(self, file: _File) -> Mapping[str, Any]:
        if file.values is None and not file.failed:
            try:
                file.values = self._run(file)
            except SecretsError as error:
                file.failed = True
                self.problems.settle(Problem(*file.at, f"{file.name}: {error}", id=error.id))
        if file.values is None:
            raise NoValue
        return file.values

    def _run(self, file: _File) -> Mapping[str, Any]:
        wrong = refused_server(file.content.servers, self.environ)
        if wrong is not None:
            raise SecretsError(wrong, id="RC-vault-not-confirmed")
        values = decrypted(file.content.document, file.name, self.files.root, self.environ)
        if not same_structure(file.content.values, values):
            says = "what sops decrypted has other names than the file; it changed meanwhile, or another program is called sops"
            raise SecretsError(says, id="RC-sops-output")
        return values
