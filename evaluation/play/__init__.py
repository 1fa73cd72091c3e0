"""Games between policies: played, side by side, and kept."""
