"""The map in ARCHITECTURE.md, made from the first sentence of each file.   map.py: checks it   map.py --write: writes it

A module is a stem: series.h, series.c and series.def are one line. The sentence is that of the header, else of the table, else of the
source. Exit 1 when the page and the files differ.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- map: made by tests/check/map.py --write -->", "<!-- end of map -->"
ORDER = [".h", ".def", ".py", ".cc", ".c"]
ROOMS = ("engine/", "tui/")


def first_sentence(path: Path) -> str:
    text = path.read_text(errors="replace")
    if path.suffix == ".py":
        match = re.search(r'"""(.+?)("""|\n\n)', text, re.S)
    else:
        match = re.search(r"/\*\s*(.+?)(\*/|\n \*\s*\n|\n \* SPDX|$)", text, re.S)
    words = " ".join(re.sub(r"^\s*\*", " ", line).strip() for line in (match.group(1) if match else "").splitlines())
    words = re.sub(r"\s*SPDX-License-Identifier.*", "", words).strip()
    sentence = re.match(r"(.+?\.)(\s|$)", words)
    return (sentence.group(1) if sentence else words).rstrip(".").replace("|", "\\|")


def files() -> list[Path]:
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout
    names = out.splitlines() or [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    return [ROOT / n for n in sorted(set(names)) if n.startswith(ROOMS) and Path(n).suffix in ORDER and (ROOT / n).is_file()]


def table() -> str:
    modules: dict[str, list[Path]] = {}
    for path in files():
        stem = str(path.relative_to(ROOT).with_suffix(""))
        modules.setdefault(stem, []).append(path)
    lines, room = [], ""
    for stem in sorted(modules, key=lambda s: (s.rsplit("/", 1)[0], s)):
        group = sorted(modules[stem], key=lambda p: ORDER.index(p.suffix))
        if stem.rsplit("/", 1)[0] != room:
            room = stem.rsplit("/", 1)[0]
            lines += ["", f"### {room}", "", "| file | |", "|---|---|"]
        ends = "".join(p.suffix[1:] + "," for p in group).rstrip(",")
        name = f"`{stem}.{ends}`" if len(group) == 1 else f"`{stem}.{{{ends}}}`"
        says = next((s for s in map(first_sentence, group) if s), "")
        lines.append(f"| {name} | {says} |")
    return "\n".join(lines).strip()


def main() -> int:
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    made = f"{head}{BEGIN}\n{table()}\n{END}{tail}"
    if "--write" in sys.argv:
        PAGE.write_text(made)
        return 0
    silent = [line for line in table().splitlines() if line.startswith("| `") and line.endswith("|  |")]
    for line in silent:
        print(f"no first sentence: {line}")
    if made != page:
        print("ARCHITECTURE.md: the map is not true; run tests/check/map.py --write")
    return 1 if silent or made != page else 0


if __name__ == "__main__":
    sys.exit(main())
