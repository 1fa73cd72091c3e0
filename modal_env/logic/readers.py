"""Programs that are not formulas (readers): they run their opponent, compare names, or look at the context.

* A `Simulator` runs its opponent against itself (or against a helper) and answers the opponent's move. To make this
  end, it first tosses a coin: with probability `stop` it makes a fixed first move instead. This is the epsilon-grounded
  FairBot of Oesterheld (Robust Program Equilibrium, 2019) and the epsilon-grounded pi-Bots of Cooper, Oesterheld and
  Conitzer (Characterising Simulation-Based Program Equilibria, 2024, arXiv:2412.14570).
* A `Quine` recognizes programs by name, also itself: it plays as one program against these and as another against the
  rest.
* A `Chooser` looks at the context (the payoffs, the population, the round) and chooses the program that it plays as.

What they do against each other, and against formulas: `modal_env.logic.mixed_plays`. `READERS` has some by name.

Coins. Every run of a simulator with coins of its own ("own", the uncorrelated context) tosses a new coin. Simulators
with "shared" coins (the correlated context) read one sequence of random numbers, one for each level of simulation: all
simulators at a level see the same number. Then the levels, from the one at which they stop to the top, are the rounds
of a repeated game that ends after each round with probability `stop`, and the answer may depend on several rounds.

Costs. The depth of a reader is its attribute `depth`: by default 1, as for FairBot; give 0 for a program that ignores
its opponent. Its size is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from modal_env.checks import Number, brief, choice, exact, items, whole
from modal_env.errors import GameError
from modal_env.logic.library import LIBRARY
from modal_env.logic.notation import as_agent
from modal_env.logic.syntax import Agent

MAX_MEMORY = 4
OESTERHELD = "Oesterheld, Robust Program Equilibrium (2019)"
COOPER = "Cooper, Oesterheld and Conitzer, Characterising Simulation-Based Program Equilibria (2024, arXiv:2412.14570)"
TENNENHOLTZ = "Tennenholtz, Program Equilibrium (2004)"
OURS = "welfare-env, docs/modal-readers.md"
DILEMMA: Mapping[str, Fraction] = MappingProxyType(
    {"CC": Fraction(2), "CD": Fraction(0), "DC": Fraction(3), "DD": Fraction(1)}
)
"""What the post's prisoner's dilemma pays."""


@dataclass(frozen=True)
class Reader:
    """A program that is not a formula.

    Attributes:
        name: as for an agent.
        depth: the depth for which it pays.
    """

    name: str
    depth: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise GameError(f"name={brief(self.name)}: give a text")
        whole("depth", self.depth, 0)

    size: ClassVar[int] = 1
    program: ClassVar[tuple[int, ...]] = ()
    called: ClassVar[tuple[Agent, ...]] = ()
    helpers: ClassVar[Mapping[str, Agent]] = MappingProxyType({})
    calls_itself: ClassVar[bool] = True
    is_random: ClassVar[bool] = False

    @property
    def text(self) -> str:
        """What it does, in words."""
        raise NotImplementedError

    @property
    def unicode(self) -> str:
        """The same as `text`."""
        return self.text

    def __str__(self) -> str:
        return self.text


Program = Agent | Reader


@dataclass(frozen=True)
class Context:
    """What a `Chooser` may look at.

    Attributes:
        own, other: the payoffs of its seat and of the opponent's, own move first: "CC", "CD", "DC", "DD".
        shares: name -> share in the population; empty without a population.
        round: number of the round, from 0.
        programs: the programs that can be named, besides the library's.
    """

    own: Mapping[str, Fraction]
    other: Mapping[str, Fraction]
    shares: Mapping[str, Fraction] = field(default_factory=dict)
    round: int = 0
    programs: Mapping[str, Program] = field(default_factory=dict)

    @property
    def turned(self) -> Context:
        """As the other seat sees it."""
        return Context(self.other, self.own, self.shares, self.round, self.programs)

    def find(self, name: str) -> Program:
        """A program by name.

        Raises:
            GameError: no program has this name.
        """
        known = {**LIBRARY, **READERS, **self.programs}
        if name not in known:
            raise GameError(f"helper {name!r:.60}: no program has this name")
        return known[name]


@dataclass(frozen=True)
class Simulator(Reader):
    """Runs its opponent, and answers the last `memory` rounds.

    With shared coins the history is the rounds since the level at which it stopped, the oldest first. With coins of its
    own it runs the opponent once, so `memory` is 1: if every run started two others, they might never end.

    Attributes:
        stop: probability of making the first move instead of a simulation; above 0, so that every run ends. Given as a
            fraction, a decimal number or a text such as "1/10".
        first: its move then.
        answers: (history, move): what it does after some histories of up to `memory` rounds. A round is the
            opponent's move, or with `sees_own` its own move and the opponent's.
        other: its move after all other histories.
        memory: rounds that it looks at.
        sees_own: whether it looks at its own moves, too.
        coins: "own" or "shared".
        against: name of the helper against whom it runs its opponent; "" is itself.

    Raises:
        GameError: an attribute is invalid, or `memory` above 1 or `sees_own` with coins of its own.
    """

    stop: Fraction
    first: str = "C"
    answers: tuple[tuple[str, str], ...] = (("C", "C"),)
    other: str = "D"
    memory: int = 1
    sees_own: bool = False
    coins: str = "own"
    against: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "stop", exact(self.stop, "stop"))  # the dataclass is frozen
        if not 0 < self.stop <= 1:
            raise GameError(f"stop={brief(self.stop)}: give a probability above 0, or the simulation need not end")
        for move in (self.first, self.other, *(move for _, move in self.answers)):
            choice("move", move, "CD")
        whole("memory", self.memory, 1, MAX_MEMORY)
        width = 1 + self.sees_own
        for history, _ in self.answers:
            if set(history) - set("CD") or len(history) % width or not 0 < len(history) <= self.memory * width:
                raise GameError(f"answers: {history!r:.40} is no history of 1 to {self.memory} rounds, oldest first")
        choice("coins", self.coins, ("own", "shared"))
        if self.coins == "own" and (self.memory > 1 or self.sees_own):
            raise GameError(f"{self.name}: with coins of its own it starts one run; give memory 1, or shared coins")

    def move(self, history: str) -> str:
        """Its move after a history, the oldest round first; "" is the level at which it stops."""
        if not history:
            return self.first
        return dict(self.answers).get(self.recalled(history), self.other)

    def recalled(self, history: str) -> str:
        """The end of a history: the last `memory` rounds."""
        return history[-self.memory * (1 + self.sees_own) :]

    @property
    def text(self) -> str:
        """What it does, in words."""
        answers = ", ".join(f"{history}: {move}" for history, move in self.answers)
        against = f" against {self.against}" if self.against else ""
        answers += f", else {self.other}"
        return f"{self.first} with chance {self.stop} ({self.coins} coin); else runs X{against}: {answers}"


@dataclass(frozen=True)
class Quine(Reader):
    """Plays as one program against those whose names it knows, and as another against the rest.

    A formula cannot do this: it sees what X does, not how it is written.

    Attributes:
        friends: the names that it knows; "me" is its own.
        inside, outside: name of the program that it plays as against friends, and against others.

    Raises:
        GameError: `friends` is not a list of names, or `inside` or `outside` is not a name.
    """

    friends: tuple[str, ...] = ("me",)
    inside: str = "CooperateBot"
    outside: str = "DefectBot"

    def __post_init__(self) -> None:
        super().__post_init__()
        friends = items(self.friends)
        if friends is None or not all(isinstance(friend, str) for friend in friends):
            raise GameError(f"friends={brief(self.friends)}: give a list of names, such as ['me', 'FairBot']")
        object.__setattr__(self, "friends", friends)  # the dataclass is frozen
        for field_name, given in (("inside", self.inside), ("outside", self.outside)):
            if not isinstance(given, str):
                raise GameError(f"{field_name}={brief(given)}: give the name of a program")

    def knows(self, name: str) -> bool:
        """Whether a program of this name is a friend."""
        return name in self.friends or (name == self.name and "me" in self.friends)

    @property
    def text(self) -> str:
        """What it does, in words."""
        return f"{self.inside} against {', '.join(self.friends)}; else {self.outside}"


@dataclass(frozen=True)
class Chooser(Reader):
    """Looks at the context, and plays as the program that it chooses.

    Attributes:
        choose: the context, seen from its own seat -> name of the program.
        words: what it does, for tables.

    Raises:
        GameError: `choose` is not a function, or `words` not a text.
    """

    choose: Callable[[Context], str]
    words: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.choose):
            raise GameError(f"choose={brief(self.choose)}: give a function of a Context")
        if not isinstance(self.words, str):
            raise GameError(f"words={brief(self.words)}: give a text")

    @property
    def text(self) -> str:
        """What it does, in words."""
        return self.words


def resolved(program: Program, opponent: Program, context: Context) -> Agent | Simulator:
    """The formula or simulator that a program plays as.

    Raises:
        GameError: a program chooses an unknown program, or some choose each other in a circle.
    """
    met: set[str] = set()
    while not isinstance(program, (Agent, Simulator)):
        if program.name in met:
            raise GameError(f"{program.name!r:.60} in the end plays as itself: let it play as a formula or a Simulator")
        met.add(program.name)
        if isinstance(program, Quine):
            program = context.find(program.inside if program.knows(opponent.name) else program.outside)
        elif isinstance(program, Chooser):
            program = context.find(program.choose(context))
        else:
            raise GameError(f"{program.name!r:.60} is of no known kind: give a formula, Simulator, Quine or Chooser")
    return program


def sees_context(programs: Iterable[Program]) -> bool:
    """Whether one of these programs is a `Chooser`, or plays as one or runs its opponent against one."""
    todo = list(programs)
    known = {**LIBRARY, **READERS, **{program.name: program for program in todo}}
    met: set[str] = set()
    for program in todo:  # grows
        if isinstance(program, Chooser):
            return True
        named = {getattr(program, place, "") for place in ("inside", "outside", "against")}
        todo += [known[name] for name in named - met if name in known]
        met |= named
    return False


def GroundedFairBot(stop: Number = "1/10", coins: str = "own") -> Simulator:
    """Cooperates with probability `stop`; else runs its opponent against itself and does the same."""
    return Simulator(_called("GroundedFairBot", stop, coins), exact(stop, "stop"), coins=coins)


def GroundedTwoTats(stop: Number = "1/10") -> Simulator:
    """Defects only after two defections in a row: needs shared coins."""
    answers = (("C", "C"), ("D", "C"), ("CC", "C"), ("CD", "C"), ("DC", "C"))
    return Simulator(
        _called("GroundedTwoTats", stop, "own"), exact(stop, "stop"), answers=answers, memory=2, coins="shared"
    )


def GroundedShift(stop: Number = "1/10") -> Simulator:
    """Win-stay, lose-shift: cooperates if both did the same in the last round; needs shared coins."""
    answers = (("CC", "C"), ("DD", "C"))
    name = _called("GroundedShift", stop, "own")
    return Simulator(name, exact(stop, "stop"), answers=answers, sees_own=True, coins="shared")


def _called(name: str, stop: Number, coins: str) -> str:
    shared = "Shared" if coins == "shared" else ""
    chance = exact(stop, "stop")
    return shared + name + ("" if chance == Fraction(1, 10) else f"_{chance}".replace("/", "_"))


def _by_payoffs(context: Context) -> str:
    """CooperateBot if C is a best reply to C, else FairBot if CC is worth more than the best constant move."""
    own = context.own
    if own["CC"] >= own["DC"]:
        return "CooperateBot"
    return "FairBot" if own["CC"] > max(min(own["CC"], own["CD"]), min(own["DC"], own["DD"])) else "DefectBot"


def _by_population(context: Context) -> str:
    """FairBot while DefectBots are fewer than half, else DefectBot."""
    return "DefectBot" if context.shares.get("DefectBot", Fraction(0)) >= Fraction(1, 2) else "FairBot"


def _by_round(context: Context) -> str:
    return "CooperateBot" if context.round == 0 else "FairBot"


_TENTH = Fraction(1, 10)
_ROWS: tuple[tuple[Reader, str], ...] = (
    (GroundedFairBot(), OESTERHELD),
    (GroundedFairBot(coins="shared"), COOPER),
    (GroundedTwoTats(), f"{COOPER}: a policy for repeated games, here tit for two tats"),
    (GroundedShift(), f"{COOPER}: a policy for repeated games, here win-stay, lose-shift"),
    (Simulator("ColdFairBot", _TENTH, first="D"), f"{OURS}: GroundedFairBot that defects when it stops"),
    (Simulator("Bully", _TENTH, "D", (("D", "C"),)), f"{OURS}: does the opposite of what it sees"),
    (Simulator("Tester", _TENTH, against="DefectBot"), f"{OURS}: runs its opponent against DefectBot"),
    (Simulator("Ann", _TENTH, against="Bob"), f"{OURS}: runs its opponent against Bob, who runs it against Ann"),
    (Simulator("Bob", _TENTH, "D", against="Ann"), f"{OURS}: see Ann"),
    (Quine("CliqueBot"), f"{TENNENHOLTZ}: cooperates with its own source code"),
    (Quine("FairClique", outside="FairBot"), f"{OURS}: CliqueBot that is fair to strangers"),
    (Chooser("TableBot", _by_payoffs, "looks at the payoffs: CooperateBot, FairBot or DefectBot"), OURS),
    (Chooser("CrowdBot", _by_population, "FairBot while DefectBots are fewer than half, else DefectBot"), OURS),
    (Chooser("PoliteBot", _by_round, "CooperateBot in the first round, then FairBot"), OURS),
)

READERS: dict[str, Reader] = {reader.name: reader for reader, _ in _ROWS}
READER_SOURCES: dict[str, str] = {reader.name: source for reader, source in _ROWS}


def as_programs(given: object, name: str = "agents") -> tuple[Program, ...]:
    """One or more programs: formulas, readers, or names of either; `name` is used in the error message.

    Raises:
        GameError: not a list of programs and texts, or an empty list.
        FormulaError: a text that is neither name nor formula, see `modal_env.logic.notation.find`.
    """
    found = items(given)
    if not found or not all(isinstance(program, (Agent, Reader, str)) for program in found):
        hint = "give a list of agents, one at least: names such as 'FairBot' or formulas '[]X(me)'"
        raise GameError(f"{name}={brief(given)}: {hint}")
    return tuple(map(as_program, found))


def as_program(given: object) -> Program:
    """A program given as an object, by name in any case, or as a formula.

    Raises:
        GameError, FormulaError: as `as_programs`.
    """
    if isinstance(given, Reader):
        return given
    reader = as_reader(given) if isinstance(given, str) else None
    return as_agent(given) if reader is None else reader


def as_formula(given: object) -> Agent:
    """A formula given as an object, by name or as a text.

    Raises:
        GameError: a reader; or as `as_programs`.
        FormulaError: as `as_programs`.
    """
    program = as_program(given)
    if isinstance(program, Reader):
        raise GameError(
            f"{program.name!r:.60} is not a formula; only formulas are possible here, but play_mixed, tournament, Game "
            'and make(actions="library") take all programs'
        )
    return program


def as_formulas(given: object, name: str = "agents") -> tuple[Agent, ...]:
    """One or more formulas; `name` is used in the error message.

    Raises:
        GameError, FormulaError: as `as_programs` and `as_formula`.
    """
    return tuple(map(as_formula, as_programs(given, name)))


def as_reader(name: str) -> Reader | None:
    """The reader of this name, in any case; None if there is none."""
    return next((reader for known, reader in READERS.items() if known.casefold() == name.strip().casefold()), None)
