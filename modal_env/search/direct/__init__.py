"""Populations of all direct agents up to a depth: see `modal_env.search.direct_agents`."""
