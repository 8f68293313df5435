# SPDX-License-Identifier: Apache-2.0
"""The bridge to libtorch: counts truly, changes nothing, and a job without it is the same job. Built with the installed torch."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .conftest import LOG_STAMP

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
INDUCTOP = os.environ.get("INDUCTOP", str(ROOT / "build" / "inductop"))
COMPILER = next((c for c in ("c++", "g++", "clang++") if subprocess.run(["sh", "-c", f"command -v {c}"], capture_output=True).returncode == 0), None)
torch_folder = Path(__import__("importlib.util", fromlist=["find_spec"]).find_spec("torch").origin).parent

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
DEVICES = torch_folder / "include" / "c10" / "core" / "CachingDeviceAllocator.h"
HAS_DEVICES = DEVICES.exists() and "struct C10_API DeviceAllocator" in DEVICES.read_text()


@functools.cache
def abi() -> str:
    """Of the C++ library that torch was built with; wheels of 2.6 have the old one."""
    return subprocess.run([sys.executable, "-c", "import torch; print(int(torch._C._GLIBCXX_USE_CXX11_ABI))"], capture_output=True, text=True, check=True).stdout.strip()


def build(to: Path, source: str = "engine/rank/bridge/bridge.cc", *more: str) -> Path:
    command = [COMPILER, "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", f"-D_GLIBCXX_USE_CXX11_ABI={abi()}"]
    command += ["-isystem", str(torch_folder / "include"), f"-I{ROOT}", str(ROOT / source), "-o", str(to), f"-L{torch_folder / 'lib'}", "-lc10", "-ltorch_cpu", *more]
    subprocess.run(command, check=True)
    return to


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("bridge") / "bridge.so")


# The table of the bridge, as engine/rank/bridge/table.h has it.
LOOK = """
import ctypes, gc, os, sys, hashlib
import torch
torch.manual_seed(0)
torch.set_num_threads(1)

class Cpu(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("bytes", "peak", "allocations")]

class Device(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in "allocated allocated_peak reserved reserved_peak active active_peak retries ooms".split()]

class Table(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("size", ctypes.c_uint32), ("torch", ctypes.c_char_p), ("cpu_count", ctypes.CFUNCTYPE(ctypes.c_int)),
                ("cpu_read", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Cpu))), ("device_read", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Device))),
                ("fault", ctypes.CFUNCTYPE(ctypes.c_char_p)), ("gloo", ctypes.CFUNCTYPE(ctypes.c_void_p))]

def enter(path=None):
    entry = ctypes.CDLL(path or os.environ["BRIDGE"]).inductop_bridge
    entry.restype = ctypes.POINTER(Table)
    return entry(1).contents

def cpu():
    ret = Cpu()
    table.cpu_read(ret)
    return ret

def grown():
    gc.collect()
    return cpu().bytes - start

def count():
    global table, start
    table = enter()
    assert table.cpu_count() == 0, table.fault()
    start = cpu().bytes

def net():
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.1)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

def train(steps=4, model=None):
    torch.manual_seed(1)
    model = net() if model is None else model
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(4, 32, 64)
    for _ in range(steps):
        model(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    digest = hashlib.sha256()
    for p in model.parameters():
        digest.update(p.detach().numpy().tobytes())
    return digest.hexdigest()
"""


@pytest.fixture
def script(library: Path, tmp_path: Path):
    """Runs a script with the bridge at hand; it must end well and say nothing on stderr."""

    def run(text: str, bridge: Path = library, code: int = 0, **env: str) -> str:
        file = tmp_path / "script.py"
        file.write_text(LOOK + textwrap.dedent(text))
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "BRIDGE": str(bridge), **env}
        done = subprocess.run([sys.executable, str(file)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=900)
        assert (done.returncode, [line for line in done.stderr.splitlines() if not LOG_STAMP.match(line)]) == (code, []), done.stderr  # what torch logs is its own
        return done.stdout

    return run


def test_known_tensors_are_counted_by_hand_and_come_back(script):
    script("""
    count()
    known = [7, 4096, 1 << 20, 10_000_000]
    kept = [torch.empty(n, dtype=torch.uint8) for n in known]
    assert sum(known) <= grown() <= sum(known) + 4096 * len(known), grown()
    before = cpu().allocations
    more = torch.empty(3_000_000)
    assert cpu().allocations == before + 1
    del more
    now = cpu()
    assert now.peak - start >= sum(known) + 12_000_000 and now.bytes - start < sum(known) + 20000
    assert cpu().peak == now.bytes  # a reading begins a new peak
    views = [kept[3][10:20], kept[3].numpy()]
    del kept
    assert grown() >= 10_000_000  # held by its views
    del views
    assert grown() == 0, grown()
    print(train())
    assert grown() == 0, grown()
    """)


def test_the_peak_of_a_step_is_that_of_a_known_step(script):
    """Parameters, gradients and the optimizer's state of a model, counted by hand."""
    script("""
    count()
    model = torch.nn.Linear(1000, 1000, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.ones(1, 1000)
    for _ in range(2):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    size = 4_000_000
    assert abs(grown() - 2 * size) < 20_000, grown()  # weight and momentum
    cpu()
    model(x).sum().backward()
    assert abs(cpu().bytes - start - 3 * size) < 20_000
    optimizer.step()
    optimizer.zero_grad()
    assert abs(cpu().peak - start - 3 * size) < 30_000
    del model, optimizer
    """)


def test_numbers_addresses_and_threads_are_as_without(script):
    script("""
    plain, alignment = train(), torch.empty(100).data_ptr() % 64
    count()
    assert train() == plain
    assert all(torch.empty(n).data_ptr() % 64 == alignment == 0 for n in (1, 3, 100, 12345, 1 << 20))
    assert torch.empty(0).data_ptr() == 0
    import threading
    results = []
    threads = [threading.Thread(target=lambda: results.append([torch.randn(n % 1000 + 1).sum().item() for n in range(20000)])) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    results.clear()
    del threads
    assert grown() == 0, grown()
    """)


def test_what_was_allocated_before_is_freed_after(script):
    script("""
    early = [torch.ones(n) for n in (1, 1000, 100_000, 10_000_000)]
    grad = torch.ones(1000, requires_grad=True)
    (grad * 2).sum().backward()
    model = net()
    count()
    grad.grad, early[0] = None, None
    early.clear()
    assert grown() == 0, grown()
    train(model=model)
    del model, grad
    assert 0 <= grown() < 4096, grown()
    assert table.cpu_count() == 0  # once more changes nothing
    late = torch.empty(1000)
    assert 4000 <= grown() < 8000
    """)


def test_odd_storages(script):
    script("""
    count()
    import io, copy
    import numpy as np
    a = torch.zeros(10)
    a.resize_(100_000)
    a.untyped_storage().resize_(0)
    a.untyped_storage().resize_(400_000)
    b = torch.ones(1000).share_memory_()
    c = torch.from_numpy(np.ones(1000)) + 1
    d = torch.ones(1000)._lazy_clone() if hasattr(torch.Tensor, "_lazy_clone") else torch.ones(1000)
    d.add_(1)
    file = io.BytesIO()
    torch.save(d, file)
    file.seek(0)
    e = torch.load(file)
    f = copy.deepcopy(e)
    assert float(f.sum()) == 2000.0
    g = torch.randn(50, 50).to_sparse()
    h = torch.nn.functional.conv2d(torch.ones(1, 3, 16, 16), torch.ones(4, 3, 3, 3))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the profiler talks
    with torch.profiler.profile(profile_memory=True) as profile:
        i = torch.randn(100, 100) @ torch.randn(100, 100)
    assert sum(e.self_cpu_memory_usage for e in profile.key_averages()) >= 40_000
    del a, b, c, d, e, f, g, h, i, profile
    gc.collect()
    assert grown() < 40_000, grown()  # oneDNN and the profiler keep a little
    """)


def test_exit_fork_and_workers(script):
    out = script("""
    if __name__ == "__main__":
        count()
    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 32
        def __getitem__(self, i):
            return torch.full((1000,), float(i)) + torch.zeros(1000)
    def total(context):
        loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2, multiprocessing_context=context)
        return sum(float(batch[:, 0].sum()) for batch in loader)
    if __name__ == "__main__":
        kept = [torch.ones(1 << 18) for _ in range(4)]
        for context in ("fork", "spawn"):
            assert total(context) == 31 * 16, context
        pid = os.fork()
        if pid == 0:
            more = torch.ones(1 << 18)
            kept.clear()
            ok = grown() < 2 * (1 << 20) + 8192 and train()
            os._exit(0 if ok else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert grown() >= 4 * (1 << 20)
        class Late:
            def __del__(self):
                self.tensor = torch.randn(100, 100)
                print("late", flush=True)
        late = Late()
        import builtins
        builtins.forever = torch.randn(1000, 1000)
        print("end", flush=True)
    """)
    assert out.split() == ["end", "late"]


def test_another_allocator_under_torch(script, tmp_path):
    """What is preloaded knows the size of its own blocks."""
    source = tmp_path / "malloc.c"
    source.write_text(
        "#include <errno.h>\n#include <stdlib.h>\nextern void *__libc_memalign(size_t, size_t);\n"
        "int posix_memalign(void **to, size_t a, size_t n) { *to = __libc_memalign(a < 128 ? 128 : a, n); return *to ? 0 : ENOMEM; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "malloc.so"), str(source)], check=True)
    script("count(); train(); assert grown() == 0", LD_PRELOAD=str(tmp_path / "malloc.so"))


@pytest.mark.skipif(not HAS_DEVICES, reason="this torch has no base class for the allocators of all devices (2.9 brought it)")
def test_devices_are_summed_up_and_a_missing_one_is_none(script, tmp_path):
    bridge = build(tmp_path / "device.so", "tests/support/fake_device.cc")
    script(
        """
    count()
    device, fake = Device(), ctypes.CDLL(os.environ["BRIDGE"]).fake_device
    assert table.device_read(device) == 1  # torch has none
    fake(1)
    for _ in range(64):
        answer = table.device_read(device)
    assert answer == 1  # there are some, this process uses none
    fake(2)
    for _ in range(64):
        answer = table.device_read(device)
    assert answer == 0
    figures = {name: getattr(device, name) for name, _ in Device._fields_}
    displace = ctypes.CDLL(os.environ["BRIDGE"]).fake_displace
    early = torch.ones(1000)
    displace(1)
    late = torch.ones(1000)
    assert table.cpu_read(Cpu()) == 1
    displace(0)
    assert table.cpu_read(Cpu()) == 0
    del early, late
    assert grown() == 0, grown()
    assert figures == {"allocated": 202, "allocated_peak": 402, "reserved": 602, "reserved_peak": 802, "active": 1002, "active_peak": 1202,
                       "retries": 14, "ooms": 2}, figures
    """,
        bridge,
    )


# Gloo's collectives. One rank alone has them all, but for those that need another.
GLOO = """
import torch.distributed as dist

FUNCS = "Broadcast Reduce AllGather ReduceScatter AllReduce SendRecv Send Recv AlltoAll AllGatherV Gather Scatter Barrier other".split()

class Func(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("count", "bytes", "host_ns", "timed", "timed_ns")]

class Figures(ctypes.Structure):
    _fields_ = [("funcs", Func * len(FUNCS))] + [(n, ctypes.c_uint64) for n in "captured comms ranks version dropped strange".split()]

class Door(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("backend", ctypes.c_char_p), ("has_both", ctypes.c_bool), ("watch", ctypes.CFUNCTYPE(None, ctypes.c_uint)),
                ("read", ctypes.CFUNCTYPE(None, ctypes.POINTER(Figures)))]

def listen():
    global door
    door = ctypes.cast(enter().gloo(), ctypes.POINTER(Door)).contents
    door.watch(3)

def told():
    figures = Figures()
    door.read(figures)
    return {name: (of.count, of.bytes, of.timed) for name, of in zip(FUNCS, figures.funcs) if of.count}

def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

def collect():
    dist.all_reduce(torch.ones(1000))
    dist.all_reduce(torch.ones(10, dtype=torch.float64), async_op=True).wait()
    dist.broadcast(torch.ones(50), 0)
    dist.all_gather([torch.empty(5)], torch.ones(5))
    dist.reduce(torch.ones(7), 0)
    dist.all_to_all_single(torch.empty(6), torch.ones(6))
    dist.barrier()

KNOWN = {"AllReduce": (2, 4080, 2), "Broadcast": (1, 200, 1), "AllGather": (1, 20, 1), "Reduce": (1, 28, 1), "AlltoAll": (1, 24, 1), "Barrier": (1, 0, 1)}
"""


def test_gloos_collectives_are_counted_by_hand(script):
    """From the call on that begins it, though threads and group were there before; ranges of others do not count; a fork is quiet."""
    script(
        GLOO
        + """
import time
group()
collect()
listen()
assert door.backend == b"gloo" and not told()
end = time.monotonic() + 20
collect()
while told() != KNOWN and time.monotonic() < end:
    time.sleep(0.01)  # the range ends on gloo's thread, when the job has its result already
assert told() == KNOWN, told()
with torch.profiler.record_function("gloo:no such collective"), torch.profiler.record_function("mine"):
    pass
listen()  # once more changes nothing
assert told() == {**KNOWN, "other": (1, 0, 1)}, told()
sparse = torch.ones(4).to_sparse()
dist.all_reduce(sparse)
while told()["AllReduce"] != (3, 4080, 3) and time.monotonic() < end:
    time.sleep(0.01)
assert told()["AllReduce"] == (3, 4080, 3), told()
before = told()
for nothing in 1, 0:
    door.watch(nothing)
    collect()
    assert told() == before
door.watch(3)
dist.barrier()
assert told()["Barrier"][0] == 2, told()
before = told()
door.watch(0)
pid = os.fork()
if pid == 0:
    with torch.profiler.record_function("gloo:barrier"):
        ok = train() and told() == before
    os._exit(0 if ok else 1)
assert os.waitpid(pid, 0)[1] == 0
dist.destroy_process_group()
"""
    )


def test_results_and_profiles_are_those_without_the_listener(script):
    """Nothing of us in what torch.profiler records, or in what it is asked about itself."""
    text = """
if os.environ["LISTENS"] == "1":
    listen()
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the profiler talks
group()
model = torch.nn.parallel.DistributedDataParallel(net())
asked = [torch.autograd._profiler_enabled()]
weights = train(6, model)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
    collect()
    weights += train(2, model)
    with torch.profiler.record_function("mine"):
        torch.ones(3).sum()
asked.append(torch.autograd._profiler_enabled())
weights += train(2, model)
names = {}
for event in profile.events():
    key = f"{event.name} {event.input_shapes}"
    names[key] = names.get(key, 0) + 1
assert any(name.startswith("gloo:all_reduce") for name in names) and any(name.startswith("mine") for name in names)
dist.barrier()
dist.destroy_process_group()
if os.environ["LISTENS"] == "1":
    assert told()["AllReduce"][0] > 10
import json
print(json.dumps([weights, asked, names], sort_keys=True))
"""
    assert script(GLOO + text, LISTENS="1") == script(GLOO + text, LISTENS="0")


@pytest.mark.slow
def test_training_under_the_address_sanitizer(script, tmp_path):
    """The bridge's own library instrumented, in an ordinary Python."""
    find = [subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip() for name in ("libasan.so", "libstdc++.so.6")]
    if not os.path.isabs(find[0]):
        pytest.skip("no address sanitizer here")
    bridge = build(tmp_path / "asan.so", "engine/rank/bridge/bridge.cc", "-fsanitize=address,undefined", "-fno-sanitize=vptr", "-g")
    script(
        """
    early = [torch.ones(1000) for _ in range(100)]
    count()
    import time
    end = time.monotonic() + float(os.environ.get("ASAN_SECONDS", "20"))
    while time.monotonic() < end:
        train(2)
        cpu()
    early.clear()
    assert 0 <= grown() < 20_000, grown()
    """,
        bridge,
        LD_PRELOAD=":".join(find),
        ASAN_OPTIONS="detect_leaks=0",
    )


# The agent's part: finding, asking, saying.

JOB = """
import lab, torch, os
model = torch.compile(torch.nn.Linear(8, 8), backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
"""
AUTO = {"bridge": "auto"}


def test_off_asks_for_nothing(job, tmp_path):
    for start in ({"bridge": "off"}, {}):
        assert not job(JOB, start=start, env={"XDG_CACHE_HOME": str(tmp_path)}).of("bridge")


def test_a_rank_asks_once_for_the_library_of_its_torch(job, tmp_path):
    seen = job(JOB, start=AUTO, env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    (wanted,) = seen.of("bridge")
    assert wanted["state"] == "wanted" and wanted["torch"] == str(torch_folder) and wanted["abi"] in (0, 1)
    library = Path(wanted["library"])
    assert library.parent == tmp_path / "cache" / "inductop" / "bridge" and not seen.faults
    again = job(JOB, start=AUTO, env={"XDG_CACHE_HOME": "not/absolute", "HOME": str(tmp_path)})
    assert again.of("bridge")[0]["library"] == str(tmp_path / ".cache" / "inductop" / "bridge" / library.name)


def test_a_library_that_is_there_counts_from_the_import_on(job, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    library = Path(job(JOB, start=AUTO, env=env).of("bridge")[0]["library"])
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    seen = job(JOB, start=AUTO, env={**env, "BRIDGE_ANSWER": "counts"})
    (counting,) = seen.of("bridge")
    assert counting["state"] == "counting" and counting["library"] == str(library) and "since" not in counting


def test_one_that_comes_after_the_import_does_not_tell_all(job, tmp_path):
    script = "import torch, lab, os\nlibrary = lab.agent('bridge')._library\nos.makedirs(os.path.dirname(library))\nopen(library, 'w').close()\n"
    seen = job(script + JOB, start=AUTO, env={"XDG_CACHE_HOME": str(tmp_path), "BRIDGE_ANSWER": "counts"})
    (counting,) = seen.of("bridge")
    assert counting["state"] == "counting" and counting["since"] == 0


def test_what_is_refused_is_said_once(job, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    seen = job(JOB, start=AUTO, env={**env, "BRIDGE_ANSWER": "it is broken"})
    assert [e["state"] for e in seen.of("bridge")] == ["failed"] and seen.of("bridge")[0]["reason"] == "it is broken"
    assert seen.faults == ["memory: resident memory only, without torch's own figures: it is broken"]


@pytest.mark.parametrize("fault, states", [(None, ["wanted", "counting"]), ("broken", ["wanted", "failed"])])
def test_the_one_that_was_waited_for(job, tmp_path, fault, states):
    came = f"lab.core()._call['bridge'](3, {fault!r})\n"
    seen = job(JOB + came, start=AUTO, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert [e["state"] for e in seen.of("bridge")] == states
    assert seen.of("bridge")[-1].get("since") == (None if fault else 3) and len(seen.faults) == bool(fault)


@pytest.mark.parametrize("change, reason", [("bridge.HEADER = 'include/nothing.h'", "no header files"),
                                            ("bridge._c10 = lambda: __file__", "not the system's malloc")])  # fmt: skip
def test_a_torch_that_none_can_be_built_for(job, tmp_path, change, reason):
    script = f"import torch, lab\nbridge = lab.agent('bridge')\n{change}\n" + JOB
    seen = job(script, start=AUTO, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert [e["state"] for e in seen.of("bridge")] == ["failed"] and reason in seen.faults[0] and len(seen.faults) == 1


# All of it, under the engine.

REAL = """
import os, sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.compile(torch.nn.Sequential(torch.nn.Linear(500, 500), torch.nn.ReLU()), backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
end, count = time.monotonic() + float(os.environ.get("SECONDS_MOST", "0")), 0
stop = os.environ.get("STOP_FILE")
while count < 20 or (time.monotonic() < end and not os.path.exists(stop)):
    model(torch.ones(2, 500)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    count += 1
    time.sleep(0.01 if count > 20 else 0)
print(float(model(torch.ones(2, 500)).detach().sum()) if count == 20 else "end", sorted(k for k in os.environ if "INDUCTOP" in k))
sys.exit(5)
"""


def under(tmp_path: Path, *options: str, until: str | None = None, **env: str) -> tuple[list[dict], str]:
    """The job's events and output; with `until` it runs until a bridge event of that state was told."""
    job, events, stop = tmp_path / "real.py", tmp_path / "events.jsonl", tmp_path / "stop"
    job.write_text(REAL)
    events.write_text("")
    stop.unlink(missing_ok=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache"), "STOP_FILE": str(stop), **env}
    if until:
        environment["SECONDS_MOST"] = "120"
    command = [INDUCTOP, "--headless", "-q", "--json", str(events), *options, "--", sys.executable, str(job)]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as front:
        told: list[dict] = []
        while until and front.poll() is None and not any(e["kind"] == "bridge" and e["state"] == until for e in told):
            told = [json.loads(line) for line in events.read_text().splitlines(True) if line.endswith("\n")]
            try:
                front.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        stop.write_text("")
        out, err = front.communicate(timeout=60)
    assert front.returncode == 5 and "inductop" not in err and "Traceback" not in err, err  # torch itself may warn
    return [json.loads(line) for line in events.read_text().splitlines()], out


def of(events: list[dict], kind: str) -> list[dict]:
    return [e for e in events if e["kind"] == kind]


def test_built_once_loaded_late_then_from_the_start(tmp_path):
    first, _ = under(tmp_path, until="counting")
    assert [e["state"] for e in of(first, "bridge")] == ["wanted", "built", "counting"] and not of(first, "problem")
    since = of(first, "bridge")[-1]["since"]
    steps = of(first, "step")
    assert since > 0 and not any("cpu_bytes" in s for s in steps if s["step"] < since) and all("cpu_bytes" in s for s in steps if s["step"] >= since)
    assert "prepare" in next(s for s in steps if s["step"] == since)["why"]
    second, out = under(tmp_path)
    (counting,) = of(second, "bridge")
    assert counting["state"] == "counting" and "since" not in counting
    known = 2 * (500 * 500 + 500) * 4  # weights and, when the optimizer has stepped, gradients
    for step in of(second, "step")[2:]:
        assert known <= step["cpu_bytes"] < known + 65536 and known <= step["cpu_peak"] < known + 65536 and step["allocs"] > 2, step
    off, out_off = under(tmp_path, "--bridge", "off")
    assert not of(off, "bridge") and not any("cpu_bytes" in s for s in of(off, "step"))
    assert out == out_off  # numbers and environment
    assert [f.suffix for f in (tmp_path / "cache/inductop/bridge").iterdir()] == [".so"]


def test_without_a_compiler_it_is_said_once(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nothing").write_text("")
    events, _ = under(tmp_path, until="failed", PATH=str(tmp_path / "bin"), CXX="")
    (problem,) = of(events, "problem")
    assert "no C++ compiler" in problem["text"] and "resident memory only" in problem["text"]
    assert all("rss" in s and "cpu_bytes" not in s for s in of(events, "step")[1:])


def test_a_compiler_that_fails_is_said_with_its_words(tmp_path):
    broken = tmp_path / "broken++"
    broken.write_text("#!/bin/sh\necho 'bridge.cc:1: error: this is no compiler' >&2\nexit 1\n")
    broken.chmod(0o755)
    events, _ = under(tmp_path, until="failed", CXX=str(broken))
    (problem,) = of(events, "problem")
    assert "could not be built: bridge.cc:1: error: this is no compiler" in problem["text"]
    assert not list((tmp_path / "cache/inductop/bridge").glob("*.so*[0-9]"))


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "cache").write_text("a file")
    events, _ = under(tmp_path, until="failed")
    assert "cannot be made" in of(events, "problem")[0]["text"]


def test_a_broken_library_in_the_cache_harms_nothing(tmp_path):
    first, _ = under(tmp_path, until="counting")
    library = Path(of(first, "bridge")[-1]["library"])
    library.write_bytes(b"\x7fELF and nothing more")
    events, _ = under(tmp_path)
    assert [e["state"] for e in of(events, "bridge")] == ["failed"] and len(of(events, "problem")) == 1
    library.chmod(0o722)
    events, _ = under(tmp_path)
    assert "not this user's alone" in of(events, "problem")[0]["text"]
