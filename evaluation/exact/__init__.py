"""Exact best-response values against fixed players on small boards."""

from evaluation.exact.best_responses import best_response, exploitability
from evaluation.exact.results import BestResponse, Exploitability
from evaluation.exact.theorems import DeviationGain, deviation_gains

__all__ = ["BestResponse", "DeviationGain", "Exploitability", "best_response", "deviation_gains", "exploitability"]
