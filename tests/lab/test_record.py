"""The record of what runs, and the lock that says whether it does."""

import os
import subprocess
import sys
from pathlib import Path

from lab import pids, record


def test_the_lock_is_held_by_one_only_and_free_again_when_closed(tmp_path: Path) -> None:
    first = record.take_lock(tmp_path / "deeper" / "up.lock")
    assert first is not None
    assert record.take_lock(tmp_path / "deeper" / "up.lock") is None
    first.close()
    second = record.take_lock(tmp_path / "deeper" / "up.lock")
    assert second is not None
    second.close()


def test_a_record_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert record.read(tmp_path) is None
    record.file(tmp_path).write_text('{"half":')
    assert record.read(tmp_path) is None
    record.write(tmp_path, {"pid": 1})
    assert record.read(tmp_path) == {"pid": 1}


def test_only_pids_that_still_mean_the_same_process_are_ours() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        mark = pids.mark(child.pid)
        marks = {str(child.pid): mark, "1": "another time", str(os.getpid()): pids.mark(os.getpid())}
        described = {"pid": os.getpid(), "worker_pids": [child.pid], "server_pid": 1, "model_pid": None, "marks": marks}
        assert record.own(described) == [child.pid]
        child.kill()
        child.wait()
        assert record.own(described) == []
