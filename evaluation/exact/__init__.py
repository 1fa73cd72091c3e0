"""Exact best-response values against fixed players on small boards."""

from evaluation.exact.best_responses import best_response, exploitability
from evaluation.exact.results import BestResponse, Exploitability

__all__ = ["BestResponse", "Exploitability", "best_response", "exploitability"]
