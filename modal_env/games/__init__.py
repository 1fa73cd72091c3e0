"""The game of choosing a program: payoffs, all equilibria, how they change with epsilon, what survives more agents."""
