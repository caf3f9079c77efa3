"""The ledger of published URLs: how large it is, how long a look-up takes, and what a run writes that changes a thousandth of it.

python -m benchmarks.ledger                            1,000,000 URLs in a file
python -m benchmarks.ledger --urls 100000 --state file:///tmp/bucket      in a bucket
python -m benchmarks.ledger --state postgresql+psycopg://HOST/DATABASE
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from reconciler.address import Address
from reconciler.features.urls.model.ledger import SiteLedger
from reconciler.features.urls.model.pages import PageUrl
from reconciler.features.urls.tables.kept import record_urls, url_history
from reconciler.state import StateScope, Store

SPACE = Address.parse("acme/space/guides")
SITES = 10
LOOK_UPS = 1_000


def urls(site: Address, number: int, *, moved: int = 0) -> tuple[PageUrl, ...]:
    """So many URLs of a site, 80 characters long. `moved`: how many have another one."""
    base = f"https://docs-{site.key}.acme.example/guides"
    return tuple(
        PageUrl(
            f"{base}/{'new' if page < moved else 'old'}-section-{page % 97:02}/a-page-with-a-name-of-its-own-{page:07}",
            f"pag_{page:016}",
            "",
            SPACE,
            site,
        )
        for page in range(number)
    )


def size(url: str) -> int:
    """Bytes on the disk of a file or a bucket; 0 of a server."""
    path = Path(url.partition("://")[2].removeprefix("/") if url.startswith("sqlite") else url.removeprefix("file://"))
    files = [Path(f"/{path}")] if url.startswith("sqlite") else list(path.rglob("*")) if url.startswith("file://") else []
    return sum(file.stat().st_size for file in files if file.is_file())


def run(store: Store, sites: dict[Address, SiteLedger]) -> tuple[float, int]:
    """Seconds of one run that records these, and how many URLs began or ended."""
    with store.lease(who="benchmark", command="apply") as journal:
        began = time.monotonic()
        number = record_urls(journal, sites, ())
        taken = time.monotonic() - began
        journal.finish(exit_code=0, summary={})
    return taken, number


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--urls", type=int, default=1_000_000)
    arguments.add_argument("--state", default="")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = given.state or f"sqlite:///{folder}/state.db"
        scope = StateScope(f"ledger-{time.time_ns()}", None, "https://api.acme.example")
        sites = [Address.parse(f"acme/site/s{number}") for number in range(SITES)]
        each = given.urls // SITES
        with Store.open(url, scope, clock=lambda: datetime.now(UTC), create=True) as store:
            first, number = run(store, {site: SiteLedger("1", urls(site, each)) for site in sites})
            print(f"first run     {number:,} URLs recorded in {first:.1f} s", flush=True)
            nothing, number = run(store, {site: SiteLedger("1") for site in sites})
            print(f"no change     {number:,} URLs recorded in {nothing * 1000:.0f} ms")
            before = size(url)
            changed = max(each // 100, 1)
            some, number = run(
                store, {sites[0]: SiteLedger("2", urls(sites[0], each, moved=changed)), **{site: SiteLedger("1") for site in sites[1:]}}
            )
            print(f"{changed:,} moved  {number:,} rows changed in {some:.2f} s; {max(size(url) - before, 0) / 1e6:.1f} MB more")
            known = [page.url for site in sites for page in urls(site, each)[:: max(each // (LOOK_UPS // SITES), 1)]]
            times = []
            for text in known:
                began = time.monotonic()
                assert url_history(store, text).records
                times.append(time.monotonic() - began)
            times.sort()
            middle, slow = statistics.median(times) * 1000, times[int(len(times) * 0.99)] * 1000
            print(f"look-up       {middle:.2f} ms, 99 of 100 below {slow:.2f} ms ({len(times):,})", flush=True)
        print(f"size          {size(url) / 1e6:,.0f} MB; memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
