"""Writes tui/width.def: which characters take no column and which take two. Run with the newest Python at hand.

    python3 tests/support/width_table.py > tui/width.def
"""

import sys
import unicodedata

# Where terminals and the C library differ from the categories: a soft hyphen is drawn, medial and final jamo combine.
DRAWN = {0x00AD}
COMBINING = set(range(0x1160, 0x1200)) | set(range(0xD7B0, 0xD7FC))


def width(point: int) -> int:
    char = chr(point)
    if point in DRAWN:
        return 1
    if point in COMBINING or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.category(char) == "Cn":
        return 2 if 0x20000 <= point <= 0x3FFFD else -1
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def ranges(wanted: int) -> list[tuple[int, int]]:
    """Unassigned characters between two of a kind are counted in: they make the table shorter."""
    found: list[tuple[int, int]] = []
    for point in range(0xA0, 0x110000):
        if 0xD800 <= point < 0xE000 or width(point) != wanted:
            continue
        if found and all(width(p) == -1 for p in range(found[-1][1] + 1, point)):
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return found


def main() -> None:
    version = unicodedata.unidata_version
    print(f"/* Made by tests/support/width_table.py from Unicode {version}: ZERO and WIDE ranges, each in order. */")
    for name, wanted in (("ZERO", 0), ("WIDE", 2)):
        for first, last in ranges(wanted):
            print(f"{name}(0x{first:X}, 0x{last:X})")


if __name__ == "__main__":
    sys.exit(main())
