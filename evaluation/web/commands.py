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

KEPT = "what was confirmed is kept; the same folder goes on with it"
PLAYING, OTHERWISE = "playing in the browser", "or use --terminal"
FOLDER = Path("runs", "play")
REPLIES = Path("runs", "replies.sqlite")
Others = Annotated[str, typer.Option(help="The policy, or the profile, of the other seats.")]
Listen = Annotated[
    str,
    typer.Option(
        "--host",
        help="The address to listen on. 127.0.0.1 is this machine alone; 0.0.0.0 lets everybody in who can reach this "
        "machine, without encryption: use it in networks that you trust, or behind a reverse proxy with https.",
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port.", show_default="a free one")]
PublicUrl = Annotated[
    str, typer.Option(help="How people reach this server through a reverse proxy, such as https://play.example.org.")
]
Folder = Annotated[Path, typer.Option(help="Games are kept here; a server that starts again goes on with them.")]
Store = Annotated[Path, typer.Option(help="Finished games are stored here, too.")]
Tokens = Annotated[
    int | None, typer.Option("--budget-tokens", min=1, help="Maximum number of tokens, until this command ends.")
]
Dollars = Annotated[
    float | None, typer.Option("--budget-dollars", help="Maximum cost in dollars, until this command ends.")
]


def play(
    power: Annotated[str, typer.Argument(help="The power that you play, such as FRANCE.")],
    others: Others = "marshal",
    years: Annotated[int, typer.Option(min=1, help="Length of the game, in years.")] = 3,
    message_rounds: Annotated[int, typer.Option(min=0, help="Message rounds per phase; 0 means no press.")] = 1,
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or the path of a .map file.")] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Of the other players' random numbers.")] = 0,
    terminal: Annotated[bool, typer.Option("--terminal", help="Play in the terminal; works over ssh.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    port: Port = 0,
    folder: Folder = FOLDER,
    store: Store = DEFAULT_PATH,
    budget_tokens: Tokens = None,
    budget_dollars: Dollars = None,
) -> None:
    """Play a game yourself, in the browser or in the terminal."""
    with errors_in_one_line(KEPT):
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
            print(f"Your seat: {link}\nEnd with Ctrl-C. The game is kept in {folder}.", flush=True)
            if browser:
                webbrowser.open(link)

        _host(Host(folder, store, models), settings, "", Address(port=port), opened)


def serve(
    game: Annotated[Path, typer.Argument(help="The game's TOML file, or the folder of a game that was served before.")],
    host: Listen = "127.0.0.1",
    port: Port = 8000,
    public_url: PublicUrl = "",
    name: Annotated[list[str] | None, typer.Option(help="Another name under which this server is reached.")] = None,
    folder: Folder = FOLDER,
    store: Store = DEFAULT_PATH,
    budget_tokens: Tokens = None,
    budget_dollars: Dollars = None,
) -> None:
    """Host a game for several people: one secret link a seat."""
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
        bool, typer.Option("--alone", help="All browsers that had the seat lose it when the link is used.")
    ] = False,
) -> None:
    """Make another link for a seat of a game that is served, for somebody who lost theirs."""
    with errors_in_one_line("the game goes on"):
        need_web(PLAYING, OTHERWISE)
        from evaluation.web.games.hosting import Host, settings_in

        name = game.resolve().name
        if not game.is_dir():
            raise TableError(f"{game}: no folder of a game; those that were served are in {FOLDER}")
        if settings_in(game).onward:
            raise TableError(f"{game}: a study's game: its participant comes back by the study's own link")
        host = Host(game.resolve().parent)
        host.secrets(name)  # raises where there is no game, before anything is written
        url = host.links(name).url
        if not url:
            raise TableError(
                f"{game}: never served, so links lead nowhere; `welfare-env serve {game}` prints all links"
            )
        for path in host.invite(name, [seat.upper()], alone).values():
            print(f"{url}{path}")


def _show_links(links: dict[str, str]) -> None:
    print("Give each person their own link. It works once: who opens it has the seat. (A spectator's works for many.)")
    for seat, link in links.items():
        print(f"{seat.lower() if seat == SPECTATOR else seat}: {link}")
    print("End with Ctrl-C; serve the game's folder to go on with it.", flush=True)


def _play_here(settings: TableSettings, store: Path, models: SharedModels | None) -> None:
    """In the terminal, by the person's policy itself."""
    with GameStore(store) as games:
        record = play_all([settings.spec], store=games, models=models)[0]
    points = record["phases"][-1]["state"]["welfare"]
    print("The end: " + ", ".join(f"{power} {count}" for power, count in points.items()))
    print(f"welfare-env replay {record['welfare_env']['key'][:12]} shows it.")


def _host(
    host: Host, settings: TableSettings, name: str, address: Address, on_links: Callable[[dict[str, str]], None]
) -> None:
    """Serve a game until the process is interrupted.

    Args:
        name: of the game; "" for a new one, which is made once the server listens.
    """
    from evaluation.web.foundation.serving import make_site, run_site
    from evaluation.web.games.play_routes import PlayRoutes
    from welfare_env.engine.precompile import GAMES, ensure_compiled

    ensure_compiled(GAMES)  # before anybody waits for it
    if host.store is not None:
        with GameStore(host.store):  # raises before anybody plays
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
    """The game begins, or goes on, as soon as the server runs."""
    await host.find(name)
    yield
    host.stop()


def language_models(
    tables: Iterable[TableSettings], path: Path, tokens: int | None, dollars: float | None
) -> SharedModels | None:
    """Language models with a cache, so that a game that is opened again pays for nothing twice; None if none plays.

    Args:
        path: of the cache.
        tokens, dollars: the budget.

    Raises:
        EvaluationError: language models and no budget (with people nobody knows how much they will be asked), or a
            budget and no language models.
        ConfigError: a budget that is none.
    """
    asks = any(policy.models for table in tables for policy in table.policies)
    is_limited = tokens is not None or dollars is not None
    if asks != is_limited:
        raise EvaluationError(
            "language models play: say how much they may use, by --budget-tokens or --budget-dollars"
            if asks
            else "a budget is for language models, and none of these policies is one"
        )
    if not asks:
        return None
    from agents.lm.models.budget import Budget
    from agents.lm.models.cache import ResponseCache
    from agents.lm.models.shared_models import SharedModels

    return SharedModels(ResponseCache(path), Budget(tokens, dollars))


def tell_costs(models: SharedModels | None) -> None:
    """What language models have used, at the end of a command."""
    if models is not None and models.budget is not None:
        print(spent(models.budget.spent))
