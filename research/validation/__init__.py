"""Whether our measures are right: published figures played again, coverage of intervals, equilibria of Gambit."""
