"""Whether the extra `web` is installed."""

from importlib.util import find_spec

from evaluation.checks import EvaluationError
from welfare_env.extras import install_extra


def need_web(what: str, otherwise: str) -> None:
    """Check that the extra is installed, before anything else happens.

    Args:
        what, otherwise: for the error message: what needs the extra, and an alternative.

    Raises:
        EvaluationError: starlette or uvicorn is not installed.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise EvaluationError(f"{what} needs {install_extra('web')}; {otherwise}")
