"""The PettingZoo environments, and many games at once; their docstrings are their pages."""
