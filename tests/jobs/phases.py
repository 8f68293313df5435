# SPDX-License-Identifier: Apache-2.0
"""A data loader, a forward, a backward and an optimizer that each take a time of their own, known to the job: it prints its own stopwatch.

RAISE  the step whose backward fails (never)
"""

import json
import os
import time

import torch
from loop import STEPS, done, tell
from model import Net
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

WAIT_S = {"data": 0.012, "forward": 0.006, "backward": 0.009, "optimizer": 0.004}
RAISE = int(os.environ.get("RAISE") or -1)


class Slow(Dataset):
    def __len__(self):
        return STEPS * 4

    def __getitem__(self, index):
        time.sleep(WAIT_S["data"] / 4)
        return torch.randn(32, generator=torch.Generator().manual_seed(index)), index % 10


class Pause(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step):
        ctx.step = step
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        if ctx.step == RAISE:
            raise ValueError("a backward of the job's own that fails")
        time.sleep(WAIT_S["backward"])
        return grad, None


class Late(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(WAIT_S["optimizer"])
        return super().step(closure)


torch.manual_seed(0)
net = Net()
model = torch.compile(net, backend="eager")
optimizer = Late(net.parameters(), lr=0.05)
seen = {name: 0.0 for name in WAIT_S}
loss = torch.tensor(0.0)
last = time.perf_counter()


def lap(name):
    global last
    now = time.perf_counter()
    seen[name] += now - last
    last = now


for step, (x, y) in enumerate(DataLoader(Slow(), batch_size=4)):
    lap("data")
    time.sleep(WAIT_S["forward"])
    loss = Pause.apply(F.cross_entropy(model(x), y), step)
    lap("forward")
    loss.backward()
    lap("backward")
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    lap("optimizer")
    optimizer.zero_grad()
    tell(loss)
    if step == 0:
        seen = dict.fromkeys(seen, 0.0)  # the first step is not known to anybody from its beginning
    last = time.perf_counter()
if os.environ.get("SAY"):
    print("seen", json.dumps({k: v * 1e3 / (STEPS - 1) for k, v in seen.items()}))
done(loss, net)
