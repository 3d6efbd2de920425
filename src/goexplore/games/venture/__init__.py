"""Venture: its certificate for the native engine; nothing else is known of it."""

from goexplore.engines import Certificate

CERTIFICATE = Certificate("3e899eba0ca8cd2972da1ae5479b4f0d", "3d204aeac8d2ed5c", 2_021_536)
"""docs/engine.md has the command."""
