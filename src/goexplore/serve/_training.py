"""A training as the page sees it: its metrics, its demonstrations, and the evaluations of its policies."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from goexplore.demos import SUFFIX, Demonstration, parse_demonstration
from goexplore.envs import Location
from goexplore.errors import GoExploreError
from goexplore.evaluation import Evaluation
from goexplore.files import whole_files
from goexplore.problems import Problem
from goexplore.report import PolicyResult, TrainedRun
from goexplore.runs import Directory, EndedRollout, RolloutLog, TrainingMetrics
from goexplore.serve import _jobs as jobs
from goexplore.serve._film import CODECS, PICTURES_PER_PART, Film
from goexplore.serve._metrics import Tail
from goexplore.serve._source import Helpers, NotThere, Source

_MOST_ROLLOUTS = 2000
"""The newest ones, which a page shows."""


class TrainingSource(Source):
    """One training."""

    kind = "training"
    metrics_kind = TrainingMetrics

    def __init__(self, path: Path, name: str, problem: Problem | None, helpers: Helpers) -> None:
        super().__init__(path, name, problem, helpers)
        self._begin()

    def _begin(self) -> None:
        self._evaluated: object = None
        self._count = 0
        self._results: list[PolicyResult] = []
        self._demonstrations: list[Demonstration] | None = None
        self._setting: jobs.Setting | None = None
        self._rooms: dict[Location, bytes] | None = None
        log = RolloutLog(self.path)
        self._rollouts = [Tail(file, EndedRollout) for file in (log.older, log.newer)]

    def forget(self) -> None:
        """Drop everything that was read."""
        with self.lock:
            self._begin()

    @property
    def version(self) -> str | None:
        """How often evaluations were read."""
        return str(self._count)

    def look_closer(self) -> dict[str, Any]:
        """Read the evaluations again when one was written."""
        files: object = None
        with contextlib.suppress(OSError):
            files = [
                (file.name, file.stat().st_mtime_ns)
                for file in whole_files(self.path / "evaluations", "*.parquet")
            ]
        with self.lock:
            if files != self._evaluated:
                self._evaluated = files
                self._count += 1
                self._results = self._training().results
        activity = self.metrics.lines[-1].activity if self.metrics.lines else ""
        return {"activity": activity}

    def _training(self) -> TrainedRun:
        return TrainedRun(name=self.name, path=self.path, problem=self.given)

    def about(self) -> dict[str, Any]:
        """Return what a page has to know of the training beside its metrics."""
        with self.lock:
            self.look_closer()
            unplayable: str | None = None
            try:
                self._read_demonstrations()
            except GoExploreError as error:
                unplayable = " ".join(str(error).split())
            settings = Directory(self.path).info().get("training", {})
            return {
                "version": self.version,
                "problem": self._training().game,
                "method": settings.get("method", "") if isinstance(settings, dict) else "",
                "demonstrations": [
                    {
                        "training_frames": len(each.actions),
                        "score": each.score,
                        "level": each.location.level,
                        "room": each.location.room,
                    }
                    for each in self._demonstrations or []
                ],
                "evaluations": [self._evaluation(result) for result in self._results],
                "rooms": self._room_places(),
                "unplayable": unplayable,
            }

    def rollouts(self) -> dict[str, list[Any]]:
        """Return the rollouts that ended last, the oldest first: a list for each field, and their places."""
        with self.lock:
            ended = self._ended()[-_MOST_ROLLOUTS:]
            corners = self._corners()
        shown = {
            name: [getattr(each, name) for each in ended]
            for name in ("training_frames", "demonstration", "start", "success", "ending", "level", "room")
        }
        return {**shown, "place": [self._place(each, corners) for each in ended]}

    def _ended(self) -> list[EndedRollout]:
        for tail in self._rollouts:
            tail.read()
        return [each for tail in self._rollouts for each in tail.lines]

    def _place(
        self, rollout: EndedRollout, corners: dict[Location, tuple[float, float]]
    ) -> tuple[float, float] | None:
        """Return where on the map a rollout ended, if that is known; never beside its room."""
        corner = corners.get(Location(rollout.level, rollout.room))
        plan = None if self._setting is None else self._setting.plan
        if plan is None or corner is None or rollout.x is None or rollout.y is None:
            return None
        column = min(max(rollout.x, 0), plan.width)
        row = min(max(rollout.y - plan.top, 0), plan.height)
        return corner[0] + column * plan.pixel_aspect, corner[1] + row

    def _read_demonstrations(self) -> None:
        if self._demonstrations is None:
            files = whole_files(self.path / "demos", f"*{SUFFIX}")
            found = [parse_demonstration(file, self.given) for file in files]
            if not found:
                raise NotThere(f"expected demonstrations in {self.path / 'demos'}, got none: put them back")
            self._setting = self.helpers.pictures.call(jobs.describe, found[0].env)
            self._demonstrations = found

    def _evaluation(self, result: PolicyResult) -> dict[str, Any]:
        config, evaluation = result.evaluation.config, result.evaluation
        steps = 1 if self._setting is None else self._setting.pictures_per_step
        film = Film(pictures=1, pictures_per_step=steps)
        return {
            "training_frames": result.player.training_frames,
            "temperature": result.player.temperature,
            "until_score": config.until_score,
            "repeat_action_probability": config.repeat_action_probability,
            "max_game_frames": config.max_game_frames,
            "score": evaluation.score_with_interval.text(),
            "reached": None if config.until_score is None else _reached(evaluation, config.until_score),
            "episodes": [dataclasses.asdict(each) for each in evaluation.episodes],
            "deaths": [
                {"level": location.level, "room": location.room, "lives": lives}
                for location, lives in evaluation.deaths_by_room().items()
            ],
            "film": {
                "pictures_per_step": steps,
                "pictures_per_second": film.pictures_per_second,
                "pictures_per_part": PICTURES_PER_PART,
                "codecs": CODECS,
            },
        }

    def _corners(self) -> dict[Location, tuple[float, float]]:
        """Return left and top of all rooms of the levels that demonstrations, rollouts or lives end on."""
        plan = None if self._setting is None else self._setting.plan
        if plan is None:
            return {}
        deaths = (
            death.level for each in self._results for one in each.evaluation.episodes for death in one.deaths
        )
        rollouts = (each.level for each in self._ended() if each.level >= 0)
        demonstrations = (each.location.level for each in self._demonstrations or [])
        return plan.corners(sorted({0, *deaths, *rollouts, *demonstrations}))

    def _room_places(self) -> list[dict[str, Any]]:
        plan = None if self._setting is None else self._setting.plan
        return [
            {
                "level": level,
                "room": room,
                "found": True,
                "box": [left, top, left + plan.shown_width, top + plan.height],
            }
            for (level, room), (left, top) in self._corners().items()
            if plan is not None
        ]

    def room_picture(self, level: int, room: int) -> bytes | None:
        """Return a picture of a room that a demonstration passes."""
        with self.lock:
            if self._rooms is None:
                self._rooms = self.helpers.pictures.call(jobs.demonstrated_rooms, self.path, self.given)
            return self._rooms.get(Location(level, room))

    def episode_part(self, evaluation: int, no_ops: int, repetition: int, number: int) -> bytes:
        """Return a part of the video of an episode."""
        if evaluation >= len(self._results):
            raise NotThere(f"expected one of {len(self._results)} evaluations, got number {evaluation}")
        played = {(each.no_ops, each.repetition) for each in self._results[evaluation].evaluation.episodes}
        if (no_ops, repetition) not in played:
            raise NotThere(
                f"expected an episode that was played, got {no_ops} no-ops, repetition {repetition}"
            )
        return self.helpers.pictures.call(
            jobs.episode_part, self.path, self.given, evaluation, no_ops, repetition, number
        )


def _reached(evaluation: Evaluation, score: float) -> str:
    """Say how many episodes and first lives have the score at which episodes end."""
    episodes, lives = evaluation.reached(score), evaluation.first_lives_reached(score)
    return f"{episodes.text(percent=True)} of episodes and {lives.text(percent=True)} of first lives reach it"
