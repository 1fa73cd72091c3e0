"""Compares the compiled engine with the `diplomacy` package after every phase of many kinds of games."""
