"""Exact values on small boards: what one power can get at most against players that never change."""

from evaluation.exact.best_response import BestResponse, best_response

__all__ = ["BestResponse", "best_response"]
