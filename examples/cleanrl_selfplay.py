"""PPO in one file on the PettingZoo environment, in CleanRL's style: one network plays all seats; then it is measured.

python examples/cleanrl_selfplay.py --iterations 40    # a toy board, three years: a few minutes
"""

from collections import defaultdict

import numpy as np
import torch
import typer
from torch import Tensor, nn
from torch.distributions import Categorical

import evaluation
import training
import welfare_env

GAMMA, LAMBDA, CLIP, ENTROPY = 1.0, 0.95, 0.2, 0.01


def layers(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def choose(policy: nn.Module, seen: Tensor, masks: Tensor) -> Categorical:
    """The probabilities of the legal orders."""
    return Categorical(logits=policy(seen).masked_fill(masks == 0, -1e9))


def play(env, policy: nn.Module, critic: nn.Module, steps: int) -> tuple[list[Tensor], float]:
    """Play whole games of at least `steps` decisions.

    Returns:
        The decisions (observation, mask, choice, log probability, advantage, value target), and the mean return.
    """
    columns, gained, returns = [], [], []
    while len(gained) < steps:
        env.reset()
        games = defaultdict(list)  # of each power: observation, mask, choice, log probability, value
        paid = defaultdict(list)  # rewards before each decision, and those after the last
        for agent in env.agent_iter():
            seen, reward, is_over, _, _ = env.last()
            paid[agent].append(reward)
            if is_over:
                env.step(None)
                continue
            one, mask = (torch.from_numpy(seen[key])[None] for key in ("observations", "action_mask"))
            with torch.no_grad():
                chances = choose(policy, one, mask)
                choice, value = chances.sample(), critic(one)[:, 0]
            games[agent].append((one, mask, choice, chances.log_prob(choice), value))
            env.step(int(choice))
        for agent, decisions in games.items():
            rewards, values = paid[agent][1:], [float(each[-1]) for each in decisions] + [0.0]
            ahead, advantages = 0.0, []
            for step in reversed(range(len(decisions))):
                ahead = rewards[step] + GAMMA * values[step + 1] - values[step] + GAMMA * LAMBDA * ahead
                advantages.append(ahead)
            columns += decisions
            gained += advantages[::-1]
            returns.append(sum(rewards))
    seen, masks, choices, logps, values = (torch.cat(column) for column in zip(*columns, strict=True))
    advantages = torch.tensor(gained, dtype=torch.float32)
    return [seen, masks, choices, logps, advantages, advantages + values], float(np.mean(returns))


def main(
    map_name: str = "clique:3", years: int = 3, iterations: int = 40, steps: int = 1000, lr: float = 1e-3, seed: int = 0
) -> None:
    """Train, export, and print what a robber among such players gains."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    env = welfare_env.make(map_name=map_name, years=years, press=None, flat=True, infos=False)
    env.reset(seed=seed)
    inputs, orders = (
        env.observation_space(env.agents[0])["observations"].shape[0],
        int(env.action_space(env.agents[0]).n),
    )
    policy, critic = layers(inputs, orders), layers(inputs, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=lr)
    for iteration in range(iterations):
        decisions, mean_return = play(env, policy, critic, steps)
        for _ in range(4):
            for some in torch.randperm(len(decisions[0])).split(256):
                seen, masks, choices, logps, advantages, targets = (column[some] for column in decisions)
                chances = choose(policy, seen, masks)
                ratio = (chances.log_prob(choices) - logps).exp()
                gained = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
                policy_loss = -torch.minimum(ratio * gained, ratio.clamp(1 - CLIP, 1 + CLIP) * gained).mean()
                value_loss = (critic(seen)[:, 0] - targets).square().mean()
                loss = policy_loss + 0.5 * value_loss - ENTROPY * chances.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*policy.parameters(), *critic.parameters()], 1.0)
                optimizer.step()
        print(f"{iteration + 1:3d}  return {mean_return:.2f}", flush=True)
    player = training.export(policy, "runs/cleanrl", env=env)
    rules = welfare_env.Rules(years=years, press=None)
    print(evaluation.exploitability(f"rl:{player}", 5, map_name=map_name, rules=rules))


if __name__ == "__main__":
    typer.run(main)
