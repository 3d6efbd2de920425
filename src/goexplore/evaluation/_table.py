"""Evaluations as a table for papers and notes: Markdown or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from goexplore.errors import ConfigError
from goexplore.evaluation._episodes import NO_OP_COUNTS
from goexplore.evaluation._protocol import Evaluation
from goexplore.evaluation._statistics import Estimate, caution, mean_with_interval
from goexplore.files import output_errors, written_whole
from goexplore.runs import score_text

_HEADS = (
    "policy",
    "episodes",
    "truncated",
    "policy score",
    "95 % interval",
    "share that reach the goal",
    "95 % interval",
)


def check_table(file: Path) -> None:
    """Raise ConfigError for a file that is neither Markdown nor LaTeX."""
    if file.suffix not in _WRITERS:
        raise ConfigError(f"expected `table` to be a file name that ends in .md or .tex, got {file}")


def write_table(
    file: Path, found: Mapping[str, Evaluation], averaged: Collection[str], *, temperature: float
) -> None:
    """Write evaluations with the same settings, by name, and what the settings were.

    With several that are `averaged`, each of another training, the last row is the mean over these.
    """
    check_table(file)
    rows = [_row(name, each) for name, each in found.items()]
    note = protocol_note(next(iter(found.values())), temperature)
    if len(averaged) > 1:
        rows.append(_mean_row([found[name] for name in averaged]))
        note += f"; the mean's intervals are over {len(averaged)} trainings{caution(len(averaged))}"
    with output_errors(file), written_whole(file) as aside:
        aside.write_text(_WRITERS[file.suffix](rows, note), encoding="utf-8")


def protocol_note(evaluation: Evaluation, temperature: float) -> str:
    """Return how episodes were played: what a number means nothing without."""
    config = evaluation.config
    counts = f"each number of no-ops from {NO_OP_COUNTS[0]} to {NO_OP_COUNTS[-1]} {config.repetitions} x"
    parts = [
        f"sticky actions {config.repeat_action_probability:g}",
        counts if evaluation.has_no_ops else "no no-ops, for no action of the environment does nothing",
        "no cap"
        if config.max_game_frames is None
        else f"truncated after {config.max_game_frames:,} game frames",
    ]
    if config.until_score is not None:
        parts.append(f"ended at {config.until_score:,g} points")
    if temperature != 1:
        parts.append(f"temperature {temperature:g}")
    return ", ".join([*parts, f"seed {config.seed}"])


def _row(name: str, evaluation: Evaluation) -> list[str]:
    goal = evaluation.config.until_score
    reached = None if goal is None else evaluation.reached(goal)
    truncated = sum(each.truncated for each in evaluation.episodes)
    return [
        name,
        f"{len(evaluation.episodes):,}",
        f"{truncated:,}",
        *_score(evaluation.score_with_interval),
        *_share(reached),
    ]


def _mean_row(evaluations: Sequence[Evaluation]) -> list[str]:
    goal = evaluations[0].config.until_score
    reached = None if goal is None else mean_with_interval([each.reached(goal).value for each in evaluations])
    return [
        f"mean of {len(evaluations)}",
        f"{sum(len(each.episodes) for each in evaluations):,}",
        f"{sum(episode.truncated for each in evaluations for episode in each.episodes):,}",
        *_score(mean_with_interval([each.score for each in evaluations])),
        *_share(reached),
    ]


def _score(score: Estimate) -> list[str]:
    return [score_text(score.value, 1), f"{score_text(score.low, 1)} to {score_text(score.high, 1)}"]


def _share(share: Estimate | None) -> list[str]:
    if share is None:
        return ["", ""]
    return [f"{share.value:.1%}", f"{share.low:.1%} to {share.high:.1%}"]


def _markdown(rows: Sequence[Sequence[str]], note: str) -> str:
    lines = [_HEADS, ("---", *["---:"] * (len(_HEADS) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + f"\n{note}\n"


def _latex(rows: Sequence[Sequence[str]], note: str) -> str:
    lines = [" & ".join(_escape(cell) for cell in line) + r" \\" for line in (_HEADS, *rows)]
    head, *body = lines
    columns = "l" + "r" * (len(_HEADS) - 1)
    parts = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\hline",
        head,
        r"\hline",
        *body,
        r"\hline",
        r"\end{tabular}",
        "",
        _escape(note),
    ]
    return "\n".join(parts) + "\n"


def _escape(text: str) -> str:
    return re.sub(r"([%&_#${}])", r"\\\1", text.replace("\\", "/"))


_WRITERS = {".md": _markdown, ".tex": _latex}
