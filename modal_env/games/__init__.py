"""The game of choosing a program: payoffs, all equilibria, their ranges of epsilon, survival against more agents."""
