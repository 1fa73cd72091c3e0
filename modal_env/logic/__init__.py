"""Formulas of provability logic, how they are written, the library of agents, and what agents do against each other."""
