"""The two mazes on an emulator that crashes its process every now and then, at any state."""

import os
import random
import signal

from goexplore.games.two_mazes import TwoMazes

MAIN = os.getpid()


class Crashing(TwoMazes):
    """Crashes worker processes only; a forked worker has another id than the process that imported this."""

    chance = random.SystemRandom()

    def step(self, action):
        if os.getpid() != MAIN and self.chance.random() < 1 / 1500:
            with open(os.environ["CRASHES"], "ab") as file:
                file.write(b"!")
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().step(action)
