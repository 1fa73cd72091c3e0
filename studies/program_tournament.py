"""A tournament of players that write programs, language models among them: ``python -m studies.program_tournament``.

As in Sistla and Kleiman-Weiner, Evaluating LLMs in Open-Source Games (arXiv:2512.00371): every two players play some
rounds, and each writes a program for every round, having seen those of the rounds before and their payoffs (dyadic);
then all programs written last form a population (evolutionary). Different from there: programs are formulas of
provability logic, so what they do against each other is computed exactly, they have a price, and no code of a model
is run.

Players are specs: ``lm:scripted/stub`` costs nothing and needs no key, ``lm:openai/MODEL`` asks a model,
``program:FairBot`` writes the same in every round.
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


def main(
    player: Annotated[list[str] | None, typer.Option(help="A player; give several.", show_default=str(DEFAULT))] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of a game; each player writes a program a round.")] = 3,
    epsilon: Annotated[str, typer.Option(help="Price of a level of depth.")] = "1/10",
    game: Annotated[str, typer.Option(help="What the programs play.")] = "prisoners-dilemma",
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Play every two players, themselves among them, and then let their last programs evolve."""
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
    """One game of two players: of each, what it is paid a round, and its programs."""
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
        (sum(played.payoffs[seat] for played in history) / rounds, [played.programs[seat] for played in history])
        for seat in (0, 1)
    ]


def evolve(programs: list[modal_env.Agent], epsilon: str, game: str) -> None:
    """Print the share of time that a finite population spends with each program."""
    named = [program.renamed(f"P{number}") for number, program in enumerate(programs)]
    shares = modal_env.rare_mutations(modal_env.Game(named, Fraction(epsilon), payoffs=game), MEMBERS)
    print(f"\nA population of {MEMBERS}, rare mutations, share of time; both cooperate: {shares.cooperation.value:.3f}")
    for program, mean in sorted(zip(programs, shares.means, strict=True), key=lambda pair: -pair[1].value):
        print(f"{mean.value:.3f}  {program.text:.120}")


if __name__ == "__main__":
    typer.run(main)
