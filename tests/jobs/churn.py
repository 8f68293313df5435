# SPDX-License-Identifier: Apache-2.0
"""Compiles again for many reasons and breaks its graphs in several places, one of them behind a loop."""

import torch
from loop import done, seeded, steps, tell


def helper(x):
    x = x + 1
    print("in the helper")
    return x * 2


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.flag = True

    def forward(self, x, scale=1):
        y = helper(self.linear(x)) * scale
        torch._dynamo.graph_break()
        return torch.relu(y) if self.flag else y


def loss_of(y):
    if y.sum() > 0:
        y = y + 1
    return y.square().mean()


def total(table):
    return sum(table.values())


def in_a_loop(x):
    for _ in range(2):
        x = x + 1
        torch._dynamo.graph_break()
    return x


torch.manual_seed(0)
net = Block()
model = torch.compile(net, backend="aot_eager")
loss_fn, total_fn, loop_fn = (torch.compile(f, backend="aot_eager") for f in (loss_of, total, in_a_loop))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

loss = torch.tensor(0.0)
for step in steps():
    x = loop_fn(seeded(step, 4 if step < 3 else 5 + step % 3, 8))
    net.flag = step < 8
    net.train(step != 10)
    loss = loss_fn(model(x, 2 if step == 6 else 1))
    kind = torch.float64 if step == 12 else torch.float32
    (loss + total_fn({name: loss.detach().to(kind) for name in "abc"[: 2 + (step > 4)]})).backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
