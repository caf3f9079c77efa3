"""One run as a process: started with a minimal environment, ended at its time limit, its result as data."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import reconciler
from reconciler.fleet.runs.folders import PrivateFolder
from reconciler.fleet.runs.forks import Fork, ForkServer
from reconciler.interpreters import import_paths, interpreter

GRACE: Final = 10.0  # seconds from SIGTERM to SIGKILL: a request in flight may still be answered
SAID_MAX: Final = 64 * 2**10  # bytes kept of its standard error
ENTRY: Final = "reconciler.fleet.program.child"
PROBLEM: Final = re.compile(r"\S+:[0-9]+:[0-9]+ ")  # a problem of the project, with its position
MOST_PROBLEMS: Final = 3  # problems
_PASSED: Final = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "COVERAGE_PROCESS_START")
_LOGIN: Final = ("PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE")
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def environ(folder: Path, secrets: Mapping[str, str]) -> dict[str, str]:
    """The environment of a run: of the worker's own only the paths of programs and certificates."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED or name.lower() in _PROXIES}
    return {
        **kept,
        **import_paths(os.environ),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        **secrets,
    }


def database_access(*, own: bool, login: bool) -> dict[str, str]:
    """The variables with which libpq reaches the state's server from another home directory: the password file, and for the fleet's `own`
    database everything that its URL leaves out, and the certificates. `login`: also those that log in as the worker does."""
    names = [name for name in os.environ if re.fullmatch("PG[A-Z]+", name)] if own else ["PGPASSFILE"]
    if not login:
        names = [name for name in names if name not in _LOGIN]
    home = Path.home()
    files = {"PGPASSFILE": home / ".pgpass"} if login else {}
    if own:
        certificates = {"PGSSLCERT": "postgresql.crt", "PGSSLKEY": "postgresql.key", "PGSSLROOTCERT": "root.crt"}
        files |= {name: home / ".postgresql" / file for name, file in certificates.items()}
    usual = {name: str(file) for name, file in files.items() if file.is_file()}
    return usual | {name: os.environ[name] for name in names if name in os.environ}


def fork_server(folder: Path) -> ForkServer:
    """The server that forks the runs of a worker. `folder`: of the worker."""
    return ForkServer(interpreter("-m", ENTRY), environ(folder, {}), Path(reconciler.__file__))


async def execute(
    argv: Sequence[str], *, server: ForkServer, folder: PrivateFolder, secrets: Mapping[str, str], seconds: float
) -> tuple[int, str, bool]:
    """Run a command of the program to its end; cancelling ends it too. Its folder is in use until then.

    Answers the exit code, negative for a signal; its last message, on one line; and whether it was ended at its time limit.
    Raises `OSError` if no process can be started.
    """
    reading_end, errors = os.pipe()
    stream = asyncio.StreamReader()
    reading = asyncio.create_task(_last(stream))
    try:
        process = await server.fork(argv, environ=environ(folder.path, secrets), folder=folder.path, errors=errors, lock=folder.lock)
    except BaseException:
        reading.cancel()
        os.close(reading_end)
        raise
    finally:
        os.close(errors)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading_end, "rb", buffering=0)
    )
    late = False
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        late = True
    finally:
        await asyncio.shield(_end(process))
        error_text = await _error_text(reading)
        pipe.close()
    return process.returncode if process.returncode is not None else -signal.SIGKILL, error_text, late


async def _end(process: Fork) -> None:
    """End a process that still runs: first SIGTERM, then SIGKILL."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(GRACE):
                await process.wait()
        except TimeoutError:
            _signal(process, signal.SIGKILL)
            await process.wait()


def _signal(process: Fork, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _last(stream: asyncio.StreamReader) -> bytes:
    kept = b""
    while block := await stream.read(8192):
        kept = (kept + block)[-SAID_MAX:]
    return kept


async def _error_text(reading: asyncio.Task[bytes]) -> str:
    """The error that a command printed, on one line."""
    try:
        async with asyncio.timeout(1.0):
            return last_words((await reading).decode("utf-8", "replace"))
    except TimeoutError:
        return ""


def last_words(text: str) -> str:
    """The error in the output of a command, on one line, with the first problems of the project if it has some."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((index for index, line in enumerate(lines) if line.lower().startswith("error:")), None)
    chosen = lines[first:] if first is not None else lines[-3:]
    line = " ".join(chosen).removeprefix("error:").removeprefix("Error:").strip()
    if problems := [" ".join(line.split()) for line in lines[:first] if PROBLEM.match(line)]:
        more = f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
        line = f"{line}: {'; '.join(problems[:MOST_PROBLEMS])}{more}"
    return "".join(character if character.isprintable() else " " for character in line)[:1_000]
