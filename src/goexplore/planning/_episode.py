"""Whole episodes of the expert."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from goexplore.archive import Actions, as_actions
from goexplore.errors import EngineError
from goexplore.planning._detour import find_detour
from goexplore.planning._expert import Decision, Expert, ExpertConfig
from goexplore.planning._guided_game import Guide, GuidedGame, Situation
from goexplore.planning._recording import Ending, Recording
from goexplore.planning._reference import Reference, Tracker
from goexplore.planning._simulator import make_simulator
from goexplore.play import MAX_NO_OPS
from goexplore.random import SplitMix64, stream_state

_SEARCH_AFTER = 60
"""Training frames without progress after which the expert is stuck: it searches for a detour, or gives one
up, and what it did meanwhile is not taught."""
_TRIED = 8
"""Training frames after the last progress in which what was tried may still have been right."""
_STUCK = 300
"""Training frames without progress after which an episode ends."""


class ExpertPlayer:
    """An expert and the game that it plays: one per thread."""

    def __init__(self, guide: Guide, config: ExpertConfig, *, no_ops: int = MAX_NO_OPS) -> None:
        """See `goexplore.planning.guide`."""
        self._guide, self.config, self.no_ops = guide, config, no_ops
        self.game = guide()
        self.reference = guide.reference
        self.expert = self._make_expert(guide)
        self._searching: GuidedGame | None = None
        """The game in which detours are searched for, once that was needed."""

    def _make_expert(self, guide: Guide) -> Expert:
        config, env = self.config, self.game.game.env
        simulator = make_simulator(guide(), horizon=config.horizon, ceiling=config.ceiling)
        return Expert(guide.reference, simulator, config, action_count=env.action_count, no_op=env.no_op)

    def play(self, seed: int) -> Recording:
        """Play an episode from the real start until the goal, a lost life, the end, or until it is stuck."""
        for recording in self.episode(seed):
            if recording is not None:
                return recording
        raise AssertionError("an episode ends with its recording")

    def episode(self, seed: int) -> Iterator[Recording | None]:
        """Play an episode bit by bit: yield None after each bit of work, and in the end the recording."""
        random = SplitMix64(stream_state(seed, 0))
        game, action_count = self.game, self.game.game.action_count
        no_ops = game.reset(random.index(self.no_ops + 1))
        self.expert.begin(stream_state(seed, 1))
        before, searched = self.expert.simulator.played, 0
        played: list[int] = []
        chosen: list[int] = []
        rewards: list[float] = []
        best, best_at = game.progress, 0
        detour: _Detour | None = None
        stuck: list[tuple[int, int]] = []
        way_began: int | None = None
        ending: Ending | None = None
        while ending is None:
            waited = len(chosen) - best_at
            if detour is None and waited and waited % _SEARCH_AFTER == 0 and self.config.search:
                detour, spent = yield from self._search(best, stream_state(seed, 2, len(chosen)))
                searched += spent
                way_began = len(chosen) if detour else None
            decision = detour.decide() if detour else self.expert.decide(game.situation())
            try:
                actions, step = game.play(decision.action, random)
            except EngineError:  # as far as the native engine can tell, the game ends here
                ending = "game over"
                continue
            played += actions
            chosen.append(decision.action)
            rewards.append(step.reward)
            if detour and not detour.goes_on(actions):
                searched += detour.simulated
                if not detour.arrived:
                    way_began = None
                detour = None
                self.expert.begin(stream_state(seed, 3, len(chosen)))  # what it planned was for elsewhere
            if game.progress > best:
                if waited >= _SEARCH_AFTER:
                    found = len(chosen) - _TRIED if way_began is None else way_began
                    stuck.append((best_at + _TRIED, found))
                if detour is None:  # the way that led here is over
                    way_began = None
                best, best_at = game.progress, len(chosen)
            if game.reference.is_at_the_end(game.tracker):
                ending = "goal"
            elif step.lost_life or step.ended:
                ending = "death" if step.lost_life else "game over"
            elif detour is None and len(chosen) - best_at >= _STUCK:
                ending = "stuck"
            yield None
        if len(chosen) - best_at >= _SEARCH_AFTER:
            stuck.append((best_at + _TRIED, len(chosen)))
        # What led to a lost life is not to be learnt from: all that the expert did since it could see that.
        good = {"goal": len(chosen), "stuck": best_at}.get(ending, max(0, len(chosen) - self.config.horizon))
        yield Recording(
            no_ops=no_ops,
            played=as_actions(played, action_count),
            chosen=as_actions(chosen, action_count),
            rewards=tuple(rewards),
            taught_until=good,
            stuck=tuple(stuck),
            ending=ending,
            simulated=self.expert.simulator.played - before + searched + (detour.simulated if detour else 0),
            seed=seed,
        )

    def _search(self, beyond: int, seed: int) -> Generator[None, None, tuple[_Detour | None, int]]:
        """Look for a way on that no plan finds; return also how many training frames that took."""
        if self._searching is None:
            self._searching = self._guide()
        begin = self.game.situation()
        way, spent = yield from find_detour(
            self._searching,
            begin,
            SplitMix64(seed),
            beyond=beyond,
            budget=self.config.search,
            safe=self.config.horizon,
        )
        if way is None:
            return None, spent
        guide = replace(self._guide, reference=Reference([way], deficit=self.reference.deficit))
        expert = self._make_expert(guide)
        expert.begin(stream_state(seed, 0))
        return _Detour(guide(), expert, begin), spent


class _Detour:
    """A way that a search found, and an expert that follows it in a copy of the game."""

    def __init__(self, game: GuidedGame, expert: Expert, begin: Situation) -> None:
        self._game, self._expert = game, expert
        game.restore(begin._replace(tracker=Tracker(score=begin.score)))
        self._best, self._waited = game.progress, 0
        """How far along the way the game is, and for how many training frames it has been no further."""

    def decide(self) -> Decision:
        """Return what to do next."""
        return self._expert.decide(self._game.situation())

    @property
    def simulated(self) -> int:
        """Training frames in which plans were tried out."""
        return self._expert.simulator.played

    def goes_on(self, actions: Actions) -> bool:
        """Take note of what was played; return whether the way goes on, and the expert gets on with it."""
        played, game = self._game.repeat(actions), self._game
        self._waited = 0 if game.progress > self._best else self._waited + 1
        self._best = max(self._best, game.progress)
        return not (played.lost_life or played.ended or self.arrived) and self._waited < _SEARCH_AFTER

    @property
    def arrived(self) -> bool:
        """Whether the way was followed to its end."""
        return self._game.reference.is_at_the_end(self._game.tracker)
