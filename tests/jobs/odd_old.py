# SPDX-License-Identifier: Apache-2.0
"""Runs on any Python from 2.7 on."""
import sys

sys.stdout.write("old python " + str(sys.version_info[0]) + "\n")
sys.stderr.write("and stderr\n")
sys.exit(4)
