"""What hunts for faults share: drawing odd inputs, and the odd inputs themselves.

A hunt gives a public function FUZZ_BATCHES batches of inputs drawn by hypothesis, each with a seed of its own. The
function must answer, or raise one of its named errors, within two seconds of the processor's time.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BATCHES = int(os.environ.get("FUZZ_BATCHES", "4"))  # a hunt
BATCH = 50  # examples with one seed
SLOW = 2.0  # processor seconds that an answer may take, garbage collection included

Strategy = st.SearchStrategy[Any]


def hunt(inputs: Strategy, *refusals: type[Exception], slow: float = SLOW) -> Callable[[Callable[..., object]], Any]:
    """Make a slow test of a function that takes one input.

    Args:
        inputs: what to give it.
        refusals: the named errors that it may raise; others are faults.
        slow: processor seconds that it may take.
    """

    def make_test(function: Callable[[Any], object]) -> Callable[[], None]:
        def test() -> None:
            for seed in range(BATCHES):
                _run_batch(function, inputs, refusals, seed, slow)

        test.__name__, test.__doc__ = function.__name__, function.__doc__
        return pytest.mark.slow(test)

    return make_test


def _run_batch(function: Callable[[Any], object], inputs: Strategy, refusals: Any, seed: int, slow: float) -> None:
    def run(value: Any) -> None:
        begun = time.process_time()
        with suppress(*refusals):
            function(value)
        took = time.process_time() - begun
        assert took < slow or seed == 0, f"took {took:.1f} s"  # the first batch compiles and imports

    health = list(HealthCheck)
    quick = settings(max_examples=BATCH, database=None, derandomize=False, deadline=None, suppress_health_check=health)
    hypothesis.seed(seed)(quick(given(inputs)(run)))()


# Everything that a fault was ever found with is among these.
NASTY = [
    "", " ", "\0", "\n", "\ud800", "\u202e", "\u00a0", "é", "—", "🙂", ":", "=", ",", "(", ")", "[", "]", "{", "}", "<",
    ">", "\\", "'", '"', "%s", "{0}", "../", "/dev/zero", "-", "0", "-1", "1e999999999", "1" * 400, "nan", "inf",
    "[red]", ":good:", "<script>", "&amp;", "٣", "1/0",
]  # fmt: skip
HUGE = [10**30, -(10**30), 10**5000, 2**31, 2**63, -(2**63), 2**64]
ARRAYS = ["i1", "i8", "u8", "f8", "?", "O", "U3", "M8[s]", "m8[s]", "c8", ">i4", "S2"]

nasty = st.sampled_from(NASTY)


def encoded(text: Any) -> bytes:
    """The bytes of a text, or of JSON."""
    return (text if isinstance(text, str) else json.dumps(text)).encode(errors="surrogatepass")


arrays = st.builds(
    lambda shape, kind: np.arange(int(np.prod(shape))).reshape(shape).astype(kind),
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.sampled_from(ARRAYS),
)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 40)
    | st.sampled_from(HUGE[:2])
    | st.floats()
    | nasty
    | st.sampled_from(["x" * 3000, "FRANCE", "dove"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(nasty | st.just("name"), inner, max_size=2),
    max_leaves=4,
)
odd = (
    plain
    | st.sampled_from(HUGE)
    | arrays
    | st.sampled_from([b"x", (), {1: 2}, range(5), 1j, object(), len, np.int64(3), np.float32(2), np.str_("dove")])
)


@st.composite
def mangled(draw: Any, texts: Strategy | str, times: int = 3) -> str:
    """A text with a few letters lost, moved, repeated or replaced by nasty ones."""
    text = texts if isinstance(texts, str) else draw(texts)
    for _ in range(draw(st.integers(0, times))):
        low, high = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        text = draw(
            st.sampled_from(
                [
                    text[:low] + text[low + 1 :],
                    text[:low] + draw(nasty) + text[low:],
                    text[:low] + text[high:],
                    text[:high] + text[low:],
                    text.swapcase(),
                    text[:low] + text[low : low + 1] * draw(st.sampled_from([2, 50, 5000])) + text[low + 1 :],
                ]
            )
        )
    return text


def words(known: list[str], most: int = 15) -> Strategy:
    """Words of a language and nasty pieces, in any sequence."""
    parts = st.lists(st.sampled_from(known) | nasty, max_size=most)
    return st.builds(str.join, st.sampled_from(["", " ", ", "]), parts)


def nested(opening: str, closing: str, core: str) -> Strategy:
    """A core in up to 50,000 brackets, all or all but one of them closed."""
    depths = st.sampled_from([1, 30, 1000, 50_000])
    return st.builds(lambda n, less: opening * n + core + closing * (n - less), depths, st.integers(0, 1))


@st.composite
def changed(draw: Any, value: Any, new: Strategy = plain) -> Any:
    """JSON with one to three of its parts replaced, repeated or left out."""
    for _ in range(draw(st.integers(1, 3))):
        value = _with_change(draw, value, new)
    return value


def _with_change(draw: Any, value: Any, new: Strategy) -> Any:
    if not isinstance(value, dict | list) or not value or not draw(st.integers(0, 7)):
        return draw(mangled(value) | new) if isinstance(value, str) else draw(new)
    is_dict = isinstance(value, dict)
    key = draw(st.sampled_from(list(value) if is_dict else range(len(value))))
    items = dict(value) if is_dict else dict(enumerate(value))
    if not draw(st.integers(0, 6)):
        del items[key]
    else:
        items[key] = _with_change(draw, items[key], new)
    return items if is_dict else list(items.values())
