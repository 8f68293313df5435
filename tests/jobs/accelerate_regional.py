# SPDX-License-Identifier: Apache-2.0
"""accelerate_whole.py with regional compilation."""

import os
import runpy

os.environ["REGIONAL"] = "1"
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "accelerate_whole.py"), run_name="__main__")
