"""SplitMix64, the one source of randomness of searches and games: small, fast, the same in every language.

The k-th draw (k = 1, 2, ...) of a stream with the 64-bit state s is `mix(s + k * GAMMA)`, all modulo 2**64:

    mix(z):  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
             z = (z ^ (z >> 27)) * 0x94D049BB133111EB
             return z ^ (z >> 31)

- a whole number below n: `((draw >> 32) * n) >> 32`
- whether an event of probability p happens: `(draw >> 32) < floor(p * 2**32)`
- a number in [0, 1): `(draw >> 11) * 2**-53`

A stream for (seed, a, b) has the state `mix(mix(mix(seed + GAMMA) + a + GAMMA) + b + GAMMA)`.

Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014).
"""

import numpy as np
from numpy.typing import NDArray

GAMMA = 0x9E3779B97F4A7C15
_MASK = 0xFFFFFFFFFFFFFFFF
_Words = NDArray[np.uint64]


def stream_state(*numbers: int) -> int:
    """Return the state of the stream that belongs to a sequence of whole numbers."""
    state = 0
    for number in numbers:
        state = SplitMix64(state + number).word()
    return state


class SplitMix64:
    """A stream of draws."""

    def __init__(self, state: int) -> None:
        """Begin the stream with a 64-bit state, best taken from `stream_state`."""
        self._state = state & _MASK

    @property
    def state(self) -> int:
        """Everything needed to go on from here."""
        return self._state

    def word(self) -> int:
        """Return the next draw, 64 bits."""
        self._state = z = (self._state + GAMMA) & _MASK
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return z ^ (z >> 31)

    def index(self, limit: int) -> int:
        """Return a whole number from 0 up to, not including, `limit`."""
        return (self.word() >> 32) * limit >> 32

    def happens(self, probability: float) -> bool:
        """Return whether an event of this probability happens."""
        return self.word() >> 32 < int(probability * 2**32)

    def words(self, count: int) -> _Words:
        """Return the next draws, 64 bits each."""
        states = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GAMMA) + np.uint64(self._state)
        self._state = (self._state + count * GAMMA) & _MASK
        z = (states ^ (states >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def below(self, limit: int, count: int) -> NDArray[np.int64]:
        """Return whole numbers from 0 up to, not including, `limit`."""
        numbers = (self.words(count) >> np.uint64(32)) * np.uint64(limit) >> np.uint64(32)
        return numbers.astype(np.int64)

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Return numbers in [0, 1)."""
        return (self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
