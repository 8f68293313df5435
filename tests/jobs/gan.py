# SPDX-License-Identifier: Apache-2.0
"""Two models and two optimizers. The generator's forward is made before the discriminator's step and used after it.

CHECKPOINT  1: the generator's blocks are checkpointed, and compiled in place
"""

import os

import torch
from checkpointed import CheckpointedNet
from loop import done, seeded, steps, tell, watched
from model import Net
from torch import nn
from torch.nn import functional as F

CHECKPOINT = os.environ.get("CHECKPOINT") == "1"


@watched
class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).squeeze(-1)


torch.manual_seed(0)
generator = CheckpointedNet(reentrant=False) if CHECKPOINT else Net()
discriminator = Discriminator()
if CHECKPOINT:
    fast_generator = generator
    for block in generator.blocks:
        block.compile()
else:
    fast_generator = torch.compile(generator)
fast_discriminator = torch.compile(discriminator)
g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.9))
one, zero = torch.ones(16), torch.zeros(16)
bce = F.binary_cross_entropy_with_logits

g_loss = d_loss = torch.tensor(0.0)
for step in steps():
    fake = fast_generator(seeded(step, 16, 32).requires_grad_())
    real = 0.5 * seeded(step, 16, 10) + 1

    d_loss = bce(fast_discriminator(real), one) + bce(fast_discriminator(fake.detach()), zero)
    d_loss.backward()
    d_optimizer.step()
    d_optimizer.zero_grad()

    g_loss = bce(fast_discriminator(fake), one)
    g_loss.backward()
    g_optimizer.step()
    g_optimizer.zero_grad()
    d_optimizer.zero_grad()
    tell(g_loss + d_loss)
done(g_loss + d_loss, generator)
