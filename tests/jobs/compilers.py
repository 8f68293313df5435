# SPDX-License-Identifier: Apache-2.0
"""Rank 0 compiles with all that torch starts for it: a pool of workers, and compilers, whose time it prints; rank 1 compiles
without, beside a child of its own."""

import resource
import subprocess
import time

import torch
from loop import RANK, done, labels, seeded, steps, tell
from model import Net
from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile
from torch.nn import functional as F

config.compile_threads = 2
config.worker_start_method = "subprocess"
FACTOR = time.time()  # no cache has it


@torch.compile(backend="eager" if RANK else "inductor")
def scaled(x):
    return x.sin() * FACTOR


child = subprocess.Popen(["cat"], stdin=subprocess.PIPE) if RANK else None
if RANK == 0:
    AsyncCompile.process_pool().submit(AsyncCompile._get_ready)
torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
loss = torch.tensor(0.0)
for step in steps():
    if step == 1 and RANK == 0:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print("compilers", 1000 * (used.ru_utime + used.ru_stime), flush=True)
    loss = F.cross_entropy(net(scaled(seeded(step, 8, 32))), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
if child is not None:
    child.communicate()
