# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on gloo: each block compiled in place, then sharded."""

import torch
import torch.distributed as dist
from loop import WORLD, done, labels, seeded, steps, tell
from model import Net
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

dist.init_process_group("gloo")
torch.manual_seed(0)
net = Net()
for block in net.blocks:
    block.compile()
mesh = init_device_mesh("cpu", (WORLD,))
for block in net.blocks:
    fully_shard(block, mesh=mesh)
fully_shard(net, mesh=mesh)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(net(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
dist.destroy_process_group()
