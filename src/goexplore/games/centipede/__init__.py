"""Centipede: its certificate for the native engine; nothing else is known of it."""

from goexplore.engines import Certificate

CERTIFICATE = Certificate("91c2098e88a6b13f977af8c003e0bca5", "aa9e49457ea99b14", 2_036_404)
"""docs/engine.md has the command."""
