"""The examples for trainers of language models: TRL and OpenEnv."""

import socket
from threading import Thread

import pytest
import uvicorn
from openenv.core import GenericEnvClient

import evaluation
from agents.lm.stub.replies import stub_reply
from tests.examples import example
from welfare_env import WelfareEnvError

pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def trl():
    return example("trl_grpo")


def test_a_step_of_grpo_is_paid_for_the_orders(trl, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"seat": "PLAYERA", "others": "dove", "map_name": "clique:3", "years": 1, "message_rounds": 0}
    trainer = trl.trainer_of("", options, steps=1, generations=8)
    before = {name: weight.clone() for name, weight in trainer.model.named_parameters()}
    trainer.train()
    (log,) = [log for log in trainer.state.log_history if "reward" in log]
    played = [environment._game.record() for environment in trainer.environments]
    rewards = [environment.get_reward() for environment in trainer.environments]
    assert [evaluation.measure(record).welfare_per_year["PLAYERA"] for record in played] == rewards
    disarmed = [any(order.endswith(" D") for order in _winter(record)) for record in played]
    assert disarmed == [reward > 0 for reward in rewards]
    assert set(disarmed) == {True, False}  # otherwise nothing is learned from these games
    assert log["reward"] == pytest.approx(sum(rewards) / 8)
    assert any((weight != before[name]).any() for name, weight in trainer.model.named_parameters())


def _winter(record):
    (winter,) = [phase for phase in record["phases"] if phase["name"] == "W1901A"]
    return winter["orders"]["PLAYERA"] or []


def test_a_game_that_the_model_leaves_is_played_to_its_end(trl) -> None:
    seat = trl.WelfareSeat(map_name="clique:3", others="dove", years=2, press=None)
    assert "# Rules" in seat.reset(seed=1, prompt=[])
    assert seat.get_reward() == seat.get_reward()
    assert seat.reply("{}") == "The game is over.\n"


@pytest.fixture(scope="module")
def server():
    """The address of a server in a thread."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(example("openenv_server").app, port=port, log_level="error"))
    thread = Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started and thread.is_alive():
        thread.join(0.05)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join()


SMALL = {"map_name": "clique:3", "seat": "PLAYERA", "others": "dove", "years": 2, "message_rounds": 1}


def test_a_game_over_websocket(server) -> None:
    with GenericEnvClient(base_url=server).sync() as seat:
        turn, paid = seat.reset(seed=3, **SMALL), 0.0
        assert "# Rules" in turn.observation["text"]
        while not turn.done:
            turn = seat.step({"reply": stub_reply(turn.observation["text"] + "JSON")})
            paid += turn.reward
        assert turn.observation["measures"]["PLAYERA"] * 2 == paid
        assert seat.state()["seat"] == "PLAYERA"


@pytest.mark.parametrize(
    "options",
    [
        {"others": "lm:openai/x,base_url=http://elsewhere"},
        {"others": "4*dove + 2*(exploiter:nice=dove,attack=(lm:scripted/stub))"},
        {"baseline": "rl:best-response"},
        {"others": "import:os.path"},
        {"map_name": "/etc/passwd"},
        {"map_name": "../some.map"},
        {"map_name": 5},
    ],
)
def test_what_clients_may_not_choose(options) -> None:
    with pytest.raises(WelfareEnvError, match=r"scripted players|comes with the package|import:os\.path"):
        example("openenv_server").check_harmless(options)


@pytest.mark.parametrize(
    ("wrong", "message"), [({"seat": "FRANCE"}, "FRANCE"), ({"others": "dve"}, "dve"), ({"no_such": 1}, "no_such")]
)
def test_a_wrong_option_is_told_and_the_connection_lives(server, wrong, message) -> None:
    with GenericEnvClient(base_url=server).sync() as seat:
        with pytest.raises(Exception, match=message):  # the library's own
            seat.reset(seed=0, **SMALL | wrong)
        assert not seat.reset(seed=0, **SMALL).done
