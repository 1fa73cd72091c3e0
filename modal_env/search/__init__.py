"""Searches through all agents up to a depth: best replies, certificates, findings."""
