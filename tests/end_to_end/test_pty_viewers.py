"""Viewers of a job's terminal: keys, signals, sizes, and that none of them can hold anything up."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import signal
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from front_tools import BOUND_S, COUNTER, END, PYTHON, Terminal, is_stopped, wait_until
from pty_tools import DRIVER, KEEPER, Job, Viewer, job

INTERRUPT, QUIT, SUSPEND, STOP, START = "\x03", "\x1c", "\x1a", "\x13", "\x11"
ASK = ["sh", "-c", "printf 'name? '; read x; echo got-$x; printf 'again? '; read x; exit 4"]


def ready(viewer: Viewer) -> int:
    return int(viewer.until(r"ready \d+").split()[1])


def finish(one: Job, viewer: Viewer) -> str:
    """Ends the counting job; returns its counts."""
    os.kill(viewer.job, END)
    counts = viewer.until("counts.*\n").strip()
    assert one.wait() == 0
    return counts


# ---- keys and signals


def test_keys_are_read_and_echoed(tmp_path: Path) -> None:
    with job(tmp_path, ASK) as one:
        viewer = one.viewer()
        viewer.until(r"name\? ")
        assert viewer.type("ann\n", "got-.*") == "got-ann"
        viewer.until(r"again\? ")
        viewer.keys("\n")
        assert one.wait() == 4
        viewer.read_to_end()
        assert viewer.over == (4 << 8, 0)
        assert viewer.text == "name? ann\ngot-ann\nagain? \n" == one.runner.text()


@pytest.mark.parametrize(("key", "name"), [(INTERRUPT, "INT"), (QUIT, "QUIT")])
def test_key_arrives_once_as_a_signal(tmp_path: Path, key: str, name: str) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        ready(viewer)
        viewer.type(key, f"got SIG{name}")
        assert finish(one, viewer) == f"counts SIG{name}=1"


def test_signals_to_foreground_job_and_front_arrive_once(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        ready(viewer)
        viewer.signal(signal.SIGINT)
        viewer.until("got SIGINT")
        viewer.signal_job(signal.SIGUSR1)
        viewer.until("got SIGUSR1")
        one.front.send_signal(signal.SIGTERM)
        viewer.until("got SIGTERM")
        assert finish(one, viewer) == "counts SIGINT=1 SIGTERM=1 SIGUSR1=1"


@pytest.mark.parametrize("name", ["INT", "QUIT", "TERM", "USR1", "USR2"])
def test_signals_to_the_front_are_passed_on(tmp_path: Path, name: str) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        ready(viewer)
        for _ in range(3):
            mark = len(viewer.text)
            one.front.send_signal(getattr(signal, f"SIG{name}"))
            viewer.until(f"got SIG{name}", mark)
        assert finish(one, viewer) == f"counts SIG{name}=3"


def test_signal_to_every_process_one_by_one_arrives_once(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        ready(viewer)
        for pid, _ in one.runner.processes():
            os.kill(pid, signal.SIGTERM)
        viewer.until("got SIGTERM")
        one.front.send_signal(signal.SIGUSR1)  # passed on behind it
        viewer.until("got SIGUSR1")
        assert finish(one, viewer) == "counts SIGTERM=1 SIGUSR1=1"


def test_front_that_is_killed_by_a_signal_ends_by_the_jobs(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "echo up; exec sleep 60"]) as one:
        one.viewer().until("up")
        one.front.send_signal(signal.SIGTERM)
        assert one.wait() == -signal.SIGTERM
        assert one.runner.wait_exit() == "signal 15\n"


def test_interrupt_key_ends_the_job(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "echo up; exec sleep 60"]) as one:
        viewer = one.viewer()
        viewer.until("up")
        viewer.keys(INTERRUPT)
        assert one.wait() == -signal.SIGINT
        assert one.runner.wait_exit() == "signal 2\n"
        viewer.read_to_end()
        assert viewer.over == (signal.SIGINT, 1)


def test_job_ignores_the_interrupt(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "trap '' INT; echo up; read x; echo d''one; exit 3"]) as one:
        viewer = one.viewer()
        viewer.until("up")
        viewer.type(INTERRUPT, r"\^C")
        viewer.type("\n", "done")
        assert one.wait() == 3


def test_interrupted_job_that_ends_itself(tmp_path: Path) -> None:
    """A Python script that cleans up after KeyboardInterrupt and then dies of SIGINT: the interrupt came from a key."""
    script = "import time\ntry: print('up', flush=True); time.sleep(60)\nfinally: print('clean', flush=True)"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        viewer = one.viewer()
        viewer.until("up")
        viewer.type(INTERRUPT, "clean")
        assert one.wait() == -signal.SIGINT
        viewer.read_to_end()
        assert viewer.over == (signal.SIGINT, 1)


def test_interrupt_through_the_front_is_none_from_a_key(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "echo up; exec sleep 60"]) as one:
        viewer = one.viewer()
        viewer.until("up")
        one.front.send_signal(signal.SIGINT)
        assert one.wait() == -signal.SIGINT
        viewer.read_to_end()
        assert viewer.over == (signal.SIGINT, 0)


def test_raw_mode_takes_the_keys_as_they_are(tmp_path: Path) -> None:
    script = "import os, tty; tty.setraw(0); print('up', flush=True); print(os.read(0, 1), end='\\r\\n')"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        viewer = one.viewer()
        viewer.until("up")
        viewer.type(INTERRUPT, r"b'\\x03'")
        assert one.wait() == 0


# ---- stopping and continuing


def test_suspend_key_stops_and_a_signal_continues(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        pid = ready(viewer)
        viewer.keys(SUSPEND)
        viewer.until(lambda: viewer.states)
        assert os.WIFSTOPPED(viewer.states[-1]) and os.WSTOPSIG(viewer.states[-1]) == signal.SIGTSTP
        assert is_stopped(pid)
        late = one.viewer(charge=False)
        late.until(lambda: late.states)
        assert os.WIFSTOPPED(late.states[-1])
        viewer.signal(signal.SIGCONT)
        viewer.until("got SIGCONT")
        viewer.until(lambda: os.WIFCONTINUED(viewer.states[-1]))
        assert finish(one, viewer) == "counts SIGCONT=1"


@pytest.mark.parametrize("how", ["key", "signal"])
def test_viewer_that_goes_continues_what_it_has_stopped(tmp_path: Path, how: str) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        pid = ready(viewer)
        if how == "key":
            viewer.keys(SUSPEND)
        else:
            viewer.signal(signal.SIGTSTP)
        assert wait_until(lambda: is_stopped(pid))
        viewer.close()
        later = one.viewer()
        later.until("got SIGCONT")
        assert finish(one, later) == "counts SIGCONT=1"


def test_viewer_that_goes_right_behind_its_suspend_key(tmp_path: Path) -> None:
    """Before anybody knows that the job has stopped."""
    with job(tmp_path, COUNTER) as one:
        watch = one.viewer(charge=False)
        ready(watch)
        for n in range(1, 21):
            viewer = one.viewer()
            viewer.keys(SUSPEND)
            viewer.close()
            watch.until(lambda want=n: watch.text.count("^Z") == want and watch.text.count("got SIGCONT") >= want)
        assert re.match(r"counts SIGCONT=\d+$", finish(one, watch))


def test_job_that_others_have_stopped_stays_so(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        pid = ready(viewer)
        os.kill(pid, signal.SIGSTOP)
        viewer.until(lambda: viewer.states)
        viewer.close()
        later = one.viewer()
        later.until(lambda: later.states)
        assert is_stopped(pid)
        os.kill(pid, signal.SIGCONT)
        later.until("got SIGCONT")
        assert finish(one, later) == "counts SIGCONT=1"


def test_stopped_output_goes_on_when_the_viewer_goes(tmp_path: Path) -> None:
    """A ^S that nobody is left to undo."""
    script = "print('up', flush=True)\ninput()\nfor i in range(60): print('l' * 2000, flush=True)"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        viewer = one.viewer()
        viewer.until("up")
        viewer.keys("\n" + STOP)
        viewer.close()
        assert one.wait() == 0
        assert one.runner.output().count(b"l") == 120000


def test_last_keys_of_a_viewer_that_goes_are_read(tmp_path: Path) -> None:
    """Even when the keeper first sees that it cannot send to it any more."""
    with job(tmp_path, COUNTER) as one:
        viewer, watch = one.viewer(), one.viewer(charge=False)
        pid = ready(viewer)
        keeper = one.runner.pid(KEEPER)
        os.kill(keeper, signal.SIGSTOP)
        assert wait_until(lambda: is_stopped(keeper))
        written = Path(f"/proc/{pid}/io").read_text()
        os.kill(pid, signal.SIGUSR1)
        assert wait_until(lambda: Path(f"/proc/{pid}/io").read_text() != written)
        viewer.keys(INTERRUPT)
        viewer.close()
        os.kill(keeper, signal.SIGCONT)
        watch.until("got SIGINT")
        assert finish(one, watch) == "counts SIGINT=1 SIGUSR1=1"


# ---- window


def test_window_size_at_the_start_and_later(tmp_path: Path) -> None:
    script = "stty size; trap 'stty size; echo changed' WINCH; echo up; while read x; do :; done; while read x; do :; done"
    with job(tmp_path, ["sh", "-c", script]) as one:
        viewer = one.viewer()
        viewer.until("24 100\nup")
        viewer.window(11, 55)
        viewer.until("11 55\nchanged")
        viewer.signal_job(signal.SIGKILL)
        assert one.wait() == -signal.SIGKILL


def test_window_is_that_of_the_one_in_charge(tmp_path: Path) -> None:
    with job(tmp_path, ["sh", "-c", "while read x; do stty size; done"]) as one:
        first, second = one.viewer(), one.viewer(charge=False)
        first.window(11, 55)
        assert first.type("\n", r"\d+ \d+") == "11 55"
        second.window(22, 77)
        assert first.type("\n", r"\d+ \d+") == "11 55"
        second.take_charge()
        assert second.type("\n", r"^\d+ \d+\n\Z") == "22 77\n"
        second.close()
        first.until(lambda: first.charge == [True, False, True])
        assert first.type("\n", r"^\d+ \d+\n\Z") == "11 55\n"
        first.keys("\x04")
        one.wait()


# ---- several, and strange ones


def test_everybody_sees_and_one_types(tmp_path: Path) -> None:
    with job(tmp_path, ASK) as one:
        looks, types = one.viewer(charge=False), one.viewer()
        looks.until(r"name\? ")
        looks.keys("not this\n")
        looks.signal(signal.SIGKILL)
        looks.signal_job(signal.SIGKILL)
        types.type("ann\n", "got-ann")
        looks.until("got-ann")
        types.keys("\n")
        assert one.wait() == 4
        for viewer in (looks, types):
            viewer.read_to_end()
            assert viewer.over == (4 << 8, 0)
        assert looks.text == types.text


def test_newest_who_asks_is_in_charge_and_hands_back(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        first = one.viewer()
        ready(first)
        second = one.viewer()
        first.until(lambda: first.charge == [True, False])
        first.keys(INTERRUPT)
        second.until("ready")
        second.type(QUIT, "got SIGQUIT")
        second.close()
        first.until(lambda: first.charge == [True, False, True])
        assert finish(one, first) == "counts SIGQUIT=1"


def test_more_viewers_than_there_is_room_for(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        first = one.viewer()
        ready(first)
        crowd = [one.viewer(charge=False) for _ in range(12)]
        crowd[-1].until("ready")
        crowd[0].read_to_end()
        first.type(INTERRUPT, "got SIGINT")
        assert finish(one, first) == "counts SIGINT=1"


@pytest.mark.parametrize("bytes_", [struct.pack("<I", 1 << 30) + b"I" + b"x" * 100, struct.pack("<I", 5000) + b"I" + b"x" * 5000])
def test_bad_frame_ends_that_viewer_only(tmp_path: Path, bytes_: bytes) -> None:
    with job(tmp_path, COUNTER) as one:
        bad, good = one.viewer(), one.viewer(charge=False)
        ready(bad)
        bad.socket.sendall(bytes_)
        bad.read_to_end()
        good.take_charge()
        good.type(INTERRUPT, "got SIGINT")
        assert finish(one, good) == "counts SIGINT=1"


def test_frames_that_are_not_known_are_skipped(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        ready(viewer)
        for kind, payload in ((b"?", b"abc"), (b"I", b""), (b"S", b""), (b"J", b"\0"), (b"W", b"x"), (b"W", b"xyzxyz"), (b"S", b"\xff")):
            viewer.send(kind, payload)
        for byte in struct.pack("<I", 1) + b"I" + INTERRUPT.encode():
            viewer.socket.sendall(bytes([byte]))
        viewer.until("got SIGINT")
        assert finish(one, viewer) == "counts SIGINT=1"


# ---- keys that nobody reads


def test_unread_keys_hold_nothing_up(tmp_path: Path) -> None:
    script = """
import signal, tty
tty.setraw(0)
signal.pthread_sigmask(0, [signal.SIGUSR1])
print('up', flush=True)
signal.sigwait([signal.SIGUSR1])
print('usr1', flush=True)
signal.sigwait([signal.SIGUSR1])
"""
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        viewer = one.viewer()
        viewer.until("up")
        for _ in range(400):
            viewer.keys(b"k" * 1000)
        viewer.signal_job(signal.SIGUSR1)
        viewer.until("usr1")
        viewer.until(lambda: viewer.unread > 300_000)
        viewer.signal_job(signal.SIGUSR1)
        assert one.wait() == 0


def test_interrupt_key_behind_keys_that_nobody_reads(tmp_path: Path) -> None:
    with job(tmp_path, COUNTER) as one:
        viewer = one.viewer()
        ready(viewer)
        for _ in range(200):
            viewer.keys(b"key\n" * 250)
        viewer.until(lambda: viewer.unread)
        viewer.keys(INTERRUPT)
        viewer.until("got SIGINT")
        assert finish(one, viewer) == "counts SIGINT=1"


# ---- programs


def test_pager(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"line {i}\n" for i in range(1, 1001)))
    with job(tmp_path, ["less", str(tmp_path / "text")], env={"TERM": "xterm", "LESS": ""}) as one:
        viewer = one.viewer()
        viewer.until("line 23")
        viewer.type("G", "line 1000")
        viewer.type("?line 500\n", r"line 500\D")
        viewer.keys("q")
        assert one.wait() == 0


def test_progress_bar(tmp_path: Path) -> None:
    """It draws over itself, in colour, as wide as the window that the viewer has."""
    script = "import shutil, sys\ninput()\nw = shutil.get_terminal_size().columns - 6\nfor i in range(101):\n    sys.stdout.write('\\r\\x1b[32m%3d%%\\x1b[0m ' % i + '#' * (w * i // 100))\n    sys.stdout.flush()\nprint()"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        viewer = one.viewer()
        viewer.window(24, 50)
        viewer.keys("\n")
        assert one.wait() == 0
        viewer.read_to_end()
        assert viewer.raw.endswith(b"\r\x1b[32m100%\x1b[0m " + b"#" * 44 + b"\r\n")
        assert viewer.raw == one.runner.output()


def test_interactive_shell_as_the_job(tmp_path: Path) -> None:
    (tmp_path / "rc").write_text("set enable-bracketed-paste off\n")
    env = {"PS1": "IN> ", "INPUTRC": str(tmp_path / "rc"), "HISTFILE": "/dev/null"}
    with job(tmp_path, ["bash", "--norc", "--noprofile", "-i"], env=env) as one:
        viewer = one.viewer()
        viewer.until("IN> ")
        assert "no job control" not in viewer.text
        viewer.type("bash -c 'trap \"echo ba\"ck CONT; echo u''p; while sleep 0.1; do :; done'\n", "^up")
        viewer.type(SUSPEND, "Stopped")
        viewer.until(r"Stopped.*\nIN> $")
        viewer.type("fg\n", "^back")  # the shell hands the terminal over before it says to go on
        viewer.keys(INTERRUPT)
        viewer.type("echo st=$?\n", r"^st=\d+")
        assert "st=130" in viewer.text
        viewer.keys("exit 5\n")
        assert one.wait() == 5


def test_editor_like_screen(tmp_path: Path) -> None:
    """curses: raw keys, function keys, a size that changes under it."""
    script = """
import curses
def main(window):
    while (key := window.getch()) != ord('q'):
        window.erase()
        window.addstr(0, 0, f'<{curses.keyname(key).decode()} {window.getmaxyx()}>')
        window.refresh()
curses.wrapper(main)
print('out')
"""
    with job(tmp_path, [PYTHON, "-c", script], env={"TERM": "xterm"}) as one:
        viewer = one.viewer()
        viewer.type("a", r"<a")
        viewer.type("\x1bOB", r"KEY_DOWN")
        viewer.window(10, 40)
        viewer.keys("b")  # a signal just before getch() waits is seen at the next key
        viewer.until(r"KEY_RESIZE \(10, 40\)")
        viewer.keys("q")
        assert one.wait() == 0
        assert "out\n" in one.runner.text()


# ---- much output, whatever viewers do

MIB = 10
BIG = f"import sys\ninput()\nfor i in range({MIB}): sys.stdout.write(('%07d ' % i) * 131072)\nsys.stdout.flush()"
WANT = hashlib.sha256(b"\r\n" + b"".join(b"%07d " % i * 131072 for i in range(MIB))).hexdigest()


def check_big(one: Job) -> None:
    assert one.wait() == 0
    assert hashlib.sha256(one.runner.output()).hexdigest() == WANT


def go(one: Job) -> None:
    viewer = one.viewer()
    viewer.keys("\n")
    viewer.close()


def test_much_output_without_a_viewer(tmp_path: Path) -> None:
    with job(tmp_path, [PYTHON, "-c", BIG]) as one:
        go(one)
        check_big(one)


def test_much_output_beside_a_silent_viewer(tmp_path: Path) -> None:
    with job(tmp_path, [PYTHON, "-c", BIG]) as one:
        silent = one.viewer()
        go(one)
        check_big(one)
        silent.close()


@pytest.mark.parametrize("receive_bytes", [0, 2048], ids=["fast", "small"])
def test_much_output_adds_up(tmp_path: Path, receive_bytes: int) -> None:
    with job(tmp_path, [PYTHON, "-c", BIG]) as one:
        viewer = one.viewer(receive_bytes=receive_bytes)
        go(one)
        reader = threading.Thread(target=viewer.read_to_end)
        reader.start()
        check_big(one)
        reader.join(BOUND_S)
        assert viewer.over == (0, 0)
        assert viewer.position == 2 + (MIB << 20)
        assert viewer.raw.endswith(b"%07d " % (MIB - 1))


def test_slow_viewer_gets_the_newest(tmp_path: Path) -> None:
    """It stops reading, the job writes far more than there is room for, and what it sees then ends with the job's last bytes."""
    script = BIG + "\nprint('the end', flush=True)\ninput()"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        viewer = one.viewer()
        viewer.keys("\n")
        assert wait_until(lambda: (one.session / "output").read_bytes().endswith(b"the end\r\n"))
        viewer.until("the end")
        assert viewer.skipped > 5 << 20
        assert viewer.position == (one.session / "output").stat().st_size
        viewer.keys("\n")
        assert one.wait() == 0


def test_much_output_while_viewers_are_killed(tmp_path: Path) -> None:
    script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(b'\\x09\\0\\0\\0I')\nprint(flush=True)\nwhile s.recv(5000): pass"
    with job(tmp_path, [PYTHON, "-c", BIG.replace("sys.stdout.flush()", "input()")]) as one:
        viewer = one.viewer()
        viewer.keys("\n")
        for _ in range(6):
            command = [PYTHON, "-c", script, str(one.session / "tty")]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
                assert other.stdout and other.stdout.readline() == b"\n"
                other.kill()
        assert wait_until(lambda: (one.session / "output").stat().st_size == 2 + (MIB << 20))
        viewer.keys("\n")
        assert one.wait() == 0
        assert hashlib.sha256(one.runner.output()[:-2]).hexdigest() == WANT


def test_new_viewer_gets_what_is_still_there(tmp_path: Path) -> None:
    script = "import sys\nfor i in range(300): print('line %04d' % i, flush=True)\ninput()"
    with job(tmp_path, [PYTHON, "-c", script]) as one:
        for _ in range(5):
            viewer = one.viewer()
            viewer.until("line 0299")
            assert viewer.text == "".join(f"line {i:04d}\n" for i in range(300))
            assert viewer.skipped == 0
            viewer.close()
        one.viewer().keys("\n")
        one.wait()


# ---- the viewer's side in C


def test_view_in_c(tmp_path: Path) -> None:
    with job(tmp_path, ASK) as one:
        one.viewer(charge=False).until("name")
        view = subprocess.run([DRIVER, "--view", one.session], input=b"ann\n\n", capture_output=True, timeout=BOUND_S)
        assert view.returncode == 4
        assert re.sub(rb"\r", b"", view.stdout).decode() in ("name? ann\ngot-ann\nagain? \n", "name? ann\n\ngot-ann\nagain? ")
        assert one.wait() == 4


def test_view_in_c_of_what_is_not_there(tmp_path: Path) -> None:
    view = subprocess.run([DRIVER, "--view", tmp_path], stdin=subprocess.DEVNULL, capture_output=True, timeout=BOUND_S)
    assert view.returncode == 125
    assert view.stderr.startswith(b"inductop: could not look at the job's terminal: ")


# ---- scripts around it


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_interrupt_key_ends_a_scripts_loop(tmp_path: Path, shell: str) -> None:
    """The shell did not see the key, as the screen had the terminal: the front's group is interrupted by the front."""
    words = shlex.join([str(DRIVER), "--session"])
    runs = f"for i in 1 2 3; do {words} $D/$i -- sh -c 'echo up; exec sleep 60'; done; echo after"
    script = tmp_path / "loop"
    script.write_text(runs)
    env = {**os.environ, "D": str(tmp_path), "PS1": "PROMPT> "}
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], env)
    try:
        terminal.until("PROMPT> ")
        terminal.send(f"{shell} {script}\n")
        viewer = Viewer(tmp_path / "1")
        viewer.until("up")
        mark = len(terminal.out)
        viewer.keys(INTERRUPT)
        terminal.until(r"PROMPT> \Z", mark)
        terminal.send("echo st=$?\n")
        terminal.until("st=130")
        assert "after" not in terminal.out
        assert not (tmp_path / "2").exists()
    finally:
        terminal.close()
        terminal.process.wait()


def test_interrupt_through_the_front_leaves_the_loop_alone(tmp_path: Path) -> None:
    words = shlex.join([str(DRIVER), "--session"])
    script = f"for i in 1 2; do {words} $D/$i -- sh -c 'echo up; exec sleep 60'; echo st=$?; done; echo after"
    terminal = Terminal(["bash", "-c", script], {**os.environ, "D": str(tmp_path)})
    try:
        for i in (1, 2):
            viewer = Viewer(tmp_path / str(i))
            viewer.until("up")
            viewer.signal_job(signal.SIGTERM)
            terminal.until("st=143")
        terminal.until("after")
        assert terminal.wait() == 0
    finally:
        terminal.close()
