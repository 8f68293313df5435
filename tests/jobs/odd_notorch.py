# SPDX-License-Identifier: Apache-2.0
"""No torch anywhere: reads stdin, writes both streams, lists what is imported beyond a bare interpreter."""

import os
import sys

data = sys.stdin.read()
print(len(data), "bytes read")
print("torch" in sys.modules, sys.argv[1:], sorted(k for k in os.environ if k.startswith("TORCH")))
print("warning from the script", file=sys.stderr)
