"""On the command line, with a sandbox that serves pages: a plan shows the files of redirects, an apply writes them and records the URLs,
`urls` shows and checks them; and nothing of it happens in a project without `urls:`."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
import yaml

from reconciler import exits
from reconciler.features.urls.redirects.required import url_matches
from tests.command_line import Cli
from tests.documents import valid
from tests.features.urls.nginx import serving
from tests.organizations import ORGANIZATION, SEED, TOKEN
from tests.proofs import costly
from tests.sandbox.serving import serving as served

BASE = "http://127.0.0.1/published/docs"


def page(path: str) -> dict[str, Any]:
    return {"id": f"pag_{path.replace('/', '_')}", "title": path.title(), "path": path, "slug": path.split("/")[-1]}


SPACES = {"start": ["welcome"], "use": ["install", "run", "tune", "a b", 'q"uote;{$x}'], "old": ["past"]}


def project(paths: dict[str, str], urls: Any, **more: Any) -> dict[str, Any]:
    """A site with a section for each space. `paths`: of the sections, those that it has."""
    content = [{"space": key, "id": f"spc_{key}", "title": key.title()} for key in SPACES]
    sections = [
        {"section": key, "title": key.title(), "path": path, "spaces": [{"space": key, "path": "main", "default": True}]}
        for key, path in paths.items()
    ]
    sections[0]["default"] = True
    site = {"title": "Docs", "type": "premium", "basename": "docs", "visibility": "public", "published": True, "structure": sections}
    document = {"version": 1, "project": "p", "service": {"sandbox": "sandbox.db"}, **more}
    if urls is not None:
        document["urls"] = urls
    return {**document, "organizations": {"acme": {"id": ORGANIZATION, "content": content, "sites": {"docs": site}}}}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return with_pages(tmp_path)


def with_pages(root: Path) -> Cli:
    """A sandbox whose spaces have pages, for a project in `p`."""
    spaces = [
        {"organization": ORGANIZATION, "id": f"spc_{key}", "title": key.title(), "parent": None, "pages": [page(path) for path in pages]}
        for key, pages in SPACES.items()
    ]
    cli = Cli(root)
    cli.write("seed.yaml", yaml.safe_dump({**SEED, "spaces": spaces}))
    (root / "p").mkdir()
    cli("sandbox", "seed", "--db", "p/sandbox.db", "seed.yaml", code=0)
    return cli


def apply(cli: Cli, paths: dict[str, str], urls: Any, *words: str, code: int = 0, **more: Any) -> Any:
    cli.write("p/reconciler.yaml", yaml.safe_dump(project(paths, urls, **more), sort_keys=False))
    return cli("apply", "p", "--yes", "--allow-exposure", "**", "--allow-delete", "9", *words, code=code)


FIRST = {"start": "start", "use": "use", "old": "v1"}
NGINX = {"redirects": ["nginx"]}


def test_a_project_without_urls_writes_no_file_and_records_nothing(cli: Cli) -> None:
    apply(cli, FIRST, None)
    apply(cli, {**FIRST, "use": "product"}, None)
    assert not (cli.root / "p/redirects").exists()
    with sqlite3.connect(cli.root / "p/.reconciler/state.db") as state:
        assert [state.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("urls", "url_sites")] == [0, 0]
        assert "commit" not in str(state.execute("SELECT summary FROM runs").fetchall())
    assert "redirects" not in cli.json("plan", "p")
    assert "[RC-url-not-recorded]" in cli("urls", "where", BASE, "p", code=exits.WRONG).stderr


@costly
def test_three_reorganizations(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    assert not (cli.root / "p/redirects").exists(), "nothing moved"
    before = cli("urls", "list", "p", code=0).stdout.splitlines()
    cli.write("p/reconciler.yaml", yaml.safe_dump(project({**FIRST, "use": "product"}, NGINX), sort_keys=False))
    planned = cli("plan", "p", code=0).stdout
    assert "redirects/docs.csv" in planned
    assert "2 files of redirects to write" in planned
    assert not (cli.root / "p/redirects").exists(), "plan writes nothing"
    applied = apply(cli, {**FIRST, "use": "product"}, NGINX)
    assert "Wrote redirects/docs.csv and redirects/docs.nginx.conf." in applied.stderr
    assert "No changes." in cli("plan", "p", code=0).stdout
    apply(cli, {**FIRST, "use": "v1", "old": "product"}, NGINX)
    apply(cli, {**FIRST, "use": "guide", "old": "old"}, NGINX)
    table = (cli.root / "p/redirects/docs.csv").read_text().splitlines()[1:]
    targets = {urlsplit(row.split(",")[1]).path.removeprefix("/published/docs") for row in table}
    sources = {urlsplit(row.split(",")[0]).path.removeprefix("/published/docs") for row in table}
    assert {path.split("/")[1] for path in targets} == {"guide", "old"}
    assert {"/use/install", "/product/install", "/v1/install", "/v1/past", "/product/past"} <= sources
    where = cli("urls", "where", f"{BASE}/use/install", "p", code=0).stdout
    assert where.startswith(f"{BASE}/use/install moved to {BASE}/guide/install on ")
    history = valid(cli.json("urls", "where", f"{BASE}/product/install", "p"), "url-history")
    assert [record["ended"] is not None for record in history["records"]] == [True]
    listed = valid(cli.json("urls", "list", "p", "--ended", "--site", "docs"), "urls")
    assert {record["url"] for record in listed["urls"]} >= {f"{BASE}/use/install", f"{BASE}/product/past"}
    assert len(before) == len(cli("urls", "list", "p").stdout.splitlines())
    with answering(cli) as get:
        for record in listed["urls"]:
            status, location = get(urlsplit(record["url"]).path)
            if status == 301:
                assert get(urlsplit(location or "").path) == (200, None)
            else:
                assert (status, record["url"] in cli("urls", "list", "p").stdout) == (200, True)


def answering(cli: Cli) -> Any:
    """nginx with the written file, before an origin that answers as the ledger says."""
    live = {unquote(urlsplit(record["url"]).path) for record in cli.json("urls", "list", "p")["urls"]}

    class Loaded:
        def __init__(self) -> None:
            self.server = serving(lambda path: unquote(path) in live)

        def __enter__(self) -> Any:
            server = self.server.__enter__()
            server.load((cli.root / "p/redirects/docs.nginx.conf").read_text())
            return server.get

        def __exit__(self, *raised: Any) -> None:
            self.server.__exit__(*raised)

    return Loaded()


def test_urls_that_die_are_refused_and_the_way_past_it_works(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    without = {key: path for key, path in FIRST.items() if key != "old"}
    refused = apply(cli, without, NGINX, code=exits.REFUSED)
    assert "[RC-dead-urls]" in refused.stderr
    assert "! dead" in refused.stdout
    assert f"{BASE.removeprefix('http://127.0.0.1')}/v1" in refused.stderr
    assert not (cli.root / "p/redirects").exists(), "nothing was done"
    cli("plan", "p", "--out", "saved.json", "--allow-dead-urls", "/v1/**", code=0)
    document = valid(json.loads((cli.root / "saved.json").read_text()), "saved-plan")
    assert (document["options"]["allowDeadUrls"], len(document["redirects"]["dead"])) == (["/v1/**"], 4)
    cli("apply", "p", "--plan", "saved.json", code=0)
    assert "ended on" in cli("urls", "where", f"{BASE}/v1/past", "p").stdout


def test_one_pattern_allows_that_every_url_ends(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    apply(cli, {key: path for key, path in FIRST.items() if key != "old"}, NGINX, code=exits.REFUSED)
    cli("apply", "p", "--yes", "--allow-dead-urls", "**", code=0)
    assert "ended on" in cli("urls", "where", f"{BASE}/v1/past", "p").stdout


@costly
@pytest.mark.parametrize("way", ["option", "declared"])
def test_what_a_refusal_offers_names_the_dead_urls_alone_and_works_when_pasted(cli: Cli, way: str) -> None:
    """A part of a site ends below a path at which other pages stay."""
    both = {**FIRST, "start": "v1", "old": "old"}
    apply(cli, both, NGINX)
    left = {key: path for key, path in both.items() if key != "use"}
    refused = apply(cli, left, NGINX, code=exits.REFUSED).stderr
    line = next(line for line in refused.splitlines() if "--allow-dead-urls" in line)
    gone, options = line.split("write urls: ")[1].split(", or: ")
    declared = yaml.safe_load(gone)
    words = shlex.split(options)
    dead = {item["url"] for item in cli.json("plan", "p")["redirects"]["dead"]}
    assert dead
    assert [item["url"] for item in declared["gone"]] == words[1::2]
    living = {item["url"] for item in cli.json("urls", "list", "p")["urls"]} - dead
    assert living
    assert not [url for url in living for pattern in words[1::2] if url_matches(pattern, url, BASE + "/docs")]
    if way == "option":
        cli("apply", "p", "--yes", *words, "--allow-delete", "99", code=0)
    else:
        apply(cli, left, {**NGINX, **declared})


def test_a_url_that_is_declared_gone_answers_410(cli: Cli) -> None:
    urls = {**NGINX, "gone": [{"url": "/v1/**", "reason": "no longer supported"}]}
    apply(cli, FIRST, urls)
    apply(cli, {key: path for key, path in FIRST.items() if key != "old"}, urls)
    assert "return 410;" in (cli.root / "p/redirects/docs.nginx.conf").read_text()
    with answering(cli) as get:
        assert get("/published/docs/v1/past")[0] == 410


def test_an_undo_takes_the_redirects_back(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    cli("undo", "last", "p", "--yes", "--allow-exposure", "**", code=0)
    rows = (cli.root / "p/redirects/docs.csv").read_text().splitlines()[1:]
    assert {urlsplit(row.split(",")[0]).path.split("/")[3] for row in rows} == {"product"}
    assert f"{BASE}/product/install moved to {BASE}/use/install" in cli("urls", "where", f"{BASE}/product/install", "p").stdout


def test_a_pull_request_shows_what_changed_in_the_tables(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    git = ["git", "-C", str(cli.root), "-c", "user.name=Ada", "-c", "user.email=ada@acme.example"]
    cli.write(".gitignore", "*.db*\n.reconciler\nhome\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    diff = cli("diff", "p").stdout
    assert "redirects/docs.csv" in diff
    assert " new" in diff
    for words in (["add", "-A"], ["commit", "-qm", "two"]):
        subprocess.run([*git, *words], check=True)
    apply(cli, {**FIRST, "use": "guide"}, NGINX)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert f"commit {head[:9]}" in cli("urls", "where", f"{BASE}/product/install", "p").stdout


def test_what_happened_to_a_url_has_the_times_of_the_service(cli: Cli) -> None:
    cli("sandbox", "clock", "--db", "p/sandbox.db", "--now", "2030-01-15T12:00:00Z", code=0)
    apply(cli, FIRST, NGINX)
    cli("sandbox", "clock", "--db", "p/sandbox.db", "--advance", str(60 * 86_400), code=0)
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    (record,) = cli.json("urls", "where", f"{BASE}/use/install", "p")["records"]
    assert (record["since"][:10], record["ended"][:10]) == ("2030-01-15", "2030-03-16")
    assert f"moved to {BASE}/product/install on 2030-03-16 by run" in cli("urls", "where", f"{BASE}/use/install", "p").stdout


def test_a_url_whose_page_moved_and_ended_later_names_that_end(cli: Cli) -> None:
    cli("sandbox", "clock", "--db", "p/sandbox.db", "--now", "2030-01-15T12:00:00Z", code=0)
    month, urls = str(30 * 86_400), {**NGINX, "gone": [{"url": "/**", "reason": "no longer supported"}]}
    for paths in (FIRST, {**FIRST, "old": "v2"}, {key: path for key, path in FIRST.items() if key != "old"}):
        apply(cli, paths, urls)
        cli("sandbox", "clock", "--db", "p/sandbox.db", "--advance", month, code=0)
    moved, ended = cli("urls", "where", f"{BASE}/v1/past", "p", code=0).stdout.split(" Its ")
    assert moved.startswith(f"{BASE}/v1/past moved on 2030-02-14 by run ")
    assert ended.startswith(f"page answered last at {BASE}/v2/past, which ended on 2030-03-16 by run ")
    for form in ("markdown", "html", "brief", "github"):
        assert "which ended on 2030-03-16 by run" in cli("urls", "where", f"{BASE}/v1/past", "p", "--format", form, code=0).stdout
    last = {
        record["url"]: record["ended"][:10] for record in valid(cli.json("urls", "where", f"{BASE}/v1/past", "p"), "url-history")["last"]
    }
    assert last[f"{BASE}/v2/past"] == "2030-03-16"
    assert not [url for url in last if "/v1" in url]
    assert f"{BASE}/v2/past ended on 2030-03-16 by run" in cli("urls", "where", f"{BASE}/v2/past", "p").stdout
    assert cli.json("urls", "where", f"{BASE}/v2/past", "p")["last"] == []


def test_a_slash_that_is_escaped_is_part_of_a_name(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    assert "answers" in cli("urls", "where", f"{BASE}/use/install", "p", code=0).stdout
    assert "[RC-url-not-recorded]" in cli("urls", "where", f"{BASE}/use%2Finstall", "p", code=exits.WRONG).stderr


def test_no_file_has_the_port_of_the_sandbox(cli: Cli) -> None:
    urls = {"redirects": ["nginx", "netlify", "cloudflare", "csv"], "gone": [{"url": "/v1/**", "reason": "no longer supported"}]}
    apply(cli, FIRST, urls)
    apply(cli, {"start": "start", "use": "product"}, urls)
    texts = {path.name: path.read_text() for path in (cli.root / "p/redirects").rglob("*") if path.is_file()}
    texts |= {
        form: cli("urls", "export", "p", "--format", form, code=0).stdout for form in ("nginx", "netlify", "cloudflare", "csv", "sitemap")
    }
    assert {name for name, text in texts.items() if "product" in text} == {*texts}
    assert not [name for name, text in texts.items() if re.search(r":\d", text)]


def test_a_sitemap_and_redirects_from_the_ledger(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    tree = ElementTree.fromstring(cli("urls", "export", "p", code=0).stdout)
    urls = [element.text for element in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert f"{BASE}/product/install" in urls
    exported = cli("urls", "export", "p", "--site", "docs", "--format", "csv", code=0).stdout
    assert f"{BASE}/use/install,{BASE}/product/install,301,reconciler" in exported
    netlify = cli("urls", "export", "p", "--format", "netlify", code=0).stdout
    assert "/published/docs/use/install /published/docs/product/install 301" in netlify
    assert "did you mean" in cli("urls", "export", "p", "--site", "dcos", code=exits.WRONG).stderr


FAST = ("--max-rps", "1000")


def test_the_published_urls_are_asked_on_the_sandbox(cli: Cli, tmp_path: Path) -> None:
    apply(cli, FIRST, NGINX)
    asked = cli("urls", "check", "p", *FAST, code=0).stdout
    assert ", 0 do not, 0 could not be asked." in asked
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    dead = cli("urls", "check", "p", "--ended", *FAST, "--report", "junit=urls.xml", "--report", "sarif=urls.sarif", code=exits.PENDING)
    assert f"error RC-url-dead  {BASE}/use/install: answers 404: nothing is published there" in dead.stdout
    suite = ElementTree.parse(tmp_path / "urls.xml").getroot()
    results = json.loads((tmp_path / "urls.sarif").read_text())["runs"][0]["results"]
    assert int(suite.attrib["failures"]) == len(results) > 0


def test_a_sandbox_that_is_served_is_asked_with_a_token_of_it(cli: Cli) -> None:
    with served(cli.root / "p" / "sandbox.db") as url:
        token = {"RECONCILER_TOKEN": TOKEN}
        cli.write("p/reconciler.yaml", yaml.safe_dump(project(FIRST, NGINX), sort_keys=False))
        cli("apply", "p", "--yes", "--allow-exposure", "**", "--base-url", url, env=token, code=0)
        assert ", 0 do not, 0 could not be asked." in cli("urls", "check", "p", *FAST, "--base-url", url, env=token, code=0).stdout
        refused = cli("urls", "check", "p", *FAST, "--base-url", url, code=exits.WRONG).stderr
    assert "there is no token for the sandbox [RC-no-token]" in refused
    assert f"Set RECONCILER_TOKEN to a token of the sandbox at {url}" in refused


@pytest.fixture
def sitemap(cli: Cli) -> Path:
    apply(cli, FIRST, NGINX)
    return cli.root / "map.xml"


def test_the_urls_of_a_sitemap_are_asked_on_hosts_of_the_project_alone(cli: Cli, sitemap: Path) -> None:
    foreign = ("http://169.254.169.254/latest/meta-data", "http://other.example/a", "file:///etc/passwd")
    locations = "".join(f"<url><loc>{url}</loc></url>" for url in (f"{BASE}/use/install", *foreign))
    sitemap.write_text(f"<urlset>{locations}</urlset>")
    result = cli("urls", "check", "p", "--sitemap", "map.xml", *FAST, code=exits.PARTLY)
    assert "4 URLs asked: 1 answer, 0 do not, 3 could not be asked." in result.stdout
    assert "169.254.169.254 is not a host of this project's sites, and is not asked" in result.stdout


@costly
def test_two_runs_on_embedded_sandboxes_write_the_same_bytes(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    formats = {"redirects": ["nginx", "netlify", "cloudflare", "csv"]}
    written = []
    for _ in range(2):
        other = Cli(tmp_path_factory.mktemp("again"))
        shutil.copytree(cli.root, other.root, dirs_exist_ok=True)
        apply(other, FIRST, formats)
        apply(other, {**FIRST, "use": "product"}, formats)
        # A third run, at a third port, finds nothing to write.
        assert "No changes." in other("plan", "p", code=0).stdout
        files = sorted((other.root / "p/redirects").rglob("*"))
        written.append({str(path.relative_to(other.root)): path.read_bytes() for path in files if path.is_file()})
    assert written[0] == written[1]
    assert len(written[0]) == 4
    assert not any(re.search(rb"127\.0\.0\.1:\d|localhost:\d", text) for text in written[0].values())
    table = written[0]["p/redirects/docs.csv"].decode()
    assert f"{BASE}/use/install,{BASE}/product/install,301,reconciler" in table
    nginx = written[0]["p/redirects/docs.nginx.conf"].decode()
    assert '"(?s)^/published/docs/use/(.+)" "/published/docs/product/$1" permanent;' in nginx


def test_a_table_from_before_has_its_ports_removed(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    table = cli.root / "p/redirects/docs.csv"
    new = table.read_text()
    table.write_text(new.replace("127.0.0.1", "127.0.0.1:38525"))
    apply(cli, {**FIRST, "use": "product", "old": "v1x"}, NGINX)
    assert set(new.splitlines()) < set(table.read_text().splitlines())


def test_the_files_that_a_fleet_did_not_write_are_written_from_the_ledger(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two applies whose files nobody committed, as those of a fleet. What is written is what the applies would have written."""
    gone = {**NGINX, "gone": [{"url": "/v1/**", "reason": "Version 1 is no longer supported"}]}
    without = {"start": "start", "use": "guide"}
    apply(cli, FIRST, gone)
    apply(cli, {**FIRST, "use": "product"}, gone)
    apply(cli, without, gone)
    folder = cli.root / "p/redirects"
    right = {path.name: path.read_text() for path in folder.iterdir()}
    assert cli("urls", "export", "p", "--write", code=0).stderr.endswith("The files of redirects have all that they must have.\n")
    shutil.rmtree(folder)
    written = cli("urls", "export", "p", "--write", code=0).stderr
    assert "Wrote redirects/docs.csv and redirects/docs.nginx.conf." in written
    assert {path.name: path.read_text() for path in folder.iterdir()} == right
    assert f"{BASE}/v1/past,,410,reconciler" in right["docs.csv"]
    assert "No changes." in cli("plan", "p", code=0).stdout


def test_lines_that_people_wrote_are_kept_if_they_work(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    table = cli.root / "p/redirects/docs.csv"
    mine = f"{BASE}/2019,{BASE}/use/install,301,ada\n{BASE}/use/run,{BASE}/start,301,ada\n"
    table.write_text(f"from,to,status,by\n{mine}")
    cli("urls", "export", "p", "--write", "--site", "docs", code=0)
    rows = dict(line.split(",")[:2] for line in table.read_text().splitlines())
    assert rows[f"{BASE}/2019"] == f"{BASE}/product/install", "one step"
    assert rows[f"{BASE}/use/run"] == f"{BASE}/start"
    assert rows[f"{BASE}/use/tune"] == f"{BASE}/product/tune"


def test_what_cannot_be_written_says_why(cli: Cli) -> None:
    apply(cli, FIRST, {"redirects": []})
    assert "this project writes no redirects" in cli("urls", "export", "p", "--write", code=exits.WRONG).stderr
    apply(cli, {**FIRST, "use": "product"}, NGINX)
    assert "--format csv prints one" in cli("urls", "export", "p", "--write", "--format", "csv", code=exits.WRONG).stderr
    (cli.root / "p/redirects/docs.nginx.conf").write_text("server {}\n")
    assert "was not written by Reconciler" in cli("urls", "export", "p", "--write", code=exits.WRONG).stderr
