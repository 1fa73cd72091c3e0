"""Coalitions that leave a profile together: whether they collude."""
