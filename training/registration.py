"""The environments by name, for RLlib and Tune: "welfare_env" and "modal_env".

>>> import training  # registers them
>>> config = PPOConfig().environment("welfare_env", env_config={"form": "parallel", "years": 3})  # doctest: +SKIP

``env_config`` takes ``form``, "aec" (the default) or "parallel", and the options of `welfare_env.make` or
`modal_env.make`. Two defaults differ, since RLlib has no use for either: ``infos=False``, and ``press=None`` (unless
``rules`` are given).
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

import modal_env
import welfare_env
from training.errors import TrainingError
from welfare_env import checks
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv

FORMS = ("aec", "parallel")
REGISTRY = "ray.tune.registry"


def board_game(env_config: Mapping[str, Any]) -> MultiAgentEnv:
    """Diplomacy as RLlib's environment; see the module for `env_config`."""
    press = {} if "rules" in env_config else {"press": None}
    return _wrapped(welfare_env.make, welfare_env.parallel_env, {**press, **env_config})


def modal_combat(env_config: Mapping[str, Any]) -> MultiAgentEnv:
    """Modal combat as RLlib's environment; see the module for `env_config`."""
    return _wrapped(modal_env.make, modal_env.parallel_env, env_config)


def _wrapped(aec: Callable[..., Any], parallel: Callable[..., Any], env_config: Mapping[str, Any]) -> MultiAgentEnv:
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv, PettingZooEnv

    options = {"infos": False, **env_config}
    form = checks.choice("form", options.pop("form", "aec"), FORMS, TrainingError)
    return PettingZooEnv(aec(**options)) if form == "aec" else ParallelPettingZooEnv(parallel(**options))


def register() -> None:
    """Register the names "welfare_env" and "modal_env" for RLlib and Tune. `import training` does so, too.

    Raises:
        TrainingError: Ray is not installed.
    """
    try:
        from ray.tune import registry
    except ImportError as error:
        raise TrainingError(f"{error}: RLlib's environments need {install_extra('train')}") from error
    _register(registry)


def _register(registry: ModuleType) -> None:
    registry.register_env("welfare_env", board_game)
    registry.register_env("modal_env", modal_combat)


class _WithRay(importlib.abc.MetaPathFinder):
    """Registers the names as soon as Ray's registry is imported: importing Ray here would take seconds."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader, execute = spec.loader, spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register(module)

            loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register_with_ray() -> None:
    """Register the names now if Ray's registry has been imported, otherwise as soon as it is."""
    if REGISTRY in sys.modules:
        _register(sys.modules[REGISTRY])
    else:
        sys.meta_path.insert(0, _WithRay())
