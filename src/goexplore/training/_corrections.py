"""Corrections: the policy plays until it fails, and the expert shows what to do a moment before.

A clone that errs gets into states that the expert never shows, and errs again there (Ross et al., 2011).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace

import torch

from goexplore.archive import as_actions
from goexplore.errors import EngineError
from goexplore.planning import ExpertPlayer, GuidedGame, Recording, Situation
from goexplore.play import Preprocessor
from goexplore.random import SplitMix64, stream_state
from goexplore.training._curriculum import Start
from goexplore.training._network import Policy
from goexplore.training._recording_buffer import RecordingBuffer
from goexplore.training._state_bank import REAL_START

_FROM_THE_START = 0.25
"""Share of the roll-ins that begin at the real start; the others begin at states of recordings."""
_ROLL_IN = (30, 200)
"""Training frames that the policy plays, at least and at most."""
_STUCK = 60
"""Training frames without progress after which the expert takes over."""
_BEYOND = 16
"""Training frames beyond the expert's horizon, before a lost life, from which it may have to take over, and
for which it plays then."""
_EVERY = 4
"""Training frames between the moments at which it tries to take over, the latest first.

The expert plans on the game's full state, so it knows when the floor of the next room will appear. It would
wait in the room before, but the policy can only learn to wait where it sees the floor.
"""
_HOPELESS = 0.35
"""Share of tries that must survive, or it is too late."""


class Corrector:
    """A policy at play, and an expert that takes over: one per process."""

    def __init__(
        self,
        player: ExpertPlayer,
        policy: Policy,
        buffer: RecordingBuffer,
        *,
        sharpen: float = 1.0,
    ) -> None:
        """The policy's logits are multiplied by `sharpen`."""
        self._player, self._policy, self._buffer, self._sharpen = player, policy, buffer, sharpen
        self._length = player.config.horizon + _BEYOND
        self._game: GuidedGame = player.game
        self._game.game.reset()
        self._preprocessor = Preprocessor(self._game.game.env, buffer.preprocessing)
        self._in_vain = 0

    def simulated_in_vain(self) -> int:
        """Return the training frames that were tried out for nothing since this was asked last."""
        in_vain, self._in_vain = self._in_vain, 0
        return in_vain

    def correct(self, seed: int) -> Generator[None, None, Recording | None]:
        """Let the policy play and the expert take over; return None where even the expert could not help.

        This takes minutes on a slow simulator, so it yields after every training frame.
        """
        random, simulator = SplitMix64(stream_state(seed, 0)), self._player.expert.simulator
        before, found = simulator.played, None
        with suppress(EngineError):  # so rare that it is left out
            found = yield from self._correct(seed, random)
        simulated = simulator.played - before
        if found is None:
            self._in_vain += simulated
            return None
        return replace(found, simulated=simulated)

    def _correct(self, seed: int, random: SplitMix64) -> Generator[None, None, Recording | None]:
        game, played = self._game, _Played()
        self._begin(random, played)
        first, last = len(played.chosen), _ROLL_IN[0] + random.index(_ROLL_IN[1] - _ROLL_IN[0])
        history: list[Situation] = []
        best, best_at, lost = game.progress, 0, False
        for step in range(last):
            history.append(game.situation())
            action = self._act(random)
            actions, done = game.play(action, random)
            played.add(actions, action, done.reward)
            self._preprocessor.observe()
            if game.progress > best:
                best, best_at = game.progress, step
            if done.lost_life or done.ended:
                lost = True
                break
            if game.reference.is_at_the_end(game.tracker):
                return None
            if step - best_at >= _STUCK:
                break
            yield
        for back in range(_EVERY, self._length + 1, _EVERY) if lost else (1,):
            if len(history) < back:
                break
            game.restore(history[-back])
            kept = played.until(first + len(history) - back)
            if (yield from self._teach(kept, stream_state(seed, 1, back), random)):
                return kept.recording(seed, first + len(history) - back, game.game.action_count)
        return None

    def _begin(self, random: SplitMix64, played: _Played) -> None:
        """Go to the real start, or to a state of a recording."""
        game, buffer = self._game, self._buffer
        number, point = self._draw(random)
        if point == 0:
            played.no_ops = game.reset(random.index(self._player.no_ops + 1))
            self._preprocessor.reset()
            return
        recording = buffer.recordings[number]
        played.no_ops = game.reset(recording.no_ops)
        self._preprocessor.reset()
        for step in range(point):
            actions = recording.step(step)
            played.add(actions, recording.chosen[step], game.repeat(actions).reward)
        self._preprocessor.observation[:] = buffer.observation(number, point)

    def _draw(self, random: SplitMix64) -> Start:
        """Draw the real start, or any training frame of any whole episode."""
        recordings = self._buffer.recordings
        whole = [number for number, each in enumerate(recordings) if not each.is_correction]
        number = whole[random.index(len(whole))]
        until = recordings[number].taught_until
        if random.happens(_FROM_THE_START) or until < 2:
            return REAL_START
        return Start(number, 1 + random.index(until - 1))

    @torch.no_grad()
    def _act(self, random: SplitMix64) -> int:
        policy = self._policy
        seen = torch.from_numpy(self._preprocessor.observation[None]).to(policy.device)
        logits, _, _ = policy(seen, policy.empty_memory(1))
        shares = (self._sharpen * logits[0].double()).softmax(-1).cumsum(-1).cpu().numpy()
        return min(int(shares.searchsorted(random.uniform(1)[0], "right")), len(shares) - 1)

    def _teach(self, played: _Played, seed: int, random: SplitMix64) -> Generator[None, None, bool]:
        """Let the expert play on; return whether it survives."""
        game, expert = self._game, self._player.expert
        expert.begin(seed)
        for step in range(self._length):
            decision = expert.decide(game.situation())
            if step == 0 and decision.judgement.survival < _HOPELESS:
                return False
            actions, done = game.play(decision.action, random)
            played.add(actions, decision.action, done.reward)
            if game.reference.is_at_the_end(game.tracker):
                break
            if done.lost_life or done.ended:
                return False
            yield
        return True


class _Played:
    """What was played so far."""

    def __init__(self) -> None:
        self.no_ops = 0
        self.steps: list[list[int]] = []
        self.chosen: list[int] = []
        self.rewards: list[float] = []

    def add(self, actions: object, chosen: int, reward: float) -> None:
        self.steps.append(list(actions))  # type: ignore[call-overload]
        self.chosen.append(int(chosen))
        self.rewards.append(reward)

    def until(self, point: int) -> _Played:
        """Return a copy of the beginning."""
        copy = _Played()
        copy.no_ops = self.no_ops
        copy.steps, copy.chosen, copy.rewards = self.steps[:point], self.chosen[:point], self.rewards[:point]
        return copy

    def recording(self, seed: int, taught_from: int, action_count: int) -> Recording:
        return Recording(
            no_ops=self.no_ops,
            played=as_actions([action for step in self.steps for action in step], action_count),
            chosen=as_actions(self.chosen, action_count),
            rewards=tuple(self.rewards),
            taught_from=taught_from,
            taught_until=len(self.chosen),
            ending="cut",
            simulated=0,
            seed=seed,
        )
