# SPDX-License-Identifier: Apache-2.0
"""Compiles ten functions, one in each step, and prints what its own stopwatch says of each: the first call less the shortest of those behind
it, for one of them may be held up by others on the machine."""

import json
import time

import torch
from loop import done, seeded, steps, tell


def made(i):
    def function(x):
        for k in range(8 + i):
            x = torch.sin(x * (k + 1)) + torch.relu(x - i).sum(-1, keepdim=True)
        return x

    return torch.compile(function)


def timed(function, x):
    begin = time.perf_counter()
    function(x)
    return 1e3 * (time.perf_counter() - begin)


torch._dynamo.config.recompile_limit = torch._dynamo.config.cache_size_limit = 32
parameter = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([parameter], lr=0.1)
kept, seen = [], []
for step in steps():
    function, x = made(step), seeded(step, 16, 16)
    kept.append(function)
    first = timed(function, x)
    seen.append(first - min(timed(function, x) for _ in range(5)))
    optimizer.step()
    tell(0.0)
print("seen", json.dumps(seen), flush=True)
done(0.0)
