# SPDX-License-Identifier: Apache-2.0
"""torch's reason for a recompile, taken apart: which row of the table of causes, of what, what was expected, what was seen.

A reason is one failed guard, a line of text. What the text does not say is looked up in the frame that is being compiled, where there is
one; what cannot be told is left out, and a text that is not known stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from . import look
from .causes import Cause
from .look import Frame

MISMATCH = re.compile(
    r"tensor '(?P<source>.+)' (?P<what>[a-z_ ]+) mismatch(?: at index (?P<index>\d+))?\. "
    r"expected (?:requires_grad=)?(?P<expected>.*?)(?:, actual (?:requires_grad=)?(?P<seen>.*?))?(?P<rest>\. Guard failed.*)?$"
)
PLAIN = {"rank": "dimensions", "dtype": "dtype", "device index": "device", "device": "device", "stride": "stride"}
TYPE = re.compile(r"expected type of '(?P<source>.+)' to be (?P<expected>.*?),? ?'? but found (?P<seen>.*)$")
CHECK = re.compile(r"___check_(?P<what>obj|type)_id\((?P<source>.+), (?P<id>\d+)\)(?:, type=(?P<type>.*))?$")
LENGTH = re.compile(r"len\((?P<source>.+)\) (?:==|!=) (?P<expected>\d+)$")
KEY_AT = re.compile(r"list\((?:dict\.keys\()?(?P<source>.+?)(?:\.keys\(\))?\)*\)\[(?P<index>\d+)\] == (?P<expected>.+)$")
CONTAINS = re.compile(r"(?P<without>not )?___(?:dict|set)_contains\((?P<key>.+), (?P<source>[^,]+)\)$")
IN_SET = re.compile(r"(?P<without>not )?(?:frozen)?set\.__contains__\((?P<source>[^,]+), (?P<key>.+)\)$")
NAN = re.compile(r"(?:\(type\(.+?\) is float and )?__math_isnan\((?P<source>.+?)\)\)?$")  # 2.6 has the second half alone
HOOKS = re.compile(r"(?:not |len\()?(?P<owner>[^()]+)\.(?P<kind>_(?:forward|backward|state_dict|load_state_dict)\w*hooks\w*)\)?(?: != (?P<expected>\d+))?(?:[ \[.].*)?$")
NONE = re.compile(r"(?P<source>.+?) is (?P<isnt>not )?None$")
EQUAL = re.compile(r"(?P<source>.+?) == (?P<expected>.+)$")
COMPARED = re.compile(r"[<>]|!=|==|\bEq\(|\bNe\(|\bMod\(")
SIZE = re.compile(r"([A-Za-z_][\w.\[\]'\"]*)\.(size|stride)\(\)\[(\d+)\]")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*")
MARKED = re.compile(r"(?:hasattr\((?P<source>.+), '_dynamo_|_has_dynamo_dim_marking is )")
GONE = re.compile(r"Cache line invalidated because (?P<source>.*?)(?: got deallocated)?$")
PLACE = re.compile(r'^  File "(.+)", line (\d+), in ', re.M)
HYPER = re.compile(r"\.param_groups\[\d+\]\['\w+'\]")
SINGLE = {id(value): repr(value) for value in (True, False, None)}  # 2.6 asks whether a flag is that very object

GLOBALS: tuple[tuple[str, str, Callable[[], str] | None], ...] = (
    ("grad_mode", "grad_mode", look.grad_mode),
    ("autocast", "autocast", look.autocast),
    ("inference_mode", "inference_mode", look.inference_mode),
    ("deterministic", "deterministic", look.deterministic),
    ("num_threads", "threads", look.threads),
    ("default_dtype", "default_dtype", look.default_dtype),
    ("allow_tf32", "tf32", look.tf32),
    ("_reduce", "reduced_precision", None),
    ("torch_function", "function_mode", look.function_modes),
)


class Guard:
    """One reason in its parts."""

    def __init__(self, text: str):
        text, _, stack = text.partition("\nUser stack trace:\n")
        lines = text.strip().splitlines()
        line = re.sub(r"^\d[\d/]*: ?", "", lines[0].strip() if lines else "")
        self.expression, _, self.comment = line.partition("  #")
        self.expression = re.sub(r"L\[\s*['\"](.*?)['\"]\s*\]", r"\1", self.expression.strip())
        self.places = [(file, int(number)) for file, number in PLACE.findall(stack)]


def decode(text: str, frame: Frame) -> Cause:
    guard = Guard(text)
    found = None
    for rule in RULES:
        found = rule(guard, frame)
        if found is not None:
            break
    if found is None:
        found = Cause("unknown", guard.expression[:300] or "torch gives no reason")
    file, line = look.place(guard.places, frame)
    return Cause(found.id, _cut(found.source), _cut(found.expected), _cut(found.seen), file, line)


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= 300 else text[:299] + "…"


def _mismatch(guard: Guard, frame: Frame) -> Cause | None:
    found = MISMATCH.match(guard.expression)
    if found is None:
        return None
    source, expected, seen = found["source"], found["expected"], found["seen"]
    if found["what"] == "size":
        return _size(f"{source}[{found['index']}]", found, frame)
    if found["what"] == "dispatch key set":
        return _keys(source, expected, seen or "", frame)
    if found["what"] == "requires_grad":
        return Cause("requires_grad", source, str(expected == "1"), str(expected != "1"))
    if found["index"] is not None:
        source = f"{source}[{found['index']}]"
    return Cause(PLAIN[found["what"]], source, expected, seen) if found["what"] in PLAIN else None


def _size(source: str, found: re.Match[str], frame: Frame) -> Cause:
    expected, seen = found["expected"], found["seen"]
    kind = "size"
    if found["rest"]:
        kind = "size_parameter"
    elif found["index"] == "0" and frame.is_last_batch(expected, seen):
        kind = "size_last_batch"
    elif frame.automatic and {expected, seen} & {"0", "1"}:
        kind = "size_zero_one"
    elif frame.automatic and frame.is_first(source):
        kind = "size_first"
    return Cause(kind, source, expected, seen)


def _key_set(text: str) -> set[str]:
    return {name.strip() for name in text.removeprefix("DispatchKeySet(").rstrip(").").split(",")} - {""}


def _keys(source: str, expected: str, seen: str, frame: Frame) -> Cause:
    before, now = _key_set(expected), _key_set(seen)
    autograd = {name for name in before ^ now if name.startswith("Autograd") and name[8:].isupper()} | ({"ADInplaceOrView"} & (before ^ now))
    devices = [next((n for n in sorted(keys) if f"Autograd{n}" in before | now), None) for keys in (before, now)]
    if devices[0] != devices[1] and None not in devices:
        return Cause("device", source, devices[0], devices[1])
    if autograd and autograd == before ^ now:
        if frame.inference_now or frame.inference_then:
            return Cause("inference_mode", source, None, look.inference_mode() if frame.is_live else None)
        if frame.tensor_is_inference(source) is not None:
            return Cause("inference_tensor", source)
    if before != now and all(name.startswith("Autocast") for name in before ^ now):  # of the frame's state in later ones
        return Cause("autocast", source, None, look.autocast() if frame.is_live else None)
    gone, come = sorted(before - now), sorted(now - before)
    return Cause("dispatch_keys", source, ("with " + ", ".join(gone)) if gone else "plain", ("with " + ", ".join(come)) if come else "plain")


def _type(guard: Guard, frame: Frame) -> Cause | None:
    found = TYPE.match(guard.expression)
    if found is None:
        return None
    kind = "tensor_type" if frame.is_tensor(found["source"]) else "type"
    expected = "Tensor" if found["expected"].startswith("a tensor") else _class(found["expected"])
    return Cause(kind, found["source"], expected, _class(found["seen"]))


def _class(text: str) -> str:
    return re.sub(r"^<class '(?:torch\.nn\.parameter\.|torch\.|__main__\.)?(?:.*<locals>\.)?(.*)'>$", r"\1", text)


def _check(guard: Guard, frame: Frame) -> Cause | None:
    found = CHECK.match(guard.expression)
    if found is None:
        return None
    source = found["source"]
    if found["what"] == "type":
        seen = frame.type_of(source)
        return Cause("type", source, _class(found["type"] or "?"), seen)
    single = SINGLE.get(int(found["id"]))
    if single is not None:
        return Cause("value_none", source, single, frame.seen(source, objects=True)) if single == "None" else _of_value(guard, frame, source, single)
    if source.endswith(".__code__"):
        function = source.removesuffix(".__code__")
        return Cause("function", function, None, frame.function_name(function))
    return Cause("object", source, None, frame.seen(source, objects=True))


def _hooks(guard: Guard, frame: Frame) -> Cause | None:
    found = HOOKS.match(guard.expression)
    if found is None:
        return None
    expected = f"{found['expected']} of {found['kind'].strip('_')}" if found["expected"] else f"no {found['kind'].strip('_')}"
    if not found["expected"] and not guard.expression.startswith("not "):
        expected = f"others, {found['kind'].strip('_')}"
    return Cause("hooks", found["owner"], expected, frame.hook_names(f"{found['owner']}.{found['kind']}"))


def _container(guard: Guard, frame: Frame) -> Cause | None:
    if found := LENGTH.match(guard.expression):
        return Cause("container_length", found["source"], found["expected"], frame.seen(f"len({found['source']})"))
    if found := CONTAINS.match(guard.expression) or IN_SET.match(guard.expression):
        there, gone = f"with {found['key']}", f"without {found['key']}"
        return Cause("container_keys", found["source"], *((gone, there) if found["without"] else (there, gone)))
    if found := KEY_AT.match(guard.expression):
        source = found["source"]
        return Cause("container_keys", source, found["expected"], frame.seen(f"list(dict.keys({source}))[{found['index']}]"))
    return None


def _global(guard: Guard, frame: Frame) -> Cause | None:
    if "___check_torch_function_mode_stack" in guard.expression or guard.expression.startswith("utils_device.CURRENT_DEVICE"):
        return Cause("function_mode", "torch function modes", None, look.function_modes() if frame.is_live else None)
    beginning = "GLOBAL_STATE changed:"
    if not guard.expression.startswith(beginning):
        return None
    names = guard.expression.removeprefix(beginning).strip()
    if "grad_mode" in names and (frame.inference_now or frame.inference_then):
        return Cause("inference_mode", names, None, look.inference_mode() if frame.is_live else None)
    for beginning, kind, now in GLOBALS:
        if beginning in names:
            return Cause(kind, names, None, now() if now is not None and frame.is_live else None)
    return None


def _shape(guard: Guard, frame: Frame) -> Cause | None:
    """A condition on symbolic sizes, or on dynamic numbers."""
    text = guard.expression
    if found := MARKED.match(text):
        return Cause("size_marked", found["source"])
    found = SIZE.search(text)
    if found is None or not COMPARED.search(text):
        return None
    source, seen = f"{found[1]}[{found[3]}]", frame.seen(found[0])
    expected = SIZE.sub(r"\1[\3]" if found[2] == "size" else r"\1.stride[\3]", text)
    if found[2] == "stride":
        return Cause("stride", source, expected, seen)
    if "0/1 specialization" in guard.comment or (text.startswith("2 <= ") and seen in ("0", "1")):
        return Cause("size_zero_one", source, expected, seen)
    return Cause("size_dynamic", source, expected, seen)


def _value(guard: Guard, frame: Frame) -> Cause | None:
    text = guard.expression
    if text.startswith("Duplicate tensor"):
        return Cause("aliasing", text.partition(": ")[2].strip("[]").replace('"', "").replace("'", ""))
    if found := NAN.match(text):
        return Cause("value_float", found["source"], "nan", frame.seen(found["source"]))
    if found := NONE.match(text):
        return Cause("value_none", found["source"], "not None" if found["isnt"] else "None", frame.seen(found["source"], objects=True))
    if re.fullmatch(rf"{NAME.pattern} is (?:not )?{NAME.pattern}", text):
        return Cause("aliasing", text)
    if (found := re.fullmatch(rf"(?P<no>not )?(?P<source>{NAME.pattern})", text)) and found["source"]:
        return _of_value(guard, frame, found["source"], "False" if found["no"] else "True")
    if found := EQUAL.match(text):
        return _of_value(guard, frame, found["source"], found["expected"])
    if COMPARED.search(text) and (name := NAME.search(text)):
        return Cause("value_range", name[0], text, frame.seen(name[0]))
    return None


def _of_value(guard: Guard, frame: Frame, source: str, expected: str) -> Cause:
    return Cause(_kind_of_value(guard, frame, source, expected), source, expected, frame.seen(source))


def _kind_of_value(guard: Guard, frame: Frame, source: str, expected: str) -> str:
    if HYPER.search(source):
        return "optimizer"
    if source.endswith(".training"):
        return "training"
    if "__defaults__" in source or "__kwdefaults__" in source:
        return "defaults"
    if "__closure__" in source or "cell_contents" in source or source in frame.captured:
        return "closure"
    try:
        kind = type(ast.literal_eval(expected)).__name__
    except (ValueError, SyntaxError):
        return "value"
    if kind in ("int", "float") and ("allow_unspec_int_on_nn_module" in guard.comment or frame.is_of_module(source)):
        return "value_attribute"
    return f"value_{kind}" if kind in ("int", "float", "bool", "str") else "value"


def _other(guard: Guard, frame: Frame) -> Cause | None:
    if guard.expression.startswith("BACKEND_MATCH"):
        return Cause("backend")
    found = GONE.match(guard.expression)
    return Cause("object_gone", found["source"]) if found else None


RULES = (_mismatch, _type, _check, _global, _other, _hooks, _container, _shape, _value)
