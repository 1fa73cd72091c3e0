"""The doors, a module for each part of the package; each lists its own in DOORS."""
