"""goexplore evaluate: the paper's protocol for policies, demonstrations and chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated

import tyro

from goexplore.api import (
    PolicyRun,
    choose_policy,
    evaluation_name,
    find_policy,
    make_player,
    play,
    usable_cores,
)
from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._progress import log, thousands
from goexplore.demos import find_demonstrations
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError, require_at_least
from goexplore.evaluation import (
    Evaluation,
    EvaluationConfig,
    MakePlayer,
    PolicyPlayer,
    caution,
    check_table,
    default_folder,
    mean_with_interval,
    protocol_note,
    write_table,
)
from goexplore.files import is_folder, make_folder, output_errors, require_writable
from goexplore.problems import EnvironmentSpec, Problem
from goexplore.report import check_death_map, photograph_rooms, require_room_map, write_death_maps
from goexplore.runs import is_training

_MOST_ROOMS = 12
"""Of the table that says where lives end: rooms beyond that are summed up."""


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Play the unmodified game from the real start: sticky actions, each number of no-ops from 0 to 30.

    Episodes are kept in a Parquet file: an evaluation can be interrupted, resumed and extended.
    """

    sources: tyro.conf.Positional[tuple[str, ...]]
    """Trainings, policies, samples, demonstrations (played open loop), or random:TARGET for random play."""
    config: Annotated[EvaluationConfig, tyro.conf.arg(name="")] = field(default_factory=EvaluationConfig)
    goal: tyro.conf.UseAppendAction[tuple[float, ...]] = ()
    """A score: report the share of episodes and of first lives that reach it. May be repeated."""
    choose: int | None = None
    """For a training: test this many of its policies (paper: 10 to 50) and report a re-test of the best."""
    temperature: float = 1.0
    """For a policy: divide its logits by this. Values below 1 make likely actions likelier."""
    workers: int = field(default_factory=usable_cores)
    """Number of processes that play. Changes only speed."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game. auto: the native one for games that it is certified for, else ale-py."""
    out: Path | None = None
    """Folder for the episodes. Default: evaluations, in a training's run directory or the current folder."""
    table: Path | None = None
    """File for a table of all, Markdown (.md) or LaTeX (.tex)."""
    deaths_map: Annotated[Path | None, tyro.conf.arg(name="map")] = None
    """File (.png) for a map of the rooms in which lives ended; further levels have their number added."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if it is one that no package registers."""


def run_evaluate(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore evaluate")
    if not chosen.sources:
        raise ConfigError("expected something to evaluate, got nothing: name a training or a policy")
    require_at_least("workers", chosen.workers, 1)
    if chosen.table is not None:
        check_table(chosen.table)
    _check_goals(chosen)
    problem = parse_problem(chosen.problem)
    mapped = _mapped(chosen, problem)
    found = {source: _evaluate(source, chosen, problem) for source in chosen.sources}
    averaged = _averaged(chosen.sources, problem)
    if chosen.table is not None:
        write_table(chosen.table, found, averaged, temperature=chosen.temperature)
    if chosen.deaths_map is not None and mapped is not None:
        (source,) = chosen.sources
        _write_map(chosen.deaths_map, source, mapped, found[source], problem)
    if averaged:
        _report_mean([found[source] for source in averaged])
    return 0


def _check_goals(chosen: _Arguments) -> None:
    until = chosen.config.until_score
    for goal in chosen.goal:
        if not isfinite(goal):
            raise ConfigError(f"expected `goal` to be a finite number, got {goal}")
        if until is not None and goal > until:
            raise ConfigError(
                f"expected `goal` to be at most {until:g}, where episodes end, got {goal:g}: raise "
                "`until_score` or omit it"
            )


def _mapped(chosen: _Arguments, problem: Problem | None) -> EnvironmentSpec | None:
    """Return the game whose map was asked for; refuse what has none before anything is played."""
    if chosen.deaths_map is None:
        return None
    check_death_map(chosen.deaths_map)
    if len(chosen.sources) > 1:
        raise ConfigError(
            f"expected one source for `deaths_map`, got {len(chosen.sources)}: evaluate them one by one"
        )
    make, _ = make_player(chosen.sources[0], temperature=1.0, problem=problem, folder=None)
    env = make().env
    require_room_map(env)
    require_writable(chosen.deaths_map)
    return env


def _write_map(
    file: Path, source: str, env: EnvironmentSpec, evaluation: Evaluation, problem: Problem | None
) -> None:
    demos = Path(source) / "demos"
    pictures = (
        photograph_rooms(find_demonstrations(str(demos), problem, verify=False)) if is_folder(demos) else {}
    )
    written = write_death_maps(file, env, evaluation.deaths_by_room(), title=source, pictures=pictures)
    for name, level in written.items():
        print(f"{name}: {level.title}")


def _averaged(sources: Sequence[str], problem: Problem | None) -> list[str]:
    """Return the policies that a mean tells something of: of one environment, each of another training."""
    files = {source: file for source in sources if (file := find_policy(source)) is not None}
    if len(files) < 2:
        return []
    from goexplore.training import load_policy

    if len({load_policy(file, problem)[1].env.name for file in files.values()}) > 1:
        log("several games: no mean over policies")
        return []
    if len({_training(file) for file in files.values()}) < len(files):
        log("several policies of one training: no mean, because they are not independent")
        return []
    return list(files)


def _training(policy: Path) -> Path:
    """Return the run directory that a policy lies in, or else the policy."""
    return next((folder for folder in policy.resolve().parents if is_training(folder)), policy)


def _report_mean(evaluations: Sequence[Evaluation]) -> None:
    count, goal = len(evaluations), evaluations[0].config.until_score
    score = mean_with_interval([each.score for each in evaluations])
    print(f"mean over {count} trainings, intervals over trainings{caution(count)}:")
    print(f"  policy score {score.text()}")
    if goal is not None:
        share = mean_with_interval([each.reached(goal).value for each in evaluations])
        print(f"  {share.text(percent=True)} of episodes reach {goal:g} points")


def _evaluate(source: str, chosen: _Arguments, problem: Problem | None) -> Evaluation:
    folder = chosen.out or default_folder(source)
    if chosen.choose is not None:
        return _choose(Path(source), folder, chosen, problem)
    make, what = make_player(source, temperature=chosen.temperature, problem=problem, folder=folder)
    evaluation = _play(make, chosen.config, folder, chosen)
    print(f"{what}:")
    _report(evaluation, chosen)
    return evaluation


def _choose(run: Path, folder: Path, chosen: _Arguments, problem: Problem | None) -> Evaluation:
    """Choose a policy as the paper does, and keep it as the training's policy."""
    if not is_training(run):
        raise ConfigError(f"expected a training's run directory for `choose`, got {run}: omit it")

    def test(file: Path, config: EvaluationConfig, is_test: bool) -> Evaluation:
        # Tests stand apart: the one that won is too good to be true, only its re-test is a result.
        make = partial(PolicyPlayer, file, temperature=chosen.temperature, problem=problem)
        return _play(make, config, _tests(folder) if is_test else folder, chosen)

    training = PolicyRun(path=run, problem=problem)
    choice = choose_policy(training, chosen.choose or 0, test, chosen.config)
    print(f"{choice.file}: the best of {choice.tested} tested, kept as {training.directory.chosen_policy}")
    print("re-test with fresh seeds:")
    _report(choice.retest, chosen)
    return choice.retest


def _tests(folder: Path) -> Path:
    """Return the folder for the episodes of tests; a link in its place could lead anywhere."""
    tests = folder / "tests"
    with output_errors(tests):
        return make_folder(tests)


def _play(make: MakePlayer, config: EvaluationConfig, folder: Path, chosen: _Arguments) -> Evaluation:
    name = evaluation_name(make, config)
    log(f"{name}: engine: {make().env.with_engine(chosen.engine).reason}")
    return play(
        make,
        config,
        folder,
        engine=chosen.engine,
        workers=chosen.workers,
        progress=lambda done: log(f"{name}: {done} of {config.episode_count} episodes"),
    )


def _report(evaluation: Evaluation, chosen: _Arguments) -> None:
    config, episodes = evaluation.config, evaluation.episodes
    print(f"  {len(episodes)} episodes: {protocol_note(evaluation, chosen.temperature)}")
    print(
        f"  policy score {evaluation.score_with_interval.text()}: mean of the means of all numbers of "
        "no-ops, interval over episodes"
    )
    until = config.until_score
    for goal in sorted({*chosen.goal, *([] if until is None else [until])}):
        reached, first = evaluation.reached(goal), evaluation.first_lives_reached(goal)
        print(
            f"  {reached.text(percent=True)} of episodes and {first.text(percent=True)} of first lives reach "
            f"{goal:g} points{'; episodes end there' if goal == until else ''}"
        )
    for level in range(1, evaluation.highest_level + 1):
        print(f"  {evaluation.reached_level(level).text(percent=True)} of episodes reach level {level}")
    truncated = sum(each.truncated for each in episodes)
    if truncated:
        were = "1 episode was" if truncated == 1 else f"{truncated} episodes were"
        print(f"  {were} truncated after {thousands(config.max_game_frames or 0)} game frames")
    _report_deaths(evaluation)


def _report_deaths(evaluation: Evaluation) -> None:
    """Print where lives end, in a game that has rooms."""
    deaths = evaluation.deaths_by_room()
    if not deaths:
        return
    total = sum(deaths.values())
    print(f"  lives end in ({thousands(total)} lives of {len(evaluation.episodes)} episodes):")
    print(f"    {'level':>5}  {'room':>5}  {'lives':>7}  {'share':>6}")
    for location, count in list(deaths.items())[:_MOST_ROOMS]:
        print(f"    {location.level:>5}  {location.room:>5}  {count:>7,}  {count / total:>6.1%}")
    more = len(deaths) - _MOST_ROOMS
    if more > 0:
        rest = sum(list(deaths.values())[_MOST_ROOMS:])
        print(f"    {f'{more} more rooms':>12}  {rest:>7,}  {rest / total:>6.1%}")
