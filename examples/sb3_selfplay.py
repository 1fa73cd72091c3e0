"""Stable-Baselines3: one masked PPO for all seats, paid the points of all, as in PettingZoo's tutorial; then measured.

pip install -c constraints.txt -e '.[sb3,rl]'
python examples/sb3_selfplay.py --steps 20000
"""

import gymnasium
import pettingzoo.utils
import torch
import typer
from sb3_contrib import MaskablePPO

import evaluation
import training
import welfare_env


class Seats(pettingzoo.utils.BaseWrapper, gymnasium.Env):
    """All seats in turn as one Gymnasium environment."""

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.observation_space = self.env.observation_space(self.agent_selection)["observations"]
        self.action_space = self.env.action_space(self.agent_selection)
        return self.observe(self.agent_selection), {}

    def step(self, action):
        agent = self.agent_selection
        super().step(action)
        over = self.terminations[agent]
        return self.observe(self.agent_selection), sum(self.rewards.values()), over, False, {}

    def observe(self, agent):
        return super().observe(agent)["observations"]

    def action_masks(self):
        return super().observe(self.agent_selection)["action_mask"].astype(bool)


def main(map_name: str = "clique:3", years: int = 3, steps: int = 20_000, seed: int = 0) -> None:
    """Train, export, and print what a robber among such players gains."""
    env = Seats(welfare_env.make(map_name=map_name, years=years, press=None, flat=True, infos=False))
    env.reset(seed=seed)
    model = MaskablePPO("MlpPolicy", env, n_steps=512, learning_rate=1e-3, gamma=1.0, seed=seed, verbose=1)
    model.learn(steps)
    policy = model.policy
    network = torch.nn.Sequential(*policy.mlp_extractor.policy_net, policy.action_net)
    player = training.export(network, "runs/sb3", env=env.unwrapped)
    rules = welfare_env.Rules(years=years, press=None)
    print(evaluation.exploitability(f"rl:{player}", 5, map_name=map_name, rules=rules))


if __name__ == "__main__":
    typer.run(main)
