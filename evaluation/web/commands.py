"""The command ``play``."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.runtime.progress import errors_in_one_line
from evaluation.checks import EvaluationError
from evaluation.measures.lm_usage import spent
from evaluation.play.playing import set_up_game
from evaluation.play.runner import Runner
from evaluation.play.store import DEFAULT_PATH, GameStore
from evaluation.web.settings import SPECTATOR, SeatedGameError, TableSettings, seated
from welfare_env import Rules
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels
    from evaluation.web.seats import GameFolder
    from evaluation.web.serving import Address

KEPT = "everything confirmed is saved; `welfare-env play FOLDER`, with the folder of the game, continues it"
UNSAVED = "the terminal saves only finished games, the browser all"
REPLIES = Path("runs", "replies.sqlite")


def play(
    seats: Annotated[
        list[str],
        typer.Argument(help="The powers that people play, such as FRANCE ENGLAND; or a game's folder, to continue it."),
    ],
    others: Annotated[str, typer.Option(help="The policy or profile of the other seats.")] = "marshal",
    years: Annotated[int, typer.Option(min=1, help="Length of the game, in years.")] = 3,
    message_rounds: Annotated[int, typer.Option(min=0, help="Message rounds per phase; 0 means no press.")] = 1,
    variant: Annotated[str, typer.Option(metavar="welfare|standard", help="The rules.")] = "welfare",
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or the path of a .map file.")] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the other players' random numbers.")] = 0,
    terminal: Annotated[bool, typer.Option("--terminal", help="Play one seat in this terminal; works by ssh.")] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the browser.")] = False,
    minutes: Annotated[
        float,
        typer.Option(min=0, help="Time limit for each message round and for orders; 0 for none. Who is late holds."),
    ] = 0,
    spectators: Annotated[
        bool, typer.Option("--spectators", help="Print a link for people who watch what all may see.")
    ] = False,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="SEAT",
            help="With a game's folder: print a new link for a seat (the game may be running). Who uses it has the "
            "seat alone.",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="The address to listen on. 0.0.0.0: everybody who can reach this machine, without encryption.",
            show_default="127.0.0.1: only this machine",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, metavar="PORT", help="The port.", show_default="a free one; the same when continued"
        ),
    ] = None,
    public_url: Annotated[
        str | None, typer.Option(help="The URL that people use, such as https://play.example.org of a reverse proxy.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the folders of games.")] = Path("runs", "play"),
    store: Annotated[Path, typer.Option(help="Store for finished games.")] = DEFAULT_PATH,
    budget_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of tokens of language models while this command runs.")
    ] = None,
    budget_dollars: Annotated[
        float | None, typer.Option(help="Maximum cost of language models in dollars while this command runs.")
    ] = None,
) -> None:
    """Play a game yourself, alone or with others: in the browser, with a secret link per seat, or in the terminal."""
    with errors_in_one_line(UNSAVED if terminal else KEPT):
        if not terminal and not all(find_spec(name) for name in ("starlette", "uvicorn")):
            raise EvaluationError(f"playing in the browser needs {install_extra('web')}; or use --terminal")
        folder = _opened(Path(seats[0])) if len(seats) == 1 and Path(seats[0]).is_dir() else None
        if link is not None:
            print(_new_link(folder or _opened(Path(seats[0])), link.upper()))
            return
        if folder is None:
            rules = Rules(variant=variant, years=years, message_rounds=message_rounds)
            settings = TableSettings(seated(seats, others, rules, map_name, seed), minutes, spectators)
        else:
            settings = folder.settings
        models = _language_models(settings, budget_tokens, budget_dollars)
        if terminal:
            _play_here(settings, store, models)
            return
        from evaluation.web.serving import Address

        old = Address() if folder is None else folder.address
        url = old.public_url if public_url is None else public_url
        address = Address(host or old.host, port or old.port, url)
        _serve(settings, folder or out, address, store, models, not no_browser and len(settings.seats) == 1)
        if models is not None and models.budget is not None:
            print(spent(models.budget.spent))


def _opened(folder: Path) -> GameFolder:
    from evaluation.web.seats import GameFolder

    return GameFolder(folder)


def _serve(
    settings: TableSettings,
    where: GameFolder | Path,
    address: Address,
    store: Path,
    models: SharedModels | None,
    opens: bool,
) -> None:
    """Serve a game until the process is interrupted. Nothing is written or printed before all that can fail has worked.

    Args:
        where: the game to continue, or a folder of games in which a new one is created.
        opens: open the browser.
    """
    from evaluation.web.hosting import Host
    from evaluation.web.routes import Routes
    from evaluation.web.seats import GameFolder
    from evaluation.web.serving import listening, make_server, make_site
    from welfare_env.engine.fast import ensure_compiled

    ensure_compiled()  # before people have to wait for it
    set_up_game(settings.spec, models)
    with GameStore(store) as games:
        games.check_writable()
    with listening(address) as sock:
        address = replace(address, port=sock.getsockname()[1])
        seats = GameFolder.create(where, settings, address) if isinstance(where, Path) else where
        host = Host(seats, store, models)
        seats.serve(address)
        site = make_site(Routes(host, address.is_secure).all, address, host.running)
        links = {seat: address.url + seats.link(seat) for seat in settings.seats}
        print("Each link is for one browser; spectators share theirs. Stop with Ctrl-C.")
        print("\n".join(f"{seat}: {link}" for seat, link in links.items()))
        print(f"To continue the game: welfare-env play {seats.folder}", flush=True)
        if opens:
            webbrowser.open(next(iter(links.values())))
        make_server(site).run(sockets=[sock])


def _new_link(seats: GameFolder, seat: str) -> str:
    """A new link for a seat; it takes the seat over, so a spectator's does not."""
    if seat not in seats.settings.seats:
        raise SeatedGameError(
            f"--link {seat!r:.80}: not a person's seat: choose from {', '.join(seats.settings.seats)}"
        )
    return seats.address.url + seats.link(seat, takes_over=seat != SPECTATOR)


def _play_here(settings: TableSettings, store: Path, models: SharedModels | None) -> None:
    """Play in the terminal, with the policy "human:"."""
    from agents.human.terminal import QuitError

    if len(settings.people) > 1:
        raise SeatedGameError(f"--terminal is for one person, not for {', '.join(settings.people)}")
    with GameStore(store) as games:
        try:
            record = Runner(store=games, models=models).play([settings.spec])[0]
        except QuitError as left:
            print(f"{left}; {UNSAVED}")
            return
    points = record["phases"][-1]["state"]["welfare"]
    print("Final points: " + ", ".join(f"{power} {count}" for power, count in points.items()))
    print(f"For the replay: welfare-env replay {record['welfare_env']['key'][:12]}")


def _language_models(settings: TableSettings, tokens: int | None, dollars: float | None) -> SharedModels | None:
    """Language models with a cache, so that a continued game does not pay twice; None without language models.

    Raises:
        EvaluationError: language models without a budget (with people, usage is unpredictable), or a budget without
            language models.
        ConfigError: an invalid budget; or the extra of a model, or its key, is missing, and no reply is cached.
    """
    is_limited = tokens is not None or dollars is not None
    if settings.spec.asks_language_models != is_limited:
        raise EvaluationError(
            "a budget is only for language models, but no policy here uses one"
            if is_limited
            else "language models play: limit their usage by --budget-tokens or --budget-dollars"
        )
    if not is_limited:
        return None
    from agents.lm.models.budget import Budget
    from agents.lm.models.cache import ResponseCache
    from agents.lm.models.shared_models import SharedModels
    from agents.lm.player.policy import check_ready

    cache = ResponseCache(REPLIES)
    models = SharedModels(cache, Budget(tokens, dollars))
    if not cache.count():
        check_ready(policy.make(models) for _, policy in settings.spec.players if policy.models)
    return models
