"""Gravitar: its certificate for the native engine; nothing else is known of it."""

from goexplore.engines import Certificate

CERTIFICATE = Certificate("8ac18076d01a6b63acf6e2cab4968940", "d6cb52746d6169bf", 2_016_640)
"""docs/engine.md has the command."""
