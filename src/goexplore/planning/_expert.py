"""A planner that plays the stochastic game by trying plans out on a simulator that it can restore.

It is no policy: it needs the simulator. It teaches one (docs/robustify.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from goexplore.archive import Actions, as_actions
from goexplore.errors import require_at_least, require_between
from goexplore.planning._guided_game import Situation
from goexplore.planning._reference import Reference
from goexplore.planning._simulator import FOLLOW, FOREVER, Judgement, Plan, Simulator
from goexplore.random import SplitMix64, stream_state

Kind: TypeAlias = Literal["follow", "wait", "go", "try"]
"""What a decision is: what the demonstration does; waiting; following it for a while; other actions."""

_DELAYS = (0, 1, 2, 4, 7, 10, 14, 18, 22, 26)
"""Training frames to wait before the demonstration is followed: up to a period of Montezuma's walls."""
_STOPS = (4, 7, 11, 16, FOREVER)
"""Training frames for which it is followed."""
_STAY = Plan(0, 0)
"""To do nothing."""
_SOME = 1.3
"""Gain that is more than chance."""
_MOST_SKIPS = 7
"""Training frames, at most, until it is searched again where a search found nothing better."""
_OFFSETS = (-4, -2, 0, 1, 2, 4, 7)
"""Training frames earlier or later at which stretches of the demonstration begin."""
_STRETCH = 10
"""How long they are."""
_CONSTANT = (2, 6, 14)
"""Training frames for which one action is held."""
_RANDOM_LENGTHS = (4, 8, 12, 20, 30)
_RANDOM_REPEATS = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True, kw_only=True)
class ExpertConfig:
    """How the expert plans."""

    horizon: int = 44
    """Training frames that a plan is tried for. It must be longer than the time between a deadly mistake and
    the lost life: 60 in Pitfall, whose character sinks slowly."""
    ceiling: int = 60
    """Progress, in training frames of the demonstration, beyond which more does not count."""
    tries: int = 8
    """Tries, each with its own sticky actions, before the demonstration is followed."""
    survival: float = 100.0
    """What surviving counts, in training frames of progress."""
    commitment: int = 2
    """Training frames for which the demonstration is followed, or nothing is done, without asking again, once
    that was safe."""
    plans: int = 100
    """Plans in a search, at most. Fewer suit simulators that are slow."""
    random_plans: int = 30
    """Random sequences of actions that are tried where nothing else is safe."""
    search: int = 50_000
    """Training frames that a search for a way on may take where there was no progress for a while; 0 disables
    the search."""

    def __post_init__(self) -> None:
        # What the native planner does in one call cannot be interrupted.
        require_between("horizon", self.horizon, 1, 10_000)
        require_at_least("ceiling", self.ceiling, 1)
        require_between("tries", self.tries, 1, 1000)
        require_between("plans", self.plans, 1, 1000)
        require_between("commitment", self.commitment, 0, 10_000)
        require_between("random_plans", self.random_plans, 0, 1000)
        require_between("search", self.search, 0, 10_000_000)
        require_between("survival", self.survival, 0, 1e9)


class Decision(NamedTuple):
    """What the expert does next, and why."""

    action: int
    kind: Kind
    judgement: Judgement
    """Of the plan that it is part of."""


class Expert:
    """Decides training frame by training frame. Tries what the demonstrations do first."""

    def __init__(
        self,
        reference: Reference,
        simulator: Simulator,
        config: ExpertConfig,
        *,
        action_count: int,
        no_op: int | None,
        seed: int = 0,
    ) -> None:
        """Without a `no_op` there is no waiting."""
        self._reference, self.simulator, self._config = reference, simulator, config
        self._action_count, self._no_op = action_count, no_op
        self._delays = _DELAYS if no_op is not None else (0,)
        self._stops = _STOPS if no_op is not None else (FOREVER,)
        self.begin(seed)

    def begin(self, seed: int) -> None:
        """Begin a new episode, whose draws follow from the seed."""
        self._seed, self._decisions = seed, 0
        self._plan: tuple[Plan, float] | None = None
        """What was decided before and is not over yet, and what it was worth then."""
        self._tried_anything = -9
        self._sure, self._sure_of = 0, FOLLOW
        self._skip = self._skips = 0
        self._last = Judgement(1.0, 0.0)

    def decide(self, situation: Situation) -> Decision:
        """Return what to do in the next training frame."""
        config = self._config
        self._decisions += 1
        if self._sure > 0:
            self._sure -= 1
            return self._decision(situation, self._sure_of, self._last)
        (follow,) = self._judge(situation, [FOLLOW], config.tries)
        left = self._reference.goal - self._reference.progress(situation.tracker)
        if follow.survival == 1 and follow.gain >= 0.2 * min(config.horizon, left):
            self._plan, self._sure, self._sure_of = None, config.commitment, FOLLOW
            return self._decision(situation, FOLLOW, follow)
        kept = self._keep(situation, follow)
        if kept is not None:
            return kept
        if self._skip > 0 and follow.survival == 1:  # nothing was better a moment ago, and there is no danger
            self._skip -= 1
            return self._decision(situation, FOLLOW, follow)
        plan, judgement = self._search(situation)
        in_vain = plan == FOLLOW and judgement.survival == 1
        self._skips = min(2 * self._skips + 1, _MOST_SKIPS) if in_vain else 0
        self._skip = self._skips
        if plan == _STAY and judgement.survival == 1:  # nothing can be done yet, and nothing happens here
            self._plan, self._sure, self._sure_of = None, config.commitment, _STAY
            return self._decision(situation, _STAY, judgement)
        self._plan = plan.later(), self._value(judgement)
        return self._decision(situation, plan, judgement)

    def _keep(self, situation: Situation, follow: Judgement) -> Decision | None:
        """Return the next step of the plan that was made before, if it is still as good as it was."""
        if self._plan is None:
            return None
        plan, worth = self._plan
        self._plan = None
        if plan.stop == 0:
            return None
        (now,) = self._judge(situation, [plan], self._config.tries)
        value = self._value(now)
        if value < worth - 8 or value < self._value(follow) - 3 or now.gain < _SOME * self._least(situation):
            return None
        self._plan = plan.later(), max(worth - 0.7, value)
        return self._decision(situation, plan, now)

    def _search(self, situation: Situation) -> tuple[Plan, Judgement]:
        """Return the best of many plans: most are tried once, the most promising ones again."""
        tracker, config = situation.tracker, self._config
        pool = [Plan(delay, stop) for delay in self._delays for stop in self._stops]
        for offset in _OFFSETS:
            actions = self._reference.stretch_of_actions(tracker, offset, _STRETCH)
            if actions:
                pool.append(Plan(sequence=self._pack(actions)))
        safe = [FOLLOW] if self._no_op is None else [FOLLOW, _STAY]
        least = self._least(situation)
        best, judgement = self._best(situation, safe, pool, 0.2 * _SOME * least)
        stuck = judgement.gain < 2 * _SOME * least and self._decisions - self._tried_anything > 6
        if judgement.survival < 1 or stuck:
            self._tried_anything = self._decisions
            anything = [
                Plan(sequence=self._pack([action] * length))
                for action in range(min(self._action_count, 64))
                for length in _CONSTANT
            ]
            random = SplitMix64(stream_state(self._seed, self._decisions, 1))
            anything += [Plan(sequence=self._random_actions(random)) for _ in range(config.random_plans)]
            best, judgement = self._best(situation, [best], anything, _SOME * least)
        return best, judgement

    def _best(
        self, situation: Situation, known: list[Plan], pool: list[Plan], margin: float
    ) -> tuple[Plan, Judgement]:
        """Return the best plan of a pool, or of those known before if it does not beat them clearly.

        Plans that do badly are tried no further; those known before stay in the race.
        """
        count = min(self._config.plans, len(pool))
        pool = [pool[each * len(pool) // count] for each in range(count)]
        plans = [*known, *pool]
        tries = 1
        judgements = self._judge(situation, plans, 1)
        few = self._config.tries
        rounds = ((max(4, len(pool) // 4), 1 + few // 8), (max(3, len(pool) // 10), 1 + few // 2))
        for turn, (best_few, more) in enumerate(rounds, 1):
            order = sorted(
                range(len(known), len(plans)),
                key=lambda index: (-self._value(judgements[index]), plans[index].delay),
            )
            kept = [*range(len(known)), *order[:best_few]]
            plans, before = [plans[index] for index in kept], [judgements[index] for index in kept]
            judgements = [
                _mean(old, tries, new, more)
                for old, new in zip(before, self._judge(situation, plans, more, turn), strict=True)
            ]
            tries += more
        best = 0
        for index in range(1, len(plans)):
            if self._value(judgements[index]) > self._value(judgements[best]) + margin:
                best = index
        return plans[best], judgements[best]

    def _judge(self, situation: Situation, plans: list[Plan], tries: int, turn: int = 0) -> list[Judgement]:
        """Try plans, each with the same draws: so that luck decides between none of them."""
        streams = SplitMix64(stream_state(self._seed, self._decisions, 2 + turn)).words(tries)
        return self.simulator.judge(situation, plans, streams)

    def _least(self, situation: Situation) -> float:
        """Return 1, or less near the demonstrations' end, where little progress is left to be made."""
        left = self._reference.goal - self._reference.progress(situation.tracker)
        return min(1.0, left / self._config.horizon)

    def _value(self, judgement: Judgement) -> float:
        return self._config.survival * judgement.survival + judgement.gain

    def _decision(self, situation: Situation, plan: Plan, judgement: Judgement) -> Decision:
        self._last = judgement
        action = plan.action(0, self._no_op or 0)
        if action is None:
            kind: Kind = "follow" if plan.stop == FOREVER else "go"
            return Decision(self._reference.action(situation.tracker), kind, judgement)
        return Decision(action, "wait" if plan.delay or not plan.sequence else "try", judgement)

    def _random_actions(self, random: SplitMix64) -> Actions:
        length = _RANDOM_LENGTHS[random.index(len(_RANDOM_LENGTHS))]
        actions: list[int] = []
        while len(actions) < length:
            action = random.index(self._action_count)
            actions += [action] * _RANDOM_REPEATS[random.index(len(_RANDOM_REPEATS))]
        return self._pack(actions[:length])

    def _pack(self, actions: list[int]) -> Actions:
        return as_actions(actions, self._action_count)


def _mean(one: Judgement, tries: int, other: Judgement, more: int) -> Judgement:
    """Return the judgement of both together."""
    both = tries + more
    return Judgement(
        (one.survival * tries + other.survival * more) / both, (one.gain * tries + other.gain * more) / both
    )
