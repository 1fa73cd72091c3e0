"""Players by rules."""
