"""Exact values on small boards: what one power can get at most against players that never change."""

from evaluation.exact.best_responses import BestResponse, best_response

__all__ = ["BestResponse", "best_response"]
