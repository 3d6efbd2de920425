"""Games: a folder for each one of which something is known, and what all Atari games share.

A folder has the game's facts, its certificate for the native engine, its cells and its presets, as far as
there are any. Nothing outside of it asks which game is played.
"""

from goexplore.games._atari import ATARI, AtariGame, certificate, facts

__all__ = ["ATARI", "AtariGame", "certificate", "facts"]
