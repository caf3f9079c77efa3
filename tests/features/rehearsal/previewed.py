"""Projects for the tests of previews, and what one reads in the data of a file. Titles and texts of the service are hostile."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from reconciler import exits
from reconciler.sandbox.sites.moment import AudienceMoment, ReadBy
from reconciler.sandbox.sites.readers import Reader
from tests.command_line import Cli
from tests.organizations import ORGANIZATION, SEED, project

SANDBOX = ("--sandbox", "living.db")
HOSTILE = "</script><script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>\u202e"
TEXT = """# Hello

A [link](https://other.example/), one [that runs](javascript:alert(3)), <img src=x onerror=alert(4)>, ![picture](https://evil.example/p.png).
"""
Data = dict[str, Any]


def page(title: str, markdown: str = TEXT, **more: Any) -> Data:
    return {"title": title, "markdown": markdown, **more}


def space(name: str, title: str, *pages: Data) -> Data:
    return {"organization": ORGANIZATION, "id": f"spc_{name}", "title": title, "parent": None, "pages": list(pages)}


SPACES = [
    space("guides", "Guides", page("Start"), page(HOSTILE), page("More", pages=[page("Deep")])),
    space("salaries", "Salaries", page("Bands")),
    space("plans", "Plans", page("This year")),
]


def tree(**changes: Any) -> Data:
    """The organization before; `changes`: of it."""
    section = {"section": "guides", "title": "Guides", "path": "guides", "default": True, "spaces": ["guides"]}
    docs = {
        "title": "Docs",
        "visibility": "public",
        "published": True,
        "basename": "docs",
        "agentsContext": "included",
        "structure": [section],
    }
    inside = [{"section": "plans", "title": "Plans", "path": "plans", "spaces": ["plans"]}]
    inside += [{"section": "pay", "title": HOSTILE, "path": "pay", "spaces": ["salaries"]}]
    partners = {
        "title": "Partners", "visibility": "share-link", "published": True, "basename": "partners", "structure": inside,
        "shareLinks": {"partners": {"name": "Partners", "active": True}},
    }  # fmt: skip
    content = [{"space": name, "id": f"spc_{name}", "title": name.title()} for name in ("guides", "salaries", "plans")]
    return {"title": "Acme", "id": ORGANIZATION, "content": content, "sites": {"docs": docs, "partners": partners}, **changes}


def changed() -> Data:
    """The organization after: the guides move, the plans become public, the partners lose the salaries and keep the plans."""
    wanted = tree()
    docs, partners = (wanted["sites"][name]["structure"] for name in ("docs", "partners"))
    docs[0]["path"] = "use"
    docs.append({"section": "plans", "title": "Plans", "path": "plans", "spaces": ["plans"]})
    del partners[1]
    return wanted


def write(cli: Cli, wanted: Data) -> None:
    cli.write("reconciler.yaml", yaml.dump(project({"acme": wanted}), sort_keys=False, allow_unicode=False))


def applied(cli: Cli) -> None:
    """A sandbox that holds `tree`, and a project that declares `changed`."""
    cli.write("seed.yaml", yaml.dump({**SEED, "spaces": SPACES}, allow_unicode=False))
    cli("sandbox", "seed", "--db", "living.db", "seed.yaml", code=exits.DONE)
    write(cli, tree())
    cli("apply", ".", *SANDBOX, "--yes", "--allow-exposure", "**", code=exits.DONE)
    write(cli, changed())


class PreviewFile:
    """What somebody reads in the two JSON elements of a file. `document`: the rehearsal; `data`: of the preview."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.document, self.data = (
            json.loads(re.findall(rf'<script type="application/json" id="{id}">(.*?)</script>', html, re.DOTALL)[0])
            for id in ("document", "data")
        )  # fmt: skip

    def object(self, address: str) -> int:
        return next(number for number, item in enumerate(self.data["objects"]) if item["address"] == address)

    def readers(self, address: str, after: int) -> set[str]:
        """Who reads an object after so many requests."""
        item = self.object(address)
        readers = {number for number, objects in enumerate(self.data["start"]) if item in objects}
        for moment in self.data["moments"][:after]:
            readers |= {reader for reader, other in moment["gained"] if other == item}
            readers -= {reader for reader, other in moment["lost"] if other == item}
        return {self.data["readers"][reader]["reader"] for reader in readers}

    def dead(self, after: int) -> set[str]:
        """The URLs that answer 404 if it stops after so many requests."""
        urls = [row["begin"] + path for row in self.data["urls"] for path in row["paths"]]
        dead: set[int] = set()
        for moment in self.data["moments"][:after]:
            dead = dead | set(moment["dead"]) - set(moment["back"])
            dead -= set(moment["back"])
        return {urls[number] for number in dead}

    def parts(self, side: str, site: str, reader: str) -> list[str]:
        """The titles of the variants of a site that a reader sees."""
        number = next(number for number, row in enumerate(self.data["readers"]) if row["reader"] == reader)
        titles: list[str] = []

        def visit(part: Data) -> None:
            if number in self.data["audiences"][part["readers"]]:
                titles.extend([part["title"]] if "content" in part else [])
                for inner in part.get("parts", ()):
                    visit(inner)

        visit(next(part for part in self.data[side]["sites"] if part["title"] == site))
        return titles


def written(cli: Cli, *options: str, code: int = exits.DONE) -> PreviewFile:
    cli("rehearse", ".", *SANDBOX, "--report", "html=preview.html", *options, code=code)
    return PreviewFile((cli.root / "preview.html").read_text(encoding="utf-8"))


class FakeMoment(AudienceMoment):
    """A moment whose URLs answer to everybody."""

    @property
    def url_readers(self) -> Mapping[str, Reader]:
        return {"anyone-with-the-address": Reader(address=True)}

    def rank(self, user: str, kind: str, id: str) -> int:
        return -1

    def answers(self, name: str, reader: Reader) -> Mapping[str, tuple[str, str]]:
        return self.urls


class FakePicture:
    """Sites of any size. `shift`: the paths of the sections of the second half of the sites differ by it."""

    def __init__(self, sites: int, sections: int, pages: int, shift: str = "") -> None:
        rows = [[0, f"p{number}", f"Page {number}", f"page-{number}", 0] for number in range(pages)]
        self.conditions: dict[str, set[frozenset[str]]] = {}
        numbers = [(site, section) for site in range(sites) for section in range(sections)]
        self.contents = {f"spc_{site}_{section}": {"title": f"Space {section}", "pages": rows} for site, section in numbers}
        self.sites: list[Data] = []
        for site in range(sites):
            parts = []
            for section in range(sections):
                part = {"id": f"{site}_{section}", "readers": ["anyone"], "default": not section}
                variant = {**part, "kind": "variant", "title": f"Space {section}", "path": "", "content": f"spc_{site}_{section}"}
                path = f"sec{section}{shift if site >= sites // 2 and section % 2 else ''}"
                parts.append({**part, "kind": "section", "title": f"Section {section}", "path": path, "parts": [variant]})
            site_part = {"kind": "site", "id": f"site_{site}", "title": f"Site {site}", "published": True, "visibility": "public"}
            self.sites.append({**site_part, "url": f"https://docs.example/s{site}", "readers": ["anyone", "agent"], "parts": parts})

    def data(self, asked: object) -> list[Data]:
        return self.sites

    def moment(self) -> AudienceMoment:
        urls = {
            f"{site['url']}/{section['path']}/{path}": (section["parts"][0]["content"], id)
            for site in self.sites
            for section in site["parts"]
            for _, id, _, path, _ in self.contents[section["parts"][0]["content"]]["pages"]
        }
        titles = {(part["kind"], part["id"]): part["title"] for site in self.sites for part in [site, *site["parts"]]}
        titles |= {("variant", section["parts"][0]["id"]): section["title"] for site in self.sites for section in site["parts"]}
        titles |= {("space", id): content["title"] for id, content in self.contents.items()}
        readers = ("anyone", "anyone-with-the-address", "visitor", "agent", "link:l1")
        return FakeMoment(frozenset(ReadBy(reader, *key) for key in titles for reader in readers), urls, titles, {"link:l1": "L"})


def save(folder: Path, html: str) -> str:
    """Write a file, and its URL."""
    file = folder / "preview.html"
    file.write_text(html, encoding="utf-8")
    return file.as_uri()
