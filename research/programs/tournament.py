"""A tournament of players that write programs, language models among them.

    python -m research.programs.tournament    # seconds, with the stub in place of a model

As in Sistla and Kleiman-Weiner, Evaluating LLMs in Open-Source Games (arXiv:2512.00371): each pair of players plays
some rounds, and in every round each writes a program, knowing the programs and payoffs of earlier rounds; then all
final programs form a population. Unlike there, programs are formulas of provability logic, so that their moves are
computed exactly, they have a cost, and no code written by a model is run.

Players are specs: ``lm:scripted/stub`` is free and needs no key, ``lm:openai/MODEL`` asks a model, ``program:FairBot``
writes the same program in every round.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Annotated

import typer

import agents
import modal_env

DEFAULT = ("lm:scripted/stub", "program:FairBot", "program:PrudentBot", "program:DefectBot")
MEMBERS = 50


def play(pair: tuple[str, str], rounds: int, epsilon: str) -> list[tuple[float, list[modal_env.Agent]]]:
    """One game of two players: each player's mean payoff per round, and its programs."""
    env = modal_env.make(epsilon, actions="formula", rounds=rounds)
    policies = dict(zip(env.possible_agents, map(agents.make, pair), strict=True))
    env.reset(seed=0)
    for name, policy in policies.items():
        policy.reset(agent=name, seed=0)
    history: tuple[modal_env.Round, ...] = ()
    for name in env.agent_iter():
        observation, _, terminated, truncated, info = env.last()
        history = info["history"]
        env.step(None if terminated or truncated else policies[name].act(observation, info))
    return [
        (sum(played.payoffs[seat] for played in history) / rounds, [played.programs[seat] for played in history])
        for seat in (0, 1)
    ]


def main(
    player: Annotated[list[str] | None, typer.Option(help="A player; give several.", show_default=str(DEFAULT))] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds per game.")] = 3,
    epsilon: Annotated[str, typer.Option(help="Price per level of depth.")] = "1/10",
) -> None:
    """Play all pairs of players, including against themselves, and then let their final programs evolve."""
    written: dict[str, modal_env.Agent] = {}
    for pair in combinations_with_replacement(player or DEFAULT, 2):
        for seat, (paid, programs) in enumerate(play(pair, rounds, epsilon)):
            texts = " / ".join(dict.fromkeys(program.text for program in programs))
            print(f"{pair[seat]:<20.20} against {pair[1 - seat]:<20.20} paid {paid:.3f} a round, wrote {texts:.120}")
            written.setdefault(programs[-1].text, programs[-1])
    named = [program.renamed(f"P{number}") for number, program in enumerate(written.values())]
    shares = modal_env.rare_mutations(modal_env.ProgramGame(named, Fraction(epsilon)), MEMBERS)
    print(f"\nA population of {MEMBERS}, rare mutations, share of time; both cooperate: {shares.cooperation:.3f}")
    for program, mean in sorted(zip(written, shares.means, strict=True), key=lambda pair: -pair[1]):
        print(f"{mean:.3f}  {program:.120}")


if __name__ == "__main__":
    typer.run(main)
