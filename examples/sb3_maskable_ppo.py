"""Train a best response to doves with sb3-contrib's MaskablePPO, on the Gymnasium environment of one seat.

    pip install -c constraints.txt -e '.[sb3]'
    python examples/sb3_maskable_ppo.py            # clique:3, three years, against two doves; a minute or two
    python examples/sb3_maskable_ppo.py --others prosocial --years 5 --steps 60000

Prints the mean points of the seat with random legal orders, during training (with sampled orders), and with the most
probable orders of the trained policy. The step size falls to 0, so training ends near its best.
"""

from __future__ import annotations

from typing import Annotated

import gymnasium
import numpy as np
import torch
import typer
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor

import welfare_env  # noqa: F401 (registers WelfareDiplomacySeat-v0)

ID = "WelfareDiplomacySeat-v0"


class Curve(BaseCallback):
    """Prints the mean points of the last 20 games after each rollout."""

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        ended = [game["r"] for game in self.model.ep_info_buffer]
        print(f"{self.num_timesteps:6,d} steps  points {np.mean(ended):5.2f}", flush=True)


def learned(env: gymnasium.Env, steps: int, seed: int) -> MaskablePPO:
    """A two-layer network trained for `steps` steps; the mask restricts it to legal orders."""
    torch.set_num_threads(1)
    model = MaskablePPO(
        "MlpPolicy", Monitor(env), n_steps=512, batch_size=128, n_epochs=6, gamma=1.0, ent_coef=0.01,
        learning_rate=lambda left: 1e-3 * left, seed=seed, device="cpu", stats_window_size=20,
    )  # fmt: skip
    return model.learn(steps, callback=Curve())


def points(env: gymnasium.Env, choose, games: int = 20) -> float:
    """Mean points a game; `choose` maps an observation and its info to an action."""
    total = 0.0
    for game in range(games):
        seen, info = env.reset(seed=1000 + game)
        over = False
        while not over:
            seen, paid, done, cut, info = env.step(choose(seen, info))
            total, over = total + float(paid), done or cut
    return total / games


def main(
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or a toy board.")] = "clique:3",
    seat: Annotated[str, typer.Option(help="The power that learns.")] = "PLAYERA",
    others: Annotated[str, typer.Option(help="Who plays the other seats.")] = "dove",
    years: Annotated[int, typer.Option(help="Length of a game.")] = 3,
    steps: Annotated[int, typer.Option(help="Steps of training.")] = 8_000,
    seed: Annotated[int, typer.Option(help="Seed of the network and of the games.")] = 0,
) -> None:
    """Train, and print the seat's points."""
    env = gymnasium.make(ID, seat=seat, others=others, map_name=map_name, years=years)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    print(f"random legal orders: {points(env, lambda seen, info: env.action_space.sample(info['action_mask'])):.2f}")
    model = learned(env, steps, seed)

    def choose(seen: np.ndarray, info: dict) -> np.ndarray:
        action, _ = model.predict(seen, action_masks=info["action_mask"].astype(bool), deterministic=True)
        return action

    print(f"learned in {model.num_timesteps:,} steps: {points(env, choose):.2f}")


if __name__ == "__main__":
    typer.run(main)
