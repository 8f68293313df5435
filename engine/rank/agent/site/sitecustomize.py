# SPDX-License-Identifier: Apache-2.0
# Started by Python itself because its folder is on PYTHONPATH. Leaves the process as it would be without us: runs the user's own
# sitecustomize, takes its folder off sys.path again, and waits for torch. Has to parse on every Python, also on 2.7.
import os
import sys


class _AfterImport:
    """Calls inductop_agent.wake right after torch or a part of it has been executed; knows nothing else and imports nothing."""

    def __init__(self, agent_dir, session):
        self.agent_dir = agent_dir
        self.session = session
        self.wanted = {"torch": "on_torch", "torch._dynamo": "on_dynamo", "torch._inductor.fx_passes.pad_mm": "on_padding"}

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                self.watch(spec, self.wanted[name])
                return spec
        return None

    def watch(self, spec, hook):
        loader = spec.loader
        run = getattr(loader, "exec_module", None)
        if run is None:
            return

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            run(module)
            try:
                getattr(self.wake(), hook)(module, self.session)
            except Exception:
                pass

        try:
            loader.exec_module = exec_module
        except Exception:
            pass

    def wake(self):
        name = "inductop_agent"
        if name + ".wake" not in sys.modules:
            from importlib import import_module, util

            folder = os.path.join(self.agent_dir, name)
            spec = util.spec_from_file_location(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
            module = util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            import_module(name + ".wake")
        return sys.modules[name + ".wake"]


def _start():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    session = os.environ.get("INDUCTOP_SESSION")
    if session and sys.version_info >= (3, 10):
        sys.meta_path.insert(0, _AfterImport(os.path.join(os.path.dirname(here), "agent"), session))


try:
    _start()
except Exception:
    pass

# The next one in line, as if we had not been there: its errors are its own, and when there is none `site` hears just that.
_self = sys.modules.pop(__name__, None)
import sitecustomize  # noqa: E402, F401
