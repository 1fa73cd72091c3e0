"""Deterrents: peaceful players that answer whoever breaks a stated rule."""
