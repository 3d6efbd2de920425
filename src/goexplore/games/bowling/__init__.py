"""Bowling: its certificate for the native engine; nothing else is known of it."""

from goexplore.engines import Certificate

CERTIFICATE = Certificate("c9b7afad3bfd922e006a6bfc1d4f3fe7", "56772fc0b79f659d", 2_032_988)
"""docs/engine.md has the command."""
