"""Modal Combat: open-source games between agents that are formulas of provability logic. Not written yet.

This package will hold the formulas and their reader, the evaluation over the Kripke frame, the library of known agents
(FairBot, PrudentBot, ...), the game, its equilibria and its evolution, and a PettingZoo environment. It is empty so
far: nothing can be imported from it.
"""
