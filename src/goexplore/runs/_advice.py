"""What a running search tells people about itself when it does not go as it should, and what to do about it.

Each line comes once, and again each time when what it counts has doubled: a log is never flooded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from goexplore.exploration import SHORT, Search, Tally

LEAST = 1000
"""Explorations after which shares of them mean something."""
MOST = 0.9
"""Share of explorations from which on it is nearly all of them."""
FINE = 0.5
"""New cells per training frame from which on cells are too fine."""
FEW, ENOUGH = 10, 5000
"""Cells that are few, and explorations that should have found more."""
STRETCH = 0.5
"""Share of a search without a new cell that is a long time."""


class Advice:
    """Watches a search, batch after batch."""

    def __init__(self, search: Search) -> None:
        """Begin with a search that is new or resumed."""
        found = search.archive.values("found_at_game_frame")
        self._last_new = int(found.max()) if len(found) else 0
        self._cells = self._first_cells = search.status.cells
        self._explorations_then = 0
        self._next: dict[str, float] = {}
        self._window = Tally()

    def after_batch(self, search: Search) -> Iterator[str]:
        """Yield what there is to say after a batch."""
        status = search.status
        grown, self._cells = status.cells > self._cells, status.cells
        if grown:
            self._last_new = status.game_frames
            self._explorations_then = search.tally.explorations
            self._next.pop("stretch", None)
        yield from self._speak_of_cells(search)
        if search.tally.explorations - self._window.explorations >= LEAST:
            yield from self._speak_of_ends(search.tally)
            self._window = replace(search.tally)

    def _speak_of_cells(self, search: Search) -> Iterator[str]:
        status, tally = search.status, search.tally
        new = (status.cells - self._first_cells) / max(tally.training_frames, 1)
        if tally.explorations < LEAST // 10:
            return
        if new > FINE:
            if self._is_due("fine", status.game_frames):
                how = "nearly every" if new > MOST else "more than every second"
                yield (
                    f"{how} training frame found a new cell ({new:.2f} per training frame): cells are too "
                    "fine, and the archive grows without end; look at them with goexplore cells-preview and "
                    "make them coarser"
                )
        elif status.cells <= FEW and tally.explorations >= ENOUGH:
            if self._is_due("few", status.game_frames):
                cells = f"{status.cells} {'cell' if status.cells == 1 else 'cells'}"
                yield (
                    f"only {cells} after {status.game_frames:,} game frames: cells are too coarse, unless "
                    "the environment has no more states; look at them with goexplore cells-preview and make "
                    "them finer"
                )
        else:
            stretch = status.game_frames - self._last_new
            without = tally.explorations - self._explorations_then
            share = stretch / status.game_frames
            if without >= ENOUGH and share >= STRETCH and self._is_due("stretch", stretch):
                yield (
                    f"no new cell for {short_count(stretch)} game frames, {share:.0%} of the search: it has "
                    "found what is in reach, or its cells are too coarse (goexplore cells-preview shows "
                    "them), or its explorations are too short (raise `training_frames`)"
                )

    def _speak_of_ends(self, tally: Tally) -> Iterator[str]:
        before = self._window
        count = tally.explorations - before.explorations
        truncated = (tally.truncated - before.truncated) / count
        ended = (tally.short - before.short) / count
        if truncated >= MOST and self._is_due("truncated", tally.explorations):
            yield (
                f"{truncated:.0%} of the last {count:,} explorations ended at the time limit: cells are "
                "reached so late that hardly any time is left; explore with a longer time limit, or with none"
            )
        if ended >= MOST and self._is_due("short", tally.explorations):
            yield (
                f"{ended:.0%} of the last {count:,} explorations ended the episode within {SHORT} "
                "training frames: the states that cells hold are lost already; let cells tell them from "
                "those that are not, or return None from the cell function where an episode is lost"
            )

    def _is_due(self, what: str, count: float) -> bool:
        if count < self._next.get(what, 0):
            return False
        self._next[what] = 2 * count
        return True


def score_text(score: float, digits: int = 0) -> str:
    """Return a score for people: thousands with that many decimals, small ones in three digits."""
    if abs(score) >= 10 or score % 1 == 0:
        return f"{score:,.{digits}f}"
    return f"{score:.3g}"


def short_count(frames: float) -> str:
    """Return a number of frames in three digits, such as 1.1M."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if frames >= size:
            return f"{frames / size:.3g}{unit}"
    return f"{frames:.0f}"
