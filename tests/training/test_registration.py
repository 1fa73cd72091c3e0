"""The scripts that users of RLlib write first; and networks of RLlib and of others as players."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv, PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.rllib.utils.pre_checks.env import check_multiagent_environments
from ray.tune.registry import ENV_CREATOR, _global_registry, register_env
from torch import nn

import agents
import evaluation
import modal_env
import training
import welfare_env
from agents.rl.checkpoint import CheckpointError
from tests.processes import python
from welfare_env import Rules
from welfare_env.game.view import ORDERS

pytestmark = pytest.mark.filterwarnings("ignore")

BOARD: dict[str, Any] = {"map_name": "clique:3", "years": 2, "press": None}
SMALL = {"welfare_env": {"map_name": "clique:3", "years": 1}, "modal_env": {"actions": "tokens", "budget": 4}}
CASES = [(name, form, flat) for name in SMALL for form in ("aec", "parallel") for flat in (False, True)]


def configured(name: str, module: Any, **env_config: Any) -> PPOConfig:
    return (
        PPOConfig()
        .environment(name, env_config=SMALL.get(name, {}) | env_config)
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
        .rl_module(rl_module_spec=RLModuleSpec(module) if module else None)
        .debugging(seed=0)
    )


@pytest.fixture(autouse=True)
def _registered() -> None:
    """Names of environments, which Ray forgets in `ray.shutdown`, of other tests."""
    training.register()


def test_what_scripts_of_rllib_import_is_public() -> None:
    names = {"BatchedEnvRunner", "LegalOrdersModule", "export", "make_config", "register"}
    assert names <= {*training.__all__} & {*dir(training)}
    assert all(getattr(training, name) for name in names)


@pytest.mark.parametrize(("name", "form", "flat"), CASES)
def test_rllibs_checker_passes(name: str, form: str, flat: bool) -> None:
    make = _global_registry.get(ENV_CREATOR, name)
    check_multiagent_environments(make({"form": form, "flat": flat, **SMALL[name]}))


OURS, RLLIBS = training.LegalOrdersModule, ActionMaskingTorchRLModule  # which takes vectors only


@pytest.mark.parametrize(
    ("name", "form", "flat", "module"),
    [
        ("welfare_env", "parallel", False, OURS),
        pytest.param("modal_env", "aec", True, RLLIBS, marks=pytest.mark.slow),
        pytest.param("welfare_env", "aec", True, OURS, marks=pytest.mark.slow),
    ],
)
def test_modules_choose_what_is_legal_and_learn(name: str, form: str, flat: bool, module: Any) -> None:
    """By RLlib's own runner and Learner, without Ray's processes."""
    config = configured(name, module, form=form, flat=flat)
    runner = MultiAgentEnvRunner(config=config, worker_index=0)
    episodes = runner.sample(num_episodes=2)
    for played in [single for episode in episodes for single in episode.agent_episodes.values()]:
        seen, actions = played.get_observations(slice(0, len(played))), played.get_actions()
        for mask, action in zip(seen["action_mask"], actions, strict=True):
            rows = mask.reshape(getattr(action, "size", 1), -1)
            assert all(row[choice] for row, choice in zip(rows, action.reshape(-1), strict=True))
    learner = config.build_learner(env=runner.env.envs[0].unwrapped)
    before = {key: value.clone() for key, value in learner.module["shared"].state_dict().items()}
    learner.update(episodes=episodes, num_epochs=1, minibatch_size=8)
    after = learner.module["shared"].state_dict()
    assert any((after[key] != value).any() for key, value in before.items())


@pytest.mark.parametrize(
    ("make", "module", "error", "names"),
    [
        (lambda: ParallelPettingZooEnv(modal_env.parallel_env()), None, ValueError, "training.LegalOrdersModule"),
        (lambda: PettingZooEnv(welfare_env.make(**BOARD)), RLLIBS, KeyError, "flat=True"),
    ],
)
def test_an_error_names_what_to_write(make: Any, module: Any, error: type[Exception], names: str) -> None:
    register_env("mine", lambda env_config: make())
    with pytest.raises(error, match=names):
        MultiAgentEnvRunner(config=configured("mine", module), worker_index=0)


def test_messages_and_unknown_forms_are_refused() -> None:
    with pytest.raises(training.TrainingError, match="press"):
        module_of(welfare_env.make("clique:3", years=1, press="tokens"), training.LegalOrdersModule)
    with pytest.raises(training.TrainingError, match="'both'"):
        _global_registry.get(ENV_CREATOR, "welfare_env")({"form": "both"})


ENVIRONMENTS: dict[str, Callable[..., Any]] = {
    "aec": lambda **options: welfare_env.make(**BOARD, **options),
    "parallel": lambda **options: welfare_env.parallel_env(**BOARD, **options),
    "modal": lambda **options: modal_env.make(rounds=2, **options),
    "tokens": lambda **options: modal_env.make(actions="tokens", budget=5, **options),
}


def module_of(env: Any, kind: Any) -> Any:
    torch.manual_seed(1)
    agent = env.possible_agents[0]
    spaces = {"observation_space": env.observation_space(agent), "action_space": env.action_space(agent)}
    rllibs = {"model_config": {"fcnet_hiddens": [16, 16]}, "catalog_class": PPOCatalog}
    module = kind(**spaces, **({} if kind is training.LegalOrdersModule else rllibs))
    with torch.no_grad():  # so that its choices differ
        for weight in module.parameters():
            weight += torch.randn_like(weight) / 3
    return module


def logits_of(module: Any, seen: dict[str, np.ndarray]) -> np.ndarray:
    batch = {"obs": {name: torch.from_numpy(array)[None] for name, array in seen.items()}}
    with torch.no_grad():
        return module.forward_inference(batch)["action_dist_inputs"][0].numpy()


@pytest.mark.parametrize(("form", "flat"), [("aec", True), ("parallel", False)])
def test_a_player_orders_what_its_network_chose_in_training(form: str, flat: bool, tmp_path: Path) -> None:
    """In every phase, by the environment's own observations there, and by the view here."""
    env = ENVIRONMENTS[form](flat=flat)
    kind = ActionMaskingTorchRLModule if flat else training.LegalOrdersModule
    module = module_of(env, kind)
    policy = agents.make(f"rl:{training.export(module, tmp_path, env=env)},greedy=yes")
    expected: dict[str, dict[str, list[str]]] = {}
    env.reset(seed=0)
    if form == "aec":
        for agent in env.agent_iter():
            seen, _, ended, _, info = env.last()
            if ended:
                env.step(None)
                continue
            phase = env.unwrapped.game.phase
            if agent not in expected.setdefault(phase, {}):
                expected[phase][agent] = orders_of(policy, agent, info["view"])
            env.step(int(logits_of(module, seen).argmax()))
    else:
        observations, infos = env.reset()
        while env.agents:
            phase = env.game.phase
            expected[phase] = {agent: orders_of(policy, agent, infos[agent]["view"]) for agent in env.agents}
            rows = {agent: len(env.action_space(agent).nvec) for agent in env.agents}
            logits = {agent: logits_of(module, seen).reshape(rows[agent], -1) for agent, seen in observations.items()}
            observations, _, _, _, infos = env.step({agent: rows.argmax(1) for agent, rows in logits.items()})
    given = {each.phase: each.orders for each in env.unwrapped.game.history}
    assert len(expected) >= 4
    for phase, orders in expected.items():
        for agent, texts in orders.items():
            assert sorted(texts) == sorted(given[phase].get(agent) or []), phase


def orders_of(policy: Any, agent: str, view: Any) -> list[str]:
    policy.reset(agent, seed=0)
    assert view.asked == ORDERS
    return list(policy.act(None, {"view": view}))


@pytest.mark.parametrize(("form", "flat"), [("modal", False), ("modal", True), ("tokens", False)])
def test_a_player_of_modal_combat(form: str, flat: bool, tmp_path: Path) -> None:
    env = ENVIRONMENTS[form](flat=flat)
    module = module_of(env, training.LegalOrdersModule)
    policy = agents.make(f"rl:{training.export(module, tmp_path, env=env)},greedy=yes")
    plain = ENVIRONMENTS[form]()  # a vector is made of what it observes there
    env.reset(seed=0)
    plain.reset(seed=0)
    policy.reset("player_0", seed=0)
    for _ in env.agent_iter():
        seen, _, ended, _, _ = env.last()
        told, *_, info = plain.last()
        action = None if ended else int(logits_of(module, seen).argmax())
        assert ended or policy.act(told, info) == action
        env.step(action)
        plain.step(action)
    other = modal_env.make(players=3)
    other.reset(seed=0)
    with pytest.raises(CheckpointError, match="players"):
        policy.act(other.last()[0], other.last()[-1])


def test_a_network_of_another_library_is_measured(tmp_path: Path) -> None:
    """A plain torch network, as opponent and as policy, in games with messages."""
    env = ENVIRONMENTS["aec"](flat=True)
    shapes = [env.observation_space("PLAYERA")[key].shape[0] for key in ("observations", "action_mask")]
    network = nn.Sequential(nn.Linear(shapes[0], 8), nn.ReLU(), nn.Linear(8, shapes[1]))
    spec = f"rl:{training.export(network, tmp_path / 'player', env=env)}"
    options: dict[str, Any] = {"games": 2, "map_name": "clique:3", "rules": Rules(years=1, message_rounds=1)}
    assert evaluation.self_play(spec, **options).to_dict() == evaluation.self_play(spec, **options).to_dict()
    assert evaluation.exploitability("prosocial", deviator=spec, **options).value.value >= 0


NAMES = "from ray.tune.registry import _global_registry as r; print(r.contains('env_creator', 'modal_env'))"
WITHOUT_RAY = """
sys.modules['ray'] = None
try: training.register()
except training.TrainingError as error: print('[train]' in str(error))"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then", "printed"),
    [
        ("", NAMES, ["False", "True"]),
        ("import ray.tune", NAMES, ["True", "True"]),
        ("", WITHOUT_RAY, ["False", "True"]),
    ],
)
def test_names_are_registered_in_any_order_and_a_network_of_ones_own_needs_no_ray(first, then, printed, tmp_path):
    """Such a network may read, and its folder has no pickle."""
    code = f"""
import sys; {first}
import training; print('ray' in sys.modules); {then}
import agents, welfare_env
from torch import nn
class Reading(nn.Sequential): reader = "its own"
env = welfare_env.make("clique:3", years=1, press=None)
training.export(Reading(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)), {str(tmp_path)!r}, env=env)
agents.make("rl:{tmp_path}")
"""
    assert python(code).split() == printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.json", "weights.safetensors"]


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Path:
    env = ENVIRONMENTS["aec"]()
    return training.export(module_of(env, training.LegalOrdersModule), tmp_path_factory.mktemp("player"), env=env)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"architecture": "transformer"}, "transformer"),
        ({"size": {"units": [10**9, 10**9], "activation": "tanh"}, "architecture": "mlp"}, "damaged"),
        ({"game": "chess"}, "chess"),
    ],
)
def test_damaged_and_later_players_are_refused(player, tmp_path, change, names) -> None:
    folder = shutil.copytree(player, tmp_path / "copy")
    about = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps(about | change))
    with pytest.raises(ValueError, match=names):
        agents.make(f"rl:{folder}").reset("PLAYERA")


def test_another_map_is_refused(player: Path) -> None:
    policy = agents.make(f"rl:{player}")
    policy.reset("FRANCE")
    with pytest.raises(CheckpointError, match="map"):
        policy.act(None, {"view": welfare_env.Game(rules=Rules(press=None)).view("FRANCE")})


@pytest.mark.parametrize(
    ("source", "env", "names"),
    [
        (nn.Sequential(nn.LSTM(3, 3)), "aec", "Sequential"),
        (nn.Sequential(nn.Linear(3, 3)), None, "env="),
        (Path("nowhere"), None, "nowhere"),
    ],
)
def test_what_cannot_be_exported(source: Any, env: str | None, names: str, tmp_path: Path) -> None:
    with pytest.raises(training.TrainingError, match=names):
        training.export(source, tmp_path, env=ENVIRONMENTS[env]() if env else None)
