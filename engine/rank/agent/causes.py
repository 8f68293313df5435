# SPDX-License-Identifier: Apache-2.0
"""Why torch compiled again, as one table: id, sentence, remedy. A part of a sentence in [...] is left out when what it names is not known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple


class Row(NamedTuple):
    words: str
    remedy: str | None = None


CHANGES = "{source}: {expected}[, now {seen}]"
MOVED = "Each of its states is a version of its own: set it once, before the first call."

TABLE = {
    # sizes
    "size_first": Row(f"size of {CHANGES}, its first change", "Expected once: from now on one version serves all sizes. dynamic=on from the start saves it, and so does one size: drop_last=True, padding."),
    "size_last_batch": Row(f"size of {CHANGES}, the last batch of the data", "drop_last=True in the DataLoader leaves the short batch out; dynamic=on compiles for all sizes at once."),
    "size_zero_one": Row(f"size of {CHANGES}: torch always compiles 0 and 1 apart", "Keep the size at two or more, or mark it: torch._dynamo.decorators.mark_unbacked(tensor, dim)."),
    "size_dynamic": Row("size of {source} left its range: {expected}[, now {seen}]", "The code compares this size, and each outcome is a version: compare outside of the compiled code, or keep to one side."),
    "size": Row(f"size of {CHANGES}", "One dynamic version serves all sizes: dynamic=on. Or keep the size: drop_last=True, padding."),
    "size_parameter": Row(f"size of {CHANGES}, a parameter", "Sizes of parameters are never dynamic: one version for each size. torch._dynamo.config.force_parameter_static_shapes=False allows it."),
    "size_marked": Row("which sizes are marked dynamic changed[: {source}]", "Mark it the same way every step: mark_dynamic() on one batch and not on the next makes two versions."),
    # other properties of tensors
    "dimensions": Row(f"dimensions of {CHANGES}", "Give it the same number of dimensions every step."),
    "stride": Row(f"stride of {CHANGES}", "Give it the same memory layout every step, for example by contiguous()."),
    "dtype": Row(f"dtype of {CHANGES}", "Give it the same dtype every step."),
    "device": Row(f"device of {CHANGES}", "Keep it on one device."),
    "requires_grad": Row(f"requires_grad of {CHANGES}", "Frozen and trained are two versions: expected once when layers are frozen or unfrozen, else keep it as it is."),
    "tensor_type": Row(f"tensor type of {CHANGES}", "A subclass, a parameter and a plain tensor are versions of their own: pass the same kind every step."),
    "dispatch_keys": Row(f"kind of {CHANGES}", "A view, conjugate, negative or sparse tensor is a version of its own: pass the same kind every step."),
    "inference_tensor": Row("{source} was made in inference mode, or no longer is", "Make it outside of inference_mode(), or clone() it first."),
    "aliasing": Row("which arguments are one and the same changed: {source}", "Pass tensors of their own, or always the same one."),
    # modes
    "grad_mode": Row("grad mode[, now {seen}]", "Training and evaluation each need their own version: expected once for each."),
    "inference_mode": Row("inference mode[, now {seen}]", "Inference is a version of its own: expected once. no_grad() shares the one of evaluation."),
    "autocast": Row("autocast: {source}[, now {seen}]", "Each autocast state is a version of its own: enter it the same way around every call."),
    "training": Row(f"{CHANGES}", "train() and eval() each need their own version: expected once for each."),
    # Python values
    "value_int": Row(f"number {CHANGES}", "A number that changes makes a version for each value: pass it as a tensor, or dynamic=on for an argument."),
    "value_attribute": Row(f"number in the module, {CHANGES}", "Numbers in modules are constants of the graph: make it a tensor (a buffer), or set torch._dynamo.config.allow_unspec_int_on_nn_module."),
    "value_float": Row(f"number {CHANGES}", "A float that changes makes a version for each value: make it a tensor."),
    "value_bool": Row(f"flag {CHANGES}", "Each value of a flag is a version of its own: expected once for each."),
    "value_str": Row(f"text {CHANGES}", "Each text is a version of its own: keep texts out of the compiled code, or to a few."),
    "value_none": Row(f"None or not: {CHANGES}", "With and without it are two versions: expected once for each; else always pass one."),
    "value": Row(f"value of {CHANGES}", "Each value is a version of its own: keep it the same."),
    "value_range": Row("a comparison of {source} came out otherwise: {expected}[, now {seen}]", "Each outcome is a version: compare outside of the compiled code."),
    "optimizer": Row(f"hyperparameter of the optimizer, {CHANGES}", "A hyperparameter that is a number is a constant of the graph: give it as a tensor, lr=torch.tensor(...)."),
    # containers and objects
    "container_length": Row(f"length of {CHANGES}", "Each length is a version of its own: pad it, or stack its tensors into one."),
    "container_keys": Row(f"keys of {CHANGES}", "Each set of keys, in its order, is a version: pass the same keys every step."),
    "type": Row(f"type of {CHANGES}", "Each type is a version of its own: pass the same type every step."),
    "object": Row("another object: {source}[, now {seen}]", "The code was compiled for one object: keep that one, instead of making a new one."),
    "object_gone": Row("an object that it was compiled for is gone: {source}", "Keep that object, instead of making a new one for each call."),
    "code": Row("defined anew: the function is another one each time", "Define and compile it once, outside of the loop."),
    "function": Row("another function: {source}[, now {seen}]", "The code was compiled for one function: pass the same one every step."),
    "closure": Row(f"captured variable {CHANGES}", "What a function captures is a constant of the graph: pass it as an argument, as a tensor if it is a number."),
    "defaults": Row(f"default argument {CHANGES}", "A default is a constant of the graph: pass it as an argument."),
    "hooks": Row(f"hooks of {CHANGES}", "Add and remove hooks before the first call: each set of hooks is a version of its own."),
    # the process
    "deterministic": Row("deterministic algorithms[, now {seen}]", MOVED),
    "threads": Row("number of threads[, now {seen}]", MOVED),
    "default_dtype": Row("default dtype[, now {seen}]", MOVED),
    "tf32": Row("precision of matrix products (TF32)[, now {seen}]", MOVED),
    "reduced_precision": Row("reduced precision of sums in matrix products", MOVED),
    "function_mode": Row("default device, or another stack of torch function modes[, now {seen}]", MOVED),
    # not the user's code
    "limit_thread": Row("limit of {source}: {expected} where it was raised, but {seen} on the thread that compiles", "Since torch 2.12 settings belong to a thread: torch.compile(..., recompile_limit=N) holds on all."),
    "backend": Row("compiled by another torch.compile call, with other settings", "Two calls with unequal settings share this code: compile it once, with one set of settings."),
    "variant": Row("first compilation under these settings, by inductop's switch"),
    "unknown": Row("{source}"),
}  # fmt: skip

_PART = re.compile(r"\[([^\[\]]*\{\w+\}[^\[\]]*)\]")


@dataclass(frozen=True)
class Cause:
    """One reason: a row, and what was expected and seen where; texts, or None when not known."""

    id: str
    source: str | None = None
    expected: str | None = None
    seen: str | None = None
    file: str | None = None
    line: int | None = None

    @property
    def remedy(self) -> str | None:
        return TABLE[self.id].remedy

    @property
    def words(self) -> str:
        known = {"source": self.source, "expected": self.expected, "seen": self.seen}

        def part(found: re.Match[str]) -> str:
            names = re.findall(r"\{(\w+)\}", found[1])
            return found[1] if all(known[name] is not None for name in names) else ""

        known_or_so = {name: "?" if text is None else text for name, text in known.items()}
        return _PART.sub(part, TABLE[self.id].words).format(**known_or_so)

    def fields(self) -> dict[str, object]:
        """As the event of a compilation tells it."""
        told = {"cause_id": self.id, "words": self.words, "remedy": self.remedy}
        told.update(source=self.source, expected=self.expected, seen=self.seen, file=self.file, line=self.line)
        return told
