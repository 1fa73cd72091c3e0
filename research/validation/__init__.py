"""Whether our measures are right: published figures played again, and reported gains in fresh games."""
