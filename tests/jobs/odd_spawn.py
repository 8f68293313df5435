# SPDX-License-Identifier: Apache-2.0
"""Two ranks started by torch.multiprocessing, START=spawn (default) or fork, with the ranks told by arguments alone."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

START = os.environ.get("START") or "spawn"


def rank_main(rank: int, store: str) -> None:
    from model import Net
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    net = Net(blocks=1)
    model = torch.compile(DistributedDataParallel(net))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(10):
        generator = torch.Generator().manual_seed(step)
        model(torch.randn(8, 32, generator=generator)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    total = sum(float(p.detach().sum()) for p in net.parameters())
    if rank == 0:
        print(f"sum {total:.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(rank_main, args=(os.path.join(folder, "store"),), nprocs=2, start_method=START)
    print("both ended")
