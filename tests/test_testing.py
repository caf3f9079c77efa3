"""What the tests are built on: processes that are forked, organizations that are copied, and the cases that run on a push."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.harness import ORGANIZATION, Org
from tests.proofs import LEFT_TO_CI, THROUGH, costly, left_to_ci, proof, push_only, spread
from tests.small import applied, settled, small

PROGRAMS = {
    "returns": ("print('out'); import sys; print('err', file=sys.stderr)", 0),
    "exits with a number": ("import sys; sys.exit(7)", 7),
    "exits with a text": ("import sys; sys.exit('no')", 1),
    "raises": ("raise SystemError('x')", 1),
    "is interrupted": ("raise KeyboardInterrupt", -signal.SIGINT),
    "is killed": ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    "reads its input": ("print(input())", 0),
    "shows its words and its folder": ("import os, sys; print(sys.argv, os.getcwd(), os.environ['A'], sys.stdout.isatty())", 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_that_is_forked_ends_and_says_what_one_that_is_started_does(name: str, tmp_path: Path) -> None:
    code, ended = PROGRAMS[name]
    words, given = [sys.executable, "-c", code, "word"], {"cwd": tmp_path, "env": {**os.environ, "A": "ä"}, "text": True}
    started = subprocess.run(words, input="in\n", capture_output=True, **given)
    forked = processes.run(words, input="in\n", capture_output=True, **given)
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout) == (ended, started.stdout)
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


def test_a_forked_process_is_a_child_that_can_be_signalled_and_waited_for() -> None:
    code = "import time; print('up', flush=True); time.sleep(60)"
    with processes.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout.readline() == "up\n"
        assert process.poll() is None
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM


def test_a_script_of_a_shell_sees_the_exit_code_and_the_output(tmp_path: Path) -> None:
    path = f"{processes.program()}:{os.environ['PATH']}"
    script = "reconciler --version | wc -l; reconciler nonsense 2>/dev/null; echo $?"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "3"]


def test_a_copy_of_an_organization_is_settled_and_changes_by_itself(tmp_path: Path) -> None:
    first, second = Org(tmp_path / "first"), Org(tmp_path / "second")
    assert applied(first, small()) is applied(second, small())
    assert first.id("acme/team/writers") == second.id("acme/team/writers")
    second.call("PUT", f"/orgs/{ORGANIZATION}/teams", {"title": "Another"})
    assert len(second.items(f"/orgs/{ORGANIZATION}/teams")) == len(first.items(f"/orgs/{ORGANIZATION}/teams")) + 1
    for org in (first, second):
        settled(org)


def test_a_space_that_was_edited_before_is_not_a_copy(tmp_path: Path) -> None:
    applied(Org(tmp_path / "first"), small())
    org = Org(tmp_path / "second")
    org.call("PUT", f"/orgs/{ORGANIZATION}/teams", {"title": "Another"})
    assert not org.untouched()
    applied(org, small())
    assert "Another" in [team["title"] for team in org.items(f"/orgs/{ORGANIZATION}/teams")]


def test_a_sample_is_evenly_spread_and_the_rest_are_proofs() -> None:
    cases = spread([*range(10)], 3)
    assert [case.values[0] for case in cases] == [*range(10)]
    assert [case.values[0] for case in cases if not case.marks] == [0, 3, 6]
    assert all(case.marks == [proof.mark] or case.marks == (proof,) or case.marks == () for case in cases)
    assert not any(case.marks for case in spread([1, 2], 5))
    assert spread([(1, 2)], 1)[0].values == (1, 2)


def test_a_push_collects_a_test_without_its_proofs() -> None:
    @pytest.mark.parametrize("one", ["a", "b"])
    @pytest.mark.parametrize("case", spread([*range(10)], 3), ids=[f"number {number}" for number in range(10)])
    def sampled(case: int, one: str) -> None: ...

    @pytest.mark.parametrize("case", [pytest.param(1, marks=proof)])
    def long(case: int) -> None: ...

    def plain() -> None: ...

    assert push_only(sampled)
    cases, others = (mark.args[1] for mark in sampled.pytestmark)  # type: ignore[attr-defined]
    assert [case.values[0] for case in cases] == [0, 3, 6]
    assert sampled.pytestmark[0].kwargs["ids"] == ["number 0", "number 3", "number 6"]  # type: ignore[attr-defined]
    assert others == ["a", "b"]
    assert push_only(plain)
    assert not push_only(proof(plain))
    assert not push_only(long)


def test_what_a_run_of_everything_leaves_to_ci_exists() -> None:
    assert [path for path in LEFT_TO_CI if not path.exists()] == []


class Case:
    """What `left_to_ci` knows of a case."""

    def __init__(self, nodeid: str, costs: bool) -> None:
        self.nodeid, self.costs = nodeid, costs

    def get_closest_marker(self, name: str) -> object | None:
        return costly if self.costs and name == "costly" else None


def test_a_run_of_everything_tries_every_tenth_costly_case_every_third_through_the_program_and_all_others() -> None:
    many = [Case(f"a.py::test_many[{index}]", costs=True) for index in range(21)]
    alone, cheap = Case("a.py::test_alone", costs=True), [Case(f"a.py::test_cheap[{index}]", costs=False) for index in range(5)]
    through = [Case(f"tests/{THROUGH[0]}/a.py::test_{index}", costs=False) for index in range(7)]
    cases = [*many, alone, *cheap, *through]
    left = left_to_ci(cases)
    assert [case.nodeid for case in cases if case not in left] == [
        "a.py::test_many[0]", "a.py::test_many[10]", "a.py::test_many[20]",
        *(case.nodeid for case in cheap),
        *(through[index].nodeid for index in (0, 3, 6)),
    ]  # fmt: skip
    assert all((Path(__file__).parent / folder).is_dir() for folder in THROUGH)


def test_a_run_of_a_path_tries_all_that_it_names_also_by_a_worker() -> None:
    named = Path(__file__).parent / "report" / "test_saved.py"

    def last(*words: str) -> str:
        words = (sys.executable, "-m", "pytest", "--no-header", *words, str(named))
        return subprocess.run(words, cwd=named.parents[2], capture_output=True, text=True, timeout=120).stdout.splitlines()[-1]

    number = last("--collect-only").split()[0]
    assert int(number) >= named.read_text(encoding="utf-8").count("def test_")
    assert last().startswith(f"{number} passed")
    assert last("-n", "1").startswith(f"{number} passed")
