"""Stock RLlib PPO writes programs, token by token, for modal combat: self-play with RLlib's own masked module.

python examples/modal_rllib.py --iterations 200 --epsilon 1/20    # the default, 40 iterations: a few minutes
"""

import ray
import typer
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import agents
import modal_env
import training


def main(iterations: int = 40, epsilon: str = "1/10", batch: int = 2000, seed: int = 0) -> None:
    """Train, export, and print three games of the player against itself."""
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    setting = {"epsilon": epsilon, "actions": "tokens", "flat": True}
    network = DefaultModelConfig(fcnet_hiddens=[64, 64])
    config = (
        PPOConfig()
        .environment("modal_env", env_config={"form": "parallel", **setting})
        .multi_agent(policies={"writer"}, policy_mapping_fn=lambda agent, episode, **_: "writer")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=batch, minibatch_size=batch // 4, num_epochs=6, gamma=1.0, lr=1e-3)
        .rl_module(rl_module_spec=RLModuleSpec(ActionMaskingTorchRLModule, model_config=network))
        .debugging(seed=seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    for iteration in range(1, iterations + 1):
        runners = algorithm.train()["env_runners"]
        print(f"{iteration:4}  mean payoff {runners['episode_return_mean'] / 2:.3f}", flush=True)
    player = training.export(algorithm, "runs/modal-rllib")
    ray.shutdown()
    env = modal_env.make(**setting, render_mode="ansi")
    for game in range(3):
        env.reset(seed=game)
        players = {agent: agents.make(f"rl:{player}") for agent in env.agents}
        for agent in env.agents:
            players[agent].reset(agent, seed=game)
        for agent in env.agent_iter():
            observation, _, is_over, _, info = env.last()
            env.step(None if is_over else players[agent].act(observation, info))
        print(env.render())


if __name__ == "__main__":
    typer.run(main)
