"""A proxy before a service: it counts the requests that pass, by their methods."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HOP = {"connection", "transfer-encoding", "keep-alive", "host", "content-length", "accept-encoding"}


@dataclass
class Passed:
    """The requests that passed. `url`: of the proxy."""

    url: str
    methods: Counter[str] = field(default_factory=Counter)


@contextmanager
def counting(service: str) -> Iterator[Passed]:
    """A proxy before the service at this URL."""
    host = urlsplit(service).netloc
    passed = Passed("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            passed.methods[self.command] += 1
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            connection = HTTPConnection(host, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        def log_message(self, format: str, *values: Any) -> None:
            return

    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", Handler.handle_any)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    passed.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield passed
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
