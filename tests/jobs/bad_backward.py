# SPDX-License-Identifier: Apache-2.0
"""A pass of the author's own over inductor's graphs, which cannot cope with a backward graph when epilogue_fusion is off.

With that option off, the forward compiles and the backward alone fails.
"""

import torch
import torch._inductor.config as inductor
from loop import done, labels, seeded, steps, tell
from model import Net
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch.nn import functional as F


class OwnPass(CustomGraphPass):
    def __call__(self, graph: torch.fx.Graph) -> None:
        backward = any(n.op == "placeholder" and "tangents" in n.name for n in graph.nodes)
        if backward and not inductor.epilogue_fusion:
            raise RuntimeError("own pass: no backward graph without epilogue fusion")

    def uuid(self) -> str:
        return "tests/jobs/bad_backward.py"


inductor.post_grad_custom_post_pass = OwnPass()

torch.manual_seed(0)
net = Net(blocks=2)
model = torch.compile(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

loss = torch.tensor(0.0)
for step in steps():
    loss = F.cross_entropy(model(seeded(step, 8, 32)), labels(step, 8, 10))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell(loss)
done(loss, model)
