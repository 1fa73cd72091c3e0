"""The order vocabulary of a board: stable, complete, consistent."""

import hashlib

import pytest

from welfare_env import load_board
from welfare_env.board.orders import CONVOY, GIVE, MOVE, RETREAT, SUPPORT_HOLD, SUPPORT_MOVE, VIA, WAIVE

# Order numbers are in saved networks and datasets: when one of these changes, so must the environments' version.
FINGERPRINTS = {
    "standard": (19338, "b4bfc52e253f45bf58a58d823aeec212fe540a3ff86acbc4bb768f3c0925db2d"),
    "ancmed": (25839, "40b7c1ce7e26029c918dc665b85a9d4c0710ef20d308c84f13649a4c826f4dd6"),
    "pure": (365, "b0398702e79756ea57e5ab26cd3de51aa12f4e5b202a8e2d8863b0f037aa1545"),
}


@pytest.mark.parametrize("map_name", FINGERPRINTS)
def test_is_stable_and_holds_every_order_once(map_name: str) -> None:
    orders = load_board(map_name).orders
    texts = orders.texts
    assert (len(texts), hashlib.sha256("\n".join(texts).encode()).hexdigest()) == FINGERPRINTS[map_name]
    assert len(orders) == len(texts) == len(set(texts))
    assert orders.index == {text: number for number, text in enumerate(texts)}


@pytest.mark.parametrize("map_name", FINGERPRINTS)
def test_arrays_say_what_the_texts_say(map_name: str) -> None:
    board = load_board(map_name)
    orders = board.orders
    for number, text in enumerate(orders.texts):
        words = text.removesuffix(" VIA").split()
        kind, piece, other, dest = (
            int(array[number]) for array in (orders.kind, orders.piece, orders.other, orders.dest)
        )
        if kind in (WAIVE, GIVE):
            assert (piece, other) == (-1, -1)
            assert dest == (-1 if kind == WAIVE else board.power_index[words[1]])
            continue
        assert board.pieces[piece] == " ".join(words[:2])
        assert (board.pieces[other] if other >= 0 else None) == (
            " ".join(words[3:5]) if kind in (SUPPORT_HOLD, SUPPORT_MOVE, CONVOY) else None
        )
        assert (board.locations[dest] if dest >= 0 else None) == (
            words[-1] if kind in (MOVE, VIA, RETREAT, SUPPORT_MOVE, CONVOY) else None
        )
