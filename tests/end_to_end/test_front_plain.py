"""Under the front a job has the descriptors, signals, limits and end that it has without: each check compares the two."""

from __future__ import annotations

import os
import re
import resource
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from front_tools import FRONT, PYTHON, Runner, compare, front_runner, own_lines, wait_until, without_own_lines

CORE_SIGNALS = (signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV)


def same(folder: Path, command: list[str], data: bytes = b"", before: Callable[[], object] | None = None, **kw: object):
    return compare(folder, lambda runner: runner.run(command, data, preexec_fn=before, **kw))


@pytest.mark.parametrize("code", [0, 3, 125, 126, 127, 255])
def test_exit_code_and_both_outputs(tmp_path: Path, code: int) -> None:
    assert same(tmp_path, ["sh", "-c", f"echo out; echo err >&2; exit {code}"]) == (code, b"out\n", b"err\n")


@pytest.mark.parametrize("number", [1, 2, 3, 6, 9, 10, 11, 13, 14, 15, 34, 64])
def test_dies_of_the_same_signal_without_a_second_core(tmp_path: Path, number: int) -> None:
    script = f"import os, signal; {number} == 9 or signal.signal({number}, signal.SIG_DFL); os.kill(os.getpid(), {number})"
    before = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)  # noqa: E731

    def body(runner: Runner):
        folder = tmp_path / ("plain" if runner.is_plain else "front")
        folder.mkdir()
        result = runner.run([PYTHON, "-c", script], preexec_fn=before, cwd=folder)
        cores = len(list(folder.glob("core*")))
        return result, cores

    assert compare(tmp_path, body)[0][0] == -number


def test_stdin_arrives_whole_on_stdout(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    assert same(tmp_path, ["cat"], data)[1] == data


def test_empty_stdin(tmp_path: Path) -> None:
    compare(tmp_path, lambda runner: runner.run(["cat"], stdin=subprocess.DEVNULL, data=None))


def test_sees_the_same_descriptors(tmp_path: Path) -> None:
    script = "import os; print(sorted(fd for fd in os.listdir('/proc/self/fd')))"
    same(tmp_path, [PYTHON, "-c", script])


def test_inherits_an_open_descriptor(tmp_path: Path) -> None:
    same(tmp_path, ["sh", "-c", "echo seven >&7"], before=lambda: os.dup2(2, 7), close_fds=False)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_closed_standard_descriptors_stay_closed(tmp_path: Path, closed: tuple[int, ...]) -> None:
    def body(runner: Runner):
        out = tmp_path / ("plain" if runner.is_plain else "front")
        script = f"exec 5>{out}; for fd in 0 1 2; do test -e /proc/self/fd/$fd && echo $fd >&5; done; exit 4"
        result = runner.run(["sh", "-c", script], preexec_fn=lambda: [os.close(fd) for fd in closed])
        return result, out.read_text()

    compare(tmp_path, body)


def test_descriptor_flags_stay_as_they_are(tmp_path: Path) -> None:
    def body(runner: Runner):
        master, other = os.openpty()
        process = runner.start(["sh", "-c", "echo x"], stdout=other, stderr=other)
        process.wait(20)
        blocking = os.get_blocking(other)
        os.close(master), os.close(other)
        return blocking

    assert compare(tmp_path, body) is True


def test_dispositions_and_mask_are_the_shells(tmp_path: Path) -> None:
    def before() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGTERM, signal.SIGRTMIN])

    same(tmp_path, ["grep", "Sig[BIC]", "/proc/self/status"], before=before, restore_signals=False)


def test_parent_that_ignores_sigchld(tmp_path: Path) -> None:
    command = ["sh", "-c", "grep SigIgn /proc/self/status; exit 5"]
    before = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # noqa: E731
    assert same(tmp_path, command, before=before, restore_signals=False)[0] == 5


def test_dies_of_a_signal_that_the_shell_left_ignored(tmp_path: Path) -> None:
    script = "import os, signal; signal.signal(1, signal.SIG_DFL); os.kill(os.getpid(), 1)"

    def body(runner: Runner):
        command = ["nohup", *runner.prefix(), PYTHON, "-c", script]
        return subprocess.run(command, capture_output=True, env=runner.env(), timeout=60).returncode

    assert compare(tmp_path, body) == -1


def test_nohup_keeps_working(tmp_path: Path) -> None:
    script = "import os; os.kill(os.getpid(), 1); print('alive')"

    def body(runner: Runner):
        command = ["nohup", *runner.prefix(), PYTHON, "-c", script]
        done = subprocess.run(command, capture_output=True, env=runner.env(), timeout=60)
        return done.returncode, done.stdout

    assert compare(tmp_path, body) == (0, b"alive\n")


def test_umask_limits_priority_folder(tmp_path: Path) -> None:
    script = "umask; ulimit -a; nice; pwd; cat /proc/self/oom_score_adj"
    same(tmp_path, ["sh", "-c", script], cwd="/usr", before=lambda: (os.umask(0o77), os.nice(3)))


def test_environment_is_the_shells(tmp_path: Path) -> None:
    if FRONT:
        pytest.skip("the program adds its two variables")
    code, out, _ = same(tmp_path, ["sh", "-c", "env | grep -v FRONT_TEST_MARK | sort"])
    assert code == 0 and out


def test_process_group_and_session_are_the_shells(tmp_path: Path) -> None:
    script = "import os; print(os.getpgrp() == int(os.environ['GROUP']), os.getsid(0) == int(os.environ['SESSION']))"
    ids = {"GROUP": str(os.getpgrp()), "SESSION": str(os.getsid(0))}
    result = compare(tmp_path, lambda runner: runner.run([PYTHON, "-c", script], env=runner.env(**ids)))
    assert result[1] == b"True True\n"


# ---- commands that cannot run


def script_of(folder: Path, text: str, mode: int = 0o755) -> str:
    path = folder / "script"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_script_without_interpreter_line(tmp_path: Path) -> None:
    result = front_runner(tmp_path).run([script_of(tmp_path, "echo no line; exit 6\n")])
    assert result == (6, b"no line\n", b"")


@pytest.mark.parametrize("name", ["nosuchcommand", "./nosuchcommand", "/nosuch/command", ""])
def test_command_not_found(tmp_path: Path, name: str) -> None:
    runner = front_runner(tmp_path)
    done = subprocess.run([*runner.prefix(), name], capture_output=True, env=runner.env(), timeout=60)
    assert done.returncode == 127 and done.stdout == b""
    assert f"inductop: command '{name}' not found\n".encode() in done.stderr
    assert runner.leftovers() == []


@pytest.mark.parametrize(("mode", "reason"), [(0o644, "Permission denied"), (0o755, "")])
def test_command_that_cannot_run(tmp_path: Path, mode: int, reason: str) -> None:
    path = script_of(tmp_path, "#!/nosuch/interpreter\n", mode)
    runner = front_runner(tmp_path)
    done = subprocess.run([*runner.prefix(), path], capture_output=True, env=runner.env(), timeout=60)
    assert done.returncode == (127 if mode == 0o755 else 126)
    assert f"inductop: could not run '{path}': {reason}".encode() in done.stderr
    env = subprocess.run(["env", path], capture_output=True, timeout=60)
    assert done.returncode == env.returncode


def test_folder_as_a_command(tmp_path: Path) -> None:
    runner = front_runner(tmp_path)
    done = subprocess.run([*runner.prefix(), str(tmp_path)], capture_output=True, env=runner.env(), timeout=60)
    assert done.returncode == 126
    assert own_lines(done.stderr)[:1] == [f"inductop: could not run '{tmp_path}': Permission denied\n".encode()]


# ---- the ends of pipes


def in_bash(runner: Runner, text: str) -> tuple[list[str], str]:
    """Output and what came on stderr; `J` in the text is the front, or nothing."""
    command = re.sub(r"\bJ\b", lambda _: runner.words(), text)
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=runner.env(), timeout=60)
    kept = [line for line in done.stderr.decode().splitlines() if not line.startswith("inductop:")]
    return without_own_lines(done.stdout).decode().splitlines(), "\n".join(kept)


@pytest.mark.parametrize(
    "text",
    [
        "yes | J head -c 4; echo ${PIPESTATUS[*]}",
        "yes | J true; echo ${PIPESTATUS[*]}",
        "J yes | head -n 2; echo ${PIPESTATUS[*]}",
        "J sh -c 'echo a; echo b >&2' 2>&1 | cat; echo ${PIPESTATUS[*]}",
        "J sh -c 'cat; exit 4' < /dev/null; echo $?",
        "echo text | J cat | J cat; echo ${PIPESTATUS[*]}",
        "J sh -c 'kill -9 $$' 2>/dev/null | cat; echo ${PIPESTATUS[*]}",
        "set -o pipefail; J false | true; echo $?",
        "J true && echo yes; J false || echo no",
        "x=$(J echo inside); echo $x",
        "setsid -w J sh -c 'exit 9'; echo $?",
        "for i in 1 2 3; do J sh -c \"exit $i\"; echo $?; done",
        "J sh -c 'exit 5' & wait $!; echo $?",
        "J sh -c 'sleep 0.01; exit 6' & J sh -c 'exit 7' & wait -n; wait; echo done",
    ],
)
def test_pipes_and_statuses(tmp_path: Path, text: str) -> None:
    compare(tmp_path, lambda runner: in_bash(runner, text))


def ends_of(runner: Runner, script: str) -> str:
    """Order in which the reader of the job's stdout sees the end and the job ends. The job waits until the reader said so."""
    gate = runner.folder / f"gate-{'plain' if runner.is_plain else 'front'}"
    os.mkfifo(gate)
    process = runner.start(["sh", "-c", script, "sh", str(gate)], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert process.stdout
    process.stdout.read()
    order = "end of output first" if process.poll() is None else "end of job first"
    gate.open("w").close()
    process.wait(20)
    process.stdout.close()
    return order


def test_reader_sees_the_end_when_the_job_closes_stdout(tmp_path: Path) -> None:
    order = compare(tmp_path, lambda runner: ends_of(runner, 'echo hi; exec >&-; read x <"$1"; exit 0'))
    assert order == "end of output first"


def test_writer_gets_sigpipe_when_the_job_closes_stdin(tmp_path: Path) -> None:
    def body(runner: Runner):
        gate = tmp_path / f"gate-{'plain' if runner.is_plain else 'front'}"
        os.mkfifo(gate)
        read, write = os.pipe()
        job = runner.start(["sh", "-c", 'exec <&-; read x <"$1"; exit 2', "sh", str(gate)], stdin=read)
        os.close(read)
        writer = subprocess.Popen(["yes"], stdout=write)
        os.close(write)
        code, still_runs = writer.wait(20), job.poll() is None
        gate.open("w").close()
        return code, still_runs, job.wait(20)

    assert compare(tmp_path, body) == (-signal.SIGPIPE, True, 2)


def test_background_child_keeps_stdout_open_after_the_job(tmp_path: Path) -> None:
    def body(runner: Runner):
        gate = tmp_path / f"gate-{'plain' if runner.is_plain else 'front'}"
        os.mkfifo(gate)
        process = runner.start(["sh", "-c", '{ read x <"$1"; echo late; } & echo x; exit 7', "sh", str(gate)], stdout=subprocess.PIPE)
        code = process.wait(20)
        gate.open("w").close()
        assert process.stdout
        return code, process.stdout.read()

    assert compare(tmp_path, body) == (7, b"x\nlate\n")


def test_background_child_without_stdout_does_not_hold_the_reader(tmp_path: Path) -> None:
    def body(runner: Runner):
        gate = tmp_path / f"gate-{'plain' if runner.is_plain else 'front'}"
        os.mkfifo(gate)
        script = '{ read x <"$1"; } >/dev/null 2>&1 & echo x; exit 7'
        process = runner.start(["sh", "-c", script, "sh", str(gate)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, _ = process.communicate(timeout=20)
        others = wait_until(lambda: [name for _, name in runner.processes()] == ["sh"])
        gate.open("w").close()
        return process.returncode, out, others

    assert compare(tmp_path, body) == (7, b"x\n", True)


def test_front_holds_nothing_of_what_it_inherited(tmp_path: Path) -> None:
    runner = front_runner(tmp_path)
    read, write = os.pipe()
    with (tmp_path / "file").open("w") as file:
        kw = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "pass_fds": (write, file.fileno())}
        process = runner.start(["sh", "-c", "echo up; read x"], **kw)
        assert process.stdin and process.stdout
        assert process.stdout.readline() == b"up\n"
        job_pipes = {os.readlink(f"/proc/{os.getpid()}/fd/{fd}") for fd in (write, process.stdin.fileno(), process.stdout.fileno())}

        def held() -> dict[str, list[str]]:
            found = {}
            for pid, name in runner.processes():
                links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
                found[name] = [link for link in links if link in job_pipes or link == file.name]
            return found

        def is_so(now: dict[str, list[str]]) -> bool:  # not before all have come so far
            return len(now) >= (4 if not FRONT else 3) and {name for name, links in now.items() if links} == {"sh"}

        last: list[dict[str, list[str]]] = []
        assert wait_until(lambda: last.append(held()) or is_so(last[-1])), last[-1]
        process.stdin.write(b"x\n")
        process.stdin.close()
        process.stdout.close()
    assert process.wait(20) == 0
    os.close(read), os.close(write)
    assert stat.S_ISREG(os.stat(file.name).st_mode)
