"""`goexplore.robustify` and `goexplore.evaluate`: Phase 2 on any demonstrations."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goexplore.demos import Demonstration, find_demonstrations, sample_file
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError, require_at_least
from goexplore.evaluation import (
    Evaluation,
    EvaluationConfig,
    MakePlayer,
    OpenLoopPlayer,
    PolicyCandidate,
    PolicyChoice,
    PolicyPlayer,
    RandomPlayer,
    candidates,
    choose,
    describe,
    digest,
)
from goexplore.evaluation import evaluate as play_protocol
from goexplore.files import file_sha256, is_file, is_folder, output_errors, require_writable, written_whole
from goexplore.problems import Problem, find_problem, given_problem
from goexplore.report import check_video, play_episode, write_video
from goexplore.runs import Reporter, is_training

if TYPE_CHECKING:
    from goexplore.training import (
        Method,
        RobustifyConfig,
        TrainingDirectory,
        TrainingOutcome,
        TrainingProgress,
    )

_SUFFIX = ".safetensors"
_TEST_SEEDS = 1_000_000
"""How far the seed of tests by which a policy is chosen is from that of its re-test, and of any result."""


def require_torch() -> None:
    """Refuse to go on without what policies need."""
    if find_spec("torch") is None:
        raise ConfigError(
            "expected PyTorch for policies, got an installation without it: pip install 'goexplore[train]'"
        )


@dataclass(frozen=True, kw_only=True)
class PolicyRun:
    """A training and the policies that it has made."""

    path: Path
    problem: Problem | None = None
    """Given by the user where it comes from an import path."""
    outcome: TrainingOutcome | None = None
    """How the session that returned this ended, if one did."""

    @property
    def directory(self) -> TrainingDirectory:
        """Its run directory."""
        require_torch()
        from goexplore.training import TrainingDirectory

        return TrainingDirectory.open(self.path)

    @property
    def policy(self) -> Path:
        """The file of the policy that was chosen among all, or else of the newest."""
        return self.directory.policy()

    def evaluate(self, **settings: Any) -> Evaluation:
        """Let its policy play the stochastic game: see `goexplore.evaluate`."""
        return evaluate(self.path, problem=self.problem, **settings)

    def video(self, out: Path | str = "video.mp4", *, temperature: float = 1.0, speed: int = 1) -> Path:
        """Render an episode of the stochastic game as MP4 or GIF; return the file."""
        file = Path(out)
        check_video(file, scale=2)
        require_writable(file)
        player = PolicyPlayer(self.policy, temperature=temperature, problem=self.problem)
        player.env = player.env.with_engine("auto").env
        with output_errors(file):
            write_video(play_episode(player, EvaluationConfig(), no_ops=0, repetition=0, every=speed), file)
        return file


def robustify(
    demonstrations: Sequence[Demonstration] | str | Path,
    *,
    run_dir: Path | str,
    method: Method = "search",
    preset: str = "small",
    config: RobustifyConfig | None = None,
    training_frames: int | None = None,
    minutes: float | None = None,
    until_success: float | None = None,
    engine: EngineWish = "auto",
    resume: bool = False,
    reporter: Reporter[TrainingProgress] | None = None,
    problem: Any | None = None,
    **more: Any,
) -> PolicyRun:
    """Train a policy that plays the stochastic game, from demonstrations (Phase 2, paper section 2.2).

    Args:
        demonstrations: What `run.demos()` returned, or a file, a folder of files, or a sample's name.
        run_dir: Where to write.
        method: "search": an expert that plans with the simulator teaches the policy. "backward": the paper's
            Backward Algorithm.
        preset: Settings of the method to begin with: small, tiny; with "backward" also paper, paper-pitfall.
        config: All settings, in place of a preset.
        training_frames: Stop after this many training frames.
        minutes: Stop after this many minutes.
        until_success: Stop when this share of the last 200 rollouts from the real start succeeded.
        engine: The emulator of an Atari game.
        resume: Go on with the training in `run_dir`.
        reporter: Shows progress; without it, only warnings are logged.
        problem: Has to be given for files of a problem from an import path.
        more: Further arguments of `goexplore.training.run_training` and `TrainingLimits`.

    """
    require_torch()
    from goexplore.training import TrainingDirectory, TrainingLimits, run_training, training_preset

    problem = given_problem(problem)
    if isinstance(demonstrations, str | Path):
        demonstrations = find_demonstrations(str(demonstrations), problem, verify=False)
    if config is None:
        config = TrainingDirectory.open(Path(run_dir)).config() if resume else training_preset(preset, method)
    limits = {name: more.pop(name) for name in ("until_start", "held") if name in more}
    outcome = run_training(
        demonstrations,
        config,
        run_dir=run_dir,
        limits=TrainingLimits(
            training_frames=training_frames, minutes=minutes, until_success=until_success, **limits
        ),
        reporter=reporter,
        engine=engine,
        resume=resume,
        problem=problem,
        **more,
    )
    return PolicyRun(path=Path(run_dir), problem=problem, outcome=outcome)


def find_policy(name: str | Path) -> Path | None:
    """Return the file of a policy, given by its path, a training's run directory or a sample's name.

    A training's policy is the one that was chosen among all, or else the newest. None where the name means
    something else.
    """
    for file in (Path(name), sample_file(str(name), _SUFFIX)):
        if file.suffix == _SUFFIX and is_file(file):
            require_torch()
            return file
    if is_folder(name) and is_training(Path(name)):
        return PolicyRun(path=Path(name)).policy
    return None


def make_player(
    source: Demonstration | str | Path, *, temperature: float, problem: Problem | None, folder: Path | None
) -> tuple[MakePlayer, str]:
    """Return what makes the player that a source stands for, and a line about it.

    With a `folder`, the newest policy of a training is kept there: the training would remove it.
    """
    if isinstance(source, Demonstration):
        return partial(OpenLoopPlayer, source), "a demonstration, open loop"
    if str(source).startswith("random:"):
        env = find_problem(str(source).removeprefix("random:")).env
        return partial(RandomPlayer, env), "random actions, each as likely as the others"
    policy = find_policy(source)
    if policy is None:
        (demonstration,) = find_demonstrations(str(source), problem)
        return partial(OpenLoopPlayer, demonstration), f"{source}, open loop"
    about = str(policy)
    if folder is not None and policy.parent.parent.name == "checkpoints":
        kept = folder / f"{file_sha256(policy)[:10]}{_SUFFIX}"
        with output_errors(kept), written_whole(kept) as aside:
            shutil.copyfile(policy, aside)
        about, policy = f"{policy}, kept as {kept}", kept
    return partial(PolicyPlayer, policy, temperature=temperature, problem=problem), about


def evaluate(
    source: Demonstration | str | Path,
    *,
    config: EvaluationConfig | None = None,
    temperature: float = 1.0,
    engine: EngineWish = "auto",
    workers: int = 1,
    out: Path | str | None = None,
    problem: Any | None = None,
    progress: Callable[[int], None] = lambda episodes: None,
    **settings: Any,
) -> Evaluation:
    """Play the unmodified, stochastic game by the paper's protocol (section 2.3) and return all episodes.

    Args:
        source: A training's run directory, a policy's file or a sample's name; a demonstration, which is
            played open loop; or "random:TARGET" for random play.
        config: What is played: repetitions, sticky actions, where episodes end.
        temperature: Of a policy: logits are divided by this. Below 1, likely actions get likelier.
        engine: The emulator of an Atari game.
        workers: Processes that play. They are spawned, so a script that wants several has to be guarded by
            `if __name__ == "__main__"`. The episodes do not depend on their number.
        out: Folder for the episodes, so that an evaluation can be resumed and extended.
        problem: Has to be given for files of a problem from an import path.
        progress: Called with the number of episodes that are done.
        settings: Fields of EvaluationConfig, in place of `config`: repetitions, until_score, seed ...

    """
    folder = None if out is None else Path(out)
    given = given_problem(problem)
    make, _ = make_player(source, temperature=temperature, problem=given, folder=folder)
    chosen = replace(config or EvaluationConfig(), **settings)
    return play(make, chosen, folder, engine=engine, workers=workers, progress=progress)


def play(
    make: MakePlayer,
    config: EvaluationConfig,
    folder: Path | None,
    *,
    engine: EngineWish = "auto",
    workers: int = 1,
    progress: Callable[[int], None] = lambda episodes: None,
) -> Evaluation:
    """Let a player play the protocol; episodes go to a file of the folder that is named by the settings."""
    require_at_least("workers", workers, 1, 4096)
    file = None if folder is None else folder / f"{evaluation_name(make, config)}.parquet"
    return play_protocol(make, config, engine=engine, workers=workers, file=file, progress=progress)


def evaluation_name(make: MakePlayer, config: EvaluationConfig) -> str:
    """Return the name of the file that has a player's episodes."""
    return digest(describe(make(), config))


def choose_policy(
    run: PolicyRun,
    count: int,
    test: Callable[[Path, EvaluationConfig, bool], Evaluation],
    config: EvaluationConfig,
) -> PolicyChoice:
    """Choose among a training's policies as the paper does (section 2.3), and keep the best as its policy.

    `test` evaluates a policy; its last argument says whether that is a mere test, whose result is too good to
    be true for the one that won by it, or the re-test with fresh seeds, which counts.
    """
    require_at_least("choose", count, 1)
    require_torch()
    from goexplore.training import load_policy

    training = run.directory
    policies = []
    for file in training.all_policies():
        trained = load_policy(file, run.problem)[1].training
        policies.append(
            PolicyCandidate(
                file=file,
                # A training by search has none: it begins at the real start.
                starting_point=min(trained["starting_points"], default=0),
                real_start_success=trained.get("real_start_success"),
            )
        )
    drawn = candidates(policies, count, config.seed)
    apart = replace(config, seed=config.seed + _TEST_SEEDS)
    choice = choose(drawn, lambda file: test(file, apart, True), lambda file: test(file, config, False))
    with output_errors(training.chosen_policy), written_whole(training.chosen_policy) as aside:
        shutil.copyfile(choice.file, aside)
    return choice
