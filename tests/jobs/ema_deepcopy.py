# SPDX-License-Identifier: Apache-2.0
"""An exponential moving average of the compiled model, kept as a deep copy of it and called every ten steps."""

import copy

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
best = copy.deepcopy(model)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    x, y = seeded(step, 8, 32), labels(step, 8, 10)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    ema.update_parameters(model)
    tell(loss)
    if step % 10 == 9:
        with torch.no_grad():
            print(f"ema {float(F.cross_entropy(ema(x), y)):.6f} best {float(F.cross_entropy(best(x), y)):.6f}", flush=True)
        best = copy.deepcopy(model)
done(loss, ema)
