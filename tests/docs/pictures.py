"""Make the pictures of pages in docs/pictures: `python -m tests.docs.pictures [NAME…]`; then look.

Each is a page that the program serves or writes here, in the browser of the tests. Names, ids and times differ each time, so no test
compares them; one compares the files with `PICTURES`, and their sizes with `SIZE_MAX`.
"""

from __future__ import annotations

import re
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests import browser
from tests.docs.scenes import SIGNED
from tests.docs.walkthrough import shell

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "pictures"
SIZE_MAX: Final = 150_000  # bytes of one picture
VIEW: Final[Any] = {"viewport": {"width": 1100, "height": 720}, "color_scheme": "light"}
PROJECTS: Final = 26


@contextmanager
def report(chromium: Browser) -> Iterator[tuple[BrowserContext, str]]:
    """The HTML report of the plan that docs/plan.svg shows."""
    terminal = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    with tempfile.TemporaryDirectory() as folder:
        terminal["scene"](Path(folder))
        file = Path(folder) / "plan.html"
        file.write_text(terminal["run"](Path(folder), "plan", "examples/acme", "--format", "html"), encoding="utf-8")
        yield chromium.new_context(**VIEW), file.as_uri()


@contextmanager
def sandbox(chromium: Browser) -> Iterator[tuple[BrowserContext, str]]:
    """The page of a sandbox with the acme example."""
    from reconciler.sandbox.header import SECRET
    from reconciler.sandbox.server import embedded

    terminal = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    with tempfile.TemporaryDirectory() as folder:
        acme = Path(folder) / "examples" / "acme"
        shutil.copytree(ROOT / "examples" / "acme", acme, ignore=shutil.ignore_patterns(".reconciler"))
        content = (acme / "content.yaml").read_text(encoding="utf-8")
        # The fonts of a server have no emoji, so the picture would differ from what its readers see.
        (acme / "content.yaml").write_text(re.sub(r', emoji: "[^"]*"', "", content), encoding="utf-8")
        terminal["run"](Path(folder), "apply", "examples/acme", "--yes")
        with embedded(Path(folder) / terminal["SANDBOX"]) as service:
            yield chromium.new_context(extra_http_headers={SECRET: service.token}, **VIEW), f"{service.base_url}/"


@contextmanager
def dashboard(chromium: Browser) -> Iterator[tuple[BrowserContext, str]]:
    """The list of projects of a fleet."""
    from sqlalchemy import update

    from reconciler.fleet.store import connected, schema
    from reconciler.fleet.worker import ready
    from tests.fleet.pictures import fill
    from tests.fleet.serve.served import served
    from tests.fleet.storm.machines import Postgres

    postgres = Postgres()
    try:
        postgres.start()
        with connected(postgres.url) as database:
            ready(database)
            fill(database, PROJECTS)
            with database.transaction() as connection:  # a fleet without a trouble of its own: the projects are what the picture shows
                connection.execute(update(schema.generation).values(error=None, read_at=datetime.now(UTC)))
            with served(database) as site, closing(site.logged_in()) as person:
                context = chromium.new_context(**VIEW)
                context.add_cookies(
                    [{"name": cookie.name, "value": cookie.value or "", "url": f"{site.url}/"} for cookie in person.cookies.jar]
                )
                yield context, f"{site.url}/"
    finally:
        postgres.remove()


@contextmanager
def preview(chromium: Browser) -> Iterator[tuple[BrowserContext, str]]:
    """The preview of the reorganized handbook."""
    terminal = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples" / "handbook", Path(folder) / "handbook", ignore=shutil.ignore_patterns(".reconciler"))
        terminal["run"](Path(folder), "apply", "handbook", "--yes", "--allow-exposure", "**")
        file = Path(folder) / "preview.html"
        file.write_text(terminal["run"](Path(folder), "rehearse", "handbook/reorganized.yaml", "--format", "html"), encoding="utf-8")
        yield chromium.new_context(**{**VIEW, "viewport": {"width": 1100, "height": 960}}), file.as_uri()


@contextmanager
def access(chromium: Browser) -> Iterator[tuple[BrowserContext, str]]:
    """The access review of the how-to about it, with a plan that opens a space."""
    with tempfile.TemporaryDirectory() as folder:
        shell(f"{SIGNED}\nreconciler import . --org org_acme --people --sandbox acme.db", Path(folder))
        project = Path(folder) / "reconciler.yaml"
        plans = "title: Plans, defaultLevel: inherit"
        assert plans in project.read_text(encoding="utf-8")
        project.write_text(project.read_text(encoding="utf-8").replace(plans, "title: Plans, defaultLevel: read"), encoding="utf-8")
        shell("reconciler access --people --format html > access.html", Path(folder))
        yield chromium.new_context(**{**VIEW, "viewport": {"width": 1100, "height": 930}}), (Path(folder) / "access.html").as_uri()


PICTURES: Final[Mapping[str, Callable[..., Any]]] = {
    "access": access,
    "dashboard": dashboard,
    "preview": preview,
    "report": report,
    "sandbox": sandbox,
}


def main(*names: str) -> None:
    """Make all of them, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    with browser.chromium() as chromium:
        for name, page in ((name, PICTURES[name]) for name in names or PICTURES):
            with page(chromium) as (context, address):
                tab = context.new_page()
                tab.goto(address, wait_until="networkidle")
                tab.screenshot(path=FOLDER / f"{name}.png")
                context.close()
            print(f"{name}.png: {(FOLDER / f'{name}.png').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
