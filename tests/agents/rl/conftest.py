"""Boards that the tests of learned players share."""

import pytest
import torch

import welfare_env


@pytest.fixture(scope="session")
def standard():
    return welfare_env.load_board("standard")


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads of torch only wait for each other on networks this small, and for the other test processes."""
    torch.set_num_threads(1)
