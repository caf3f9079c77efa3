"""reliability.json: what each job came to, the sums of them, and the table for docs/proof.md.

A file that is there already is gone on with: what it has of other jobs stays.
"""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.reliability.plan import EXPERIMENTS
from tests.reliability.result import Result, Violation

FORMAT = "reconciler.reliability/2"


class Record:
    """The jobs of a file, and those that are added."""

    def __init__(self, out: Path | None = None) -> None:
        self.out = out
        self.jobs: dict[str, dict[str, Any]] = {}
        if out is not None and out.exists():
            self.jobs = {job["seed"]: job for job in json.loads(out.read_text(encoding="utf-8"))["jobs"]}

    def has(self, seed: str, length: str) -> bool:
        """Whether this job was run in this length, and all was well."""
        return seed in self.jobs and self.jobs[seed]["length"] == length and not self.jobs[seed]["violations"]

    def add(self, result: Result, length: str) -> None:
        """Remember what a job came to, in the file at once: what ends in the middle says what it has."""
        self.jobs[result.seed] = {
            "experiment": result.experiment,
            "database": result.database,
            "seed": result.seed,
            "length": length,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "runs": result.runs,
            "seconds": round(result.seconds, 1),
            "counted": dict(sorted(result.counted.items())),
            "violations": [{"case": violation.case, "what": violation.what} for violation in result.violations],
        }
        if self.out is not None:
            self.out.write_text(written(self.document()), encoding="utf-8")

    def document(self) -> dict[str, Any]:
        """The whole file."""
        jobs = sorted(self.jobs.values(), key=lambda one: (_rank(one["experiment"], one["database"]), one["seed"]))
        return {
            "format": FORMAT,
            "python": platform.python_version(),
            "violations": sum(len(job["violations"]) for job in jobs),
            "experiments": [summary(one) for one in merged(map(result_of, jobs))],
            "jobs": jobs,
        }


def written(document: dict[str, Any]) -> str:
    """The text of the file, a line for each job."""
    sums = json.dumps({name: value for name, value in document.items() if name != "jobs"}, indent=1, ensure_ascii=False)
    jobs = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in document["jobs"])
    return f'{sums[:-2]},\n "jobs": [\n  {jobs}\n ]\n}}\n'


def summary(one: Result) -> dict[str, Any]:
    """The sums of an experiment on a database."""
    return {
        "experiment": one.experiment,
        "database": one.database,
        "runs": one.runs,
        "seconds": round(one.seconds, 1),
        "counted": dict(sorted(one.counted.items())),
        "violations": len(one.violations),
    }


def result_of(job: dict[str, Any]) -> Result:
    """A job of the file."""
    found = Result(job["experiment"], job["database"], job["seed"], runs=job["runs"], seconds=job["seconds"])
    found.counted.update(job["counted"])
    found.violations += [Violation(job["seed"], violation["case"], violation["what"]) for violation in job["violations"]]
    return found


def merged(results: Iterable[Result]) -> list[Result]:
    """One result for each experiment on each database."""
    found: dict[tuple[str, str], Result] = {}
    for result in results:
        found.setdefault((result.experiment, result.database), Result(result.experiment, result.database, "")).add(result)
    return [found[key] for key in sorted(found, key=lambda key: _rank(*key))]


def table(results: Sequence[Result]) -> str:
    """The same for docs/proof.md."""
    lines = ["| experiment | database | runs | what was counted | violations |", "|---|---|---:|---|---:|"]
    for result in results:
        counted = ", ".join(f"{number:,} {name}" for name, number in sorted(result.counted.items()))
        lines.append(f"| {result.experiment} | {result.database} | {result.runs:,} | {counted} | {len(result.violations)} |")
    return "\n".join(lines) + "\n"


def commit() -> str | None:
    """What the runs were made of, with a `+` where files were changed since; None outside a clone."""
    told = [
        subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
    ]
    if any(one.returncode for one in told):
        return None
    return told[0].stdout.strip() + ("+" if told[1].stdout.strip() else "")


def _rank(experiment: str, database: str) -> tuple[int, bool]:
    return EXPERIMENTS.index(experiment), database != "SQLite"
