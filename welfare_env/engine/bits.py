"""The position of a mask's lowest bit, as one machine instruction in compiled code."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload


def trailing_zeros(bits):
    """The position of the lowest bit of a mask; compiled, one machine instruction."""
    return (int(bits) & -int(bits)).bit_length() - 1


@intrinsic
def _count_trailing_zeros(typing_context, bits):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@overload(trailing_zeros, inline="always")
def _compiled_trailing_zeros(bits):
    return lambda bits: _count_trailing_zeros(bits)
