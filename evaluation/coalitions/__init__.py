"""Collusion: coalitions that deviate from a profile together."""
