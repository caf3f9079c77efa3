"""The preview of a rehearsal as data and over HTTP: questions about a plan are answered from the file alone, and nobody else gets it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from reconciler import exits
from reconciler.features.rehearsal.page.page import in_script, policy
from reconciler.features.rehearsal.serving import preview_app
from tests import processes
from tests.command_line import Cli
from tests.features.rehearsal.previewed import HOSTILE, SANDBOX, PreviewFile, applied, changed, tree, write, written
from tests.proofs import costly

PORT = 4321
BASE = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def living(cli: Cli) -> Cli:
    applied(cli)
    return cli


def test_ten_questions_are_answered_from_the_file_alone(living: Cli) -> None:
    file = written(living)
    document, last = file.document, len(file.document["moments"])
    link = next(row["reader"] for row in file.data["readers"] if row["reader"].startswith("link:"))
    requests = {moment["address"]: moment["after"] for moment in reversed(document["moments"])}  # the first of each
    removed, shown = requests["acme/site/partners/section/pay"], requests["acme/site/docs/section/plans"]
    # who reads the salaries before and after their section is deleted?
    assert file.readers("acme/space/salaries", removed - 1) >= {link}
    assert file.readers("acme/space/salaries", removed) & {link, "anyone"} == set()
    # from which request on does anyone read the plans?
    assert "anyone" not in file.readers("acme/space/plans", shown - 1)
    assert "anyone" in file.readers("acme/space/plans", last)
    # which URLs die if it stops after the request that moves the guides?
    moved = requests["acme/site/docs/section/guides"]
    assert any(url.endswith("/docs/guides/guides/start") for url in file.dead(moved))
    assert not any("/docs/guides" in url for url in file.dead(moved - 1))
    assert len(file.dead(document["worst"]["after"])) == document["worst"]["deadUrls"]
    assert [len(file.dead(moment["after"])) for moment in document["moments"]] == [moment["deadUrls"] for moment in document["moments"]]
    # what does the partner link see afterwards?
    assert (file.parts("before", "Partners", link), file.parts("after", "Partners", link)) == (["Plans", "Salaries"], ["Plans"])
    # what does anyone see?
    assert (file.parts("before", "Docs", "anyone"), file.parts("after", "Docs", "anyone")) == (["Guides"], ["Guides", "Plans"])
    assert file.parts("after", "Partners", "anyone") == []
    # where is a page now?
    assert any(url["before"].endswith("/docs/guides/guides/start") and "/docs/use" in url["after"] for url in document["urls"]["moved"])
    # what is deleted, what does undo not bring back, what would apply refuse, which assumptions, what does a request do?
    assert {row["address"] for row in document["deleted"]} >= {"acme/site/partners/section/pay"}
    assert any("acme/site/partners/section/pay" in sentence for sentence in document["undo"]["leftovers"])
    assert any("acme/space/plans" in sentence and "requires consent" in sentence for sentence in document["refusals"])
    assert any("redirects" in sentence for sentence in document["assumptions"])
    assert document["moments"][moved - 1]["what"] == "update path: guides -> use"


def test_the_file_says_what_a_real_apply_leads_to(living: Cli) -> None:
    file = written(living)
    living("apply", ".", *SANDBOX, "--yes", "--allow-exposure", "**", "--allow-delete", "9", code=exits.DONE)
    entries = json.loads(living("sandbox", "readers", "--db", "living.db", "--format", "json").stdout)
    entries = entries if isinstance(entries, list) else next(iter(value for value in entries.values() if isinstance(value, list)))
    for name in ("guides", "salaries", "plans"):
        readers = next({reader["reader"] for reader in entry["readers"]} for entry in entries if entry["id"] == f"spc_{name}")
        assert file.readers(f"acme/space/{name}", len(file.document["moments"])) == readers - {"admin"}


def test_titles_and_texts_cannot_become_markup(living: Cli) -> None:
    html = written(living, "--content").html
    assert html.count("<script") == 3
    assert html.count("</script") == 3
    assert "<img" not in html
    assert "javascript:" not in html
    assert "\u202e" not in re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)
    assert not re.search(r"<\w[^>]*\s(?:src|href|action)=[^#]{3}", html)
    assert json.loads(in_script({"a": HOSTILE + "\u2028&"})) == {"a": HOSTILE + "\u2028&"}
    assert set(in_script(HOSTILE + "\u2028&")) & set("<>&\u2028") == set()


@costly
def test_page_texts_are_in_the_file_only_if_asked_for_and_only_so_many(living: Cli) -> None:
    assert written(living).data["texts"] is None
    texts = written(living, "--content").data["texts"]
    assert len(texts) == 6
    assert all("Hello" in text and "<h" in text for text in texts.values())
    assert len(written(living, "--content", "--max-pages", "2").data["texts"]) == 2


def test_the_key_of_a_share_link_is_nowhere(living: Cli) -> None:
    export = json.loads(living("sandbox", "export", "--db", "living.db").stdout)
    keys = [entry["data"]["_secret"] for entry in export["objects"] if entry["kind"] == "share-link"]
    html = written(living, "--content").html
    assert len(keys) == 1
    assert not any(key in html for key in keys)


@costly
def test_the_html_report_is_the_page_and_needs_nothing_else(living: Cli) -> None:
    html = written(living).html
    assert living("rehearse", ".", *SANDBOX, "--format", "html", code=exits.DONE).stdout[:200] == html[:200]
    assert "connect-src" not in html
    assert "default-src &#39;none&#39;" in html
    assert PreviewFile(html).data["live"] is False


def test_a_plan_without_changes_has_a_calm_page(living: Cli) -> None:
    write(living, tree())
    html = written(living).html
    assert "The plan sends no requests. No site changes." in html
    assert html.count("No differences") == 2


def test_a_site_that_is_new_and_one_that_is_deleted_are_both_shown(living: Cli) -> None:
    wanted = changed()
    del wanted["sites"]["partners"]
    wanted["sites"]["new"] = {"title": "New", "visibility": "public", "published": True, "structure": [{"space": "guides"}]}
    write(living, wanted)
    file = written(living)
    assert {site["title"] for site in file.document["sites"]} == {"Docs", "Partners", "New"}
    assert [site["published"] for site in file.document["sites"] if site["title"] == "Partners"] == [False]
    assert "acme/site/partners" in {row["address"] for row in file.document["deleted"]}


# -- HTTP --------------------------------------------------------------------------------------------------------------------------


async def _text(content: str, page: str) -> dict[str, str]:
    return {"html": f"<p>{content} {page}</p>"}


class Previewed:
    """A preview without a server. `link`: the first; `said`: those that came later. `root`: its path."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.app, self.link = preview_app("<p>page</p>", policy(live=True), _text, port=PORT, say=self.said.append)
        self.root = self.link.removeprefix(BASE).partition("/open/")[0]

    def sent(self, *requests: tuple[str, str], headers: dict[str, str] | None = None) -> list[httpx2.Response]:
        """The answers to requests of one browser."""

        async def send() -> list[httpx2.Response]:
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE, headers=headers) as client:
                return [await client.request(method, path) for method, path in requests]

        return asyncio.run(send())


@pytest.fixture
def preview() -> Previewed:
    return Previewed()


def test_the_link_becomes_a_cookie_that_scripts_other_sites_and_other_paths_do_not_get(preview: Previewed) -> None:
    root = preview.root
    opened, page, text = preview.sent(("GET", preview.link), ("GET", f"{root}/"), ("GET", f"{root}/text?content=spc&page=p"))
    assert (opened.status_code, opened.headers["location"]) == (303, f"{root}/")
    cookie = opened.headers["set-cookie"]
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in cookie.split(";")}
    assert f"Path={root}/" in cookie
    assert preview.link.rpartition("/")[2] not in cookie
    assert (page.status_code, page.text) == (200, "<p>page</p>")
    assert text.json() == {"html": "<p>spc p</p>"}
    assert len(root) > 30


@pytest.mark.parametrize(
    "path", ["/", "/text?content=a&page=b", "/open/guess", "ROOT/", "ROOT", "ROOT/text?content=a&page=b", "ROOT/open/guess"]
)
def test_nobody_else_gets_anything(preview: Previewed, path: str) -> None:
    nothing, answer = preview.sent(("GET", "/nothing"), ("GET", path.replace("ROOT", preview.root)))
    assert (answer.status_code, answer.text) == (403, nothing.text)
    assert "<p>" not in answer.text


def test_a_link_works_once_and_the_next_is_printed(preview: Previewed) -> None:
    for link in (preview.link, *preview.said):
        preview.sent(("HEAD", link))  # looking at it does not use it
        assert preview.sent(("GET", link))[0].status_code == 303
        (again,) = preview.sent(("GET", link))
        assert again.status_code == 403
        assert "Open the newest link that `reconciler rehearse --serve` printed" in again.text
        assert "set-cookie" not in again.headers
    assert len({preview.link, *preview.said}) == 2
    assert preview.sent(("GET", preview.said[0]))[0].status_code == 303


def test_the_browser_that_has_the_cookie_may_follow_a_used_link(preview: Previewed) -> None:
    answers = preview.sent(("GET", preview.link), ("GET", preview.link), ("GET", f"{preview.root}/"))
    assert [answer.status_code for answer in answers] == [303, 303, 200]
    assert len(preview.said) == 1


def test_who_comes_from_a_page_of_another_site_asks_once_more(preview: Previewed) -> None:
    """Browsers send no strict cookie then, not even to where the link leads."""
    led = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    (answer,) = preview.sent(("GET", f"{preview.root}/"), headers=led)
    assert (answer.status_code, 'http-equiv="refresh"' in answer.text, "<p>" in answer.text) == (200, True, False)
    (other,) = preview.sent(("GET", "/"), headers=led)
    assert other.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4321", "127.0.0.1:1", "127.0.0.1", "[::1]:4321", ""])
def test_other_host_names_get_nothing_with_the_cookie_too(preview: Previewed, host: str) -> None:
    answers = preview.sent(("GET", preview.link), ("GET", f"{preview.root}/"), headers={"Host": host})
    assert [answer.status_code for answer in answers] == [421, 421]
    assert "set-cookie" not in answers[0].headers
    assert preview.said == []


def test_no_answer_is_stored_framed_or_may_fetch_from_elsewhere(preview: Previewed) -> None:
    asked = [("GET", "/"), ("GET", "/text?content=a&page=b"), ("GET", "/nothing"), ("POST", "/")]
    answers = preview.sent(("GET", preview.link), *((method, f"{preview.root}{path}") for method, path in asked), ("GET", "/"))
    assert [answer.status_code for answer in answers] == [303, 200, 200, 404, 405, 403]
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answers[1].headers["content-security-policy"]
    assert "connect-src 'self'" in page
    assert "http" not in page
    assert "unsafe" not in page


@costly
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, exits.DONE), (signal.SIGTERM, exits.DONE)])
def test_a_served_preview_shows_texts_and_ends_with_its_copy(living: Cli, number: signal.Signals, code: int) -> None:
    (living.root / "tmp").mkdir()
    before = living("sandbox", "export", "--db", "living.db").stdout
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    environ |= {"HOME": str(living.root), "TMPDIR": str(living.root / "tmp"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "reconciler", "rehearse", ".", *SANDBOX, "--serve"]
    with processes.Popen(command, cwd=living.root, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        line = next(line for line in running.stdout if "http://127.0.0.1:" in line)
        url = line.split()[-1]
        with httpx2.Client(follow_redirects=True) as client:
            file = PreviewFile(client.get(url).text)
            base = url.partition("/open/")[0]
            content, page = "spc_guides", file.data["before"]["contents"]["spc_guides"]["pages"][0][1]
            text = client.get(f"{base}/text", params={"content": content, "page": page}).json()["html"]
            unknown = client.get(f"{base}/text", params={"content": content, "page": "../../../../user"}).json()
        running.send_signal(number)
        assert running.wait() == code, running.stderr.read()
    assert file.data["live"] is True
    assert "Hello" in text
    assert not any(word in text for word in ("<img", "javascript:", "onerror=alert(4)>"))
    assert list(unknown) == ["reason"]
    assert list((living.root / "tmp").iterdir()) == []
    assert json.loads(living("sandbox", "export", "--db", "living.db").stdout)["objects"] == json.loads(before)["objects"]


def test_a_preview_cannot_be_served_beside_another_format(living: Cli) -> None:
    done = living("rehearse", ".", *SANDBOX, "--serve", "--format", "json", code=exits.WRONG)
    assert "--report json=FILE" in done.stderr


def test_the_script_makes_no_markup_of_texts() -> None:
    script = (Path(__file__).parents[3] / "reconciler/features/rehearsal/page/static/preview.js").read_text(encoding="utf-8")
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://\w", script) == []


def test_another_title_is_a_difference(living: Cli) -> None:
    wanted = tree()
    wanted["content"][0]["title"] = "User guides"
    wanted["sites"]["docs"]["title"] = "Manual"
    write(living, wanted)
    sites = {site["title"]: site for site in written(living).document["sites"]}
    assert (sites["Manual"]["renamed"], sites["Manual"]["differences"]) == (2, 2)
    assert sites["Partners"]["differences"] == 0
