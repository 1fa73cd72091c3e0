"""The pages in docs/ say what the code does: their Python runs, and typed numbers are recomputed."""

import doctest
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sympy import Expr, simplify, sympify

from modal_env.dynamics.replicator import replicator
from modal_env.games.game import ProgramGame
from modal_env.games.ranges import Ranges
from modal_env.logic.library import POST

DOCS = Path(__file__).parents[2] / "docs"
EQUILIBRIA, EVOLUTION = "modal-equilibria.md", "modal-evolution.md"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (EVOLUTION, 5),
        (EQUILIBRIA, 6),
        ("modal-conjecture.md", 3),
        ("modal-price-per-call.md", 3),
        ("modal-primer.md", 4),
    ],
)
def test_the_python_of_a_page_gives_what_it_says(name: str, lines: int) -> None:
    failed, attempted = doctest.testfile(str(DOCS / name), module_relative=False, encoding="utf-8")
    assert (failed, attempted >= lines) == (0, True)


def test_defect_bots_are_pushed_down() -> None:
    found = replicator(ProgramGame(POST, "1/10"), [0.25] * 4, 3000)
    assert found.log_shares[-1, 1] / np.log(10) == pytest.approx(-1000, abs=50)
    assert "to 10^\N{MINUS SIGN}1000 by time 3000" in page(EVOLUTION)


@pytest.mark.parametrize("cost", ["depth", "size", "sum", "worlds"])
def test_the_good_mix_at_other_costs(cost: str, ranges_of: dict[str, Ranges]) -> None:
    row = next(line for line in page(EQUILIBRIA).splitlines() if line.startswith(f"| `{cost}` |"))
    told = [cell.strip() for cell in row.strip("|").split("|")]
    good = next(one for one in ranges_of[cost].families if one.is_point and not one.rows[0].shares[1])
    shares = [share.as_expr() for share in good.rows[0].shares if share]
    assert [simplify(expression(cell) - share) for cell, share in zip(told[1].split(", "), shares, strict=True)] == [
        0
    ] * 3
    assert simplify(expression(told[2]) - good.rows[0].value.as_expr()) == 0
    assert float(expression(told[3].split(" = ")[0])) == pytest.approx(float(good.interval.high), rel=1e-14)


def test_prudentbot_where_the_opponent_s_size_is_the_cost(ranges_of: dict[str, Ranges]) -> None:
    found = ranges_of["opponent"]
    prudent = [str(family.interval) for family in found.families if "(PrudentBot); paid" in str(family)]
    assert prudent == ["0 <= eps <= 1/7"]
    assert "1/7 <= eps <= 2/9" in [str(family.interval) for family in found.families if not family.is_symmetric]
    worlds = [family for family in ranges_of["worlds"].families if str(family).startswith("both PrudentBot;")]
    assert [family.interval.high for family in worlds] == [Fraction(1, 2)]


def expression(cell: str) -> Expr:
    """A formula as the page prints it."""
    signs = re.sub(r"√(\d+)", r"sqrt(\1)", cell.replace("²", "**2"))
    return sympify(re.sub(r"(?<=[\d)]) (?=eps)", "*", signs))
