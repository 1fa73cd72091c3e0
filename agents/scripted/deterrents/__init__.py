"""Deterrents: peaceful players that go to war when a power breaks an announced rule."""
