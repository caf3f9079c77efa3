"""The interpreters of Python that this program starts: nothing that they import lies in the current directory.

For `-m` and `-c`, Python looks for modules in the current directory first, and a checkout may contain a `json.py`. So every interpreter of
ours is started with `-P`, or with PYTHONSAFEPATH where the standard library writes its command line. Forbidden: `sys.executable` elsewhere.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

PATHS: Final = "PYTHONPATH"
SAFE: Final = "PYTHONSAFEPATH"


def program() -> str:
    """The path of the interpreter that runs this program."""
    return sys.executable


def interpreter(*words: str) -> list[str]:
    """The command line of another interpreter that runs these words, such as `-m MODULE`. It looks for no modules in the home directory,
    because it may be started with another one: `import_paths` names the user's own packages."""
    return [program(), "-P", "-s", *words]


def import_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """PYTHONPATH for another interpreter: that of this one without relative folders and empty entries, which are the current directory, and
    where `pip install --user` puts packages, if this one uses them; empty without both."""
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    folders = [folder for folder in [*environ.get(PATHS, "").split(os.pathsep), *own] if os.path.isabs(folder)]
    return {PATHS: os.pathsep.join(folders)} if folders else {}


@contextmanager
def safe_children() -> Iterator[None]:
    """A block in which interpreters that the standard library starts import nothing from the current directory: those of multiprocessing,
    which take no options from us."""
    before = {name: os.environ.get(name) for name in (SAFE, PATHS)}
    os.environ.pop(PATHS, None)
    os.environ.update({SAFE: "1", **import_paths({PATHS: before[PATHS] or ""})})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
