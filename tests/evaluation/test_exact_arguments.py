"""Every argument of the public functions of `evaluation.exact`: wrong values raise named errors."""

import os
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from evaluation import exact
from evaluation.checks import EvaluationError
from evaluation.exact import Certificate, DrawnCertificate, FrontierPoint
from welfare_env import WelfareEnvError

A = "PLAYERA"
NO_NUMBERS = (True, "1", float("nan"), float("inf"), -1, 1.5, 10**30, 10**5000, [1], np.array([1]), {}, object)
NO_CHOICES = (None, True, "bad", 1, 10**5000, ["sum"], np.array([1, 2]), {}, object)
NO_LISTS = (True, 1, float("nan"), "", "PLAYERA", b"x", {}, {A: 1}, np.array(3), object, [None], [10**5000], [["x"]])
NO_EPSILONS = (None, *NO_NUMBERS, Fraction(-1, 2), Fraction(1, 10**7), Fraction(10**5000, 7), 0.5)

GAMES: dict[str, dict[str, Any]] = {
    "best_response": {"map_name": "clique:2", "profile": "hold", "power": A, "years": 1},
    "certify": {"map_name": "clique:2", "profile": "hold", "deviators": A, "years": 1},
    "certify_armed_years": {"map_name": "clique:2", "deviator": A},
    "certify_punishers": {"map_name": "clique:2", "t": 1, "deviator": A, "years": 1},
    "certify_threats": {"map_name": "clique:2", "t": 1, "deviator": A, "years": 1},
    "equilibrium_payoffs": {"map_name": "clique:2", "years": 1, "most_lost": 0},
    "exploitability": {"map_name": "clique:2", "profile": "hold", "years": 1},
    "frontier": {"map_name": "clique:2", "years": 1, "epsilons": [0]},
}
WRONG = {
    "map_name": (None, True, 3, "nowhere", "", "standard", "a\0b", 10**5000, ["clique:2"], object),
    "profile": (None, True, 3, "", "nobody", "\ud800", {A: 3}, {"FRANCE": "hold"}, {A: "hold"}, ["hold"], object),
    "power": (None, True, "", "FRANCE", 10**5000, [A], object),
    "deviator": (None, True, "", "FRANCE", 10**5000, [A], object),
    "deviators": (None, True, "", "FRANCE", 10**5000, [], [A, A], [[A]], {A: 1}, object),
    "years": NO_NUMBERS,
    "t": (None, *NO_NUMBERS),
    "most_lost": (None, *NO_NUMBERS),
    "most_states": (None, *NO_NUMBERS),
    "most_positions": (None, *NO_NUMBERS),
    "coalitions": (None, *NO_NUMBERS, 3),
    "epsilon": NO_EPSILONS,
    "epsilons": (*NO_LISTS, *([each] for each in NO_EPSILONS)),
    "powers": (*NO_LISTS, ["FRANCE"]),
    "punishers": NO_CHOICES,
    "by": NO_CHOICES,
    "shared": (True, "", A, "FRANCE", [A], object),
    "report": (None, True, "print", 3, []),
    "rules": (True, 3, "welfare", {}, object),
}
OPTIONS = {
    "certify": ("most_states",),
    "certify_armed_years": (),
    "certify_punishers": ("shared", "punishers"),
    "certify_threats": ("shared",),
    "equilibrium_payoffs": ("epsilon",),
    "best_response": ("rules",),
    "exploitability": ("rules", "powers", "most_positions"),
    "frontier": ("most_lost", "by", "report", "coalitions"),
}
CASES = [(name, argument) for name in GAMES for argument in (*GAMES[name], *OPTIONS[name])]


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_wrong_arguments(name, argument):
    for value in WRONG[argument]:
        with pytest.raises(WelfareEnvError) as error:
            getattr(exact, name)(**GAMES[name] | {argument: value})
        assert len(str(error.value)) < 1000
        if WRONG[argument] in (NO_NUMBERS, NO_CHOICES, NO_LISTS) or argument in ("report", "most_lost", "most_states"):
            assert f"{argument}=" in str(error.value)


@lru_cache(maxsize=1)
def certificates() -> tuple[Certificate, DrawnCertificate]:
    fixed = exact.certify_punishers("clique:2", 1, A, 1).certificate
    return fixed, exact.certify_threats("clique:2", 1, A, 1).certificate


def test_wrong_seeds():
    for seed in (None, *NO_NUMBERS):
        with pytest.raises(EvaluationError, match="seed="):
            exact.check_certificate(certificates()[0], seed=seed)


def test_no_certificates_and_no_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in (None, True, 3, "x", b"x", [], object, 10**5000):
        for check in (exact.check_armed_years, exact.check_certificate, exact.check_drawn):
            with pytest.raises(EvaluationError, match="certificate="):
                check(value)
        for load in (Certificate.load, DrawnCertificate.load, FrontierPoint.load):
            with pytest.raises(exact.CertificateError):
                load(value)
        for certificate in certificates() if value != "x" else ():
            with pytest.raises(exact.CertificateError, match="path="):
                certificate.save(value)
    assert os.listdir() == []
