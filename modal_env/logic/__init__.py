"""Formulas of provability logic: notation, the library of agents, and the play of agents against each other."""
