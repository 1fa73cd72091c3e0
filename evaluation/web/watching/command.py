"""The command ``watch``."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.runtime.progress import errors_in_one_line
from agents.runtime.status import FOLDER
from agents.runtime.tables import print_tables
from evaluation.web.need import need_web

if TYPE_CHECKING:
    from evaluation.web.watching.results import Watcher

KEPT = "the watched commands continue"


def watch(
    folder: Annotated[Path, typer.Option(help="Folder of the running commands' status files.")] = FOLDER,
    once: Annotated[
        bool, typer.Option("--once", help="Print the tables once and exit; the default if stdout is not a terminal.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser", help="Watch in the browser, with replays of the games.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve the page on this port; 0 for a free one.")
    ] = None,
) -> None:
    """Watch running commands of this machine: progress, finished games, intermediate tables, costs of models."""
    from evaluation.web.watching.results import Watcher  # lazily: scipy
    from evaluation.web.watching.terminal import NOTHING, tables, watch_here

    with errors_in_one_line(KEPT):
        watcher = Watcher(folder.absolute())
        if browser or port is not None:
            _serve(watcher, browser, port or 0)
        elif once or not sys.stdout.isatty():
            found = tables(watcher.look(measures_all=True))
            print_tables(*found)
            if not found:
                print(NOTHING)
        else:
            watch_here(watcher)


def _serve(watcher: Watcher, opens: bool, port: int) -> None:
    """Serve the page to this machine until the process is interrupted."""
    need_web("watching in the browser", "without --browser, watch in the terminal")
    from evaluation.web.foundation.keys import new_token
    from evaluation.web.foundation.serving import Address, make_site, run_site
    from evaluation.web.watching.watch_routes import PLACE, WatchRoutes

    address, token = Address(port=port), new_token()
    routes = WatchRoutes(watcher, token)

    def started(url: str) -> None:
        link = f"{url}{PLACE}#{token}"
        print(f"The runs: {link}\nStop with Ctrl-C; the watched commands continue.", flush=True)
        if opens:
            webbrowser.open(link)

    run_site(make_site(routes.routes, address, routes.looking), address, started)
