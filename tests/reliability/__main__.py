"""`python -m tests.reliability`: run the experiments, write reliability.json, say what came of them."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from tests.reliability.databases import S3, Azure, Database, Files, Postgres, Sqlite
from tests.reliability.plan import DATABASES, EXPERIMENTS, Job, function, jobs
from tests.reliability.record import Record, merged, result_of, table
from tests.reliability.result import Result, Violation
from tests.state import azure, s3, server

REMOTE: dict[str, tuple[type[S3], Callable[[], AbstractContextManager[s3.Proxy]]]] = {
    "s3": (S3, s3.running), "azure": (Azure, azure.running),
}  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Exit 0 where nothing was violated, else 1."""
    given = _words(words)
    only = tuple(given.only.split(",")) if given.only else ()
    if unknown := set(only) - set(EXPERIMENTS):
        sys.exit(f"there is no experiment {', '.join(sorted(unknown))}: {', '.join(EXPERIMENTS)}")
    chosen = [_repeated(given.seed, given.case, given.database)] if given.seed else list(jobs(given.runs, only))
    if given.database and not given.seed:
        chosen = [job for job in chosen if job.database == given.database]
    if given.name and not given.seed:
        chosen = [job for job in chosen if given.name in str(job.words["name"])]
    record = Record(Path(given.out) if given.out else None)
    if given.resume:
        chosen = [job for job in chosen if not record.has(job.seed, given.runs)]
    results: list[Result] = []
    for result in run(chosen, given.processes, say=lambda line: print(line, file=sys.stderr, flush=True)):
        results.append(result)
        record.add(result, given.runs)
    print(table(merged(map(result_of, record.document()["jobs"]))), end="")
    bad = [violation for result in results for violation in result.violations]
    for one in bad[: given.shown]:
        print(f"\n{one.what}\n  again: python -m tests.reliability --seed '{one.seed}' --case '{one.case}'")
    return 1 if bad else 0


def _words(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("--runs", choices=["short", "long"], default="short", help="how many; long takes hours (default: short)")
    parser.add_argument("--only", help="experiments, with commas: " + ",".join(EXPERIMENTS))
    parser.add_argument("--database", choices=list(DATABASES), help="only this one")
    parser.add_argument("--name", help="only scenarios with this in their names, such as transfers")
    parser.add_argument("--out", help="write reliability.json here; what it has of other jobs stays")
    parser.add_argument("--resume", action="store_true", help="leave out the jobs that went well in the file of --out")
    parser.add_argument("--seed", help="repeat this one alone, as a violation names it")
    parser.add_argument("--case", help="of that seed only this case")
    parser.add_argument("--shown", type=int, default=20, help="how many violations are told (default: 20)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at the same time")
    return parser.parse_args(words)


def _repeated(seed: str, case: str | None, database: str | None) -> Job:
    """`kill:tiny:0@sqlite` as a job."""
    seed, _, where = seed.partition("@")
    experiment, name, number = seed.split(":")
    return Job(experiment, database or where or "sqlite", {"name": name, "seed": int(number), **({"only": case} if case else {})})


def run(chosen: Sequence[Job], processes: int, say: object = None) -> Iterator[Result]:
    """The result of each job as it comes; a job that breaks is a violation."""
    if any(job.database == "azure" for job in chosen) and azure.program() is None:
        sys.exit(f"{azure.MISSING}; or pass --database with another")
    with ExitStack() as stack:
        url = stack.enter_context(_server()) if any(job.database == "postgres" for job in chosen) else None
        pool = stack.enter_context(ProcessPoolExecutor(max_workers=processes))
        waiting = {pool.submit(one, job, url, number): job for number, job in enumerate(chosen)}
        for ended in as_completed(waiting):
            result = ended.result()
            if callable(say):
                job = waiting[ended]
                came = f"{result.runs} in {result.seconds:.0f} s, {len(result.violations)} violations"
                say(f"{job.seed}: {came}")
                for bad in result.violations:
                    say(f"  --case '{bad.case}': {bad.what}")
            yield result


def one(job: Job, url: str | s3.Proxy | None, number: int) -> Result:
    """Run a job with a database of its own."""
    began = time.perf_counter()
    gc.set_threshold(200_000)  # a run makes little that refers to itself; looking for it took a tenth of the time
    with database(job.database, url, f"reliability_{os.getpid()}_{number}") as found:
        try:
            return function(job.experiment)(database=found, **job.words)
        except Exception:
            lines = traceback.format_exc()
            result = Result(job.experiment, found.name, job.seed, seconds=time.perf_counter() - began)
            result.violations.append(Violation(job.seed, "", f"the experiment broke:\n{lines}"))
            return result


@contextmanager
def database(sort: str, url: str | s3.Proxy | None, name: str) -> Iterator[Database]:
    """An empty database of that sort, which goes with the block. `url`: the server's; those of buckets are started where there is none."""
    if sort in REMOTE:
        made, running = REMOTE[sort]
        with nullcontext(url) if isinstance(url, s3.Proxy) else running() as proxy:
            remote = made(proxy, name)
            try:
                yield remote
            finally:
                remote.close()
        return
    if sort == "postgres":
        assert isinstance(url, str)
        found: Database = Postgres(url, name)
        try:
            yield found
        finally:
            found.close()
        return
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="reconciler-state-", dir=shm if shm.is_dir() else None) as place:
        yield Files(Path(place)) if sort == "bucket" else Sqlite(Path(place))


@contextmanager
def _server() -> Iterator[str]:
    programs = server.binaries()
    if programs is None:
        sys.exit("there is no PostgreSQL server on this machine: install Debian's `postgresql`, or pass --database sqlite")
    with server.running(programs) as url:
        yield url


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # else a seed is another run in every process
        os.execve(sys.executable, [sys.executable, "-m", "tests.reliability", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
