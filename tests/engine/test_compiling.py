"""numba's cache on disk notices a change of what a kernel's file imports; compiling is said once, and done once."""

import hashlib
import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from numba.core import event
from numba.core.dispatcher import Dispatcher

from agents import toy_boards
from agents.toy_boards import kernels as clique_kernels
from agents.toy_boards import punishing_kernels, symmetry_kernels
from evaluation.exact import graph_kernels, value_kernels
from welfare_env import compiling
from welfare_env.compiling import NOTICE
from welfare_env.engine import kernels

CALLED = "from shared import kernel\n@kernel\ndef add(x):\n    return x + {}\n"
FILES = {
    "shared": "from pathlib import Path\nfrom welfare_env.compiling import compiler_of\n"
    "kernel = compiler_of(Path(__file__).parent.glob('*.py'), [{'NUMBER': 1}])\n",
    "called": CALLED.format(1),
    "calling": "from called import add\nfrom shared import kernel\n@kernel\ndef twice(x):\n    return add(add(x))\n",
}


def test_a_change_of_one_file_compiles_the_kernels_of_the_others_anew(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)

    def compiled() -> tuple[int, int]:
        """What `twice` makes of 0 in a process that starts now, and how much it has to compile."""
        for name in FILES:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        twice = importlib.import_module("calling").twice
        return twice(0), sum(twice.stats.cache_misses.values())

    assert [compiled(), compiled()] == [(2, 1), (2, 0)]
    (tmp_path / "called.py").write_text(CALLED.format(20))
    assert [compiled(), compiled()] == [(40, 1), (40, 0)]
    (tmp_path / "shared.py").write_text(FILES["shared"].replace("1}", "2}"))
    assert [compiled(), compiled()] == [(40, 1), (40, 0)]


def stamps(module: ModuleType) -> set[bytes]:
    """What the kernels of a module know of the files of others."""
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__
    ]
    return {kernel._cache._cache_file._source_stamp[1] for kernel in own}


def test_each_kernel_knows_the_files_of_those_it_may_call() -> None:
    (engine,), (toys,) = (map(Path, package.__path__) for package in (kernels, toy_boards))
    names = sorted(path.stem for path in engine.glob("[!_]*.py"))
    of_engine = [importlib.import_module(f"{kernels.__name__}.{name}") for name in names]
    assert set.union(*map(stamps, of_engine)) == {kernels.step._cache._cache_file._source_stamp[1]}
    boards = [*toys.glob("*.py")]
    search = [*boards, Path(graph_kernels.__file__), Path(value_kernels.__file__)]
    for modules, files in (
        ([clique_kernels, symmetry_kernels, punishing_kernels], boards),
        ([graph_kernels, value_kernels], search),
    ):
        known = hashlib.sha256(b"[]" + b"".join(file.read_bytes() for file in sorted(files))).digest()
        assert set.union(*map(stamps, modules)) == {known}


def test_only_what_is_ours_is_told_and_once(monkeypatch, capsys) -> None:
    """By numba's events, without compiling; test_checked.py has the notice of a real compilation."""

    def told(module: str) -> str:
        function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
        with event.trigger_event("numba:compile", data={"dispatcher": function}):
            return capsys.readouterr().err

    monkeypatch.setattr(compiling._LISTENER, "is_due", True)
    modules = ("theirs.welfare_env", "welfare_env.engine.kernels.movement", "agents.rl.inputs")
    assert [told(module) for module in modules] == ["", f"{NOTICE}\n", ""]
    monkeypatch.setattr(compiling._LISTENER, "is_due", True)
    compiling.keep_silent()
    assert told(modules[1]) == ""
