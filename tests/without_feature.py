"""A copy of the package from which a feature was deleted: its folder, and its lines in `assembled.py`.

Who imports a feature is read from `pyproject.toml`, where import-linter complains about each line that is wrong: the contract between
features names those that are deleted with it.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.sources import PACKAGE, ROOT, nodes

FEATURES: Final = tuple(sorted(path.name for path in (PACKAGE / "features").iterdir() if (path / "__init__.py").exists()))
KERNEL: Final = "The kernel knows no feature"
BETWEEN: Final = "Features import only those features that this list names"
_IMPORT: Final = re.compile(r"(\S+) -> reconciler\.features\.(\w+)")


@cache
def _contracts() -> dict[str, dict[str, Any]]:
    """The contracts of import-linter, by name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["name"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def _exceptions(name: str) -> Iterator[tuple[str, str]]:
    """The imports of features that a contract allows: who imports, and the feature."""
    for line in _contracts()[name].get("ignore_imports", ()):
        if match := _IMPORT.match(line):
            yield match[1], match[2]


def deleted_with(feature: str) -> frozenset[str]:
    """The feature, and all features that import it, or one of these."""
    deleted = {feature}
    while more := {
        importer.split(".")[2]
        for importer, imported in _exceptions(BETWEEN)
        if imported in deleted and importer.startswith("reconciler.features.") and importer.split(".")[2] not in deleted
    }:
        deleted |= more
    return frozenset(deleted)


def uses(room: str, deleted: frozenset[str]) -> bool:
    """Whether a room above the features imports one of these, so that it is deleted too."""
    modules = re.compile(rf"reconciler\.features\.({'|'.join(sorted(deleted))})\b")
    return any(modules.search(path.read_text(encoding="utf-8")) for path in sorted((PACKAGE / room).rglob("*.py")))


def kernel_exceptions() -> list[str]:
    """The imports of features that the contract of the kernel allows."""
    return list(_contracts()[KERNEL].get("ignore_imports", ()))


def kernel_modules() -> list[str]:
    """The names of all modules of the kernel."""
    rooms = _contracts()[KERNEL]["source_modules"]
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in sorted(PACKAGE.rglob("*.py")))
    return [name for name in names if any(name == room or name.startswith(f"{room}.") for room in rooms)]


def kernel_tests() -> Iterator[Path]:
    """The modules of the tests of the kernel: of the folders that are named like its rooms."""
    for room in _contracts()[KERNEL]["source_modules"]:
        yield from sorted((ROOT / "tests" / room.rpartition(".")[2]).rglob("*.py"))


def imports(module: Path) -> Iterator[str]:
    """The names that a module imports, each with the module that it is in, wherever it does it, and all that the modules of tests import
    that it imports."""
    known, left = set(), [module]
    while left:
        path = left.pop()
        for name in _imports(path):
            yield name
            file = ROOT.joinpath(*name.split(".")).with_suffix(".py")
            if name.startswith("tests.") and file not in known and file.exists():
                known.add(file)
                left.append(file)


@cache
def _imports(path: Path) -> frozenset[str]:
    """What a module imports itself."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def copied(folder: Path, deleted: frozenset[str]) -> Path:
    """The repository in `folder`, without these features; what the program only reads is linked."""
    for name in ("reconciler", "tests"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True)  # with what was compiled: the times of the files stay
    for path in ROOT.iterdir():
        if not (folder / path.name).exists() and path.name not in (".git", ".venv"):
            os.symlink(path, folder / path.name)
    for feature in deleted:
        shutil.rmtree(folder / "reconciler" / "features" / feature)
        shutil.rmtree(folder / "tests" / "features" / feature, ignore_errors=True)
    if uses("interface", deleted):
        shutil.rmtree(folder / "reconciler" / "interface")
    if fleet := uses("fleet", deleted):
        shutil.rmtree(folder / "reconciler" / "fleet")
    assembled = folder / "reconciler" / "assembled.py"
    assembled.write_text(without(assembled.read_text(encoding="utf-8"), deleted, fleet=fleet), encoding="utf-8")
    return folder


# -- the lines of assembled.py -----------------------------------------------------------------------------------------------------------


def without(text: str, deleted: frozenset[str], *, fleet: bool = False) -> str:
    """`assembled.py` without the imports of these features, the rows that name them, and the commands that are in their folders. `fleet`:
    without those of a fleet too."""
    tree = ast.parse(text)
    deletion = _Deletion(deleted, fleet=fleet)
    deletion.visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Deletion(ast.NodeTransformer):
    """Delete imports of features, and each row that uses a name of these: an entry of a dict, or an argument of a `fill`."""

    def __init__(self, deleted: frozenset[str], *, fleet: bool) -> None:
        names = [f"features\\.{feature}" for feature in sorted(deleted)] + (["fleet"] if fleet else [])
        self._modules = re.compile(rf"reconciler\.({'|'.join(names)})(\.|:|$)")
        self._names: set[str] = set()

    def visit_Import(self, node: ast.Import) -> ast.stmt | None:
        return self._kept(node, [(alias, alias.name) for alias in node.names])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | None:
        return self._kept(node, [(alias, f"{node.module}.{alias.name}") for alias in node.names])

    def _kept(self, node: ast.Import | ast.ImportFrom, aliases: list[tuple[ast.alias, str]]) -> ast.stmt | None:
        gone = [alias for alias, module in aliases if self._modules.match(module)]
        self._names |= {
            (alias.asname or alias.name).split(".")[0] if isinstance(node, ast.ImportFrom) else alias.asname or alias.name for alias in gone
        }
        node.names = [alias for alias in node.names if alias not in gone]
        return node if node.names else None

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        self.generic_visit(node)
        rows = [
            (key, value) for key, value in zip(node.keys, node.values, strict=True) if isinstance(value, ast.Dict) or not self._uses(value)
        ]
        node.keys, node.values = [key for key, _ in rows], [value for _, value in rows]
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "fill":
            node.args = [row for row in node.args if not self._uses(row)]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def _uses(self, node: ast.AST) -> bool:
        """Whether something deleted is in a row: a name that was imported, or a module as a text."""
        return any(
            (isinstance(part, ast.Name) and part.id in self._names)
            or (isinstance(part, ast.Attribute) and ast.unparse(part) in self._names)
            or (isinstance(part, ast.Constant) and isinstance(part.value, str) and self._modules.match(part.value) is not None)
            for part in ast.walk(node)
        )
