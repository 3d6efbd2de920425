"""The lines of metrics.jsonl, each a typed record: the one place where metrics have their names."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from goexplore.exploration import Status


@dataclass(frozen=True, kw_only=True)
class SearchMetrics:
    """How far a search had come at the end of a batch."""

    batches: int = 0
    game_frames: int = 0
    game_frames_with_replay: int = 0
    """If cells were returned to by replaying their trajectories (paper appendix A.8)."""
    game_frames_replayed: int = 0
    """Really replayed in order to return to cells, where the environment cannot be put back."""
    wall_seconds: float = 0.0
    cells: int = 1
    ends: int = 0
    """Cells in which an episode ended."""
    events: dict[str, int] = field(default_factory=dict)
    """Cells in which each event happened, of events that were found."""
    rooms: int = 0
    """On all levels together."""
    level: int = -1
    """The highest one."""
    max_score: float = 0.0
    has_result: bool = False
    """Whether that score was won, or is that of an ended episode with costs; else it is that of the start."""
    revisions: int = 0
    """Of the cells, where they are dynamic: what `cells` counts changes with each."""
    given_up: int = 0
    """Explorations that crashed or hung in every worker that ran them, with no action to blame."""
    game_frames_per_second: float = 0.0
    """Over the last half minute."""
    memory_bytes: int = 0
    """Resident, of all processes."""
    spilled_bytes: int = 0
    """Of the archive, on the disk because of a memory limit."""
    spill_seconds: float = 0.0
    """Of this session, in which the archive was moved to the disk and pages were dropped from memory."""
    page_reads: int = 0
    """Of this session: how often something waited for the disk because a page was not in memory."""

    @classmethod
    def of(
        cls,
        status: Status,
        *,
        game_frames_per_second: float = 0.0,
        memory_bytes: int = 0,
        spilled_bytes: int = 0,
        spill_seconds: float = 0.0,
        page_reads: int = 0,
    ) -> SearchMetrics:
        """Return the metrics of a search's status, and of how it runs."""
        return cls(
            batches=status.batches,
            game_frames=status.game_frames,
            game_frames_with_replay=status.game_frames_with_replay,
            game_frames_replayed=status.game_frames_replayed,
            wall_seconds=round(status.seconds, 3),
            cells=status.cells,
            ends=status.ends,
            events=dict(status.events),
            rooms=status.rooms,
            level=status.level,
            max_score=status.best_score,
            has_result=status.has_result,
            revisions=status.revisions,
            given_up=status.given_up,
            game_frames_per_second=round(game_frames_per_second, 1),
            memory_bytes=memory_bytes,
            spilled_bytes=spilled_bytes,
            spill_seconds=round(spill_seconds, 3),
            page_reads=page_reads,
        )

    def scalars(self) -> dict[str, float]:
        """Return what TensorBoard shows."""
        values = {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in ("batches", "has_result", "events")
        }
        return values | {f"events/{name}": ways for name, ways in self.events.items()}


@dataclass(frozen=True, kw_only=True)
class TrainingMetrics:
    """How far a training had come after an update."""

    training_frames: int
    game_frames: int
    updates: int
    rollouts: int
    wall_seconds: float
    """Of all sessions."""
    training_frames_per_second: float
    """Over the last minute."""
    environment_share: float
    """Of the time, spent in environments."""
    loss_policy: float | None = None
    loss_value: float | None = None
    loss_entropy: float | None = None
    loss_imitation: float | None = None
    loss_clipped: float | None = None
    real_start_success: float | None = None
    """Of the last 200 rollouts from the real start; None before there are any."""
    starting_points: list[int] = field(default_factory=list)
    """The maximum starting point of each demonstration."""
    success_rates: list[float | None] = field(default_factory=list)
    """Of the rollouts that the last decision to move was made on, for each demonstration."""
    activity: str = ""
    """What a training by search was doing."""
    expert_episodes: int = 0
    """That the expert had played."""
    expert_goals: int = 0
    """Those in which it came as far as the demonstrations."""
    expert_training_frames: int = 0
    """In which it tried plans out."""
    cloned: int = 0
    """Gradient steps of cloning."""
    success_along_the_way: list[float] = field(default_factory=list)
    """How often rollouts succeed that begin in each tenth of the way."""

    def scalars(self) -> dict[str, float]:
        """Return what TensorBoard shows."""
        values: dict[str, float] = {}
        for name, value in dataclasses.asdict(self).items():
            if isinstance(value, list):
                values |= {f"{name}/{number}": each for number, each in enumerate(value) if each is not None}
            elif value is not None and not isinstance(value, str):
                values[name] = value
        return values
