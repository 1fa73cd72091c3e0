"""Hostile input at every public door: what a door refuses, it refuses with a named error, soon, and unchanged.

`python -m benchmarks.hostile` tries millions of inputs and prints a table; each module of `parts` lists the doors of
one part of the package. A fault is an error of another kind, an answer that takes longer than a second, or a check
of the door's own that fails.
"""
