"""Populations: policies that learn one after the other, each a best response to a mix of those before it.

`psro` is the loop; `table` plays the payoffs of all mixes, `meta` chooses among them, `pictures` draws them.
"""
