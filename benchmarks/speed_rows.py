"""The rows of `benchmarks.speed`: each plays phases in some way, and returns their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from diplomacy import Game as PackageGame
from diplomacy.utils.constants import DEFAULT_GAME_RULES

import welfare_env
from welfare_env import Game, Rules, load_board
from welfare_env.engine import State, initial_state, kernels
from welfare_env.engine.fast import FastEngine, Scratch, rules_array
from welfare_env.engine.tables import tables_of
from welfare_env.envs.observation import num_features
from welfare_env.envs.vector import VectorEnv

SEED = 0
YEARS = 10
RULES = {variant: Rules(variant, years=YEARS, press=None) for variant in ("standard", "welfare")}
FUSED = 20_000  # phases per call
STEPS = 30  # approximate number of phases in a game of ten years
RECORDED = 4  # games played by the rows with one game
BATCH = 256  # games
THREADED = "threads, not pinned to one CPU"

Played = tuple[int, int]  # phases, and units for microseconds (environment steps, otherwise phases)


@dataclass(frozen=True)
class Row:
    """A row of the table to measure.

    Attributes:
        play: plays for at least some milliseconds, and returns the numbers of phases and units.
        pinned: whether it runs pinned to one CPU.
    """

    group: str
    name: str
    play: Callable[[], Played]
    pinned: bool = True


@dataclass(frozen=True)
class Turn:
    """A phase of a recorded game: the position, and each power's orders as numbers and as strings."""

    state: State
    numbers: list[np.ndarray]
    texts: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Recorded:
    """A recorded game: its actions in the AEC environment, and its phases."""

    actions: list[int]
    turns: list[Turn]


# Each of these functions makes the `play` of a row.


def fused(variant: str) -> Callable[[], Played]:
    """One game after the other in one kernel: legal orders, random choices, next position."""
    board = load_board()
    at, tables, numbers = Scratch(tables_of(board)), tables_of(board), rules_array(board, RULES[variant])
    start = initial_state(board).row.copy()

    def play() -> Played:
        work = (at.w, at.b, at.x, start, np.array([SEED], np.uint64))
        lists = (at.orders, at.starts, at.slots, at.powers, at.flags)
        kernels.play(tables.numbers, tables.masks, numbers, start.copy(), *work, *lists, FUSED)
        return FUSED, FUSED

    return play


def fused_threads(threads: int) -> Callable[[], Played]:
    """The same in independent threads: the machine's upper limit for threads."""
    plays = [fused("standard") for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)

    def play() -> Played:
        phases = sum(future.result()[0] for future in [pool.submit(each) for each in plays])
        return phases, phases

    return play


def batched(num_games: int, threads: int = 1, observations: bool = False, padded: bool = False) -> Callable[[], Played]:
    """Many games at once; about one game each, since `reset` restarts all games."""
    board = load_board()
    games = VectorEnv(board, RULES["standard"], num_games, threads)
    which = np.arange(num_games)
    who = which % len(board.powers)
    seen = np.zeros((num_games, len(board.provinces), num_features(board)), np.float32)

    def play() -> Played:
        games.reset(SEED)
        for _ in range(STEPS):
            games.step(games.sample())
            if observations:
                games.observe(which, who, out=seen)
            if padded:
                games.legal.padded()
        return STEPS * num_games, STEPS * num_games

    return play


def engine_calls(games: Sequence[Recorded], variant: str) -> Callable[[], Played]:
    """`legal` and `step` of the engine, one state at a time. Here and below, orders are chosen beforehand."""
    engine = FastEngine(load_board(), RULES[variant])
    turns = [turn for game in games for turn in game.turns]

    def play() -> Played:
        for turn in turns:
            engine.legal(turn.state)
            engine.step(turn.state, turn.numbers)
        return len(turns), len(turns)

    return play


def game_in_words(games: Sequence[Recorded], variant: str) -> Callable[[], Played]:
    """`Game`: for each power, list the legal orders and submit strings, which are checked."""

    def play() -> Played:
        for recorded in games:
            game = Game(rules=RULES[variant])
            for turn in recorded.turns:
                for power in game.powers:
                    game.legal_orders(power)
                    game.submit(power, turn.texts[power])
                game.advance()
        phases = sum(len(game.turns) for game in games)
        return phases, phases

    return play


def aec_steps(games: Sequence[Recorded], variant: str, last: bool) -> Callable[[], Played]:
    """The AEC environment, action by action, with or without calling `last` before each."""
    env = welfare_env.make(press=None, variant=variant, years=YEARS)

    def play() -> Played:
        for game in games:
            env.reset()
            for action in game.actions:
                if last:
                    env.last()
                env.step(action)
        return sum(len(game.turns) for game in games), sum(len(game.actions) for game in games)

    return play


def parallel_steps(games: Sequence[Recorded], variant: str) -> Callable[[], Played]:
    """The parallel environment; each step returns every power's observation, legal lists and mask."""
    env = welfare_env.parallel_env(press=None, variant=variant, years=YEARS)
    recorded = [parallel_actions(env, game) for game in games]

    def play() -> Played:
        for actions in recorded:
            env.reset()
            for action in actions:
                env.step(action)
        steps = sum(map(len, recorded))
        return steps, steps

    return play


def package_games() -> Played:
    """A game in the `diplomacy` package, played as in its README, stopped after ten years."""
    rng = np.random.default_rng(SEED)
    game = PackageGame(rules=[*DEFAULT_GAME_RULES, "NO_DEADLINE"])
    last_year, phases = int(game.get_current_phase()[1:5]) + YEARS, 0
    while not game.is_game_done and int(game.get_current_phase()[1:5]) < last_year:
        possible = game.get_all_possible_orders()
        for power in game.powers:
            lists = [possible[place] for place in game.get_orderable_locations(power)]
            game.set_orders(power, [orders[rng.integers(len(orders))] for orders in lists if orders], expand=False)
        game.process()
        phases += 1
    return phases, phases


# Games recorded beforehand, so that choosing orders is not measured.


def record(variant: str, seed: int) -> Recorded:
    """A game of the AEC environment with uniform draws from the action mask."""
    rng = np.random.default_rng(seed)
    env = welfare_env.make(press=None, variant=variant, years=YEARS)
    env.reset()
    game, actions = env.unwrapped.game, []
    while not game.is_done:
        observation, *_ = env.last()
        actions.append(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
        env.step(actions[-1])
    index, turns = game.board.orders.index, []
    for phase in game.history:
        numbers = [np.array([index[text] for text in phase.orders[power]], np.int32) for power in game.powers]
        turns.append(Turn(phase.position.state, numbers, phase.orders))
    return Recorded(actions, turns)


def parallel_actions(env: Any, game: Recorded) -> list[dict[str, np.ndarray]]:
    """The same orders as choices from the legal lists of the parallel environment."""
    observations, _ = env.reset()
    found = []
    for turn in game.turns:
        ordered = dict(zip(env.board.powers, turn.numbers, strict=True))
        found.append({p: np.isin(observations[p]["legal"], ordered[p]).argmax(axis=1) for p in env.agents})
        observations = env.step(found[-1])[0]
    return found


def rows(sizes: Sequence[int]) -> list[Row]:
    """All rows of the table."""
    return [
        *(Row("one kernel", f"fused random play, {variant} rules", fused(variant)) for variant in RULES),
        *batched_rows(sizes),
        *one_game_rows(),
        Row("diplomacy package", "random play", package_games),
    ]


def batched_rows(sizes: Sequence[int]) -> list[Row]:
    """`vector_env`: by number of games, with observations and padded lists, and with threads."""
    group, padded = "vector_env, with legal lists", batched(BATCH, observations=True, padded=True)
    found = [Row(group, f"games: {size:,}", batched(size)) for size in sizes]
    found.append(Row(group, f"games: {BATCH}, observations", batched(BATCH, observations=True)))
    found.append(Row(group, f"games: {BATCH}, padded lists, too", padded))
    for threads in (1, 2):
        found.append(Row(THREADED, f"fused, threads: {threads}", fused_threads(threads), pinned=False))
    for size in dict.fromkeys((BATCH, sizes[-1])):
        for threads in (1, 2):
            play = batched(size, threads)
            found.append(Row(THREADED, f"games: {size:,}, threads: {threads}", play, pinned=False))
    return found


def one_game_rows() -> list[Row]:
    """One game from Python, and the environments."""
    games = {variant: [record(variant, seed) for seed in range(RECORDED)] for variant in RULES}
    one, envs = "one game from Python", "environments"
    found = [Row(one, f"engine: legal + step, {v}", engine_calls(games[v], v)) for v in RULES]
    found += [Row(one, f"Game, in words, {v}", game_in_words(games[v], v)) for v in RULES]
    for v, played in games.items():
        found.append(Row(envs, f"AEC step, {v}", aec_steps(played, v, last=False)))
        found.append(Row(envs, f"AEC last + step, {v}", aec_steps(played, v, last=True)))
        found.append(Row(envs, f"parallel step, {v}", parallel_steps(played, v)))
    return found
