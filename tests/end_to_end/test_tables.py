# SPDX-License-Identifier: Apache-2.0
"""The printed tables and the schema: complete, the same as what is committed, and true of the installed torch."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDUCTOP = os.environ.get("INDUCTOP") or str(ROOT / "build" / "inductop")
SCHEMA = ROOT / "engine" / "wire" / "events.schema.json"


def inductop(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([INDUCTOP, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def tables() -> dict:
    got = inductop("--print-tables")
    assert (got.returncode, got.stderr) == (0, "")
    return json.loads(got.stdout)


def test_committed_schema_is_what_the_program_prints():
    got = inductop("--print-schema")
    assert got.returncode == 0
    assert got.stdout == SCHEMA.read_text(), f"run: inductop --print-schema > {SCHEMA.relative_to(ROOT)}"


def example(field: dict) -> object:
    values = {"string": "x", "int": 1, "number": 1.5, "bool": True, "object": {}, "array": []}
    return field["choices"][0] if field["type"] == "choice" else values[field["type"]]


def test_schema_takes_every_kind_and_refuses_what_is_wrong():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for kind in tables()["kinds"]:
        common = {"v": 1, "kind": kind["name"], "t": 0.5, "more": 1}
        whole = common | {f["name"]: example(f) for f in kind["fields"]}
        least = common | {f["name"]: example(f) for f in kind["fields"] if f["required"]}
        assert validator.is_valid(whole) and validator.is_valid(least), kind["name"]
        for field in kind["fields"]:
            assert not validator.is_valid(whole | {field["name"]: None}), (kind["name"], field["name"])
            if field["required"]:
                short = {k: v for k, v in least.items() if k != field["name"]}
                assert not validator.is_valid(short), (kind["name"], field["name"])
            if field["type"] == "choice":
                assert not validator.is_valid(whole | {field["name"]: "no such choice"})
    assert not validator.is_valid({"v": 1, "kind": "no such kind", "t": 0})
    assert not validator.is_valid({"kind": "finding", "t": 0, "text": "x"})


def test_every_table_is_printed_alone_too():
    everything = tables()
    assert set(everything) == {"settings", "options", "kinds", "why", "frames", "errors"}
    for name, rows in everything.items():
        assert rows
        assert json.loads(inductop("--print-tables", name).stdout) == {name: rows}


def test_unknown_table_is_refused_with_the_nearest_name():
    got = inductop("--print-tables", "setings")
    assert (got.returncode, got.stdout) == (2, "")
    assert "inductop: table 'setings' is not known" in got.stderr
    assert "'settings'" in got.stderr


def test_settings_of_the_support_folder_are_the_printed_ones():
    made = Path(INDUCTOP).parent / "lib" / "inductop" / "agent" / "inductop_agent" / "settings.json"
    assert json.loads(made.read_text()) == json.loads(inductop("--print-tables", "settings").stdout)


def test_help_shows_every_option():
    got = inductop("--help")
    assert got.returncode == 0
    for option in tables()["options"]:
        assert f"--{option['name']}" in got.stdout and option["help"] in got.stdout


def test_numbers_and_labels_are_the_same_in_the_agent():
    where = ROOT / "engine" / "rank" / "agent" / "settings.py"
    spec = importlib.util.spec_from_file_location("inductop_settings_under_test", where)
    assert spec and spec.loader
    settings = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = settings
    spec.loader.exec_module(settings)
    for line in (ROOT / "tests" / "unit" / "setup" / "variants.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        text, number, label = line.split("\t")
        values = {} if text == "as-written" else dict(pair.split("=", 1) for pair in text.split(","))
        assert settings.key(values) == int(number), text
        assert settings.label(values) == label, text


def resolve(path: str) -> object:
    """What a dotted name stands for; the longest part that is a module is imported."""
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for name in parts[size:]:
            found = getattr(found, name)
        return found
    raise LookupError(path)


def test_every_path_is_there_in_the_installed_torch():
    pytest.importorskip("torch")
    for row in tables()["settings"]:
        kind, _, name = row["path"].partition(":")
        if kind in ("env", "inductop"):
            continue
        found = resolve(kind.removesuffix(".*"))
        if name:
            assert name in inspect.signature(found).parameters, row["path"]


def test_no_name_of_the_installed_torch_is_taken_for_a_slip(tmp_path: Path):
    pytest.importorskip("torch")
    import torch._dynamo
    import torch._inductor
    import torch._inductor.config as config

    rows = {row["key"]: row for row in tables()["settings"]}
    options = [name for name in config.get_config_copy() if not name.startswith("_")]
    assert not set(rows["options.*"]["names"]) - set(options)
    settings = [[f"options.{name}: 1" for name in options[i : i + 60]] for i in range(0, len(options), 60)]
    settings += [[f"backend: {name}"] for name in torch._dynamo.list_backends(exclude_tags=())]
    settings += [[f"mode: {name}"] for name in torch._inductor.list_mode_options()]
    files = []
    for i, lines in enumerate(settings):
        files.append(tmp_path / f"{i}.yaml")
        files[-1].write_text("settings:\n" + "".join(f"  {line}\n" for line in lines))
    got = inductop("preset", "check", *map(str, files))
    assert (got.returncode, got.stderr) == (0, "")


def test_the_manual_page_has_every_option_setting_and_command() -> None:
    page = inductop("--print-man").stdout.replace("\\-", "-")
    found = tables()
    assert {f"--{row['name']}" for row in found["options"]} == set(re.findall(r"^\\fB(--[a-z-]+)\\fR", page, re.M))
    assert {row["key"] for row in found["settings"]} <= set(re.findall(r"^\\fB([a-z_.*]+)\\fR$", page, re.M))
    assert {"send", "compare", "attach", "replay", "preset", "demo"} <= set(re.findall(r"^\\fB([a-z]+)\\fR \\fI", page, re.M))
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z"], input=page, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
