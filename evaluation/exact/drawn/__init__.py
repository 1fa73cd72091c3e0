"""Punishers that draw their orders: threat values, their certificates, and the frontier of welfare."""
