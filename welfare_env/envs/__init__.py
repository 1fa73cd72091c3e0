"""The PettingZoo environments and the vector environment; their docstrings are also their documentation pages."""
