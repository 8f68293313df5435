# SPDX-License-Identifier: Apache-2.0
"""Settings as text, and what is refused before anything is applied."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from .conftest import SOURCE


@pytest.fixture(scope="module")
def text():
    spec = importlib.util.spec_from_file_location("agent_package", SOURCE / "__init__.py", submodule_search_locations=[str(SOURCE)])
    sys.modules["agent_package"] = importlib.util.module_from_spec(spec)
    return importlib.import_module("agent_package.settings")


def test_key_is_fnv_over_sorted_lines(text):
    assert text.key({}) == 0

    def reference(lines):
        number = 2166136261
        for byte in "".join(lines).encode():
            number = (number ^ byte) * 16777619 % 2**32
        return number & 0x7FFFFFFF or 1

    assert text.key({"scope": "whole", "mode": "default"}) == reference(["mode=default\n", "scope=whole\n"])
    assert text.key({"b": "1", "a": "2"}) == text.key({"a": "2", "b": "1"})
    assert text.key({"options.a": "1", "options": "2"}) == reference(sorted(["options.a=1\n", "options=2\n"]))
    assert 0 < text.key({"unité/mode": "défaut"}) < 2**31


def test_labels(text):
    assert text.label({}) == "as written"
    assert text.label({"dynamic": "on", "scope": "regional"}) == "regional dynamic=on"
    assert text.label({"options.max_autotune": "true", "mode": "default"}) == "default max_autotune=true"


def test_merge(text):
    now = {"scope": "eager", "mode": "default"}
    assert text.merge(now, {"scope": "as-written"}) == {"mode": "default"}
    assert text.merge(now, {"as-written": ""}) == {}
    assert text.merge(now, {"as-written": "", "dynamic": "on"}) == {"dynamic": "on"}
    assert text.merge(now, {"scope": "whole"}) == {"scope": "whole", "mode": "default"}
    assert now == {"scope": "eager", "mode": "default"}


def test_settings_of_one_unit(text):
    all_of_them = {"mode": "default", "Net/mode": "max-autotune", "2/dynamic": "on"}
    assert text.of_unit(all_of_them, "Net", 1) == {"mode": "max-autotune"}
    assert text.of_unit(all_of_them, "Other", 2) == {"mode": "default", "dynamic": "on"}


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("mod", "default", "nearest: mode"),
        ("scope", "all", "whole, regional, eager"),
        ("dynamic", "true", "auto, on, off"),
        ("options.", "1", "not known"),
        ("fullgraph", 1, "no text"),
    ],
)
def test_refusals_without_torch(text, name, value, part):
    assert part in text.refusal(name, value)


def test_mode_and_options_in_one_change(text):
    assert "not both" in text.contradiction({}, {"mode": "default", "options.dce": "true"})
    assert text.contradiction({"mode": "default"}, {"mode": "default", "options.dce": "true"}) is None
    assert text.contradiction({}, {"Net/mode": "default", "options.dce": "true"}) is None


REFUSED = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
wishes = json.loads(open("wishes.json").read())
w = lab.Watch()
for i in range(len(wishes) + 5):
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
    if i == 0:
        w.look()
        for number, settings in enumerate(wishes): lab.core().propose(number, settings, at=number + 3)
print("ran", json.dumps(w.look()))
"""

WISHES = [
    ({"options.max_autotun": "true"}, ["option 'max_autotun' is not known", "max_autotune"]),
    ({"options.max_autotune": "maybe"}, ["wrong type", "bool"]),
    ({"options.max_fusion_size": "many"}, ["wrong type", "int"]),
    ({"backend": "inductr"}, ["backend 'inductr' is not known", "inductor"]),
    ({"mode": "max-autotun"}, ["mode 'max-autotun' is not known", "max-autotune"]),
    ({"mode": "default", "options.dce": "true"}, ["not both"]),
    ({"scop": "eager"}, ["'scop' is not known", "scope"]),
    ({"cudagraphs": "on"}, ["n/a: no CUDA device"]),
    ({"backend": "cudagraphs"}, ["n/a: no CUDA device"]),
    ({"shape_padding": "force"}, ["n/a: no effect on CPU"]),
    ({"backend": "eager", "mode": "max-autotune"}, ["for inductor"]),
    ({"Nett/scope": "eager"}, ["no unit 'Nett'", "Net"]),
    ({"cache_dir": "/tmp"}, ["'cache_dir'"]),
]


def test_what_cannot_be_is_refused_before_anything(job, tmp_path):
    import json

    (tmp_path / "wishes.json").write_text(json.dumps([w for w, _ in WISHES]))
    done = job(REFUSED)
    assert done.code == 0, done.err[-2000:]
    assert done.faults == []
    for number, (wish, parts) in enumerate(WISHES):
        reason = done.votes[number]
        assert reason is not None and all(part in reason for part in parts), (wish, reason)
        assert len(reason) < 500
    ran, compiles = done.said("ran")[0]
    assert set(ran) == {"written"} and compiles == 0 and done.of("switch") == []


PLAN_REFUSED = """
import json, torch, lab
net = lab.Net(1); model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), 1e-3)
w = lab.Watch()
for i in range(4):
    model(torch.randn(4, 16)).sum().backward(); opt.step(); opt.zero_grad()
print("ran", json.dumps(w.look()))
"""


@pytest.mark.parametrize("step", [0, 2])
def test_a_plan_that_cannot_be_is_refused(job, step):
    plan = [{"step": step, "by": "at", "settings": s} for s, _ in WISHES[:8]]
    done = job(PLAN_REFUSED, plan)
    assert done.code == 0, done.err[-2000:]
    assert [e["status"] for e in done.of("switch")] == ["refused"] * 8, done.of("switch")
    assert sorted(e["id"] for e in done.of("switch")) == list(range(8))
    for event in done.of("switch"):
        assert all(part in event["reason"] for part in WISHES[event["id"]][1]), event
    assert set(done.said("ran")[0][0]) == {"written"}


AUTHOR = """
import json, torch, lab
a = torch.compile(lab.Net(1), mode="max-autotune-no-cudagraphs")
b = torch.compile(lab.Net(1), options={"epilogue_fusion": False, "max_autotune": False})
x = torch.randn(2, 16)
def look():
    out = []
    for u in lab.agent("units").all_units():
        spec = getattr(u.now, "spec", None)
        out.append(spec.values if spec else u.now)
    return out
turn = lab.Turn()
for s in ({"mode": "default"}, {"mode": "max-autotune-no-cudagraphs"}, {"options.max_autotune": "true"}, {"0/options.epilogue_fusion": "true"}, {"backend": "aot_eager"}):
    turn(**s); print("wish", json.dumps([s, *look()]))
"""


def test_settings_are_deltas_on_what_the_author_wrote(job):
    done = job(AUTHOR)
    assert done.code == 0, done.err[-2000:]
    tuned = {"max_autotune": True, "coordinate_descent_tuning": True}
    own = {"epilogue_fusion": False, "max_autotune": False}
    assert [w[1:] for w in done.said("wish")] == [
        [{}, "as written"],
        ["as written", {**own, **tuned}],
        ["as written", {**own, "max_autotune": True}],
        [{**tuned, "epilogue_fusion": True}, "as written"],
        [{}, {}],
    ]
