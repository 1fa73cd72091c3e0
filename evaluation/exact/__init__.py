"""Exact best-response values against fixed players on small boards, with certificates."""

from evaluation.exact.armed_years import certify_armed_years
from evaluation.exact.armed_years_checking import check_armed_years
from evaluation.exact.best_responses import BestResponse, best_response
from evaluation.exact.certificates import Certificate, CertificateError
from evaluation.exact.certify import Certified, certify, certify_punishers
from evaluation.exact.checking import check_certificate
from evaluation.exact.drawn.certificates import DrawnCertificate
from evaluation.exact.drawn.checking import check_drawn
from evaluation.exact.drawn.frontier import equilibrium_payoffs, frontier
from evaluation.exact.drawn.points import FrontierPoint
from evaluation.exact.drawn.values import ThreatValue, certify_threats
from evaluation.exact.exploitability import Exploitability, Response, exploitability

__all__ = [
    "BestResponse",
    "Certificate",
    "CertificateError",
    "Certified",
    "DrawnCertificate",
    "Exploitability",
    "FrontierPoint",
    "Response",
    "ThreatValue",
    "best_response",
    "certify",
    "certify_armed_years",
    "certify_punishers",
    "certify_threats",
    "check_armed_years",
    "check_certificate",
    "check_drawn",
    "equilibrium_payoffs",
    "exploitability",
    "frontier",
]
