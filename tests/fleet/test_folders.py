"""The private folders of runs: what a killed worker left is removed, and never what is somebody's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reconciler.fleet.runs import folders

WORKER = """if True:
    import subprocess, sys, time
    from pathlib import Path
    from reconciler.fleet.runs import folders
    idle, busy = (folders.create(f"run-{number}-", Path(sys.argv[1])) for number in (1, 2))
    (busy.path / "token").write_text("left")
    run = subprocess.Popen(["sleep", "600"], pass_fds=(busy.lock,))
    print(idle.path, busy.path, run.pid, flush=True)
    time.sleep(600)"""


def test_what_a_killed_worker_left_is_removed_as_soon_as_its_run_has_ended_and_nothing_else_is(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data / "repositories", elsewhere / "kept"):
        folder.mkdir(parents=True)
    (data / "run-of-somebody").symlink_to(elsewhere)
    with subprocess.Popen([sys.executable, "-c", WORKER, str(data)], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        idle, busy, run = worker.stdout.readline().split()
        mine = folders.create(folders.RUN, data)
        folders.tidy(folders.RUN, data)
        assert all(folder.exists() for folder in (Path(idle), Path(busy), mine.path)), "their workers live"
        worker.kill()
        worker.wait()
        folders.tidy(folders.RUN, data)
        assert not Path(idle).exists()
        assert (Path(busy) / "token").exists(), "the process of its run has not ended"
        subprocess.run(["kill", "-KILL", run], check=True)
        while Path(busy).exists():  # the end of another's child cannot be waited for
            folders.tidy(folders.RUN, data)
        assert mine.path.exists()
        mine.remove()
    assert sorted(path.name for path in data.iterdir()) == ["repositories", "run-of-somebody"]
    assert (elsewhere / "kept").exists()
