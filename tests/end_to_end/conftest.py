# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: real jobs, real ranks, real kills. `-m "not slow"` leaves the long ones out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than some seconds of real training")
