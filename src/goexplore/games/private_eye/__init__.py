"""Private Eye: its certificate for the native engine; nothing else is known of it."""

from goexplore.engines import Certificate

CERTIFICATE = Certificate("ef3a4f64b6494ba770862768caf04b86", "58d83d90bc0aca7c", 2_012_688)
"""docs/engine.md has the command."""
