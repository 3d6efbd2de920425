"""Freeway: its certificate for the native engine; nothing else is known of it."""

from goexplore.engines import Certificate

CERTIFICATE = Certificate("8e0ab801b1705a740b476b7f588c6d16", "a2c5da8338653ec9", 2_031_616)
"""docs/engine.md has the command."""
