"""TorchRL: PPO through its PettingZooWrapper, one network for all seats, paid the points of all; then it is measured.

pip install torch==2.13.0 -e '.[rl]' torchrl
python examples/torchrl_selfplay.py --iterations 40
"""

import torch
import typer
from tensordict.nn import (
    InteractionType,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
)
from torch import nn
from torchrl.envs import PettingZooWrapper
from torchrl.modules import MLP, MaskedCategorical
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value.functional import generalized_advantage_estimate

import evaluation
import training
import welfare_env

SEEN = [("observation", "observations")]


def actor_of(network: nn.Module, *group: str) -> ProbabilisticTensorDictSequential:
    """The network as a policy: for the environment's group of agents, or for single decisions."""
    seen, logits, mask, action = ((*group, *key) for key in (SEEN[0], ("logits",), ("action_mask",), ("action",)))
    choice = ProbabilisticTensorDictModule(
        {"logits": logits, "mask": mask}, [action], distribution_class=MaskedCategorical, return_log_prob=True,
        default_interaction_type=InteractionType.RANDOM,
    )  # fmt: skip
    return ProbabilisticTensorDictSequential(TensorDictModule(network, [seen], [logits]), choice)


def main(map_name: str = "clique:3", years: int = 3, iterations: int = 40, steps: int = 500, seed: int = 0) -> None:
    """Train, export, and print what a robber among such players gains."""
    torch.manual_seed(seed)
    ours = welfare_env.make(map_name=map_name, years=years, press=None, flat=True, infos=False)
    env = PettingZooWrapper(ours, use_mask=True, group_map={"all": ours.possible_agents}, seed=seed)
    inputs, orders = (env.reset()["all"][key].shape[-1] for key in (SEEN[0], "action_mask"))
    network = MLP(inputs, orders, num_cells=[64, 64], activation_class=nn.Tanh)
    actor = actor_of(network)
    critic = TensorDictModule(MLP(inputs, 1, num_cells=[64, 64]), SEEN, ["state_value"])
    ppo = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(ppo.parameters(), 1e-3)
    for iteration in range(iterations):
        with torch.no_grad():
            played = env.rollout(steps, actor_of(network, "all"), break_when_any_done=False)
            taken, ended = played["all"][played["all", "mask"]], played["next", "done"]  # whose turn it is
            paid, value = played["next", "all", "reward"].sum(1), critic(taken)["state_value"]
            ahead = torch.cat([value[1:], value[-1:]])
            gained = generalized_advantage_estimate(1.0, 0.95, value, ahead, paid, ended, ended)
        taken["advantage"], taken["value_target"] = gained
        for _ in range(4):
            for some in torch.randperm(len(taken)).split(128):
                losses = ppo(taken[some])
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                optimizer.step()
        print(f"{iteration + 1:3d}  points a game {float(paid.sum() / max(1, ended.sum())):.2f}", flush=True)
    player = training.export(nn.Sequential(*network), "runs/torchrl", env=ours)
    rules = welfare_env.Rules(years=years, press=None)
    print(evaluation.exploitability(f"rl:{player}", 5, map_name=map_name, rules=rules))


if __name__ == "__main__":
    typer.run(main)
