"""One interpreter in which many command lines run: it imports the package once, and forks for each of them.

For tests of how an interpreter starts (its encoding, its folder, its file systems), which `tests/processes.py` gives a process too late.
`python -m tests.interpreter` reads a JSON list of words in each line of its input, and prints the exit code and the two streams.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

ROOT: Final = Path(__file__).parents[1]
SECONDS: Final = 120
COMMAND: Final = (sys.executable, "-P", "-m", "tests.interpreter")


class Interpreter:
    """An interpreter in a folder, with an environment."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        given = {**environ, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(COMMAND, cwd=folder, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, *words: str) -> tuple[int, bytes, bytes]:
        """The exit code of a command line, and what it wrote to its streams."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        return code, bytes.fromhex(out), bytes.fromhex(err)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0


# -- in that interpreter --------------------------------------------------------------------------------------------------------------


def ended(words: list[str]) -> tuple[int, str, str]:
    """How a command line ends in a process of its own."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            signal.alarm(SECONDS)  # a server does not end by itself
            os._exit(_exit_code(words))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        err.seek(0)
        return code, out.read().hex(), err.read().hex()


def _exit_code(words: list[str]) -> int:
    from reconciler.assembled import main

    sys.argv = ["reconciler", *words]
    code: Any = 1
    try:
        main(prog_name="reconciler")
    except SystemExit as ending:
        code = ending.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return int(code or 0)


def serve() -> None:
    """Run what each line of the input asks for."""
    import reconciler.cli.commands.apply
    import reconciler.cli.commands.plan
    import reconciler.sandbox.app  # noqa: F401

    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    for line in os.fdopen(os.dup(0), "rb"):  # whatever the encoding of stdin
        answers.write(json.dumps(ended(json.loads(line))).encode() + b"\n")


if __name__ == "__main__":
    serve()
