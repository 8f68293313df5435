# SPDX-License-Identifier: Apache-2.0
"""Accelerate with its TorchDynamoPlugin: the whole model, or its repeated blocks with REGIONAL=1."""

import os

import torch
from accelerate import Accelerator
from accelerate.utils import TorchDynamoPlugin
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

regional = os.environ.get("REGIONAL") == "1"

plugin = TorchDynamoPlugin(backend="inductor", mode="default", use_regional_compilation=regional)
accelerator = Accelerator(cpu=True, dynamo_plugin=plugin, gradient_accumulation_steps=2)
torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
model, optimizer = accelerator.prepare(model, optimizer)

loss = torch.tensor(0.0)
for step in steps():
    for part in range(2):
        with accelerator.accumulate(model):
            moment = 2 * step + part
            loss = F.cross_entropy(model(seeded(moment, 8, 32)), labels(moment, 8, 10))
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    tell(loss)
done(loss, accelerator.unwrap_model(model, keep_torch_compile=False))
accelerator.end_training()
