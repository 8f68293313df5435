"""Checks the layers: who includes whom, the last include, the size of functions. Exit 1 with a line for each fault.

The rules are the table below; ARCHITECTURE.md shows the same table to people. Run from anywhere.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# room -> rooms it may include. `engine` is engine/engine.[ch] itself.
ALLOWED = {
    "engine/base": set(),
    "engine/wire": {"engine/base"},
    "engine/event": {"engine/base", "engine/wire"},
    "engine/run": {"engine/base", "engine/wire", "engine/event"},
    "engine/data": {"engine/base", "engine/wire", "engine/event"},
    "engine/setup": {"engine/base"},
    "engine/tune": {"engine/base", "engine/wire", "engine/event", "engine/data", "engine/setup"},
    "engine/tape": {"engine/base", "engine/wire", "engine/event"},
    "engine/rank": {"engine/base", "engine/wire", "engine/rank/bridge", "engine/rank/nccl"},
    "engine/rank/bridge": {"engine/base", "engine/wire"},
    "engine/rank/nccl": {"engine/base", "engine/wire"},
    "engine": {"engine/base", "engine/wire", "engine/event", "engine/run", "engine/data", "engine/setup", "engine/tune", "engine/tape"},
    "engine/cli": {"engine", "engine/base", "engine/wire", "engine/event", "engine/run", "engine/data", "engine/setup", "engine/tape"},
    "tui": {"engine", "engine/base", "engine/event", "engine/cli", "engine/data", "engine/setup"},
    "tui/panels": {"tui", "engine/base", "engine/data", "engine/setup"},
}
# Headers of libraries that only the named files may see.
ONLY_IN = {
    r"Python\.h": ["engine/rank/module.c", "engine/rank/timed.c", "engine/rank/timed.h"],
    r"curses\.h|ncurses.*": ["tui/term.c"],
    r"termkey\.h": ["tui/keys.c"],
    r"yaml\.h": ["engine/setup/doc.c"],
    r"torch/.*|ATen/.*|c10/.*": ["engine/rank/bridge/bridge.cc"],
}
# libc only: no library, no memory helper that ends the program.
LIBC_ONLY = re.compile(r"engine/run/(keeper|witness|say|descriptors|ending|job_exec|shell_signals|pty|pty_\w+|terminal_\w+)\.c")
# engine/base headers that the rank side may see: what neither allocates nor ends the program.
RANK_BASE = {"attr.h", "banned.h", "clock.h", "err.h", "host.h", "str.h"}
FUNCTION_LINES_MAX = 70
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)


def tracked() -> list[str]:
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = out.stdout.splitlines() if out.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    return sorted(n for n in names if (ROOT / n).is_file())


def room_of(name: str) -> str:
    return name.rsplit("/", 1)[0] if "/" in name else ""


def check_includes(name: str, text: str) -> list[str]:
    faults, room = [], room_of(name)
    for match in INCLUDE.finditer(text):
        ours, system = match.groups()
        if ours:
            other = room_of(ours)
            if not (ROOT / ours).exists():
                faults.append(f"{name}: includes '{ours}', which is not there (paths start at the project's root)")
            elif other != room and other not in ALLOWED.get(room, set()):
                faults.append(f"{name}: room '{room}' must not include '{ours}'")
            if room.startswith("engine/rank") and other == "engine/base" and Path(ours).name not in RANK_BASE:
                faults.append(f"{name}: the rank side must not use '{ours}'")
        for pattern, files in ONLY_IN.items():
            if re.fullmatch(pattern, ours or system) and name not in files:
                faults.append(f"{name}: only {', '.join(files)} may include <{ours or system}>")
    if LIBC_ONLY.fullmatch(name) and re.search(r"#include <(uv|jansson|yaml)", text):
        faults.append(f"{name}: libc only")
    if name.endswith(".c"):
        lines = [m.group(1) or "" for m in INCLUDE.finditer(text) if not (m.group(1) or "").endswith(".def")]
        if "engine/base/banned.h" not in lines:
            faults.append(f"{name}: does not include engine/base/banned.h")
        elif lines[-1] != "engine/base/banned.h":
            faults.append(f"{name}: engine/base/banned.h is not the last include")
    return faults


def check_functions(name: str, text: str) -> list[str]:
    faults, start = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if start is None and re.match(r"^[A-Za-z_].*\)\s*\{$", line):
            start = number
        elif start is not None and line == "}":
            if number - start > FUNCTION_LINES_MAX:
                faults.append(f"{name}:{start}: a function of {number - start} lines")
            start = None
    return faults


def main() -> int:
    names, faults = tracked(), []
    for name in names:
        if name.startswith(("engine/", "tui/")) and name.endswith((".c", ".h", ".cc")):
            text = (ROOT / name).read_text()
            faults += check_includes(name, text) + check_functions(name, text)
    for fault in faults:
        print(fault)
    print(f"layers: {len(faults)} faults in {len(names)} files")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
