"""The tournament of players that write programs runs with the stub, and says what was written and what lasts."""

import pytest

from research.programs.tournament import main, play


def test_two_players_write_a_program_a_round() -> None:
    (paid, programs), (other, others) = play(("program:FairBot", "program:DefectBot"), 2, "1/10")
    assert (paid, other) == pytest.approx((0.9, 1.0))
    assert [program.text for program in programs] == ["[]X(me)"] * 2
    assert len(others) == 2


def test_all_pairs_with_the_stub(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lm:scripted/stub", "program:FairBot"], rounds=2)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("lm:", "program:")) for line in lines) == 6
    assert any("share of time" in line for line in lines)
