"""Exact best responses on small boards, against fixed stateless policies."""

from evaluation.exact.best_responses import BestResponse, best_response

__all__ = ["BestResponse", "best_response"]
