"""The nginx of this machine, with a generated file in a `server` block; a test skips where there is none, unless it is required."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser import REQUIRE, free_port

SERVER = """daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder};
  scgi_temp_path {folder}; large_client_header_buffers 4 32k;
  server {{
    listen 127.0.0.1:{port};
    include {folder}/redirects.conf;
    location / {{ proxy_pass http://127.0.0.1:{origin}; }}
  }}
}}
"""


def program() -> str:
    """The program of nginx."""
    path = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if path is None:
        reason = "no nginx on this machine: install Debian's `nginx`"
        if "nginx" in os.environ.get(REQUIRE, "").split(","):
            pytest.fail(f"{REQUIRE} asks for nginx, but there is {reason}")
        pytest.skip(reason)
    return path


class Server:
    """nginx before an origin that answers 200 at live paths, and 404 elsewhere. `load` gives it another file of redirects."""

    def __init__(self, folder: Path, origin: int) -> None:
        self.folder, self.origin = folder, origin
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def load(self, text: str) -> None:
        """Start nginx with these redirects. Fails the test where nginx refuses the file."""
        self.stop()
        (self.folder / "redirects.conf").write_text(text, encoding="utf-8", newline="\n")
        (self.folder / "nginx.conf").write_text(SERVER.format(folder=self.folder, port=self.port, origin=self.origin))
        argv = [program(), "-p", str(self.folder), "-e", str(self.folder / "error.log"), "-c", str(self.folder / "nginx.conf")]
        checked = subprocess.run([*argv, "-t"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
        self._process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            with suppress(OSError):
                self.get("/")
                return
            time.sleep(0.02)
        raise AssertionError((self.folder / "error.log").read_text())

    def get(self, path: str) -> tuple[int, str | None]:
        """The status of a path as it is requested, and where it leads."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.getheader("Location")
        finally:
            connection.close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def serving(answers: Callable[[str], bool]) -> Iterator[Server]:
    """nginx before an origin. `answers`: whether a page is at a path, which has its escapes."""
    program()

    class Origin(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            live = answers(urlsplit(self.path).path)
            self.send_response(200 if live else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    origin = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    thread = threading.Thread(target=origin.serve_forever)
    thread.start()
    with tempfile.TemporaryDirectory() as folder:
        # As root, nginx opens its files as a user of its own.
        Path(folder).chmod(0o755)
        server = Server(Path(folder), origin.server_address[1])
        try:
            yield server
        finally:
            server.stop()
            origin.shutdown()
            thread.join()
            origin.server_close()
