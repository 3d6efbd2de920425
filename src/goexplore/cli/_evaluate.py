"""goexplore evaluate: the paper's protocol for policies, demonstrations and chance."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro

from goexplore.cli._cores import usable_cores
from goexplore.cli._policies import find_policy, require_torch
from goexplore.cli._progress import tell, thousands
from goexplore.demos import find_demonstration
from goexplore.directories import is_training
from goexplore.engines import EngineWish, choose_engine
from goexplore.errors import ConfigError
from goexplore.evaluation import (
    Candidate,
    Evaluation,
    EvaluationConfig,
    MakePlayer,
    OpenLoopPlayer,
    PolicyPlayer,
    RandomPlayer,
    candidates,
    caution,
    check_table,
    choose,
    describe,
    digest,
    evaluate,
    mean_with_interval,
    protocol_note,
    write_table,
)
from goexplore.files import file_sha256, is_folder, output_errors
from goexplore.presets import preset

_TEST_SEEDS = 1_000_000
"""How far the seed of tests by which a policy is chosen is from that of its re-test, and of any result."""


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Play the unmodified game from the real start: sticky actions, each number of no-ops from 0 to 30.

    Episodes are kept in a Parquet file: an evaluation can be interrupted, resumed and extended.
    """

    sources: tyro.conf.Positional[tuple[str, ...]]
    """Trainings, policies, samples, demonstrations (played open loop), or random: and a preset or game."""
    config: Annotated[EvaluationConfig, tyro.conf.arg(name="")] = field(default_factory=EvaluationConfig)
    choose: int | None = None
    """Of a training: test so many of its policies (the paper: 10 to 50), and report a re-test of the best."""
    sharpness: float = 1.0
    """Of a policy: logits are multiplied by this. Above 1, likely actions get likelier."""
    workers: int = field(default_factory=usable_cores)
    """Processes that play."""
    engine: EngineWish = "auto"
    """The emulator. auto: the native one for games that it is certified for, else ale-py."""
    out: Path | None = None
    """Folder for the episodes. Default: evaluations, in a training's run directory or here."""
    table: Path | None = None
    """File for a table of all, Markdown (.md) or LaTeX (.tex)."""


def run_evaluate(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore evaluate", args=arguments)
    if not chosen.sources:
        raise ConfigError("expected something to evaluate, got nothing: name a training or a policy")
    if chosen.workers < 1:
        raise ConfigError(f"expected --workers to be 1 or more, got {chosen.workers}: change it")
    if chosen.table is not None:
        check_table(chosen.table)
    found = {source: _evaluate(source, chosen) for source in chosen.sources}
    averaged = _averaged(chosen.sources)
    if chosen.table is not None:
        write_table(chosen.table, found, averaged, sharpness=chosen.sharpness)
    if averaged:
        _report_mean([found[source] for source in averaged])
    return 0


def _averaged(sources: Sequence[str]) -> list[str]:
    """Return the policies that a mean tells something of: of one game, each of another training."""
    files = {source: file for source in sources if (file := find_policy(source)) is not None}
    if len(files) < 2:
        return []
    from goexplore.robustify import load_policy

    if len({load_policy(file)[1].env.name for file in files.values()}) > 1:
        tell("several games: no mean over policies")
        return []
    if len({_training(file) for file in files.values()}) < len(files):
        tell("several policies of one training: no mean, for they are not independent of each other")
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


def _evaluate(source: str, chosen: _Arguments) -> Evaluation:
    folder = chosen.out or (Path(source) / "evaluations" if is_folder(source) else Path("evaluations"))
    if chosen.choose is not None:
        return _choose(Path(source), folder, chosen)
    make, what = _player(source, folder, chosen)
    evaluation = _play(make, chosen.config, folder, chosen)
    print(f"{what}:")
    _report(evaluation, chosen.sharpness)
    return evaluation


def _choose(run: Path, folder: Path, chosen: _Arguments) -> Evaluation:
    """Choose a policy as the paper does, and keep it as the training's policy."""
    if chosen.choose is None or chosen.choose < 1:
        raise ConfigError(f"expected --choose to be 1 or more, got {chosen.choose}: change it")
    if not is_training(run):
        raise ConfigError(f"expected a training's run directory for --choose, got {run}: omit it")
    require_torch()
    from goexplore.robustify import TrainingDirectory, load_policy

    training = TrainingDirectory.open(run)
    policies = [
        Candidate(file=file, starting_point=min(load_policy(file)[1].training["starting_points"]))
        for file in training.all_policies()
    ]
    drawn = candidates(policies, chosen.choose, chosen.config.seed)
    tell(f"testing {len(drawn)} of {len(policies)} policies")

    def test(file: Path, config: EvaluationConfig, where: Path) -> Evaluation:
        return _play(partial(PolicyPlayer, file, sharpness=chosen.sharpness), config, where, chosen)

    # Tests stand apart: the one that won is too good to be true, only its re-test is a result.
    apart = replace(chosen.config, seed=chosen.config.seed + _TEST_SEEDS)
    choice = choose(
        drawn,
        partial(test, config=apart, where=folder / "tests"),
        partial(test, config=chosen.config, where=folder),
    )
    with output_errors(training.chosen_policy):
        shutil.copyfile(choice.file, training.chosen_policy)
    print(f"{choice.file}: the best of {choice.tested} tested, kept as {training.chosen_policy}")
    print("re-test with fresh seeds:")
    _report(choice.retest, chosen.sharpness)
    return choice.retest


def _play(make: MakePlayer, config: EvaluationConfig, folder: Path, chosen: _Arguments) -> Evaluation:
    player = make()
    name = digest(describe(player, config))
    tell(f"{name}: engine: {choose_engine(player.env.name, chosen.engine).reason}")
    return evaluate(
        make,
        config,
        engine=chosen.engine,
        workers=chosen.workers,
        file=folder / f"{name}.parquet",
        progress=lambda done: tell(f"{name}: {done} of {config.episode_count} episodes"),
    )


def _report(evaluation: Evaluation, sharpness: float) -> None:
    config, episodes = evaluation.config, evaluation.episodes
    print(f"  {len(episodes)} episodes: {protocol_note(evaluation, sharpness)}")
    print(
        f"  policy score {evaluation.score_with_interval.text()}: mean of the means of all numbers of "
        "no-ops, interval over episodes"
    )
    if config.until_score is not None:
        reached = evaluation.reached(config.until_score)
        first = evaluation.reached_in_first_life(config.until_score)
        print(
            f"  {reached.text(percent=True)} of episodes and {first.text(percent=True)} of first lives reach "
            f"{config.until_score:g} points; episodes end there"
        )
    capped = sum(each.capped for each in episodes)
    if capped:
        were = "1 episode was" if capped == 1 else f"{capped} episodes were"
        print(f"  {were} cut after {thousands(config.max_game_frames or 0)} game frames")


def _player(source: str, folder: Path, chosen: _Arguments) -> tuple[MakePlayer, str]:
    if source.startswith("random:"):
        game = preset(source.removeprefix("random:")).env
        return partial(RandomPlayer, game), "random actions, each as likely as the others"
    policy = find_policy(source)
    if policy is None:
        return partial(OpenLoopPlayer, find_demonstration(source)), f"{source}, open loop"
    if policy.parent.parent.name == "checkpoints":  # a training that goes on would remove it
        kept = folder / f"{file_sha256(policy)[:10]}.safetensors"
        with output_errors(kept):
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(policy, kept)
        return partial(PolicyPlayer, kept, sharpness=chosen.sharpness), f"{policy}, kept as {kept}"
    return partial(PolicyPlayer, policy, sharpness=chosen.sharpness), str(policy)
