"""The scripts that users of RLlib write first."""

import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("ray")
torch = pytest.importorskip("torch")

from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModuleSpec  # noqa: E402
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner  # noqa: E402
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv, PettingZooEnv  # noqa: E402
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule  # noqa: E402
from ray.rllib.utils.pre_checks.env import check_multiagent_environments  # noqa: E402
from ray.tune.registry import ENV_CREATOR, _global_registry, register_env  # noqa: E402

import modal_env  # noqa: E402
import training  # noqa: E402
import welfare_env  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

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


@pytest.mark.parametrize(("name", "form", "flat"), CASES)
def test_rllibs_checker_passes(name: str, form: str, flat: bool) -> None:
    make = _global_registry.get(ENV_CREATOR, name)
    check_multiagent_environments(make({"form": form, "flat": flat, **SMALL[name]}))


OURS, RLLIBS = training.LegalOrdersModule, ActionMaskingTorchRLModule  # which takes vectors only


@pytest.mark.parametrize(
    ("name", "form", "flat", "module"),
    [
        ("welfare_env", "parallel", False, OURS),
        ("modal_env", "aec", True, RLLIBS),
        pytest.param("welfare_env", "aec", True, OURS, marks=pytest.mark.slow),
        pytest.param("welfare_env", "parallel", True, RLLIBS, marks=pytest.mark.slow),
        pytest.param("modal_env", "parallel", False, OURS, marks=pytest.mark.slow),
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


MAKERS = {
    "board aec": lambda: PettingZooEnv(welfare_env.make("clique:3", years=1, press=None)),
    "board parallel": lambda: ParallelPettingZooEnv(welfare_env.parallel_env("clique:3", years=1, press=None)),
    "modal aec": lambda: PettingZooEnv(modal_env.make()),
    "modal parallel": lambda: ParallelPettingZooEnv(modal_env.parallel_env()),
}


@pytest.mark.parametrize(
    ("maker", "module", "error", "names"),
    [
        ("board aec", None, ValueError, "training.LegalOrdersModule"),
        ("modal parallel", None, ValueError, "training.LegalOrdersModule"),
        ("board parallel", RLLIBS, KeyError, "flat=True"),
        ("modal aec", RLLIBS, KeyError, "flat=True"),
    ],
)
def test_an_error_names_what_to_write(maker: str, module: Any, error: type[Exception], names: str) -> None:
    register_env("mine", lambda env_config: MAKERS[maker]())
    with pytest.raises(error, match=names):
        MultiAgentEnvRunner(config=configured("mine", module), worker_index=0)


def test_messages_are_refused() -> None:
    env = welfare_env.make("clique:3", years=1, press="tokens")
    spaces = {"observation_space": env.observation_space("PLAYERA"), "action_space": env.action_space("PLAYERA")}
    with pytest.raises(training.TrainingError, match="press"):
        training.LegalOrdersModule(**spaces)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(training.TrainingError, match="'both'"):
        _global_registry.get(ENV_CREATOR, "welfare_env")({"form": "both"})


NAMES = "from ray.tune.registry import _global_registry as r; print(r.contains('env_creator', 'modal_env'))"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "printed"),
    [
        (f"import training; {NAMES}", "True"),
        (f"import ray.tune; import training; {NAMES}", "True"),
        ("import sys, training; print('ray' in sys.modules)", "False"),
        (
            "import sys; sys.modules['ray'] = None; import training\n"
            "try: training.register()\nexcept training.TrainingError as error: print('[train]' in str(error))",
            "True",
        ),
    ],
)
def test_names_are_registered_in_any_order_and_ray_is_not_needed(code: str, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, printed), done.stderr
