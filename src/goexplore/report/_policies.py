"""Trainings on the page: their curves, what their policies score, how they play."""

from __future__ import annotations

import base64
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from goexplore.demos import SUFFIX, find_demonstrations
from goexplore.errors import CheckpointError, ConfigError, EvaluationError, PolicyError
from goexplore.evaluation import (
    Evaluation,
    EvaluationConfig,
    Player,
    PolicyPlayer,
    caution,
    mean_with_interval,
    read_episodes,
    whole_repetitions,
)
from goexplore.files import (
    as_record,
    open_to_read,
    parse_json,
    read_json,
    tensors_metadata,
    whole_files,
)
from goexplore.problems import Problem
from goexplore.report._deaths import draw_deaths, photograph_rooms
from goexplore.report._failures import play_failure, typical_failures
from goexplore.report._html import duration, png, short, table
from goexplore.report._plot import FAINT, INK, draw_svg
from goexplore.report._training import Metrics, plot_curriculum, plot_success
from goexplore.report._video import Moment, play_episode, show, write_video
from goexplore.runs import Directory, TrainingMetrics, score_text

_VIDEO_SPEED = 4
_VIDEO_PICTURES = 1500
_MOST_ROOMS = 12
"""Of the table that says where lives end."""


Settings: TypeAlias = tuple[float | None, float, int | None, float]
"""What makes evaluations comparable: where episodes end, sticky actions, cap and temperature."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What the file of an evaluation says about the policy that played."""

    policy: str
    """The checksum of its weights."""
    training_frames: int
    game_frames: int
    temperature: float


@dataclass(frozen=True, kw_only=True)
class PolicyResult:
    """An evaluation of one of a training's policies."""

    player: Identity
    evaluation: Evaluation


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """A training to report on."""

    name: str
    path: Path
    problem: Problem | None = None
    """Given by the user where it comes from an import path."""

    @cached_property
    def directory(self) -> Directory:
        """Its run directory; PyTorch is not needed to read it."""
        return Directory(self.path)

    @property
    def info(self) -> dict[str, Any]:
        """What its config.json holds."""
        return self.directory.info()

    @cached_property
    def metrics(self) -> list[TrainingMetrics]:
        """All lines of its metrics."""
        return self.directory.read_metrics(TrainingMetrics)

    @cached_property
    def game(self) -> str:
        """What its demonstrations play, by the name that finds it again."""
        files = whole_files(self.path / "demos", f"*{SUFFIX}")
        if not files:
            raise CheckpointError(
                f"expected demonstrations in {self.path / 'demos'}, got none: put them back"
            )
        try:
            return str(read_json(files[0])["content"]["target"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"expected a demonstration in {files[0]}, got {error!r}: put it back"
            ) from error

    @cached_property
    def results(self) -> list[PolicyResult]:
        """Its evaluations: whole games first, then the ones that end at a score; the most episodes first."""
        found = []
        for file in whole_files(self.path / "evaluations", "*.parquet"):
            played, settings = read_episodes(file)
            if "policy" not in settings:
                raise EvaluationError(
                    f"expected an evaluation of a policy in {file}, got another: move it away"
                )
            episodes = whole_repetitions(played)
            if not episodes:
                continue
            repetitions = len({each.repetition for each in episodes})
            try:
                player = as_record(Identity, settings)
                config = as_record(EvaluationConfig, {**settings, "repetitions": repetitions})
            except (ValueError, ConfigError) as error:
                raise EvaluationError(
                    f"expected the settings of an evaluation in {file}, got {error}: delete it and evaluate "
                    "again"
                ) from error
            evaluation = Evaluation(config=config, episodes=episodes)
            found.append(PolicyResult(player=player, evaluation=evaluation))
        return sorted(found, key=_order)

    @cached_property
    def results_by_settings(self) -> dict[Settings, list[PolicyResult]]:
        """The evaluations of its one policy that counts: the chosen one, or else the last that was played."""
        chosen = self.path / "policy.safetensors"
        if chosen.exists():
            try:
                with open_to_read(chosen) as stream:
                    content = stream.read()
                load(content)  # refuses a file that is not whole
                counts = parse_json(tensors_metadata(content)["goexplore"])["training"]["training_frames"]
            except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
                raise PolicyError(
                    f"expected the chosen policy in {chosen}, got a file that is none or damaged ({error}): "
                    "choose it again with `goexplore evaluate --choose`"
                ) from error
        else:
            counts = max((each.player.training_frames for each in self.results), default=0)
        found: dict[Settings, list[PolicyResult]] = {}
        for each in self.results:
            if each.player.training_frames == counts:
                config = each.evaluation.config
                key = (
                    config.until_score,
                    config.repeat_action_probability,
                    config.max_game_frames,
                    each.player.temperature,
                )
                found.setdefault(key, []).append(each)
        return found

    def player_of(self, result: PolicyResult) -> PolicyPlayer | None:
        """Return what played the episodes of a result, if PyTorch and its policy are there."""
        if find_spec("torch") is None:
            return None
        from goexplore.training import TrainingDirectory

        kept = whole_files(self.path / "evaluations", "*.safetensors")
        for file in (TrainingDirectory(self.path).policy(), *kept):
            player = PolicyPlayer(file, temperature=result.player.temperature, problem=self.problem)
            if player.identity()["policy"] == result.player.policy:
                player.env = player.env.with_engine("auto").env
                return player
        return None


def _order(result: PolicyResult) -> tuple[float, int]:
    return result.evaluation.config.until_score or 0.0, -len(result.evaluation.episodes)


def training_section(trainings: Sequence[TrainedRun]) -> str:
    """Return starting points and success over training, for each."""
    parts = []
    for number, training in enumerate(trainings):
        if not training.metrics:
            continue
        last = training.metrics[-1]
        parts.append(
            f"<h3>{escape(training.name)}</h3><p class='note'>{last.training_frames:,} training frames "
            f"({last.game_frames:,} game frames) in {duration(last.wall_seconds)}; one line per "
            "demonstration; success is of the last 200 rollouts from the real start.</p>"
            f'<div class="plots">{_plots(training, number)}</div>'
        )
    return "".join(parts)


def _plots(training: TrainedRun, number: int) -> str:
    """Return both plots; the number keeps them apart from those of other trainings."""

    def draw(plot: Callable[[Any, Metrics], None], figure: Any, axis: Any) -> None:
        plot(axis, training.metrics)
        axis.title.set_color(INK)
        axis.grid(color=FAINT, lw=0.6)
        for spine in axis.spines.values():
            spine.set_color(FAINT)

    return "".join(
        draw_svg(partial(draw, plot), size=(5.2, 3.2), name=f"{name}{number}", label=label)
        for name, plot, label in (
            ("points", plot_curriculum, "Where the training is"),
            ("success", plot_success, "Success over training"),
        )
    )


def policies_section(trainings: Sequence[TrainedRun]) -> str:
    """Return what policies score in the stochastic game."""
    rows = []
    for training in trainings:
        for result in training.results:
            config, evaluation = result.evaluation.config, result.evaluation
            until, reached = "whole games", ""
            if config.until_score is not None:
                until = f"until {config.until_score:,g} points"
                reached = evaluation.reached(config.until_score).text(percent=True)
            whole = EvaluationConfig().episode_count
            few = f" (the protocol: {whole})" if config.episode_count < whole else ""
            rows.append(
                [
                    escape(training.name),
                    evaluation.score_with_interval.text(),
                    until,
                    reached,
                    f"{len(evaluation.episodes):,}{few}",
                    f"{sum(each.truncated for each in evaluation.episodes):,}",
                    f"{config.repeat_action_probability:g}",
                    "none" if config.max_game_frames is None else short(config.max_game_frames),
                    f"{result.player.temperature:g}",
                    f"{config.seed}",
                    short(result.player.game_frames),
                ]
            )
        if not training.results:
            command = escape(shlex.join(["goexplore", "evaluate", str(training.path)]))
            note = f"not evaluated yet: <code>{command}</code>"
            rows.append([escape(training.name), note, *[""] * (len(_HEADS) - 2)])
    note = (
        '<p class="note">Policy scores are means over all numbers of no-ops with sticky actions, in the game '
        "as it is, with 95 % intervals over episodes of one policy. A score of episodes that end early is no "
        "score of whole games. Caps and training are in game frames.</p>"
    )
    return table(_HEADS, rows, numbers=range(3, len(_HEADS))) + _over_trainings(trainings) + note


_HEADS = (
    "training",
    "policy score",
    "episodes go",
    "reached",
    "episodes",
    "truncated",
    "sticky",
    "cap",
    "temperature",
    "seed",
    "trained for",
)


def _over_trainings(trainings: Sequence[TrainedRun]) -> str:
    """Return means over trainings that were evaluated alike: one policy of each, with all its seeds."""
    alike: dict[Settings, list[list[PolicyResult]]] = {}
    for training in trainings:
        for key, results in training.results_by_settings.items():
            alike.setdefault(key, []).append(results)
    lines = []
    for (until, _, _, temperature), found in alike.items():
        if len(found) < 2:
            continue
        score = mean_with_interval([fmean(each.evaluation.score for each in one) for one in found])
        line = f"policy score {score.text()}"
        if until is not None:
            shares = [fmean(each.evaluation.reached(until).value for each in one) for one in found]
            line += f", {mean_with_interval(shares).text(percent=True)} of episodes get there"
        lines.append(
            f"<li>{len(found)} trainings, temperature {temperature:g}, "
            f"{'whole games' if until is None else f'until {until:,g} points'}: {line}; intervals over "
            f"trainings{caution(len(found))}</li>"
        )
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def policy_videos_section(
    trainings: Sequence[TrainedRun], progress: Callable[[str], None] = lambda line: None
) -> str:
    """Return a video of each training's newest policy."""
    from goexplore.training import TrainingDirectory

    figures = []
    for training in trainings:
        progress(f"rendering a video of the policy of {training.name}")
        file = TrainingDirectory(training.path).policy()
        temperature = training.results[0].player.temperature if training.results else 1.0
        player = PolicyPlayer(file, temperature=temperature, problem=training.problem)
        player.env = player.env.with_engine("auto").env
        config = training.results[0].evaluation.config if training.results else EvaluationConfig()
        moments = play_episode(player, config, no_ops=0, repetition=0, every=_VIDEO_SPEED)
        figures.append(_figure(islice(moments, _VIDEO_PICTURES), training.name, _VIDEO_SPEED))
    return f'<div class="videos">{"".join(figures)}</div>'


def _figure(moments: Iterable[Moment], name: str, speed: int) -> str:
    """Return a video of an episode of the stochastic game."""
    with tempfile.TemporaryDirectory() as folder:
        film = write_video(moments, Path(folder) / "video.mp4", scale=1, overlay=True)
        data = base64.b64encode((Path(folder) / "video.mp4").read_bytes()).decode()
    return (
        f'<figure><video controls loop muted playsinline preload="metadata" '
        f'poster="{png(show(film.last, scale=1, overlay=True))}" '
        f'src="data:video/mp4;base64,{data}"></video>'
        f"<figcaption>{escape(name)}: an episode of the stochastic game, "
        f"{score_text(film.last.score)} points after {film.last.training_frame:,} training frames; "
        f"{speed} x speed</figcaption>"
        "</figure>"
    )


def failures_section(
    trainings: Sequence[TrainedRun], videos: int, progress: Callable[[str], None] = lambda line: None
) -> str:
    """Return where the lives of each training's policy end, and how; nothing where no life was lost."""
    parts = []
    for training in trainings:
        if not training.results_by_settings:
            continue
        result = next(iter(training.results_by_settings.values()))[0]
        evaluation = result.evaluation
        if not any(each.deaths for each in evaluation.episodes):
            continue
        progress(f"drawing where the lives of {training.name} end")
        parts.append(
            f"<h3>{escape(training.name)}</h3>{_deaths(evaluation)}{_death_maps(training, evaluation)}"
        )
        player = training.player_of(result) if videos else None
        if player is not None:
            figures = _failure_figures(training, player, evaluation, videos, progress)
            parts.append(f'<div class="videos">{"".join(figures)}</div>')
    return "".join(parts)


def _failure_figures(
    training: TrainedRun, player: Player, evaluation: Evaluation, count: int, progress: Callable[[str], None]
) -> Iterator[str]:
    for failure in typical_failures(evaluation, count):
        progress(f"rendering a failure of {training.name}: {failure.caption}")
        try:
            moments = play_failure(player, evaluation.config, failure)
        except EvaluationError as error:  # the page is worth having without that video
            progress(f"warning: {error}")
            continue
        yield _figure(moments, f"{training.name}, {failure.caption}", 1)


def _deaths(evaluation: Evaluation) -> str:
    """Return how far episodes come, and a table of the rooms in which most lives end."""
    config, episodes, deaths = evaluation.config, evaluation.episodes, evaluation.deaths_by_room()
    until = "whole games" if config.until_score is None else f"until {config.until_score:,g} points"
    lines = [
        f"{len(episodes):,} episodes, {until}: {sum(each.lives_lost for each in episodes):,} lives lost, "
        f"{sum(each.truncated for each in episodes):,} episodes still going on at the cap",
        *(
            f"{evaluation.reached_level(level).text(percent=True)} of episodes reach level {level}"
            for level in range(1, evaluation.highest_level + 1)
        ),
    ]
    note = f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"
    if not deaths:
        return note
    total = sum(deaths.values())
    rows = [
        [str(location.level), str(location.room), f"{count:,}", f"{count / total:.1%}"]
        for location, count in islice(deaths.items(), _MOST_ROOMS)
    ]
    return note + table(["level", "room", "lives that end there", "share"], rows, numbers=range(4))


def _death_maps(training: TrainedRun, evaluation: Evaluation) -> str:
    """Return the rooms in which lives end, where they lie on a map."""
    demonstrations = find_demonstrations(str(training.path / "demos"), training.problem, verify=False)
    env = demonstrations[0].env.with_engine("auto").env
    if env().room_map is None:
        return ""
    pictures = photograph_rooms(demonstrations)
    return "".join(
        f'<p class="note">{level.title.capitalize()}; the number in a room is how many.</p>'
        f'<div class="scroll" tabindex="0" role="group" aria-label="Map of level {level.level}">'
        f'<div class="map" style="aspect-ratio:{level.image.width}/{level.image.height};'
        f'min-width:{level.image.width // 60}rem"><img alt="Where lives ended, level {level.level}" '
        f'src="{png(np.asarray(level.image))}"></div></div>'
        for level in draw_deaths(env, evaluation.deaths_by_room(), pictures)
    )
