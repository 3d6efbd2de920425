"""Typical failures of a policy: the rooms in which most lives end, and how one of them ends in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from goexplore.envs import NOWHERE, Location
from goexplore.errors import EngineError, EvaluationError, require_at_least
from goexplore.evaluation import Death, Episode, EpisodeInPlay, Evaluation, EvaluationConfig, Player
from goexplore.problems import EnvironmentSpec
from goexplore.report._video import GAME_FRAMES_PER_SECOND, Moment, film_episode

_CLIP = 8 * GAME_FRAMES_PER_SECOND
"""Game frames of a life that are shown, at most: the last ones."""
_TRIES = 3
"""Lives of a room that are tried: alone, a policy may round otherwise than side by side with others."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A room in which lives end."""

    location: Location
    """NOWHERE stands for the whole of a game that has no rooms."""
    lives: int
    """How many ended there."""
    of: int
    """How many ended anywhere."""
    examples: tuple[tuple[Episode, Death], ...]
    """All of them with their episodes: lives that fill a clip first, of these the soonest, which are the
    fastest to play again."""

    @property
    def caption(self) -> str:
        """What is seen, in a line that is short enough for a video."""
        where = (
            "" if self.location == NOWHERE else f"level {self.location.level}, room {self.location.room}: "
        )
        return f"{where}{self.lives:,} of {self.of:,} lives end here"


def typical_failures(evaluation: Evaluation, count: int) -> list[Failure]:
    """Return this many of the rooms in which most lives end, the worst first; fewer where there are fewer."""
    require_at_least("failures", count, 1)
    found: dict[Location, list[tuple[Episode, Death]]] = {}
    for episode in evaluation.episodes:
        for death in episode.deaths:
            found.setdefault(death.location, []).append((episode, death))
    total = sum(map(len, found.values()))
    worst = sorted(found, key=lambda location: (-len(found[location]), location))[:count]
    return [
        Failure(
            location=location,
            lives=len(found[location]),
            of=total,
            examples=tuple(sorted(found[location], key=_order)),
        )
        for location in worst
    ]


def _order(example: tuple[Episode, Death]) -> tuple[bool, int]:
    episode, death = example
    return death.game_frame - _CLIP < _begin_of_life(episode, death), death.game_frame


def _begin_of_life(episode: Episode, death: Death) -> int:
    """Return the game frame at which the life before was lost, or the episode began."""
    number = episode.deaths.index(death)
    return episode.deaths[number - 1].game_frame if number else 0


def play_failures(
    player: Player,
    evaluation: Evaluation,
    count: int,
    *,
    every: int = 1,
    progress: Callable[[str], None] = lambda line: None,
) -> Iterator[Moment]:
    """Yield the last seconds of a life in each of the rooms in which most lives end, one after the other.

    The player has to be the one whose episodes these are: it plays some of them again.
    """
    require_at_least("speed", every, 1)
    failures = typical_failures(evaluation, count)
    if not failures:
        raise EvaluationError(
            "expected episodes in which lives are lost, got none: raise `max_game_frames`, or show a whole "
            "episode without `failures`"
        )
    return _play_all(player, evaluation.config, failures, every, progress)


def _play_all(
    player: Player,
    config: EvaluationConfig,
    failures: list[Failure],
    every: int,
    progress: Callable[[str], None],
) -> Iterator[Moment]:
    for failure in failures:
        progress(failure.caption)
        yield from play_failure(player, config, failure, every=every)


def play_failure(
    player: Player, config: EvaluationConfig, failure: Failure, *, every: int = 1
) -> list[Moment]:
    """Return the last seconds of a life that was lost in a room."""
    for episode, death in failure.examples[:_TRIES]:
        try:
            moments = _replay(player, player.env, config, episode, death, every)
        except EngineError:  # where the native engine cannot go on, ale-py does
            moments = _replay(player, player.env.reference(), config, episode, death, every)
        if moments is not None:
            return [moment._replace(caption=failure.caption) for moment in moments]
    raise EvaluationError(
        f"expected a life to be lost again as in the evaluation ({failure.caption}), got other episodes: "
        "evaluate again with this installation and engine"
    )


def _replay(
    player: Player, env: EnvironmentSpec, config: EvaluationConfig, episode: Episode, death: Death, every: int
) -> list[Moment] | None:
    """Return the last seconds before a death, or None where the episode goes otherwise this time."""
    played = EpisodeInPlay(player, config, no_ops=episode.no_ops, repetition=episode.repetition, env=env)
    # What happened to the life before is another failure.
    since = max(death.game_frame - _CLIP, _begin_of_life(episode, death))
    moments = list(film_episode(player, played, every=every, since=since, until=death.game_frame))
    return moments if played.deaths and played.deaths[-1] == death else None
