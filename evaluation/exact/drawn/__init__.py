"""Randomizing punishers: threat values, their certificates, and the welfare frontier."""
