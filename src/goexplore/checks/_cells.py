"""Whether a choice of cells is of use: how often states of random play share a cell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

LONG = 1000
"""Training frames from which on a random play is long; a short one only shows that there is one cell in all,
or one for each training frame."""
FEW = 10
"""Cells up to which a long play has too few of them, if its observations differ more than that."""
FEW_SHARE = 0.25
"""Cells per different observation up to which those few could be more."""
LARGEST_SHARE = 0.99
"""Share of a long play in one cell, from which on nearly everything is one cell."""
MANY, MANY_AT_FIRST = 0.5, 0.9
"""Cells per training frame of a long and of a short play, from which on hardly a cell is met twice."""

Kind: TypeAlias = Literal["fine", "few", "many"]


@dataclass(frozen=True, kw_only=True)
class CellCounts:
    """What a random play shows of a choice of cells. States without a cell are left out."""

    training_frames: int = 0
    """That were played."""
    states: int = 0
    """States that have a cell: beginnings of walks are among them, lost episodes are not."""
    cells: int = 0
    """Different cells."""
    observations: int = 0
    """Different observations."""
    again: int = 0
    """States whose observation had been there before."""
    again_new: int = 0
    """Those of them that were in a cell that had not."""
    largest: int = 0
    """States in the cell that was visited most."""
    effective: float = 0.0
    """How many cells with equal numbers of visits would be as spread out: e to the entropy of the visits."""

    @classmethod
    def of(cls, visits: Iterable[tuple[Hashable, Hashable]], training_frames: int) -> CellCounts:
        """Return the counts of a play's states, each given by its cell and its observation."""
        cells: Counter[Hashable] = Counter()
        observations: set[Hashable] = set()
        again = again_new = 0
        for cell, observation in visits:
            if observation in observations:
                again += 1
                again_new += cell not in cells
            observations.add(observation)
            cells[cell] += 1
        total = cells.total()
        entropy = -sum(count / total * math.log(count / total) for count in cells.values())
        return cls(
            training_frames=training_frames,
            states=total,
            cells=len(cells),
            observations=len(observations),
            again=again,
            again_new=again_new,
            largest=max(cells.values(), default=0),
            effective=math.exp(entropy),
        )

    @property
    def per_frame(self) -> float:
        """Cells per training frame: the share of training frames that found a new one."""
        return self.cells / max(self.training_frames, 1)

    @property
    def largest_share(self) -> float:
        """Share of states in the cell that was visited most."""
        return self.largest / max(self.states, 1)


@dataclass(frozen=True)
class Verdict:
    """What to think of a choice of cells."""

    kind: Kind
    text: str
    """One line: what was found, what follows from it, what to do."""


def judge_cells(counts: CellCounts) -> Verdict:
    """Return whether cells are too few, too many or fine, as far as a random play can tell."""
    frames, cells = counts.training_frames, counts.cells
    found = f"{cells:,} {'cell' if cells == 1 else 'cells'} in {frames:,} training frames"
    is_long = frames >= LONG
    if frames >= 100 and counts.per_frame > (MANY if is_long else MANY_AT_FIRST):
        text = (
            f"{counts.per_frame:.2f} cells per training frame: hardly a cell is met twice, so the archive "
            "would grow without end; make cells coarser"
        )
        if counts.again >= 20 and counts.again_new > 0.9 * counts.again:
            text += (
                f" ({counts.again:,} times an observation came again, and its cell was a new one nearly each "
                "time: is there a time or a counter in the cell?)"
            )
        return Verdict("many", text)
    could_be_more = cells <= FEW_SHARE * counts.observations
    is_one = counts.largest_share >= LARGEST_SHARE
    if (frames >= 20 and cells == 1) or (is_long and could_be_more and (cells <= FEW or is_one)):
        how = "nearly everything is one cell" if is_one else "most different states fall together"
        advice = "so a search has too little to choose from; make cells finer"
        return Verdict("few", f"{found}: {how}, {advice}")
    return Verdict(
        "fine",
        f"{found}, with {counts.largest_share:.0%} of the states in the largest: neither too few nor too "
        "many",
    )


def thresholds() -> str:
    """Return in plain words what `judge_cells` calls too few and too many."""
    return (
        f"There are too many cells if there are more than {MANY:g} per training frame. There are too few if "
        f"there are at most {FEW}, or if one of them has {LARGEST_SHARE:.0%} of the states, although there "
        f"are at least {1 / FEW_SHARE:.0f} times as many different observations. In a play of less than "
        f"{LONG:,} training frames, more than {MANY_AT_FIRST:g} per training frame are too many, and one "
        "alone is too few."
    )
