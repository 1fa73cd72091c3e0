"""The commands ``play`` and ``serve``."""

from __future__ import annotations

import asyncio
import contextlib
import webbrowser
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.runtime.progress import errors_in_one_line
from evaluation.play.games import play_all
from evaluation.play.store import DEFAULT_PATH, GameStore
from evaluation.web.games.settings import SPECTATOR, TableSettings, load_settings, profile_with
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
) -> None:
    """Play a game yourself, in the browser or in the terminal."""
    with errors_in_one_line(KEPT):
        rules = Rules(years=years, message_rounds=message_rounds)
        profile = profile_with(power, others, map_name)
        title = f"{power.title()} against {others}"[:80]
        settings = TableSettings(profile, rules, map_name, seed, title, begin="now")
        if terminal:
            _play_here(settings, store)
            return
        need_web(PLAYING, OTHERWISE)
        from evaluation.web.foundation.serving import Address

        def opened(links: dict[str, str]) -> None:
            link = next(iter(links.values()))
            print(f"Your seat: {link}\nEnd with Ctrl-C. The game is kept in {folder}.", flush=True)
            if browser:
                webbrowser.open(link)

        _host([settings], Address(port=port), folder, store, opened)


def serve(
    game: Annotated[Path, typer.Argument(help="The game's TOML file, or the folder of a game that was served before.")],
    host: Listen = "127.0.0.1",
    port: Port = 8000,
    public_url: PublicUrl = "",
    name: Annotated[list[str] | None, typer.Option(help="Another name under which this server is reached.")] = None,
    folder: Folder = FOLDER,
    store: Store = DEFAULT_PATH,
) -> None:
    """Host a game for several people: one secret link a seat."""
    with errors_in_one_line(KEPT):
        need_web(PLAYING, OTHERWISE)
        from evaluation.web.foundation.serving import Address

        address = Address(host, port, public_url, name or ())
        games: list[TableSettings] | str = game.name if game.is_dir() else [load_settings(game)]
        _host(games, address, game.parent if game.is_dir() else folder, store, _show_links)


def _show_links(links: dict[str, str]) -> None:
    print("Give each person their own link; whoever has it plays the seat.")
    for seat, link in links.items():
        print(f"{seat.lower() if seat == SPECTATOR else seat}: {link}")
    print("End with Ctrl-C; serve the game's folder to go on with it.", flush=True)


def _play_here(settings: TableSettings, store: Path) -> None:
    """In the terminal, by the person's policy itself."""
    with GameStore(store) as games:
        record = play_all([settings.spec], store=games)[0]
    points = record["phases"][-1]["state"]["welfare"]
    print("The end: " + ", ".join(f"{power} {count}" for power, count in points.items()))
    print(f"welfare-env replay {record['welfare_env']['key'][:12]} shows it.")


def _host(
    games: list[TableSettings] | str,
    address: Address,
    folder: Path,
    store: Path,
    on_links: Callable[[dict[str, str]], None],
) -> None:
    """Serve games until the process is interrupted.

    Args:
        games: new ones, or the name of one that is in the folder.
    """
    from evaluation.web.foundation.serving import make_site, run_site
    from evaluation.web.games.hosting import Host
    from evaluation.web.games.play_routes import PlayRoutes
    from welfare_env.engine.precompile import GAMES, ensure_compiled

    ensure_compiled(GAMES)  # before anybody waits for it
    with GameStore(store):  # raises before anybody plays
        pass
    asks = isinstance(games, str) or any(policy.models for each in games for _, policy in each.spec.players)
    host = Host(folder, store, language_models(asks, REPLIES))
    names = [games] if isinstance(games, str) else [host.create(each) for each in games]
    routes = PlayRoutes(host, address.is_secure).routes

    def started(url: str) -> None:
        for name in names:
            on_links({seat: f"{url}/g/{name}/{seat}#{token}" for seat, token in host.tokens(name).items()})

    run_site(make_site(routes, address, lambda app: _running(host, names)), address, started)


@contextlib.asynccontextmanager
async def _running(host: Host, names: list[str]) -> AsyncIterator[None]:
    """The games begin, or go on, as soon as the server runs."""
    await asyncio.gather(*(host.find(name) for name in names))
    yield
    host.stop()


def language_models(asks: bool, path: Path) -> SharedModels | None:
    """Language models with a cache, so that a game that is opened again pays for nothing twice; None if none plays.

    Args:
        path: of the cache.
    """
    if not asks:
        return None
    from agents.lm.models.cache import ResponseCache
    from agents.lm.models.shared_models import SharedModels

    return SharedModels(ResponseCache(path), None)
