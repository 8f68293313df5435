# SPDX-License-Identifier: Apache-2.0
"""Torch is imported and used in a thread while the main thread imports other things."""

import threading

result = []


def work() -> None:
    import torch
    from model import Net

    torch.manual_seed(0)
    net = Net(blocks=1)
    model = torch.compile(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(10):
        generator = torch.Generator().manual_seed(step)
        model(torch.randn(8, 32, generator=generator)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    result.append(sum(float(p.detach().sum()) for p in net.parameters()))


thread = threading.Thread(target=work)
thread.start()
import decimal  # noqa: E402
import email.mime.text  # noqa: E402,F401
import xml.dom.minidom  # noqa: E402,F401

thread.join()
print(decimal.Decimal(1) / 3, f"sum {result[0]:.6f}")
