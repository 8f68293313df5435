# SPDX-License-Identifier: Apache-2.0
"""Saves the compiled model itself every ten steps in each way there is, loads it again and uses it."""

import copy
import hashlib
import io
import pickle
from multiprocessing.reduction import ForkingPickler

import torch
from loop import done, labels, seeded, steps, tell
from model import Net
from torch.nn import functional as F

torch.manual_seed(0)
net = Net(blocks=2)
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def save(thing) -> bytes:
    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


def load(data: bytes):
    return torch.load(io.BytesIO(data), weights_only=False)


def classes(data: bytes) -> str:
    """Modules of classes that the stream names and that are neither torch's nor Python's."""
    names = {line for line in data.replace(b"\x8c", b"\n").split(b"\n") if b"inductop" in line}
    return hashlib.sha256(b"".join(sorted(names))).hexdigest()[:8] if names else "none"


loss = torch.tensor(0.0)
for step in steps():
    x, y = seeded(step, 8, 32), labels(step, 8, 10)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
    if step % 10 == 7:
        with torch.no_grad():
            want = model(x)
            for kind, again in (
                ("save", load(save(model))),
                ("pickle", pickle.loads(pickle.dumps(model))),
                ("deepcopy", copy.deepcopy(model)),
            ):
                print(f"{kind} same={torch.allclose(again(x), want, atol=1e-5)}", flush=True)
        stream = pickle.dumps(model)
        print(f"stream bytes={len(stream)} foreign={classes(stream)} forking={len(bytes(ForkingPickler.dumps(model)))}")
        print(f"keys {list(torch.load(io.BytesIO(save(model.state_dict()))))[:2]}", flush=True)
done(loss, model)
