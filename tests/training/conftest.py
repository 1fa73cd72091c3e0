"""One thread for torch."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads of torch only wait for each other on networks this small, and for the other test processes."""
    torch.set_num_threads(1)
