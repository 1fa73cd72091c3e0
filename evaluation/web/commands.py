"""The commands ``play``, ``serve`` and ``invite``."""

from __future__ import annotations

import contextlib
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.runtime.progress import errors_in_one_line
from evaluation.checks import EvaluationError
from evaluation.measures.lm_usage import spent
from evaluation.play.games import play_all
from evaluation.play.store import DEFAULT_PATH, GameStore
from evaluation.web.games.settings import SPECTATOR, TableError, TableSettings, load_settings, profile_with
from evaluation.web.need import need_web
from welfare_env import Rules

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels
    from evaluation.web.foundation.serving import Address
    from evaluation.web.games.hosting import Host

KEPT = "everything confirmed is saved; start again with the same folder to continue"
UNSAVED = "the terminal saves only finished games, the browser all"
PLAYING, OTHERWISE = "playing in the browser", "or use --terminal"
FOLDER = Path("runs", "play")
REPLIES = Path("runs", "replies.sqlite")
Others = Annotated[str, typer.Option(help="The policy or profile of the other seats.")]
Listen = Annotated[
    str,
    typer.Option(
        "--host",
        help="The address to listen on. 127.0.0.1: only this machine; 0.0.0.0: everybody who can reach this machine, "
        "without encryption: use it only in trusted networks, or behind a reverse proxy with https.",
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port.", show_default="a free one")]
PublicUrl = Annotated[
    str, typer.Option(help="This server's URL behind a reverse proxy, such as https://play.example.org.")
]
Folder = Annotated[Path, typer.Option(help="Folder for games; a restarted server continues them.")]
Store = Annotated[Path, typer.Option(help="Store for finished games.", show_default="that of other commands")]
Tokens = Annotated[
    int | None, typer.Option("--budget-tokens", min=1, help="Maximum number of tokens while this command runs.")
]
Dollars = Annotated[
    float | None, typer.Option("--budget-dollars", help="Maximum cost in dollars while this command runs.")
]


def play(
    power: Annotated[str, typer.Argument(help="The power you play, such as FRANCE.")],
    others: Others = "marshal",
    years: Annotated[int, typer.Option(min=1, help="Length of the game, in years.")] = 3,
    message_rounds: Annotated[int, typer.Option(min=0, help="Message rounds per phase; 0 means no press.")] = 1,
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or the path of a .map file.")] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the other players' random numbers.")] = 0,
    terminal: Annotated[bool, typer.Option("--terminal", help="Play in the terminal; works over ssh.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    port: Port = 0,
    folder: Folder = FOLDER,
    store: Store = DEFAULT_PATH,
    budget_tokens: Tokens = None,
    budget_dollars: Dollars = None,
) -> None:
    """Play a game yourself, in the browser or in the terminal."""
    with errors_in_one_line(UNSAVED if terminal else KEPT):
        rules = Rules(years=years, message_rounds=message_rounds)
        profile = profile_with(power, others, map_name)
        title = f"{power.title()} against {others}"[:80]
        settings = TableSettings(profile, rules, map_name, seed, title, begin="now")
        models = language_models([settings], REPLIES, budget_tokens, budget_dollars)
        if terminal:
            _play_here(settings, store, models)
            return
        need_web(PLAYING, OTHERWISE)
        from evaluation.web.foundation.serving import Address
        from evaluation.web.games.hosting import Host

        def opened(links: dict[str, str]) -> None:
            link = next(iter(links.values()))
            print(f"Your seat: {link}\nStop with Ctrl-C. The game is saved in {folder}.", flush=True)
            if browser:
                webbrowser.open(link)

        _host(Host(folder, store, models), settings, "", Address(port=port), opened)


def serve(
    game: Annotated[Path, typer.Argument(help="A game's TOML file, or the folder of a game served before.")],
    host: Listen = "127.0.0.1",
    port: Port = 8000,
    public_url: PublicUrl = "",
    name: Annotated[
        list[str] | None, typer.Option(help="Another host name of this server; repeat for several.")
    ] = None,
    folder: Folder = FOLDER,
    store: Store = DEFAULT_PATH,
    budget_tokens: Tokens = None,
    budget_dollars: Dollars = None,
) -> None:
    """Host a game for several people, with a secret link per seat."""
    with errors_in_one_line(KEPT):
        need_web(PLAYING, OTHERWISE)
        from evaluation.web.foundation.serving import Address
        from evaluation.web.games.hosting import Host, settings_in

        is_begun = game.is_dir()
        settings = settings_in(game) if is_begun else load_settings(game)
        models = language_models([settings], REPLIES, budget_tokens, budget_dollars)
        opened = Host(game.resolve().parent if is_begun else folder, store, models)
        address = Address(host, port, public_url, name or ())
        _host(opened, settings, game.resolve().name if is_begun else "", address, _show_links)


def invite(
    game: Annotated[Path, typer.Argument(help="The game's folder, such as runs/play/GAME.")],
    seat: Annotated[str, typer.Argument(help="The power, or spectator.")],
    alone: Annotated[
        bool, typer.Option("--alone", help="When the link is used, all other browsers lose the seat.")
    ] = False,
) -> None:
    """Make a new link for a seat of a running game, for a player who lost theirs."""
    with errors_in_one_line("the game continues"):
        need_web(PLAYING, OTHERWISE)
        from evaluation.web.games.hosting import Host

        name = game.resolve().name
        if not game.is_dir():
            raise TableError(f"{game}: not a folder of a game; by default, games are in {FOLDER}")
        host = Host(game.resolve().parent)
        host.secrets(name)  # raises if there is no game, before anything is written
        url = host.links(name).url
        if not url:
            raise TableError(
                f"{game}: the game was never served; start `welfare-env serve {game}`, which prints all links"
            )
        for path in host.invite(name, [seat.upper()], alone).values():
            print(f"{url}{path}")


def _show_links(links: dict[str, str]) -> None:
    print(
        "Give each person their own link. It works once: the first browser gets the seat. Spectators can share a link."
    )
    for seat, link in links.items():
        print(f"{seat.lower() if seat == SPECTATOR else seat}: {link}")
    print("Stop with Ctrl-C; serve the game's folder to continue the game.", flush=True)


def _play_here(settings: TableSettings, store: Path, models: SharedModels | None) -> None:
    """Play in the terminal, with the policy "human:"."""
    from agents.human.terminal import QuitError

    with GameStore(store) as games:
        try:
            record = play_all([settings.spec], store=games, models=models)[0]
        except QuitError as left:
            print(f"{left}; {UNSAVED}")
            return
    points = record["phases"][-1]["state"]["welfare"]
    print("Final points: " + ", ".join(f"{power} {count}" for power, count in points.items()))
    print(f"For the replay: welfare-env replay {record['welfare_env']['key'][:12]}")


def _host(
    host: Host, settings: TableSettings, name: str, address: Address, on_links: Callable[[dict[str, str]], None]
) -> None:
    """Serve a game until the process is interrupted.

    Args:
        name: name of the game; "" for a new game, which is created once the server listens.
    """
    from evaluation.web.foundation.serving import make_site, run_site
    from evaluation.web.games.play_routes import PlayRoutes
    from welfare_env.engine.fast import ensure_compiled

    ensure_compiled()  # before people have to wait for it
    if host.store is not None:
        with GameStore(host.store):  # errors are raised before the game
            pass
    routes = PlayRoutes(host, address.is_secure).routes

    def started(url: str) -> None:
        nonlocal name
        name = name or host.create(settings)
        host.links(name).serve(url)
        on_links({seat: url + path for seat, path in host.invite(name).items()})

    site = make_site(routes, address, lambda app: _running(host, name), most_text=settings.most_text)
    run_site(site, address, started)
    tell_costs(host.models)


@contextlib.asynccontextmanager
async def _running(host: Host, name: str) -> AsyncIterator[None]:
    """Open the game as soon as the server runs."""
    await host.find(name)
    yield
    host.stop()


def language_models(
    tables: Iterable[TableSettings], path: Path, tokens: int | None, dollars: float | None
) -> SharedModels | None:
    """Language models with a cache, so that a resumed game does not pay twice; None without language models.

    Args:
        path: file of the cache.
        tokens, dollars: the budget.

    Raises:
        EvaluationError: language models without a budget (with people, usage is unpredictable), or a budget without
            language models.
        ConfigError: an invalid budget; or the extra of a model, or its key, is missing, and no reply is cached.
    """
    tables = list(tables)
    asks = any(policy.models for table in tables for policy in table.policies)
    is_limited = tokens is not None or dollars is not None
    if asks != is_limited:
        raise EvaluationError(
            "language models play: limit their usage by --budget-tokens or --budget-dollars"
            if asks
            else "a budget is only for language models, but no policy here uses one"
        )
    if not asks:
        return None
    from agents.lm.models.budget import Budget
    from agents.lm.models.cache import ResponseCache
    from agents.lm.models.shared_models import SharedModels
    from agents.lm.player import check_ready

    cache = ResponseCache(path)
    models = SharedModels(cache, Budget(tokens, dollars))
    if not cache.count():
        check_ready(policy.make(models) for table in tables for policy in table.policies if policy.models)
    return models


def tell_costs(models: SharedModels | None) -> None:
    """Print the usage of language models at the end of a command."""
    if models is not None and models.budget is not None:
        print(spent(models.budget.spent))
