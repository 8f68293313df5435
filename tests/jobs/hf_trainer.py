# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer with torch_compile=True on a tiny random model, evaluating and saving after each epoch.

ACCUMULATE   micro-batches a step (1)
CHECKPOINTS  1: activation checkpointing
"""

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import torch
import transformers
from loop import STEPS, done, end_of_step, tell, watched
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

PARTS = int(os.environ.get("ACCUMULATE") or 1)
BATCH = 4
EPOCH = 10

watched(BertForSequenceClassification)


class Words(torch.utils.data.Dataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> dict:
        generator = torch.Generator().manual_seed(i)
        ids = torch.randint(0, 100, (12,), generator=generator)
        return {"input_ids": ids, "attention_mask": torch.ones(12, dtype=torch.long), "labels": int(ids[0] > 50)}


class Teller(TrainerCallback):
    last = 0.0

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in (logs or {}):
            Teller.last = float(logs["loss"])
            tell(Teller.last)

    def on_step_end(self, args, state, control, **kwargs):
        end_of_step()


torch.manual_seed(0)
config = BertConfig(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100,
    max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)
model = BertForSequenceClassification(config)
if os.environ.get("CHECKPOINTS") == "1":
    model.gradient_checkpointing_enable()
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, per_device_train_batch_size=BATCH, max_steps=STEPS, torch_compile=True, report_to=[], use_cpu=True,
        logging_steps=1, logging_strategy="steps", save_strategy="steps", save_steps=20, eval_strategy="steps", eval_steps=20,
        disable_tqdm=True, gradient_accumulation_steps=PARTS, dataloader_pin_memory=False, learning_rate=1e-3, seed=0,
    )
    trainer = Trainer(model, arguments, train_dataset=Words(BATCH * EPOCH * PARTS), eval_dataset=Words(8),
                      callbacks=[Teller()])
    trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
    trainer.train()
    saved = sorted(name for name in os.listdir(folder) if name.startswith("checkpoint"))
print("saved", *saved)
done(Teller.last, model)
