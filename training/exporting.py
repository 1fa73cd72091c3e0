"""Trained networks as players without Ray: `training.export`.

RLlib's checkpoints are pickles, which run code when they are read: the export trusts the ones that it is given. What it
writes is not: weights as safetensors and a JSON (`agents.rl.checkpoint`).
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from agents.rl import checkpoint, exported
from agents.rl.checkpoint import git_revision
from agents.rl.exported import Exported
from agents.rl.legal_orders import LegalOrdersNetwork
from agents.rl.plain_networks import PlainNetwork, as_mlp
from agents.runtime.files import reason, shown
from modal_env.envs.aec import ModalCombatEnv
from modal_env.envs.parallel import ParallelModalCombatEnv
from training.errors import TrainingError
from training.registration import register
from welfare_env.envs.aec import DiplomacyEnv
from welfare_env.envs.parallel import ParallelDiplomacyEnv

CONFIG = "class_and_ctor_args.pkl"  # files of RLlib's checkpoints
MODULES = Path("learner_group", "learner", "rl_module")


def written(source: Any, folder: str | os.PathLike[str], module: str | None, env: Any) -> Path:
    """See `training.export`."""
    made = env
    if isinstance(source, str | os.PathLike):
        network, config = _read(Path(source), module)
        made = partial(_made, config)
    elif hasattr(source, "get_module"):
        network = source.get_module(_chosen(sorted(source.config.policies), module))
        made = partial(_made, source.config)
    else:
        network = source
    network = network.unwrapped() if hasattr(network, "unwrapped") else network
    if _is_of_boards(network):
        reader = network.reader
        checkpoint.save(folder, checkpoint.of_network(network.network, reader.board, reader.rules, greedy=False))
    else:
        exported.save(folder, _described(_bare(made() if callable(made) else made), _network(network)))
    return Path(folder)


def _is_of_boards(network: Any) -> bool:
    """Whether it is a network of `training.make_config`, which knows its games. Others need no RLlib."""
    if not hasattr(network, "reader") or sys.modules.get("ray") is None:
        return False
    from training.board.modules import BoardModule

    return isinstance(network, BoardModule)


def _read(path: Path, module: str | None) -> tuple[Any, Any]:
    """A module and its algorithm's configuration from RLlib's checkpoint, without starting Ray."""
    from ray.rllib.core.rl_module.rl_module import RLModule

    try:
        config = pickle.loads((path / CONFIG).read_bytes())["ctor_args_and_kwargs"][0][0]  # noqa: S301 (trusted: see above)
        names = sorted(each.name for each in (path / MODULES).iterdir() if each.is_dir())
        chosen = _chosen(names, module)
        return RLModule.from_checkpoint((path / MODULES / chosen).absolute().as_posix()), config
    except OSError as error:
        raise TrainingError(f"{shown(path)}: no checkpoint of an RLlib algorithm: {reason(error)}") from error
    except (pickle.UnpicklingError, EOFError, LookupError, AttributeError, TypeError, ImportError) as error:
        raise TrainingError(f"{shown(path)}: damaged: {type(error).__name__}: {error!s:.200}") from error


def _chosen(names: list[str], module: str | None) -> str:
    """The id of the module to export."""
    if module is None and len(names) == 1:
        return names[0]
    if module not in names:
        raise TrainingError(f"module {module!r:.80}: give one of {', '.join(names)!s:.200}")
    return module


def _made(config: Mapping[str, Any]) -> Any:
    """The environment of a configuration of RLlib."""
    from ray.tune.registry import ENV_CREATOR, _global_registry

    register()  # Ray forgets names when it is shut down
    name = config["env"]
    if callable(name):
        return name(config["env_config"])
    if not _global_registry.contains(ENV_CREATOR, name):
        raise TrainingError(f"environment {name!r:.80} is not registered here: export in the script that registers it")
    return _global_registry.get(ENV_CREATOR, name)(config["env_config"])


def _bare(env: Any) -> Any:
    """The environment of ours in RLlib's and PettingZoo's wrappers; anything else as it is."""
    inner = getattr(env, "par_env", None) or (env.env if type(env).__name__ == "PettingZooEnv" else env)
    return getattr(inner, "unwrapped", inner)


def _described(env: Any, network: PlainNetwork) -> Exported:
    """A network with what it observes.

    Raises:
        TrainingError: not an environment of ours.
    """
    form = "parallel" if isinstance(env, ParallelDiplomacyEnv | ParallelModalCombatEnv) else "aec"
    origin = {"git": git_revision()}
    if isinstance(env, DiplomacyEnv | ParallelDiplomacyEnv):
        return Exported(network, "welfare_env", form, exported.board_setting(env.board, env.rules), origin)
    if isinstance(env, ModalCombatEnv | ParallelModalCombatEnv):
        return Exported(network, "modal_env", form, exported.modal_setting(env.setting), origin)
    raise TrainingError(f"environment {env!r:.80}: give env=, an environment of welfare_env or modal_env")


def _network(module: Any) -> PlainNetwork:
    """The network of a module, in a form that a player has.

    Raises:
        TrainingError: another architecture.
    """
    if isinstance(inner := getattr(module, "network", module), LegalOrdersNetwork):
        return inner
    try:  # RLlib's default networks
        encoder = getattr(module.encoder, "actor_encoder", None) or module.encoder.encoder
        layers = [*encoder.net.mlp, *module.pi.net.mlp]
    except AttributeError:
        layers = list(module) if isinstance(module, nn.Sequential) else []
    network = as_mlp(layers) if layers else None
    if network is None:
        raise TrainingError(
            f"network {type(module).__name__}: a player is a LegalOrdersModule, or linear layers with one activation"
        )
    return network
