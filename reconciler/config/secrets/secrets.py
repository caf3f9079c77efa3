"""The `secrets` of a project and of its environment: the names are read at once, the values decrypted when an expression needs one.

In: the entries of both files. Out: values for expressions, or placeholders if nothing is decrypted. Reads files, and runs `sops`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.config.keys import SECRETS
from reconciler.config.language.bounds import ExpressionError, NoValue
from reconciler.config.language.compiler import Path
from reconciler.config.language.files import ProjectFiles
from reconciler.config.language.variables import texts
from reconciler.config.secrets.encrypted import SUFFIXES, Encrypted, SecretsError, encrypted, part, refused_server, same_structure
from reconciler.config.secrets.sops import decrypted
from reconciler.config.source.nodes import HOLE_OPENING, List, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, empty, shown
from reconciler.errors import Problem
from reconciler.model import Source
from reconciler.text.names import did_you_mean

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

    def origins(self, paths: Collection[Path]) -> frozenset[str]:
        """The names that an expression uses. Raises `ExpressionError` for a name that no file has."""
        for path in sorted(paths, key=str):
            if path and path[0] not in self.by_name:
                if self.unreadable:
                    raise NoValue
                names = ", ".join(dict.fromkeys(file.name for file in self.by_name.values()))
                hint = did_you_mean(str(path[0]), self.by_name)
                raise ExpressionError(f'there is no secret "{path[0]}" in {names or "any file"}{hint}', id="RC-unknown-secret")
        return frozenset(f"{SECRETS}.{path[0]}" if path else SECRETS for path in paths)

    def shown(self, path: Path) -> Any:
        """What the files show of a value without the key: its structure, and its texts as they are encrypted. Raises `ExpressionError` for
        a path that does not exist, and `LookupError` for one that leads into a text."""
        try:
            return part({name: file.content.values[name] for name, file in self.by_name.items()}, path)
        except SecretsError as error:
            raise ExpressionError(f"{error} (in {self.by_name[str(path[0])].name})", id=error.id) from None

    def values(self, paths: Collection[Path]) -> Mapping[str, Any] | None:
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
