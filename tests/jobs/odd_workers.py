# SPDX-License-Identifier: Apache-2.0
"""Two DataLoader workers. START says how they begin: fork (default), spawn, forkserver."""

import os

import torch
from loop import done, steps, tell
from model import Net
from torch.nn import functional as F

START = os.environ.get("START") or "fork"


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 400

    def __getitem__(self, i: int):
        generator = torch.Generator().manual_seed(i)
        return torch.randn(32, generator=generator), i % 10


def main() -> None:
    torch.manual_seed(0)
    net = Net(blocks=1)
    model = torch.compile(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=10, num_workers=2, multiprocessing_context=START)
    loss = torch.tensor(0.0)
    for _, (x, y) in zip(steps(), loader, strict=False):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tell(loss)
    done(loss, net)


if __name__ == "__main__":
    main()
