"""The sample pages over HTTP, with their headers: what a browser opens in tests. It filters its list, and says that it changed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from reconciler.fleet.pages import links, render
from reconciler.fleet.pages.assets import HEADERS, assets
from reconciler.fleet.pages.query import Query
from tests.fleet.pages import samples


@dataclass
class Site:
    """`asked`: the paths of requests. `changes`: counts the events. `unknown`: how many projects are Unknown."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    changes: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    unknown: int = 12

    def page(self, path: str, is_part: bool) -> str:
        address = urlsplit(path)
        if address.path == links.LIST:
            query = Query.of(dict(parse_qsl(address.query, keep_blank_values=True)))
            rows = [row for row in samples.rows() if query.text in row.name and query.status in ("", row.status)]
            counts = {"Unknown": self.unknown, "OutOfSync": 231, "Synced": 9_754, "orphaned": 3}
            view = samples.listing(query, rows=rows, matching=len(rows) if query.filtered else 10_000, counts=counts)
            return render.render_table(view) if is_part else render.render_list(view)
        if address.path.endswith("/status"):
            return render.render_project_status(samples.project(shown="another"))
        if address.path.startswith("/projects/"):
            return render.render_project(samples.project())
        if address.path == links.FIGURES:
            return render.render_figures(samples.overview())
        if address.path == "/picture":
            return render.render_overview(samples.overview(10_000, 60))
        return samples.PAGES[address.path.strip("/").removeprefix("pages/")]()


@contextmanager
def site() -> Iterator[Site]:
    shown = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.asked.append(self.path)
            if self.path.startswith(links.EVENTS):
                self.events()
            elif self.path.startswith(links.STATIC):
                asset = assets()[urlsplit(self.path).path.removeprefix(links.STATIC)]
                self.answer(asset.content, asset.type)
            else:
                try:
                    text = shown.page(self.path, self.headers.get("HX-Request") == "true")
                except KeyError:
                    self.send_error(404)
                else:
                    self.answer(text.encode(), "text/html; charset=utf-8")

        def answer(self, content: bytes, type: str) -> None:
            self.send_response(200)
            for name, value in {**HEADERS, "Content-Type": type, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def events(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"event: ready\ndata:\n\n")
            self.wfile.flush()
            seen = shown.changes
            while not shown.closed.wait(0.05):
                if seen != shown.changes:
                    seen = shown.changes
                    self.wfile.write(b"event: changed\ndata: []\n\n")
                    self.wfile.flush()

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        shown.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield shown
        finally:
            shown.closed.set()
            server.shutdown()
            thread.join()
