"""Phase 2 by search: an expert plays the stochastic game, a network clones it, and PPO goes on from there.

The paper leaves the imitation algorithm open (section 2.2). This one uses the simulator: an expert that plans
with it shows what deterministic demonstrations never show, such as waiting; and rollouts begin at states of
its episodes, which are those of the stochastic game.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypeAlias

import torch

from goexplore.demos import Demonstration
from goexplore.errors import CheckpointError, EnvironmentContractError
from goexplore.planning import (
    ExpertPlayer,
    Guide,
    Recording,
    append_recording,
    drop_torn_line,
    guide,
    read_recordings,
)
from goexplore.problems import CellsSpec, EnvironmentSpec
from goexplore.random import SplitMix64, stream_state
from goexplore.training._bank_rollout import BankRollout, OwnStates
from goexplore.training._cloning import Cloner
from goexplore.training._collector import Collector
from goexplore.training._config import SearchConfig
from goexplore.training._corrections import Corrector
from goexplore.training._directory import TrainingStatus
from goexplore.training._group import ProcessGroup
from goexplore.training._method import Teaching, TrainingMethod
from goexplore.training._network import Policy
from goexplore.training._ppo import Learner, Losses
from goexplore.training._random_streams import RandomStreams
from goexplore.training._recording_buffer import RecordingBuffer
from goexplore.training._state_bank import StateBank
from goexplore.training._vector_env import RolloutFactory, start_environments

Stage: TypeAlias = Literal["expert rehearses", "expert plays", "cloning", "expert corrects", "improving"]

_EXPERT_SECONDS = 5.0
"""For so long the expert plays before what is finished is saved and shown."""
_LOG = logging.getLogger("goexplore")
_CLONING_STEPS = 100
"""Gradient steps of cloning between two looks at the limits."""


class SearchTraining(TrainingMethod):
    """A policy that learns from an expert that plans."""

    def __init__(
        self,
        demonstrations: Sequence[Demonstration],
        config: SearchConfig,
        group: ProcessGroup,
        *,
        env: EnvironmentSpec,
        cells: CellsSpec,
        recordings: Path,
    ) -> None:
        """`recordings` is the file of the expert's episodes; `cells` tell places apart if memory does not."""
        self.config, self.group = config, group
        self.seed, self.network, self.ppo = config.seed, config.network, config.ppo
        self.environments, self.env, self.preprocessing = config.environments, env, config.preprocessing
        self.target = demonstrations[0].target
        self._recordings_file = recordings
        self._rehearsals: list[Recording] = []
        self._rehearsal_seeds = self._planned(range(config.rehearsals))
        half = (config.rehearsals + 1) // 2
        self._rounds = (self._rehearsal_seeds[:half], self._rehearsal_seeds[half:])
        self._best: Recording | None = None
        """The rehearsal that guides, if it is not the demonstrations."""
        self._demonstrated = guide(
            demonstrations,
            env,
            cells,
            repeat_action_probability=config.repeat_action_probability,
            deficit=config.allowed_deficit,
        )
        self._follow(self._demonstrated)
        self.action_count, self.frame_skip = self._buffer.action_count, self._buffer.frame_skip
        self.status = TrainingStatus()
        self._random_streams = RandomStreams(config.seed, group.number, update=0)
        torch.manual_seed(config.seed)  # all processes begin with the same weights
        self.policy = Policy(config.network, shape=self._buffer.shape, actions=self.action_count)
        self.policy.to(group.device)
        self._expert: ExpertPlayer | None = None
        self._seeds: list[int] = []
        """Of the episodes that this process has to play."""
        self._episode: Iterator[Recording | None] | None = None
        self._correction: Generator[None, None, Recording | None] | None = None
        self._corrector: Corrector | None = None
        self._cloner: Cloner | None = None
        self._agreement: float | None = None
        self._bank: StateBank | None = None
        self._saved_bank: dict[str, Any] = {}
        self.learner: Learner | None = None
        self._frozen = False
        """Whether the convolutions are not learnt at present."""
        self._env_workers: int | None = None
        self._activity: Stage = self._stage
        """What was done last."""

    def _follow(self, chosen: Guide) -> None:
        """Use this guide for everything from now on."""
        self._guide = chosen
        self._buffer = RecordingBuffer(chosen, self.config.preprocessing)
        self._expert = None

    def _make_expert(self) -> ExpertPlayer:
        return ExpertPlayer(self._guide, self.config.expert, no_ops=self.config.no_ops)

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Of the clone, or of what PPO learns."""
        if self.learner is not None:
            return self.learner.optimizer
        if self._cloner is not None:
            return self._cloner.optimizer
        return torch.optim.Adam(self.policy.parameters())

    def read(self) -> None:
        """Read the expert's episodes of earlier sessions."""
        if self.group.writes:
            drop_torn_line(self._recordings_file, self.action_count)
        self.group.gather(None)
        if self._recordings_file.exists():
            for each in read_recordings([self._recordings_file], self.action_count):
                self._keep(each)

    def _keep(self, recording: Recording) -> None:
        if recording.seed in self._rehearsal_seeds:
            self._demonstrated.replay(recording)
            self._rehearsals.append(recording)
            self._choose_guide(recording)
        else:
            self._buffer.add(recording)

    def _choose_guide(self, recording: Recording) -> None:
        """After a rehearsal: follow the fastest of a whole round that reached the goal, or demonstrations."""
        played = {each.seed: each for each in self._rehearsals}
        best: Recording | None = None
        for seeds in filter(None, self._rounds):
            if not played.keys() >= set(seeds):
                break
            if recording.seed in seeds:  # it was the last of its round
                self._expert = None
            reached = [played[seed] for seed in seeds if played[seed].ending == "goal"]
            best = min(reached, key=lambda each: (each.training_frames, each.seed), default=None)
        if best is not self._best:
            self._best, others = best, self._buffer.recordings
            self._follow(self._demonstrated if best is None else self._demonstrated.following(best))
            for each in others:  # none, unless a line of the file was deleted
                self._buffer.add(each)

    def start(self, env_workers: int | None = None) -> None:
        """Make ready what the first piece of work needs."""
        self._env_workers = env_workers
        expected, got = self.status.recordings, self._recordings_count
        if got < expected and self.group.writes:
            _LOG.warning(
                f"warning: expected {expected:,} whole episodes of the expert in {self._recordings_file}, "
                f"got {got:,}: the rest is lost. The training goes on, but its weights will differ"
            )
        self._prepare()

    @property
    def _recordings_count(self) -> int:
        return len(self._rehearsals) + len(self._buffer.recordings)

    @property
    def _stage(self) -> Stage:
        """What is to be done next."""
        config, cloned = self.config, self.status.cloned
        if len(self._rehearsals) < config.rehearsals:
            return "expert rehearses"
        if sum(not each.is_correction for each in self._buffer.recordings) < config.episodes:
            return "expert plays"
        if cloned < config.cloning.steps * (1 + self.status.correction_rounds):
            return "cloning"
        if config.corrections and self.status.correction_rounds < config.correction_rounds:
            return "expert corrects"
        return "improving"

    def _prepare(self) -> None:
        """Make ready what the next piece of work needs."""
        stage, config = self._stage, self.config
        if stage in ("expert rehearses", "expert plays"):
            if self._expert is None:
                self._expert = self._make_expert()
                rehearsed = config.rehearsals
                rounds = (*self._rounds, self._planned(range(rehearsed, rehearsed + config.episodes)))
                self._seeds = self._my_share(next(filter(None, map(self._missing, rounds)), []))
            return
        if stage == "expert corrects":
            if self._corrector is None:
                self._buffer.sort()  # which process was the fastest must not matter
                self._corrector = Corrector(
                    self._make_expert(), self.policy, self._buffer, sharpen=config.cloning.sharpen
                )
                planned = enumerate(self._planned_corrections(self.status.correction_rounds))
                in_vain = self.status.corrected_in_vain
                self._seeds = self._my_share(
                    self._missing(seed for number, seed in planned if number not in in_vain)
                )
            return
        self._expert = self._corrector = None
        if stage == "cloning" and self._cloner is None:
            self._buffer.sort()
            numbers = self._to_be_cloned()
            self._standardise(numbers)
            self._cloner = Cloner(
                self.policy, self._buffer, numbers, config.cloning, self.group, self._random_streams
            )
            self._warn_of_a_lost_expert()
        elif stage == "improving" and self.learner is None:
            self._buffer.sort()
            self._begin_ppo()

    def _missing(self, seeds: Iterable[int]) -> list[int]:
        """Return the seeds of these episodes or corrections that are not there yet."""
        done = {each.seed for each in (*self._rehearsals, *self._buffer.recordings)}
        return [seed for seed in seeds if seed not in done]

    def _my_share(self, seeds: list[int]) -> list[int]:
        """Return those that this process plays."""
        return seeds[self.group.number :: self.group.size]

    def _planned(self, numbers: range) -> list[int]:
        """Return the seeds of the episodes or corrections with these numbers."""
        return [stream_state(self.seed, number) for number in numbers]

    def _planned_corrections(self, number: int) -> list[int]:
        """Return the seeds of a round of corrections."""
        config = self.config
        first = config.rehearsals + config.episodes + number * config.corrections
        return self._planned(range(first, first + config.corrections))

    def _to_be_cloned(self) -> list[int]:
        """Return the numbers of the recordings that the clone learns from now.

        After a kill, the file may have corrections of later rounds too. They are left out, so that this clone
        becomes the one that was corrected.
        """
        rounds = range(self.status.correction_rounds)
        corrections = {seed for each in rounds for seed in self._planned_corrections(each)}
        recordings = self._buffer.recordings
        return [
            number
            for number, each in enumerate(recordings)
            if not each.is_correction or each.seed in corrections
        ]

    def _standardise(self, numbers: Sequence[int]) -> None:
        if not self._buffer.is_image:
            self.policy.standardise(*self._buffer.spread(numbers))

    def _warn_of_a_lost_expert(self) -> None:
        """Say that the expert never came to the end, before anything learns from it."""
        whole = [each for each in self._buffer.recordings if not each.is_correction]
        if self.status.cloned or not self.group.writes or any(each.ending == "goal" for each in whole):
            return
        _LOG.warning(
            f"warning: the expert came to the demonstrations' end in none of {len(whole)} episodes, so a "
            "policy will hardly learn to: `goexplore play-expert` shows where it fails. Try other "
            "demonstrations, more `plans`, or a longer `horizon`"
        )

    def _begin_ppo(self) -> None:
        config = self.config
        self._cloner = None
        if not self.status.cloned:
            self._standardise(self._to_be_cloned())
            self._warn_of_a_lost_expert()
        self._make_learner()
        self._bank = StateBank(self._buffer, config.starts)
        if self._saved_bank:
            self._bank.restore(self._saved_bank)

    def _make_learner(self) -> None:
        """Learn everything, or everything but the convolutions."""
        self._frozen = self._should_freeze()
        self.policy.features.requires_grad_(not self._frozen)
        self.learner = Learner(self.policy, self.ppo, self.group, self._random_streams)

    def _should_freeze(self) -> bool:
        limit = self.config.frozen_for
        return self._buffer.is_image and (limit is None or self.status.training_frames < limit)

    def _start_environments(self, bank: StateBank) -> Collector:
        config = self.config
        own = OwnStates(config.starts.bin_length)
        make: Callable[[SplitMix64], BankRollout] = partial(
            BankRollout,
            self._buffer,
            config.starts,
            own,
            patience=bank.patience,
            no_ops=config.no_ops,
        )
        streams = self._random_streams.environment_streams(
            self.status.updates, config.environments_of_each(self.group.size)
        )
        vector_env = start_environments(
            RolloutFactory(make, self.env, self._buffer.shape, self._buffer.dtype, own),
            streams,
            workers=self._env_workers,
            cores=torch.get_num_threads(),
        )
        return Collector(
            self.policy,
            vector_env,
            bank,
            self._random_streams,
            mixed_precision=config.ppo.mixed_precision,
        )

    def update(self) -> Losses | None:
        """Let the expert play, or clone it, or improve the clone with PPO."""
        self._prepare()
        self._activity = self._stage
        if self._expert is not None:
            self._play_expert(self._expert)
        elif self._corrector is not None:
            self._correct(self._corrector)
        elif self._cloner is not None:
            self._clone(self._cloner)
        else:
            return self._improve()
        return None

    def _play_expert(self, expert: ExpertPlayer) -> None:
        """Go on with this process's episodes for a while; what all finished goes to the file, and to all."""
        began = monotonic()
        finished: list[Recording] = []
        while monotonic() - began < _EXPERT_SECONDS:
            if self._episode is None:
                if not self._seeds:
                    break
                self._episode = expert.episode(self._seeds.pop(0))
            recording = next(self._episode)
            if recording is not None:
                finished.append(recording)
                self._episode = None
        self._share(finished)

    def _correct(self, corrector: Corrector) -> None:
        """Correct the policy for a while: one correction after the other."""
        began = monotonic()
        finished: list[Recording] = []
        in_vain: list[int] = []
        while monotonic() - began < _EXPERT_SECONDS:
            if self._correction is None:
                if not self._seeds:
                    break
                self._correction = corrector.correct(self._seeds[0])
            try:
                next(self._correction)
            except StopIteration as done:
                self._correction, seed = None, self._seeds.pop(0)
                if done.value is not None:
                    finished.append(done.value)
                else:
                    in_vain.append(seed)
        self._share(finished)
        status = self.status
        planned = self._planned_corrections(status.correction_rounds)
        for part in self.group.gather(in_vain):
            status.corrected_in_vain += map(planned.index, part)
        status.simulated_in_vain += sum(self.group.gather(corrector.simulated_in_vain()))
        if not any(self.group.gather(len(self._seeds))):
            status.correction_rounds += 1
            status.corrected_in_vain = []

    def _share(self, finished: list[Recording]) -> None:
        """Let what all processes have finished go to the file, and to all of them."""
        for each in [each for part in self.group.gather(finished) for each in part]:
            try:
                self._keep(each)
            except CheckpointError as error:
                raise EnvironmentContractError(
                    "expected an episode of the expert to have the same rewards when it is played again, got "
                    "others: the environment does not repeat itself, or `restore` forgets something that "
                    "decides later rewards; see `goexplore check-env`"
                ) from error
            if self.group.writes:
                append_recording(self._recordings_file, each, self.action_count)
        self.status.recordings = self._recordings_count

    def _clone(self, cloner: Cloner) -> None:
        status, steps = self.status, self.config.cloning.steps
        self._random_streams.restart(status.cloned, purpose=2)
        agreements = []
        for _ in range(min(_CLONING_STEPS, steps - status.cloned % steps)):
            _, agreement = cloner.step(status.cloned % steps)
            agreements.append(agreement)
            status.cloned += 1
        self._agreement = sum(agreements) / len(agreements)
        # At once, so that a checkpoint has the optimiser that it will be resumed with.
        if status.cloned % steps == 0:
            self._cloner = None
        if self._stage == "improving":
            cloner.finish()
            self._begin_ppo()

    def _improve(self) -> Losses:
        assert self.learner is not None
        assert self._bank is not None
        ppo = self.ppo
        self._random_streams.restart(self.status.updates)
        if self.collector is None:
            self.play_with(self._start_environments(self._bank))
        assert self.collector is not None
        self.collector.sees_once = self._frozen
        experience, results = self.collector.collect(ppo.steps, ppo.discount)
        self.learner.decay(self.status.training_frames)
        losses = self.learner.update(experience, value_only=self.status.updates < ppo.value_warm_up)
        results = [each for part in self.group.gather(results) for each in part]
        self._bank.update(results)
        self.count(len(results), [result.success for result in results if result.start.point == 0])
        if self._frozen and not self._should_freeze():
            self._make_learner()
        return losses

    def state(self) -> dict[str, Any]:
        """Return the success rates of where rollouts begin."""
        return self._saved_bank if self._bank is None else self._bank.state()

    def restore(self, status: TrainingStatus, state: dict[str, Any]) -> None:
        """Go back to a checkpoint: the recordings are all there."""
        self.status, self._saved_bank = status, state
        self._expert = self._corrector = self._cloner = self.learner = self._bank = None
        self._episode = self._correction = None
        self.policy.features.requires_grad_(True)
        self._prepare()

    def teaching(self) -> Teaching:
        """Return what the expert and the clone do."""
        recordings = [*self._rehearsals, *self._buffer.recordings]
        whole = [each for each in recordings if not each.is_correction]
        return Teaching(
            activity=self._activity,
            episodes=len(whole),
            reached_goal=sum(each.ending == "goal" for each in whole),
            corrections=len(recordings) - len(whole),
            simulated=sum(each.simulated for each in recordings) + self.status.simulated_in_vain,
            cloned=self.status.cloned,
            agreement=self._agreement,
            success_along_the_way=self._bank.along_the_way() if self._bank else [],
        )
