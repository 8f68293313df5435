# SPDX-License-Identifier: Apache-2.0
"""Two losses over one forward: the first backward keeps the graph.

Torch's own cache of joint graphs is off: from a warm one, torch takes a backward that cannot run twice and fails by itself.
"""

import torch
import torch._functorch.config as functorch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

functorch.enable_autograd_cache = False

torch.manual_seed(0)
net = Net()
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    logits = model(seeded(step, 8, 32))
    loss = F.cross_entropy(logits, labels(step, 8, 10))
    penalty = 1e-3 * logits.square().mean()
    loss.backward(retain_graph=True)
    penalty.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
