# SPDX-License-Identifier: Apache-2.0
"""A training job in order, and the same with one fault: FAULT says which (none: a job in order).

data        the data loader takes most of the step
sizes       another size every step, each compiled for itself
limit       the same until torch gives the function up
number      a number in the module counts the steps
off         nothing is compiled
past        compiled, and called by another way
straggler   rank 1 takes longer for its data
waiting     rank 1 meets a size of its own at step 30, and compiles for it for so long that the others' patience could end
alone       the same, and it takes some seconds
leak        every step keeps a tensor
breaks      the graph breaks in every call
optimizer   the optimizer takes most of the step
dear        the last batch of the data is a shorter one, and what is compiled for it takes long
back        the last batch of each epoch is another short one
guards      what is compiled reads thousands of numbers of the model, each of which is looked at in every call
slower      what is compiled is slower than eager
numbers     what is compiled computes something else than eager
"""

import os
import time

import torch
import torch.distributed as dist
from loop import RANK, WORLD, done, labels, seeded, steps, tell
from model import Net
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

FAULT = os.environ.get("FAULT", "none")
PER_STEP_S = 0.012
WAIT_S = {"waiting": 13.0, "alone": 3.0, "dear": 11.0}
EPOCH = 25
NUMBERS = 12000
step = 0
kept = []


def backend(graph, example_inputs):
    if step > 0:
        time.sleep(WAIT_S.get(FAULT, 0))
    if FAULT == "slower":

        def slow(*args):
            time.sleep(PER_STEP_S / 2)
            return graph.forward(*args)

        return slow
    if FAULT == "numbers":
        return lambda *args: tuple(1.1 * out if torch.is_tensor(out) else out for out in graph.forward(*args))
    return graph.forward


class Slow(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(2 * PER_STEP_S)
        return super().step(closure)



class Samples(Dataset):
    def __len__(self):
        return 10**6

    def __getitem__(self, index):
        slow = FAULT == "data" or (FAULT == "straggler" and RANK == 1)
        time.sleep(4 * PER_STEP_S if slow else 0)
        return index


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.calls = Net(), 0
        self.numbers = [float(n) for n in range(NUMBERS)]

    def forward(self, x):
        if FAULT == "number":
            self.calls += 1
            x = x * (1 + self.calls / 1e6)
        if FAULT == "guards":
            x = x / sum(self.numbers)
        if FAULT == "breaks":
            torch._dynamo.graph_break()
        return self.net(x)


if WORLD > 1:
    dist.init_process_group("gloo")
torch.manual_seed(0)
if FAULT == "limit":
    torch._dynamo.config.recompile_limit = 4
net = Counting()
inner = DistributedDataParallel(net) if WORLD > 1 else net
model = inner if FAULT == "off" else torch.compile(inner, backend=backend, dynamic=False)
optimizer = (Slow if FAULT == "optimizer" else torch.optim.SGD)(net.parameters(), lr=0.05)
loss = torch.tensor(0.0)
for step, _ in zip(steps(), DataLoader(Samples(), batch_size=1), strict=False):
    size = 8
    if FAULT in ("sizes", "limit"):
        size += step % 6
    elif FAULT in ("waiting", "alone") and RANK == 1 and step >= 30:
        size += 1
    elif FAULT in ("dear", "back") and step % EPOCH == EPOCH - 1:
        size -= 1 + (step // EPOCH if FAULT == "back" else 0)
    if FAULT == "leak":
        kept.append(torch.ones(1 << 17))
    time.sleep(0 if FAULT == "guards" else PER_STEP_S)
    call = inner if FAULT == "past" else model
    loss = F.cross_entropy(call(seeded(step, size, 32)), labels(step, size, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, net)
if WORLD > 1:
    dist.destroy_process_group()
