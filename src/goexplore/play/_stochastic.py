"""The unmodified, stochastic game: sticky actions and random no-ops (paper sections 2.1.3 and 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from goexplore.archive import Actions, as_actions
from goexplore.envs import Environment, Location, Step
from goexplore.errors import SnapshotError
from goexplore.problems import EnvironmentSpec
from goexplore.random import SplitMix64

REPEAT_ACTION_PROBABILITY = 0.25
"""Probability, at each game frame, that the last action is repeated instead of the one that was chosen."""
MAX_NO_OPS = 30


class Played(NamedTuple):
    """What one training frame brought."""

    reward: float
    terminated: bool
    """The game is over."""
    truncated: bool
    """The environment's own time limit ended the episode."""
    lost_life: bool

    @property
    def ended(self) -> bool:
        """Whether the episode is over, for either reason."""
        return self.terminated or self.truncated


class GameState(NamedTuple):
    """Everything needed to come back."""

    snapshot: bytes
    last_action: int | None
    """What a sticky frame would repeat: no part of the environment's own state."""


class StochasticGame:
    """One environment, played a training frame at a time. Without `random`, it is the deterministic game.

    Sticky actions are drawn for every game frame where the environment can be played frame by frame, as Atari
    games can, else for each of its steps.
    """

    def __init__(
        self, spec: EnvironmentSpec, *, repeat_action_probability: float = REPEAT_ACTION_PROBABILITY
    ) -> None:
        whole = spec()
        self.frame_skip = whole.frame_skip
        """Game frames of a training frame."""
        self.ends_at_life_loss = whole.ends_at_life_loss
        """Whether the search's episodes ended with the first life that was lost."""
        self.env: Environment = whole.frame_by_frame()
        self._draws = whole.frame_skip // self.env.frame_skip
        self.action_count = self.env.action_count
        self.lives: int | None = None
        self._last_action = self.env.no_op
        self.repeat_action_probability = repeat_action_probability
        self.watch: Callable[[float], None] | None = None
        """Called with the reward after every step of the environment, for films."""

    def reset(self, no_ops: int = 0) -> int:
        """Go to the real start, and do nothing for this many game frames; return how many were played.

        An environment without a no-op begins at once, and so does one whose episode no-ops alone would end.
        """
        self.env.reset()
        played = 0
        if self.env.no_op is not None:
            played = no_ops // self.env.frame_skip
            if self.env.play([self.env.no_op] * played).ended:
                self.env.reset()
                played = 0
        self._last_action = self.env.no_op
        self.lives = self.env.lives()
        return played * self.env.frame_skip

    def step(self, action: int, random: SplitMix64 | None = None) -> Played:
        """Play one training frame; actions stick if there is a stream to draw from."""
        actions = self.draw(action, random)
        if self.watch is None:
            return self.finish_step(self.env.play(actions))
        reward = 0.0
        for each in actions:
            step = self.env.step(each)
            reward += step.reward
            self.watch(step.reward)
            if step.ended:
                break
        return self.finish_step(Step(reward, step.terminated, step.truncated))

    def draw(self, action: int, random: SplitMix64 | None = None) -> Actions:
        """Return what the next training frame plays, step by step: the action, or the last once more."""
        played = []
        for _ in range(self._draws):
            sticks = (
                random is not None
                and random.happens(self.repeat_action_probability)
                and self._last_action is not None
            )
            if not sticks:
                self._last_action = action
            played.append(self._last_action or 0)
        return as_actions(played, self.action_count)

    def finish_step(self, step: Step) -> Played:
        """Return what a training frame brought that was played, here or elsewhere, as `draw` said."""
        lives, self.lives = self.lives, self.env.lives()
        lost = lives is not None and self.lives is not None and self.lives < lives
        return Played(float(step.reward), bool(step.terminated), bool(step.truncated), lost)

    def repeat(self, actions: Actions) -> Played:
        """Play a training frame again of which every step of the environment is known."""
        played = self.finish_step(self.env.play(actions))
        self._last_action = actions[-1]
        return played

    def follow(self, actions: Sequence[int]) -> None:
        """Play training frames of the deterministic game, of which only the last needs to be seen."""
        self.env.play([action for action in actions for _ in range(self._draws)])
        if actions:
            self._last_action = actions[-1]
        self.lives = self.env.lives()

    def location(self) -> Location:
        """Return level and room, where they are known."""
        return self.env.location()

    def snapshot(self) -> GameState:
        """Return the environment's state and the action that would stick."""
        return GameState(self.env.snapshot(), self._last_action)

    def restore(self, state: GameState) -> None:
        """Go back to a state. The screen may be stale until the next step."""
        if state.last_action is not None and not 0 <= state.last_action < self.action_count:
            raise SnapshotError(
                f"expected a last action below {self.action_count}, got {state.last_action}: the state is of "
                "another game"
            )
        self.env.restore(state.snapshot)
        self._last_action = state.last_action
        self.lives = self.env.lives()
