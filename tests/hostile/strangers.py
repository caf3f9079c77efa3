"""Another user of the machine: connects to every port that a program and its children listen on while they run, without any secret.

Linux says in /proc which process listens where.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

PATHS = (
    "/", "/docs", "/openapi.json", "/published/docs", "/published/docs/guides", "/published/partners?as=agent", "/v1/orgs",
    "/v1/orgs/org_acme/members", "/_sandbox/identity", "/_sandbox/readers", "/nothing", "//", "/%2e%2e/published/docs", "*",
    "http://127.0.0.1/published/docs",
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "OPTIONS", "DELETE")
HEADERS = ("", "Accept: text/html\r\n", "X-Sandbox-Reader: {}\r\n", "Cookie: reconciler=x\r\n", "Authorization: Bearer guess\r\n",
           "X-Sandbox-Secret: guess\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\n")  # fmt: skip
LISTENING = "0A"


def descendants(pid: int) -> set[int]:
    """A process and those that it started."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    inside = {pid}
    while more := {child for child, parent in parents.items() if parent in inside} - inside:
        inside |= more
    return inside


def ports(pids: set[int]) -> set[int]:
    """The ports of IPv4 that these processes listen on."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("this system does not say who listens where")
    inodes = set[str]()
    for pid in pids:
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    inodes.add(descriptor.readlink().name)
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == LISTENING and f"socket:[{row[9]}]" in inodes}


def requests() -> Iterator[bytes]:
    """Requests without a secret of the process."""
    for path in PATHS:
        yield f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    for method in METHODS:
        yield f"{method} /published/docs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    for header in HEADERS:
        yield f"GET /published/docs HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}Connection: close\r\n\r\n".encode()
    for host in ("evil.example", "127.0.0.1:1", ""):
        yield f"GET /published/docs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    yield b"GET /published/docs HTTP/1.0\r\n\r\n"


def answer(port: int, request: bytes) -> bytes:
    """All that comes back; empty if the port was closed meanwhile."""
    parts = list[bytes]()
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def heard(pid: int, is_running: Callable[[], bool]) -> dict[int, set[bytes]]:
    """By port, the different answers that a stranger got while a program ran, without their lengths."""
    answers: dict[int, set[bytes]] = defaultdict(set)
    while is_running():
        for port in ports(descendants(pid)) - answers.keys():
            for request in requests():
                if text := answer(port, request):
                    answers[port].add(text)
    return answers


def told(answers: dict[int, set[bytes]]) -> set[bytes]:
    """The bodies of all these answers, each of which must be a refusal."""
    texts = [text for texts in answers.values() for text in texts]
    assert {text.partition(b"\r\n")[0] for text in texts} <= {b"HTTP/1.1 401 Unauthorized"}
    return {text.partition(b"\r\n\r\n")[2] for text in texts}
