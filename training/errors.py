"""What can be wrong with a training."""

from __future__ import annotations

from welfare_env.errors import WelfareEnvError


class TrainingError(WelfareEnvError, ValueError):
    """Options that do not fit each other, the map or the checkpoint; the message says what would."""
