# SPDX-License-Identifier: Apache-2.0
"""The author sets a stance of his own from step 10 to step 20, and another one around part of a later step.

STANCE  fail_on_recompile (default), eager_on_recompile, force_eager
"""

import os

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

STANCE = os.environ.get("STANCE") or "fail_on_recompile"

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    if step == 10:
        torch.compiler.set_stance(STANCE)
    if step == 20:
        torch.compiler.set_stance("default")
    x = seeded(step, 8, 32)
    loss = F.cross_entropy(model(x), labels(step, 8, 10))
    loss.backward()
    if step == 25:
        with torch.compiler.set_stance("force_eager"), torch.no_grad():
            print(f"eager inside {float(model(x).square().mean()):.6f}", flush=True)
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
