"""Whether the extra `web` is installed."""

from importlib.util import find_spec

from evaluation.checks import EvaluationError
from welfare_env.extras import install_extra


def need_web(what: str, otherwise: str) -> None:
    """Check before anything is begun.

    Args:
        what: is wished, and `otherwise` what can be done without.

    Raises:
        EvaluationError: starlette or uvicorn is not installed.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise EvaluationError(f"{what} needs {install_extra('web')}; {otherwise}")
