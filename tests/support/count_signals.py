"""A job that says which signals came: `ready PID`, then `got NAME` for each; SIGRTMIN+5 ends it with the counts.

With an argument it writes to that file instead of stdout (a terminal may be gone).
"""

import os
import signal
import sys

END = signal.SIGRTMIN + 5
COUNTED = [getattr(signal, f"SIG{name}") for name in "INT TERM HUP USR1 USR2 QUIT WINCH CONT".split()]


def main() -> None:
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND) if len(sys.argv) > 1 else 1
    signal.pthread_sigmask(signal.SIG_BLOCK, [*COUNTED, END])
    os.write(out, f"ready {os.getpid()}\n".encode())
    counts: dict[str, int] = {}
    while True:
        number = signal.sigwaitinfo([*COUNTED, END]).si_signo
        if number == END:
            break
        name = signal.Signals(number).name
        counts[name] = counts.get(name, 0) + 1
        os.write(out, f"got {name}\n".encode())
    os.write(out, ("counts " + " ".join(f"{name}={n}" for name, n in sorted(counts.items())) + "\n").encode())


main()
