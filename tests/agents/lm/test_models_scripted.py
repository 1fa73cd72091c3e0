"""Models without a network, and the gate that all models share."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from agents.lm.errors import LMError, ModelError
from agents.lm.models import Block, Model, Reply, Request, ScriptedModel, make_model
from agents.lm.models.limits import Clock, Gate, Pace
from tests.agents.lm.entering import entered

Ask = Callable[[Model, Request], Reply]

REQUEST = Request((), (Block("Well?"),))


class TestScript:
    def test_one_by_one(self, ask: Ask) -> None:
        model = ScriptedModel(["one", Reply("two", finish="length"), ModelError("timeout", "late"), LMError("stop")])
        assert isinstance(model, Model)
        assert ask(model, REQUEST) == Reply("one", model="scripted/script")
        assert ask(model, REQUEST).finish == "length"
        with pytest.raises(ModelError, match="late"):
            ask(model, REQUEST)
        with pytest.raises(LMError, match="stop"):
            ask(model, REQUEST)
        with pytest.raises(LMError, match="the script is at its end after 4 replies"):
            ask(model, REQUEST)
        assert model.requests == [REQUEST] * 5
        assert model.faults == {"timeout": 1}

    def test_a_function(self, ask: Ask) -> None:
        model = ScriptedModel(lambda request: request.prompt.upper(), name="echo")
        assert (ask(model, REQUEST).text, model.name) == ("WELL?", "scripted/echo")

    def test_the_stub_without_a_server(self, ask: Ask, question: Request) -> None:
        model = make_model("scripted/stub")
        assert model.name == "scripted/stub"
        assert ask(model, question) == ask(make_model("scripted/stub", latency=0.001), question)


class TestGate:
    def test_first_come_first_served(self) -> None:
        gate, sequence = Gate(1), []
        threads = []

        def enter(number: int) -> None:
            with entered(gate):
                sequence.append(number)

        with entered(gate):
            for number in range(5):
                threads.append(threading.Thread(target=enter, args=(number,)))
                threads[-1].start()
                while len(gate._waiting) <= number:
                    pass
        for thread in threads:
            thread.join()
        assert sequence == list(range(5))

    def test_threads_and_tasks_share_it(self) -> None:
        gate, inside, most = Gate(2), [0], [0]

        def note(change: int) -> None:
            inside[0] += change
            most[0] = max(most[0], inside[0])

        def thread() -> None:
            for _ in range(20):
                with entered(gate):
                    note(1)
                    note(-1)

        async def task() -> None:
            for _ in range(20):
                async with gate:
                    note(1)
                    await asyncio.sleep(0)
                    note(-1)

        async def main() -> None:
            await asyncio.gather(*(task() for _ in range(5)))

        threads = [threading.Thread(target=thread) for _ in range(3)]
        for each in threads:
            each.start()
        asyncio.run(main())
        for each in threads:
            each.join()
        assert most[0] <= 2
        assert gate._free == 2

    @pytest.mark.parametrize("moment", ["waiting", "just let in"])
    def test_who_gives_up_loses_no_place(self, moment: str) -> None:
        gate = Gate(1)

        async def main() -> None:
            await gate.__aenter__()
            waiting = asyncio.create_task(gate.__aenter__())
            await asyncio.sleep(0)
            if moment == "just let in":
                await gate.__aexit__()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            if moment == "waiting":
                await gate.__aexit__()
            async with asyncio.timeout(5):
                async with gate:
                    pass

        asyncio.run(main())
        assert gate._free == 1


class TestPace:
    def test_starts_in_any_minute(self) -> None:
        now = [0.0]
        pace = Pace(3, Clock(now=lambda: now[0]))
        starts = []
        for step in (0, 1, 1, 1, 1, 1, 30, 100, 0, 0, 0):
            now[0] += step
            starts.append(now[0] + pace.wait())
        assert starts == [0, 1, 2, 60, 61, 62, 120, 135, 135, 180, 195]
        assert all(later - earlier >= 60 for earlier, later in zip(starts, starts[3:], strict=False))

    def test_none_is_as_many_as_come(self) -> None:
        assert [Pace(None, Clock()).wait() for _ in range(3)] == [0, 0, 0]
