# SPDX-License-Identifier: Apache-2.0
"""Lightning Trainer with a compiled LightningModule, or one that holds a compiled model with INNER=1. It validates now and then."""

import logging
import os
import warnings

import lightning
import torch
from loop import STEPS, done, end_of_step, labels, seeded, tell
from model import Net
from torch.nn import functional as F

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.simplefilter("ignore")

INNER = os.environ.get("INNER") == "1"
last = 0.0


class Batches(torch.utils.data.Dataset):
    def __init__(self, n: int, first: int = 0) -> None:
        self.n = n
        self.first = first

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int):
        return seeded(self.first + i, 8, 32), labels(self.first + i, 8, 10)


class Learner(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        if INNER:
            self.net = torch.compile(self.net)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


class Teller(lightning.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        global last
        last = float(outputs["loss"])
        tell(last)
        end_of_step()


torch.manual_seed(0)
learner = Learner()
model = learner if INNER else torch.compile(learner)
trainer = lightning.Trainer(
    max_steps=STEPS, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False,
    enable_checkpointing=False, callbacks=[Teller()], val_check_interval=20, check_val_every_n_epoch=None,
    num_sanity_val_steps=0,
)
loader = torch.utils.data.DataLoader(Batches(STEPS), batch_size=None)
trainer.fit(model, loader, torch.utils.data.DataLoader(Batches(2, 5000), batch_size=None))
done(last, learner)
