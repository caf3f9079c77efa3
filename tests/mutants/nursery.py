"""Where changed modules are tried: a process that has imported what is not ours, and a fork of it for each of them.

The files stay as they are: in the fork an import hook gives the changed module in place of the file's.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import importlib.machinery
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
PASSED: Final = 0
FAILED: Final = 1
TIMEOUT: Final = -1
NEVER_IMPORTED: Final = 90
BROKEN: Final = 91  # not the tests failed but what runs them
MEMORY: Final = 3 << 30  # bytes; a loop without an end must not take the machine along

UNUSED: Final = ("schemathesis", "anyio", "inline_snapshot", "xdist.looponfail")  # plugins of pytest, slow to import
FOREIGN: Final = (
    "pytest", "hypothesis", "sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql", "pydantic", "httpx2", "aiohttp",
    "fastapi", "uvicorn", "yaml", "jinja2", "jinja2.sandbox", "click", "deepdiff",
    "reconciler.sandbox.app", "reconciler.sandbox.seed",
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """A module to be changed and the arguments of pytest. `code`: what stands in its place; None: the file as it is."""

    module: str
    code: str | ast.Module | None
    words: tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    """What pytest said: its exit code, or one of this module's; the last of its output."""

    code: int
    seconds: float
    output: str


def preload() -> None:
    """Import what no mutant changes; the sandbox imports nothing else of the package."""
    for name in FOREIGN:
        importlib.import_module(name)
    gc.freeze()  # what is there already is no matter of any fork


def source(module: str) -> Path:
    """The file of a module of the package."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def tried(trials: Sequence[Trial], *, timeout: float, processes: int) -> Iterator[tuple[int, Ended]]:
    """How each trial ended, as they end, by its index. `timeout`: seconds for one of them."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=shm if shm.is_dir() else None) as text:
        place = Path(text)
        running: dict[int, tuple[int, float]] = {}
        ahead = iter(enumerate(trials))
        try:
            while True:
                while len(running) < processes and (following := next(ahead, None)) is not None:
                    index, trial = following
                    running[_fork(trial, place / str(index))] = (index, time.monotonic())
                if not running:
                    return
                for pid, (index, began) in list(running.items()):
                    seconds = time.monotonic() - began
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if not ended and seconds <= timeout:
                        continue
                    del running[pid]
                    _kill(pid)
                    if not ended:
                        os.waitpid(pid, 0)
                    output = (place / f"{index}.out").read_text(encoding="utf-8", errors="replace")
                    yield index, Ended(os.waitstatus_to_exitcode(status) if ended else TIMEOUT, seconds, output[-3000:])
                time.sleep(0.02)
        finally:
            for pid in running:
                _kill(pid)
                os.waitpid(pid, 0)


def _kill(pid: int) -> None:
    """End a fork with all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _fork(trial: Trial, place: Path) -> int:
    pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):  # the child does the same; whoever is first
            os.setpgid(pid, pid)
        return pid
    code = BROKEN
    try:
        os.setpgid(0, 0)
        code = _child(trial, place)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _child(trial: Trial, place: Path) -> int:
    import pytest
    from hypothesis import Phase, settings

    settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out = os.open(f"{place}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(ROOT)
    tempfile.tempdir = str(place.parent)
    hook = _Hook(trial.module, trial.code) if trial.code is not None else None
    if hook is not None:
        assert trial.module not in sys.modules, trial.module
        sys.meta_path.insert(0, hook)
    plain = ["-x", "-q", "--no-header", "--tb=short", "-p", "no:xdist", "--hypothesis-profile=mutants", f"--basetemp={place}"]
    plain += [word for name in UNUSED for word in ("-p", f"no:{name}")]
    plain += ["-W", "ignore:Module already imported", "-k", "not postgres"]  # a server would take longer than all else
    code = int(pytest.main([*plain, *trial.words]))
    sys.stdout.flush()
    return NEVER_IMPORTED if hook is not None and not hook.used and code in (PASSED, FAILED) else code


class _Hook(importlib.machinery.SourceFileLoader):
    """Finds one module, and runs other code in its place."""

    def __init__(self, module: str, code: str | ast.Module) -> None:
        super().__init__(module, str(source(module)))
        self.changed, self.used = code, False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=[str(Path(self.path).parent)] if self.is_package(name) else None
        )

    def get_code(self, fullname: str) -> CodeType:
        self.used = True
        code: CodeType = compile(self.changed, self.path, "exec", dont_inherit=True)
        return code
