"""The two mazes on emulators with bad habits, which find what any other one finds."""

import os
import random
import signal
import time
from pathlib import Path

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


class Slow(TwoMazes):
    """Takes its time while there is a certain file, so that there is time for faults."""

    def step(self, action):
        if Path(os.environ["SLOW"]).exists():
            time.sleep(0.005)
        return super().step(action)
