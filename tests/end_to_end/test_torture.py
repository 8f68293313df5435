# SPDX-License-Identifier: Apache-2.0
"""The screen under torture (tests/screens/torture.py): on a tape and on a job, as every kind of terminal.

INDUCTOP_TORTURE: how many events each (`make torture`: 100,000 under sanitizers, another seed each time); INDUCTOP_TORTURE_SEED.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EVENTS = int(os.environ.get("INDUCTOP_TORTURE") or 600)
SEED = int(os.environ.get("INDUCTOP_TORTURE_SEED") or 1)

sys.path.insert(0, str(ROOT / "tests" / "screens"))
import torture  # noqa: E402


@pytest.mark.parametrize("what", ["replay", "live"])
@pytest.mark.parametrize("term", torture.TERMS)
def test_screen_bears_it(term: str, what: str) -> None:
    print(torture.torture(SEED, EVENTS, term, what))


def test_events_are_the_same_for_a_seed() -> None:
    assert list(torture.events(SEED, 300)) == list(torture.events(SEED, 300)) != list(torture.events(SEED + 1, 300))


def test_what_is_left_on_is_seen() -> None:
    enter, leave = b"\x1b[?1049h\x1b[?1000h\x1b[?25l\x1b[1;31mx", b"\x1b[m\x1b[?25h\x1b[?1000l\x1b[?1049l"
    assert torture.left_on(enter) == ["alternate screen", "mouse", "hidden cursor", "colours b'1;31'"]
    assert torture.left_on(enter + leave) == []
