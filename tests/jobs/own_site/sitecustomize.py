# SPDX-License-Identifier: Apache-2.0
"""A sitecustomize of the user's own."""

import sys

sys.stderr.write("own sitecustomize\n")
