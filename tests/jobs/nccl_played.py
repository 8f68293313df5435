# SPDX-License-Identifier: Apache-2.0
"""Compiles nothing, and has twelve collectives a step on an NCCL that is played ($NCCL_PLAY); rank 1 is late at each."""

import ctypes
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from loop import RANK, done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
before = dict(os.environ)
agent = sys.modules.get("inductop_agent.nccl")
if agent and torch.version.cuda is None:
    agent.begin(SimpleNamespace(version=SimpleNamespace(cuda="played")), json.loads(Path(os.environ["INDUCTOP_SESSION"], "start.json").read_text()))
nccl = ctypes.CDLL(os.environ["NCCL_PLAY"])
nccl.nccl_play_calls.argtypes = [ctypes.c_int, ctypes.c_uint64]
nccl.nccl_play_open(6)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    nccl.nccl_play_calls(12, 16000 if RANK == 1 else 160000)
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
nccl.nccl_play_close()
assert before == dict(os.environ)
done(loss, model)
