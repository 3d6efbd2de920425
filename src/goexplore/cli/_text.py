"""Text of files and users as a terminal can show it."""

from __future__ import annotations

LONGEST = 2000
"""Characters that are shown of a text: whatever a user or a file calls a thing, it can be read."""


def printable(text: object, longest: int = LONGEST) -> str:
    """Return a text without what does something to a terminal, and without its middle if it is long."""
    return "".join(each if each.isprintable() else "?" for each in shortened(str(text), longest))


def printable_lines(text: str) -> str:
    """Return a text of several lines in the same way."""
    return "\n".join(printable(line) for line in shortened(text).split("\n"))


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return a text without its middle if it is long."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} ... {text[-half:]}"
