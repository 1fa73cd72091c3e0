"""Stock RLlib on the standard board: train with PPO, export the network as a player, measure it.

python examples/rllib_stock.py --seed 0    # PYTHONHASHSEED=0 in front repeats the figures, see docs
"""

import ray
import typer
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

import evaluation
import training
from welfare_env import Rules


def main(map_name: str = "standard", years: int = 2, form: str = "aec", iterations: int = 20, seed: int = 0) -> None:
    """Train, then print the network's welfare, and what a robber among seven such players gains."""
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
    config = (  # any algorithm whose module outputs logits can replace PPO
        PPOConfig()
        .environment("welfare_env", env_config={"form": form, "map_name": map_name, "years": years})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4, batch_mode="complete_episodes")
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
        .rl_module(rl_module_spec=RLModuleSpec(training.LegalOrdersModule))
        .training(lr=2e-3, gamma=1.0, lambda_=0.95, entropy_coeff=0.003, vf_clip_param=100.0, use_kl_loss=False)
        .training(grad_clip=1.0, num_epochs=2, minibatch_size=128, train_batch_size_per_learner=600)
        .debugging(seed=seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    for iteration in range(iterations):
        returns = algorithm.train()["env_runners"]["agent_episode_returns_mean"].values()
        print(f"{iteration + 1:3d}  return {sum(returns) / len(returns):6.2f}", flush=True)
    player = training.export(algorithm, "runs/rllib-stock")
    ray.shutdown()
    print(evaluation.exploitability(f"rl:{player}", 5, map_name=map_name, rules=Rules(years=years, press=None)))


if __name__ == "__main__":
    typer.run(main)
