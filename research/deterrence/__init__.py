"""Deterrents and their attackers: welfare, the best known attack, and the cost of harmless neighbors."""
