"""The commands ``study serve``, ``study export`` and ``study forget``."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.runtime.progress import errors_in_one_line
from evaluation.web.commands import KEPT, Dollars, Listen, Port, PublicUrl, Tokens, language_models, tell_costs
from evaluation.web.need import need_web

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels
    from evaluation.web.foundation.serving import Address
    from evaluation.web.games.hosting import Host
    from evaluation.web.games.settings import TableSettings
    from evaluation.web.study_kit.participants import StudyFolder
    from evaluation.web.study_kit.study import Study

FOLDER = Path("runs", "study")
Begun = Annotated[Path, typer.Argument(help="The folder of a study.")]
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Studies with people in seats.")


@app.command("serve")
def serve(
    study: Annotated[Path, typer.Argument(help="The study's TOML file.")],
    host: Listen = "127.0.0.1",
    port: Port = 8000,
    public_url: PublicUrl = "",
    name: Annotated[
        list[str] | None, typer.Option(help="Another host name of this server; repeat for several.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for all data of the study.", show_default="runs/study/NAME")
    ] = None,
    budget_tokens: Tokens = None,
    budget_dollars: Dollars = None,
) -> None:
    """Run or continue a study; prints the link for participants."""
    with errors_in_one_line(KEPT):
        need_web("a study", "participants use browsers")
        from evaluation.web.foundation.serving import Address
        from evaluation.web.study_kit.parser import load_study
        from evaluation.web.study_kit.participants import StudyFolder

        chosen = load_study(study)
        place = folder or FOLDER / study.stem
        with contextlib.closing(StudyFolder(place, chosen)) as opened:
            tables = _tables(chosen)
            models = language_models(tables, opened.folder / "replies.sqlite", budget_tokens, budget_dollars)
            _run(opened, Address(host, port, public_url, name or ()), models)
            tell_costs(models)


def _run(opened: StudyFolder, address: Address, models: SharedModels | None) -> None:
    from evaluation.web.foundation.guard import FORM, JSON
    from evaluation.web.foundation.serving import make_site, run_site
    from evaluation.web.games.hosting import Host
    from evaluation.web.games.play_routes import PlayRoutes
    from evaluation.web.study_kit.participants import GAMES
    from evaluation.web.study_kit.study_routes import StudyRoutes
    from welfare_env.engine.precompile import GAMES as KERNELS
    from welfare_env.engine.precompile import ensure_compiled

    ensure_compiled(KERNELS)
    host = Host(opened.folder / GAMES, opened.store, models)
    routes = StudyRoutes(opened, host, opened.name, address.is_secure)

    def started(url: str) -> None:
        seats = f"{len(opened.slots)} games, {sum(each.slot is not None for each in opened.people.values())} assigned"
        print(f"Link for participants: {url}{routes.place}\n{seats}. All data is in {opened.folder}.", flush=True)

    site = make_site(
        [*routes.routes, *PlayRoutes(host, address.is_secure).routes],
        address,
        lambda app: _stopping(host),
        (JSON, FORM),
        max(opened.study.most_text, *(table.most_text for table in _tables(opened.study))),
    )
    run_site(site, address, started)


def _tables(study: Study) -> list[TableSettings]:
    """The settings of a game of each condition."""
    every = [*study.conditions, *([study.practice] if study.practice else [])]
    return [study.table(condition, condition.seats[0], 0, "") for condition in every]


@contextlib.asynccontextmanager
async def _stopping(host: Host) -> AsyncIterator[None]:
    yield
    host.stop()


@app.command("export")
def export(
    study: Begun,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the tables.")],
    text: Annotated[
        bool, typer.Option("--text/--no-text", help="Include messages, nicknames, written answers and the games.")
    ] = True,
) -> None:
    """Export a study as tables: games.csv, decisions.csv, participants.csv. Stop its server first."""
    with errors_in_one_line(KEPT):
        from evaluation.web.study_kit.export import export as write
        from evaluation.web.study_kit.participants import StudyFolder

        with contextlib.closing(StudyFolder(study)) as opened:
            for path in write(opened, out, text):
                print(path)


@app.command("forget")
def forget(
    study: Begun,
    participant: Annotated[str, typer.Argument(help="The participant's ID in the tables, or a prefix of it.")],
) -> None:
    """Delete all data of a participant. Stop the study's server first; exported tables are not changed."""
    with errors_in_one_line(KEPT):
        from evaluation.web.study_kit.participants import StudyFolder

        with contextlib.closing(StudyFolder(study)) as opened:
            who, deleted = opened.forget(participant)
            print(f"deleted participant {who}: {', '.join(deleted)}")
