"""Which change of the code plays which games anew, and games of earlier code on request."""

import ast
import gc
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

import agents
import evaluation
import modal_env
import welfare_env
from agents.specs import AGENTS, Spec, read
from evaluation import EvaluationError, GameSpec, GameStore
from evaluation.cli.commands import app
from evaluation.play import games, turns
from evaluation.play.games import CODE_DIGEST, code_of
from evaluation.play.sources import SOURCES, Sources, own_code, read_code
from welfare_env import Rules

EXPLOITER = "exploiter:nice=dove,attack=dumbbot"
PLAYERS = ("hold", "random", "dove", "dumbbot", EXPLOITER, "prosocial", "lm:scripted/stub", "rl:x")
TOY = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}


class Copy:
    """A copy of the packages, to be changed; the digests of the original are those of `SOURCES`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for package in (welfare_env, modal_env, agents):
            source = Path(package.__file__).parent
            shutil.copytree(source, folder / package.__name__, ignore=shutil.ignore_patterns("__pycache__"))
        self.turns = Path(shutil.copy(turns.__file__, folder))

    def sources(self) -> Sources:
        return Sources([self.folder / name for name in ("welfare_env", "modal_env", "agents")], self.turns)

    def change(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def played_anew(self) -> set[str]:
        """The players whose games have another key now."""
        now = self.sources()
        return {
            player for player in PLAYERS if now.digest(read(player).modules) != SOURCES.digest(read(player).modules)
        }


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path / "copy")


def test_a_copy_has_the_same_digests(copy: Copy) -> None:
    assert copy.played_anew() == set()
    assert copy.sources().digest_of_all == CODE_DIGEST


@pytest.mark.slow
def test_docstrings_comments_and_layout_keep_the_keys(copy: Copy) -> None:
    for file in copy.folder.rglob("*.py"):
        lines = file.read_text().splitlines()
        first = lines.index("") if "" in lines else 0
        file.write_text("\n".join([*lines[:first], "# more", "", *lines[first:], "# end", '"""A text."""', ""]))
    copy.change("agents/scripted/dove.py", '"""', '"""Otherwise said: ')
    copy.change("welfare_env/game/game.py", '"""', '"""Otherwise said: ')
    assert copy.played_anew() == set()
    assert copy.sources().digest_of_all != CODE_DIGEST  # which is about a change while games are played


def test_digests_are_the_same_with_every_version_of_python() -> None:
    source = (
        b'"""A."""\nasync def f(x: int = 1, *, y="", **z) -> None:\n    return f"{x:{y}} {x!r:>5}", b"", 1e9, 2j, ...\n'
    )
    of_3_11 = "53357ae16066468c72f41d26ad3a77ad66b75f9a23d256e6cc341d8396891faa"  # and of 3.12 and 3.13
    assert read_code(source, "").digest == of_3_11


def test_docstrings_that_the_code_reads_do_count() -> None:
    plain, reading = b'"""%s"""\nx = 1\n', b'"""%s"""\nx = __doc__\n'
    assert read_code(plain % b"a", "").digest == read_code(plain % b"b", "").digest
    assert read_code(reading % b"a", "").digest != read_code(reading % b"b", "").digest


@pytest.mark.parametrize(
    ("file", "anew"),
    [
        ("agents/scripted/dove.py", {"dove", EXPLOITER}),
        ("agents/scripted/dumbbot_values.py", {"dumbbot", EXPLOITER}),
        ("agents/scripted/hold.py", {"hold"}),
        ("agents/lm/prompts/wording.py", {"lm:scripted/stub"}),
        ("agents/lm/models/prices.py", set()),
        ("agents/rl/network.py", {"rl:x"}),
        ("agents/specs/registry.py", set()),
        ("welfare_env/engine/kernels/movement.py", set(PLAYERS)),
        ("welfare_env/rules.py", set(PLAYERS)),
        ("welfare_env/game/press.py", set(PLAYERS)),
        ("welfare_env/envs/aec.py", set(PLAYERS)),
        ("welfare_env/render/svg.py", set()),
        ("modal_env/logic/syntax.py", set()),
        ("turns.py", set(PLAYERS)),
    ],
)
def test_a_change_plays_those_games_anew_that_it_may_change(copy: Copy, file: str, anew: set[str]) -> None:
    with (copy.folder / file).open("a") as open_file:
        open_file.write("changed = 1\n")
    assert copy.played_anew() == anew


def test_a_changed_number_or_text_counts(copy: Copy) -> None:
    text = (copy.folder / "agents/scripted/dove.py").read_text()
    number = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and node.value == 1)
    lines = text.splitlines(keepends=True)
    line = lines[number.lineno - 1]
    lines[number.lineno - 1] = line[: number.col_offset] + "7" + line[number.end_col_offset :]
    (copy.folder / "agents/scripted/dove.py").write_text("".join(lines))
    assert copy.played_anew() == {"dove", EXPLOITER}


def test_the_order_of_seats_does_not_matter_and_nothing_is_left_out() -> None:
    modules = ["agents.scripted.dove", "agents.scripted.hold"]
    assert SOURCES.digest(modules) == SOURCES.digest(modules[::-1])
    for name, kind in AGENTS.items():
        module = getattr(kind, "module", None)
        assert module is None or SOURCES.reached(module), name
    reached = SOURCES.reached("agents.lm.player")
    assert {"agents.lm.prompts.wording", "agents.lm.reading.parsing", "agents.lm.player"} <= reached
    assert {"welfare_env.engine.kernels.movement", "welfare_env.game.scoring"} <= SOURCES.reached("welfare_env")


@pytest.mark.slow
def test_what_running_imports_is_reached() -> None:
    """Modules of ours that a game of these players has really loaded; what only reads specs and what is apart aside."""
    source = (
        "import sys, evaluation\nfrom welfare_env import Rules\n"
        "evaluation.self_play('2*dove + 1*lm:scripted/stub', 1, rules=Rules(years=1), map_name='clique:3')\n"
        "print(*(name for name in sys.modules if name.startswith('welfare_env.')))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=120)
    loaded = {name for name in done.stdout.split() if not name.startswith(("welfare_env.render", "welfare_env.extras"))}
    missed = {name for name in loaded - SOURCES.reached("welfare_env") if _says_something(name)}
    assert missed == set()


def _says_something(name: str) -> bool:
    return bool(read_code(SOURCES._files[name][0], name).imports or SOURCES._files[name][0].count(b"\n") > 3)


def test_a_policy_that_does_not_tell_its_modules_is_of_all() -> None:
    plain = Spec("new", lambda models: agents.HoldPolicy())
    reached = SOURCES.reached(*plain.modules)
    assert {"agents.scripted.dove", "agents.lm.player", "agents.rl.player"} <= reached


# The user's own players


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A player of the user's, with a module beside it, and one elsewhere on the path."""
    folder = tmp_path / "own_players_of_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "values.py").write_text('"""Values."""\nVALUE = 1\n')
    (tmp_path / "tools_of_test.py").write_text("TOOL = 1\n")
    (folder / "mirror.py").write_text(
        '"""A player."""\nimport json\nimport numpy\nimport tools_of_test\nfrom .values import VALUE\n'
        "from agents.scripted.hold import HoldPolicy\n\nclass Mirror(HoldPolicy):\n    value = VALUE\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_a_players_own_modules_count_and_its_docstrings_do_not(package: Path) -> None:
    player = read("import:own_players_of_test.mirror.Mirror")
    first = code_of([player])
    files = [package / "mirror.py", package / "values.py", package.parent / "tools_of_test.py"]
    for count, file in enumerate(files):
        text = file.read_text()
        file.write_text('"""Otherwise said."""\n' + text.partition('"""\n')[2] if text[0] == '"' else f"# x\n{text}")
        assert code_of([player]) == first
        file.write_text(file.read_text() + f"changed = {count}\n")
        assert code_of([player]) != first
        file.write_text(text)
    assert code_of([player]) == first
    assert first[0] == SOURCES.digest(["agents.scripted.hold"])  # what it imports of ours
    assert first[1]


def test_the_faces_lead_to_what_is_imported_from_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    for line, expected in {
        "from agents import HoldPolicy": {"agents.scripted.hold"},
        "from agents import Policy, DovePolicy as D": {"agents.policy", "agents.scripted.dove"},
        "from welfare_env import View": {"welfare_env.game.view"},
        "from agents.lm import LMPolicy": {"agents.lm"},
        "import agents": {"agents"},
        "import agents.scripted.dove": {"agents", "agents.scripted", "agents.scripted.dove"},
        "if TYPE_CHECKING:\n    from agents import HoldPolicy": set(),
        "def f():\n    from agents.scripted import hold": {"agents.scripted.hold"},
        "importlib.import_module('agents.scripted.hold')": {"agents.scripted.hold"},
        "import numpy, evaluation": set(),
    }.items():
        path.write_text(line + "\n")
        assert own_code([path])[1] == expected, line
    assert "agents.lm.player" in SOURCES.reached("agents.lm")  # by its __getattr__


@pytest.mark.parametrize("text", ["def", "\0", "from . import x", "from ..... import x", "import " + "a." * 500 + "b"])
def test_odd_sources_have_digests(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(text)
    assert len(own_code([path])[0]) == 64


def test_checkpoints_count_byte_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    digests = set()
    for content in (b"# a", b"# b"):
        path.write_bytes(content)
        digests.add(own_code([path])[0])
    assert len(digests) == 2
    assert own_code([]) == ("", frozenset())


# Games of earlier code


@pytest.fixture
def earlier(kept: GameStore, monkeypatch: pytest.MonkeyPatch) -> GameStore:
    """A store with two games of dove and one of hold, as earlier code would have played them."""
    monkeypatch.setattr(games, "code_of", lambda policies: ("0" * 64, ""))
    evaluation.self_play("dove", 2, store=kept, **TOY)
    evaluation.self_play("hold", 1, store=kept, **TOY)
    monkeypatch.undo()
    return kept


def test_older_games_are_used_on_request_only(earlier: GameStore, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[GameSpec] = []
    play = games.play_game
    monkeypatch.setattr(games, "play_game", lambda spec, *rest: played.append(spec) or play(spec, *rest))
    result = evaluation.self_play("dove", 3, store=earlier, use_older_games=True, **TOY)
    assert (len(played), result.older_games, result.to_dict()["older_games"]) == (1, 2, 2)
    assert [row["older_code"] for row in result.rows()] == [True] * 6 + [False] * 3
    stored = {game.key for game in earlier.games()}
    assert {row["key"] for row in result.rows()} <= stored
    fresh = evaluation.self_play("dove", 3, store=earlier, **TOY)
    assert (len(played), fresh.older_games) == (3, 0)
    again = evaluation.self_play("dove", 3, store=earlier, use_older_games=True, **TOY)
    assert (len(played), again.older_games) == (3, 0)  # those of this code come first
    assert all("older_code" not in earlier.record(game.key)["welfare_env"] for game in earlier.games())


def test_older_games_of_something_else_are_not_used(earlier: GameStore) -> None:
    others = TOY | {"rules": Rules(years=2, press=None)}
    assert evaluation.self_play("dove", 1, store=earlier, use_older_games=True, **others).older_games == 0
    assert evaluation.self_play("dove", 1, seed=1, store=earlier, use_older_games=True, **TOY).older_games == 0
    assert evaluation.self_play("dumbbot", 1, store=earlier, use_older_games=True, **TOY).older_games == 0
    with pytest.raises(EvaluationError, match="use_older_games=True: give False, or True together with a store"):
        evaluation.self_play("dove", 1, use_older_games=True, **TOY)


def test_older_games_of_exploitability(earlier: GameStore) -> None:
    result = evaluation.exploitability(
        "dove", 2, coalitions=["PLAYERA"], deviator="hold", store=earlier, use_older_games=True, **TOY
    )
    assert (result.older_games, result.to_dict()["older_games"]) == (2, 2)


def test_the_table_tells_of_older_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1", "--games", "2"]

    def call(*more: str) -> str:
        words = ["self-play", "dove", *options, "--store", str(tmp_path / "games.sqlite"), *more]
        return " ".join(CliRunner().invoke(app, words).stdout.split())

    monkeypatch.setattr(games, "code_of", lambda policies: ("0" * 64, ""))
    assert "earlier code" not in call()
    monkeypatch.undo()
    assert "games played by earlier code, with possibly different results: 2" in call("--use-older-games")
    assert "earlier code" not in call()
    assert "earlier code" not in call("--use-older-games")


@pytest.mark.slow
def test_threads_can_read_code_at_once() -> None:
    """Python 3.11 fails if another thread parses while this one collects garbage; a server saves games so."""
    paths = sorted((Path(__file__).parents[2] / "agents" / "scripted").rglob("*.py"))
    texts = [path.read_bytes() + f"\n# {number}".encode() for number in range(3) for path in paths]  # new ones

    def let_others_run(phase: str, info: object) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert len(list(threads.map(lambda text: read_code(text, "agents"), texts))) == len(texts)
    finally:
        gc.callbacks.remove(let_others_run)
