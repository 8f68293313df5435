# SPDX-License-Identifier: Apache-2.0
"""Forks in the middle of training: one child works with torch, one exits by os._exit, one runs another program."""

import os
import subprocess
import sys

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net(blocks=1)
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
    if step == 5:
        child = os.fork()
        if child == 0:
            ours = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)
            for _ in range(20):
                ours.step()
            print("child", float(torch.ones(3).sum()), flush=True)
            os._exit(0)
        print("child ended", os.waitpid(child, 0)[1], flush=True)
    if step == 7:
        print("program", subprocess.run([sys.executable, "-c", "print('hello')"], capture_output=True, text=True).stdout, end="")
done(loss, net)
