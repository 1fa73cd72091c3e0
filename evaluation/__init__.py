"""Measures of cooperation and exploitability over many games.

>>> import evaluation
>>> result = evaluation.self_play("prosocial", games=2, seed=0)
>>> print(result.root_nash_welfare)
4.843 [identical in 2 games]

The public names are those of `evaluation.public`. They are imported on first use: the import takes a second or more,
during which Ctrl-C must work, and worker processes need few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evaluation._shadow import check_agents

check_agents()

if TYPE_CHECKING:
    from evaluation.public import *  # noqa: F403 (`__all__` lists the names)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "exact":
        return import_module("evaluation.exact")
    public = import_module("evaluation.public")
    globals().update({each: getattr(public, each) for each in public.__all__}, __all__=public.__all__)
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return globals()[name]


def __dir__() -> list[str]:
    dunders = [name for name in globals() if name.startswith("__")]
    return sorted({*import_module("evaluation.public").__all__, *dunders})
