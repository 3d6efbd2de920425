"""The native engine against ale-py, in lock step, frame by frame."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count, cycle, islice, zip_longest
from typing import Any

import numpy as np

from goexplore import _native as native
from goexplore.archive import Actions, Archive, plan_replays
from goexplore.engines._choice import rom_checksum, version_for
from goexplore.envs import AtariEnv, AtariFacts, Location, load_cartridge
from goexplore.random import SplitMix64, stream_state

FRAME_SKIP = 4
_TAIL = 200
"""Training frames of random play after the end of each trajectory."""
_RANDOM_PLAY = 3000
"""Training frames of random play from the initial state: a game or more."""
_REPEAT = 0.95
_RESTORE = 16
"""After one training frame in this many, the engine goes through a snapshot and back."""


@dataclass(frozen=True, kw_only=True)
class Play:
    """Actions to play from the initial state, and how long to play on at random."""

    actions: bytes
    """Numbers of the emulator's own actions."""
    tail: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What one play showed."""

    game_frames: int
    locations: frozenset[Location]
    difference: str | None


@dataclass(frozen=True, kw_only=True)
class Certification:
    """What all plays showed."""

    rom: str
    md5: str
    version: str
    """Of the native engine, as far as it plays this game."""
    translated: bool
    """Whether it ran the ROM's code translated, where that was known, or all of it interpreted."""
    game_frames: int
    """Compared."""
    trajectory_game_frames: int
    """Of these, on trajectories of searches and from their ends."""
    trajectories: int
    locations: frozenset[Location]
    differences: tuple[str, ...]


def plays(archives: Sequence[Archive], actions: bytes, seed: int) -> Iterator[Play]:
    """Yield plays without end, all but one in a hundred on trajectories if there are any."""
    trajectories = [
        bytes(actions[action] for action in trajectory) for trajectory in every_room_first(archives)
    ]
    deep = cycle(trajectories)
    for number in count():
        if trajectories and number % 100:
            yield Play(actions=next(deep), tail=_TAIL, seed=stream_state(seed, number))
        else:
            yield Play(actions=b"", tail=_RANDOM_PLAY, seed=stream_state(seed, number))


def every_room_first(archives: Sequence[Archive]) -> list[Actions]:
    """Return trajectories through all entries: the longest to each room, the next to each, and so on."""
    ends: dict[Location, list[Actions]] = {}
    for archive in archives:
        level, room = archive.values("level"), archive.values("room")
        for replay in plan_replays(archive, range(len(archive))):
            end = replay.claims[-1].entry.number
            ends.setdefault(Location(int(level[end]), int(room[end])), []).append(replay.actions)
    for trajectories in ends.values():
        trajectories.sort(key=len, reverse=True)
    return [each for turn in zip_longest(*ends.values()) for each in turn if each is not None]


class LockStep:
    """Both engines, side by side."""

    def __init__(self, rom: str, facts: AtariFacts) -> None:
        self._reference = AtariEnv(game=rom, frame_skip=1, full_action_set=True, facts=facts)
        self._ale: Any = self._reference._ale
        self._machine = native.require_atari().Machine(load_cartridge(rom))
        self._facts = facts

    def compare(self, play: Play) -> Comparison:
        """Play until the end, the end of the game, or a difference."""
        ale, machine = self._ale, self._machine
        self._reference.reset()
        machine.reset()
        random = SplitMix64(play.seed)
        location, locations = self._reference.location(), set[Location]()
        action, length = 0, len(play.actions)
        for step in range(length + play.tail):
            if step < length:
                action = play.actions[step]
            elif not random.happens(_REPEAT) or step == length:
                action = random.index(18)
            for frame in range(FRAME_SKIP):
                reward = ale.act(action)
                try:
                    mine = machine.frame(action, frame == FRAME_SKIP - 1)
                except RuntimeError as error:
                    return self._differ(play, step, frame, locations, f"the native engine stops at {error}")
                ram = ale.getRAM()
                if (
                    mine != reward
                    or machine.ram != ram.tobytes()
                    or machine.lives != ale.lives()
                    or machine.over != ale.game_over()
                ):
                    return self._differ(play, step, frame, locations, self._describe(reward, mine))
            if machine.over:
                break  # perhaps before the frame that would have been drawn
            if not np.array_equal(ale.getScreen(), np.asarray(machine)):
                wrong = int((ale.getScreen() != np.asarray(machine)).sum())
                return self._differ(play, step, FRAME_SKIP - 1, locations, f"{wrong} pixels of the screen")
            if self._facts.room_address is not None:
                location = self._facts.location_after(location, self._facts.location(ram))
                locations.add(location)
            if random.word() % _RESTORE == 0:
                machine.restore(machine.snapshot())
        return Comparison(
            game_frames=(step + 1) * FRAME_SKIP, locations=frozenset(locations), difference=None
        )

    def _describe(self, reward: int, mine: int) -> str:
        ale, machine = self._ale, self._machine
        here = np.frombuffer(machine.ram, np.uint8)
        wrong = [
            f"{at + 128:#x}: {here[at]}, not {ale.getRAM()[at]}"
            for at in np.flatnonzero(here != ale.getRAM())
        ]
        return (
            f"memory {'; '.join(wrong) or 'equal'}; reward {mine}, not {reward}; lives {machine.lives}, not "
            f"{ale.lives()}; over {machine.over}, not {ale.game_over()}"
        )

    def _differ(self, play: Play, step: int, frame: int, locations: set[Location], what: str) -> Comparison:
        where = f"training frame {step}, game frame {frame} of it"
        return Comparison(
            game_frames=step * FRAME_SKIP + frame,
            locations=frozenset(locations),
            difference=f"{what} (at {where}, {len(play.actions)} actions of a trajectory, seed {play.seed})",
        )


def certify(
    rom: str,
    facts: AtariFacts,
    archives: Sequence[Archive],
    actions: bytes,
    *,
    game_frames: int,
    workers: int,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> Certification:
    """Compare until this many game frames are done, or a play differs.

    `actions` are the emulator's numbers of the actions in the archives' trajectories.
    """
    done = on_trajectories = trajectories = 0
    locations = set[Location]()
    differences: list[str] = []
    version = version_for(rom)
    cartridge = load_cartridge(rom)  # translated once, not in every process
    with ProcessPoolExecutor(workers, initializer=_begin, initargs=(rom, facts)) as pool:
        source = plays(archives, actions, seed)
        waiting = [(play, pool.submit(_compare, play)) for play in islice(source, 2 * workers)]
        while waiting:
            play, future = waiting.pop(0)
            compared = future.result()
            done += compared.game_frames
            locations |= compared.locations
            if play.actions:
                on_trajectories += compared.game_frames
                trajectories += 1
            if compared.difference is not None:
                differences.append(compared.difference)
            progress(done)
            if done < game_frames and not differences:
                play = next(source)
                waiting.append((play, pool.submit(_compare, play)))
    return Certification(
        rom=rom,
        md5=rom_checksum(rom),
        version=version,
        translated=cartridge.translated,
        game_frames=done,
        trajectory_game_frames=on_trajectories,
        trajectories=trajectories,
        locations=frozenset(locations),
        differences=tuple(differences),
    )


_lock_step: LockStep | None = None


def _begin(rom: str, facts: AtariFacts) -> None:
    global _lock_step
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _lock_step = LockStep(rom, facts)


def _compare(play: Play) -> Comparison:
    assert _lock_step is not None
    return _lock_step.compare(play)
