"""Where the job's output is saved: a file that was asked for, two files in turn, disks that are full, limits."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_tools import PYTHON, Terminal, wait_until
from pty_tools import KEEPER, PtyRunner, Viewer, job

STEPS = "import sys\nfor line in sys.stdin: print(line[0] * 100000, flush=True)\nsys.exit(6)"
END_OF_FILE = "\x04"


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], capture_output=True).returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_file_that_was_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("what was there before")
    with job(tmp_path, ["sh", "-c", "umask; echo hi"], "--output", str(out)) as one:
        assert one.wait() == 0
        assert out.read_bytes() == b"0022\r\nhi\r\n"
        assert not (one.session / "output").exists()


def test_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with job(tmp_path, ["touch", str(tmp_path / "ran")], "--output", str(tmp_path / "no" / "out")) as one:
        assert one.wait() == 125
        assert one.terminal.out.startswith("inductop: could not open output file '")
        assert not (tmp_path / "ran").exists()


def test_two_files_in_turn_keep_the_last_64_mib(tmp_path: Path) -> None:
    mib = 100
    script = f"for i in range({mib}): print(('%07d ' % i) * 131072, end='', flush=True)"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        assert one.wait() == 0
        before, now = one.session / "output.1", one.session / "output"
        assert 32 << 20 <= before.stat().st_size < (32 << 20) + 65536
        kept = before.read_bytes() + now.read_bytes()
        assert 32 << 20 <= len(kept) <= (64 << 20) + 65536
        want = b"".join(b"%07d " % i * 131072 for i in range(mib - 70, mib))
        assert want.endswith(kept)


def test_keeper_killed_in_the_second_file(tmp_path: Path) -> None:
    script = "print('x' * (34 << 20), flush=True)\ninput()\nprint('late')"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        output = one.session / "output"
        assert wait_until(lambda: output.exists() and output.stat().st_size == (2 << 20) + 2)
        one.kill(KEEPER)
        viewer = one.viewer()
        viewer.keys("\n")
        assert one.wait() == 0
        assert (one.session / "output").read_bytes().endswith(b"x\r\n\r\nlate\r\n")
        assert b"late" not in (one.session / "output.1").read_bytes()


def test_full_disk(tmp_path: Path) -> None:
    """The job goes on; viewers are told once; where there is room again the file says what is missing and goes on."""
    with small_disk(tmp_path, "256k") as disk:
        out = disk / "out"
        (disk / "fill").write_bytes(b"x" * 100000)
        with job(tmp_path, [PYTHON, "-c", STEPS], "--output", str(out)) as one:
            viewer = one.viewer()
            viewer.type("a\n", "a{100000}\n")
            assert viewer.unsaved == []
            viewer.type("b\n", "b{100000}\n")
            viewer.until(lambda: viewer.unsaved)
            viewer.type("c\n", "c{100000}\n")
            assert [error for _, error in viewer.unsaved] == [28]
            late = one.viewer(charge=False)
            late.until(lambda: late.unsaved and late.unsaved[0][0] > 100_000)
            (disk / "fill").unlink()
            viewer.type("d\n", "d{100000}\n")
            viewer.until(lambda: len(viewer.unsaved) == 2)
            assert viewer.unsaved[1][0] == 0
            viewer.keys(END_OF_FILE)
            assert one.wait() == 6
            text = out.read_text()
            lost = text.index("\n[inductop: ")
            missing = int(text[lost:].split()[1])
            assert text[lost:].startswith(f"\n[inductop: {missing} bytes not saved]\n")
            assert text.endswith("d" * 100000 + "\n")
            line = len(f"\r\n[inductop: {missing} bytes not saved]\r\n")
            viewer.read_to_end()
            assert out.stat().st_size - line + missing == viewer.position


def test_session_on_a_full_disk(tmp_path: Path) -> None:
    """How the job ended stands there all the same."""
    with small_disk(tmp_path, "64k") as disk, job(disk, [PYTHON, "-c", "print('x' * 1000000); raise SystemExit(6)"]) as one:
        assert one.wait() == 6
        assert (one.session / "exit").read_text() == "exit 6\n"


@pytest.mark.parametrize("where", ["file", "session"])
def test_limit_on_file_sizes(tmp_path: Path, where: str) -> None:
    """SIGXFSZ does not end the keeper."""
    runner = PtyRunner(tmp_path, [])
    out = tmp_path / "out" if where == "file" else tmp_path / "s1" / "output"
    words = shlex.join(runner.prefix(*(("--output", str(out)) if where == "file" else ())))
    words = f"ulimit -f 100; exec {words} {PYTHON} -c 'print(\"x\" * 1000000); print(\"end\"); input(); raise SystemExit(6)'"
    terminal = Terminal(["bash", "-c", words], runner.env())
    viewer = Viewer(runner.session)
    viewer.until("end")
    assert viewer.unsaved[0][1] == 27
    viewer.keys("\n")
    assert terminal.wait() == 6
    terminal.close()
    assert out.stat().st_size == 102400
    assert runner.leftovers() == []


def test_fifo_that_nobody_reads(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    keep = os.open(fifo, os.O_RDWR)
    try:
        with job(tmp_path, [PYTHON, "-c", "print('x' * 1000000)"], "--output", str(fifo)) as one:
            assert one.wait() == 0
    finally:
        os.close(keep)


def test_fifo_whose_reader_goes(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    keep = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with job(tmp_path, [PYTHON, "-c", STEPS], "--output", str(fifo)) as one:
        viewer = one.viewer()
        viewer.until(lambda: viewer.job)
        os.close(keep)
        viewer.type("a\n", "a{100000}\n")
        viewer.until(lambda: viewer.unsaved)
        assert viewer.unsaved[0][1] == 32
        viewer.keys(END_OF_FILE)
        assert one.wait() == 6


def test_output_folder_removed_while_it_runs(tmp_path: Path) -> None:
    """Somebody clears /tmp: the job does not notice, its status still reaches the front."""
    with job(tmp_path, [PYTHON, "-c", STEPS]) as one:
        viewer = one.viewer()
        viewer.until(lambda: viewer.job)
        subprocess.run(["rm", "-r", one.session], check=True)
        viewer.type("a\n", "a{100000}\n")
        viewer.keys(END_OF_FILE)
        assert one.wait() == 6


def test_terminal_as_output_that_does_not_read(tmp_path: Path) -> None:
    """`--output /dev/pts/N`, stopped by ^S there."""
    master, slave = os.openpty()
    try:
        with job(tmp_path, [PYTHON, "-c", "print('x' * 1000000)"], "--output", os.ttyname(slave)) as one:
            assert one.wait() == 0
    finally:
        os.close(master)
        os.close(slave)


def test_killed_by_the_limit_on_time_is_the_job_alone(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "ulimit -t 1; while :; do :; done"]) as one:
        assert one.wait() in (-signal.SIGKILL, -signal.SIGXCPU)
