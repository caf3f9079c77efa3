"""A folder as a hostile checkout leaves it: modules, programs, settings and a `.reconciler` that all wait to be believed.

Every hostile module and program leaves its name in a file that is outside the folder. What was read in the folder is seen by the times at
which its files were read last, whoever read them.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import pytest

MODULE: Final = "open({marker!r}, 'a').write({name!r} + '\\n')\nraise ImportError({name!r} + ' is of the current folder')\n"
PROGRAM: Final = "#!/bin/sh\necho {name} >> {marker}\nexit 1\n"
PROGRAMS: Final = (
    "git", "sops", "age", "gpg", "ssh", "sh", "python", "python3", "uname", "ldconfig", "gcc", "ld", "postgres", "initdb", "pg_ctl", "pg_config",
    "xdg-open", "less", "x-www-browser", "nano", "vi",
)  # fmt: skip
MODULES: Final = (
    frozenset(sys.stdlib_module_names) | frozenset(packages_distributions()) | {"sitecustomize", "usercustomize", "conftest"}
) - {"encodings"}
"""Whatever can be imported by its name: a module of that name in the folder shadows it. Without encodings no interpreter starts at all."""
PACKAGES: Final = ("reconciler", "tests")
USER_SITE: Final = f".reconciler/fleet/.local/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
COPY: Final = "[core]\n repositoryformatversion = 0\n bare = true\n fsmonitor = {program}\n hooksPath = {folder}\n[credential]\n helper = !{program}\n"
SETTINGS: Final = {
    ".env": "RECONCILER_TOKEN=tok_hostile\nRECONCILER_BASE_URL=http://127.0.0.1:9\nRECONCILER_STATE=sqlite:///hostile.db\nFASTMCP_DEBUG=1\n",
    ".netrc": "machine 127.0.0.1 login mallory password hostile\ndefault login mallory password hostile\n",
    ".gitconfig": "[user]\n email = mallory@acme.example\n[core]\n fsmonitor = {program}\n pager = {program}\n",
    ".pgpass": "*:*:*:*:hostile\n",
    ".pg_service.conf": "[x]\nhost=127.0.0.1\n",
    ".sops.yaml": "creation_rules: []\n",
    ".aws/credentials": "[default]\naws_access_key_id = hostile\naws_secret_access_key = hostile\n",
    ".config/reconciler/confirmed.json": "{}\n",
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:9\n",
    "pyproject.toml": "[tool.reconciler]\nstate = 'hostile'\n",
    "setup.cfg": "[reconciler]\n",
    "openssl.cnf": ".include x\n",
    ".reconciler/unsaved-00000000.json": '{"version": 1, "lineage": "x", "run": "r", "endings": [], "signature": "00"}\n',
    ".reconciler/proposal.json": '{"complete": false, "folder": "1-1", "session": "x", "files": {"reconciler.yaml": {"before": "", "after": ""}}}\n',
    ".reconciler/proposal.lock": "",
    ".reconciler/unsaved-0/hostile.json": "{}\n",
    "tests/deep/hostile.yaml": "tests: 1\n",
    ".reconciler/state.db.lock": "1\n",
    ".reconciler/report.json": "{}\n",
    ".reconciler/fleet/url": "postgresql://127.0.0.1:9/hostile\n",
    ".reconciler/fleet/fleet.lock": "1\n",
    ".reconciler/fleet/postgres/PG_VERSION": "16\n",
    ".reconciler/fleet/postgres/postgresql.conf": "archive_mode = on\narchive_command = '{program}'\nrestore_command = '{program}'\n",
    ".reconciler/fleet/postgres/postmaster.pid": "1\n",
    f"{USER_SITE}/usercustomize.py": MODULE,
    f"{USER_SITE}/hostile.pth": "import os; open({marker!r}, 'a').write('hostile.pth\\n')\n",
}  # fmt: skip
LONG_AGO: Final = 946_684_800 * 10**9  # nanoseconds since 1970


@dataclass(frozen=True)
class HostileFolder:
    """`top`: the folder. `marker`: the names of what ran."""

    top: Path
    marker: Path

    @classmethod
    def plant(cls, top: Path, marker: Path) -> HostileFolder:
        """Put everything hostile into a folder, with the permissions of this process's umask, as git does."""
        folder = cls(top, marker)
        for name in MODULES:
            folder.write(f"{name}.py", MODULE, name=name)
        for name in PACKAGES:
            folder.write(f"{name}/__init__.py", MODULE, name=name)
            folder.write(f"{name}/__main__.py", MODULE, name=name)
        for name in PROGRAMS:
            folder.write(name, PROGRAM, name=name).chmod(0o777 & ~umask())
        for name, text in SETTINGS.items():
            folder.write(name, text, name=Path(name).name)
        return folder

    def write(self, path: str, text: str, *, name: str = "") -> Path:
        """A file with a text in which the places of what is hostile are filled in."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        for word, value in {
            "{marker!r}": repr(str(self.marker)),
            "{name!r}": repr(name),
            "{marker}": str(self.marker),
            "{name}": name,
        }.items():
            text = text.replace(word, value)
        file.write_text(text.replace("{program}", str(self.top / "sh")).replace("{folder}", str(self.top)), encoding="utf-8")
        return file

    @property
    def ran(self) -> list[str]:
        """The names of what ran since this was asked last."""
        names = self.marker.read_text(encoding="utf-8").split() if self.marker.exists() else []
        self.marker.unlink(missing_ok=True)
        return names

    @contextmanager
    def observed(self) -> Iterator[set[str]]:
        """The files that are read in the block, of those that were there before it; complete at its end.

        Skips the test on a file system that keeps no times of reading, such as one mounted with `noatime`, where nothing would be seen."""
        if not keeps_times_of_reading(self.marker.parent):
            pytest.skip(f"{self.marker.parent} is on a file system that keeps no times of reading (noatime)")
        files = [path for path in self.top.rglob("*") if stat.S_ISREG(path.lstat().st_mode)]
        for path in files:
            os.utime(path, ns=(LONG_AGO, path.stat().st_mtime_ns))
        read: set[str] = set()
        yield read
        left = [path for path in files if path.exists()]
        read |= {path.relative_to(self.top).as_posix() for path in left if path.stat().st_atime_ns != LONG_AGO}


def keeps_times_of_reading(folder: Path) -> bool:
    """Whether the file system of a folder notes when a file is read."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"x")
        file.flush()
        os.utime(file.name, ns=(LONG_AGO, os.stat(file.name).st_mtime_ns))
        Path(file.name).read_bytes()
        return os.stat(file.name).st_atime_ns != LONG_AGO


def umask() -> int:
    """The umask of this process."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
