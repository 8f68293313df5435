# SPDX-License-Identifier: Apache-2.0
"""Trains until it is interrupted, and says how: SIGINT ends it with 130 after a last line, SIGTERM is answered with exit code 5."""

import signal
import sys
import time

import torch
from model import Net


def terminated(number, frame):
    print("terminated", flush=True)
    sys.exit(5)


signal.signal(signal.SIGTERM, terminated)
model = torch.compile(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step in range(100000):
        model(torch.ones(8, 32)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 3:
            print("training", flush=True)
        time.sleep(0.005)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
