"""Networks and checkpoints that have learned nothing, which the tests of learned players share."""

from dataclasses import replace

import numpy as np
import torch

import agents
import welfare_env
from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.network import BoardNetwork, Size
from tests import playing

SMALL = Size(8, 1)


def network(board, size=SMALL, message_rounds=0, seed=0, kind=BoardNetwork):
    """A random network, which does not play uniformly."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        made = kind(board, size, message_rounds)
        made.score.weight *= 20
    return made


def checkpoint_of(board, rules, size=SMALL, seed=0, **changes):
    """The checkpoint of a random network."""
    net = network(board, size, rules.message_rounds if rules.has_tokens else 0, seed)
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    return replace(Checkpoint(weights, size, board.name, rules, checkpoint.vocabulary(board)), **changes)


def play_aec(spec, seed=0, **options):
    """A game of a policy in all seats, strict, so that nothing is refused; in `play_parallel` all act at once."""
    return playing.play(*seats_of(welfare_env.make, spec, options), seed).game


def play_parallel(spec, seed=0, **options):
    return playing.play_parallel(*seats_of(welfare_env.parallel_env, spec, options), seed).game


def seats_of(make, spec, options):
    """An environment, of one year unless the options have rules, and a policy for each of its agents."""
    env = make(strict=True, **({} if "rules" in options else {"years": 1}), **options)
    return env, {agent: agents.make(spec) for agent in env.possible_agents}


def decisions(env):
    """The games and powers that have something to decide in a `VectorEnv`."""
    pairs = np.unique(np.stack([env.legal.games, env.legal.powers], axis=1), axis=0).astype(np.int64)
    return pairs[:, 0], pairs[:, 1]
