# SPDX-License-Identifier: Apache-2.0
"""Ends as asked: EXIT=CODE, or SIGNAL=NAME sent to itself, after writing to both streams. Trains a little if TRAIN=1."""

import os
import signal
import sys

if os.environ.get("TRAIN") == "1":
    import plain  # noqa: F401
sys.stdout.write("to stdout, no newline at the end")
sys.stderr.write("to stderr\n")
sys.stdout.flush()
if os.environ.get("SIGNAL"):
    os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
    signal.pause()
sys.exit(int(os.environ.get("EXIT") or 0))
