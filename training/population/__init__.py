"""Populations: policies trained one after the other, each as a best response to a mix of the earlier ones.

`psro` is the loop; `table` computes the empirical game, `meta` the mixed strategy, `pictures` draws the payoffs.
"""
