"""A tournament of players that write programs, language models among them.

    python -m research.programs.program_tournament

As in Sistla and Kleiman-Weiner, Evaluating LLMs in Open-Source Games (arXiv:2512.00371): each pair of players plays
some rounds, and in every round each writes a program, knowing the programs and payoffs of earlier rounds (dyadic);
then all final programs form a population (evolutionary). Unlike there, programs are formulas of provability logic, so
that their moves are computed exactly, they have a cost, and no code written by a model is run.

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
from modal_env.logic.readers import as_formula

DEFAULT = ("lm:scripted/stub", "program:FairBot", "program:PrudentBot", "program:DefectBot")
MEMBERS = 50


def main(
    player: Annotated[list[str] | None, typer.Option(help="A player; give several.", show_default=str(DEFAULT))] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds per game; each player writes one program per round.")] = 3,
    epsilon: Annotated[str, typer.Option(help="Price per level of depth.")] = "1/10",
    game: Annotated[str, typer.Option(help="The game that the programs play.")] = "prisoners-dilemma",
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Play all pairs of players, including against themselves, and then let their final programs evolve."""
    players = player or [*DEFAULT]
    pairs = [*combinations_with_replacement(players, 2)]
    written: dict[str, modal_env.Agent] = {}
    print("player                     opponent                   paid a round   programs of the first player")
    for pair in pairs:
        for seat, (paid, programs) in enumerate(play(pair, rounds, epsilon, game, seed)):
            texts = " / ".join(dict.fromkeys(program.text for program in programs))
            print(f"{pair[seat]:<26.26} {pair[1 - seat]:<26.26} {paid:>12.3f}   {texts:.120}", flush=True)
            written.setdefault(programs[-1].text, programs[-1])
    evolve([*written.values()], epsilon, game)


def play(
    pair: tuple[str, str], rounds: int, epsilon: str, game: str, seed: int
) -> list[tuple[float, list[modal_env.Agent]]]:
    """One game of two players: each player's mean payoff per round, and its programs."""
    env = modal_env.make(epsilon, actions="formula", rounds=rounds, payoffs=game)
    policies = dict(zip(env.possible_agents, map(agents.make, pair), strict=True))
    env.reset(seed=seed)
    for name, policy in policies.items():
        policy.reset(agent=name, seed=seed)
    history: tuple[modal_env.Round, ...] = ()
    for name in env.agent_iter():
        observation, _, terminated, truncated, info = env.last()
        history = info["history"]
        env.step(None if terminated or truncated else policies[name].act(observation, info))
    return [
        (
            sum(played.payoffs[seat] for played in history) / rounds,
            [as_formula(played.programs[seat]) for played in history],
        )
        for seat in (0, 1)
    ]


def evolve(programs: list[modal_env.Agent], epsilon: str, game: str) -> None:
    """Print the long-run share of each program in a finite population with rare mutations."""
    named = [program.renamed(f"P{number}") for number, program in enumerate(programs)]
    shares = modal_env.rare_mutations(modal_env.Game(named, Fraction(epsilon), payoffs=game), MEMBERS)
    print(f"\nA population of {MEMBERS}, rare mutations, share of time; both cooperate: {shares.cooperation.value:.3f}")
    for program, mean in sorted(zip(programs, shares.means, strict=True), key=lambda pair: -pair[1].value):
        print(f"{mean.value:.3f}  {program.text:.120}")


if __name__ == "__main__":
    typer.run(main)
