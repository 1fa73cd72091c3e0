"""The PettingZoo environments; their docstrings are their pages."""
