"""Evaluations as a table for papers and notes: Markdown or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from goexplore.errors import ConfigError
from goexplore.evaluation._protocol import Evaluation
from goexplore.evaluation._statistics import Estimate, mean_with_interval
from goexplore.files import output_errors, written_whole

_HEADS = ("policy", "episodes", "policy score", "95 % interval", "share that reach the goal", "95 % interval")


def check_table(file: Path) -> None:
    """Raise ConfigError for a file that is neither Markdown nor LaTeX."""
    if file.suffix not in _WRITERS:
        raise ConfigError(f"expected a table's file name that ends in .md or .tex, got {file}: change it")


def write_table(file: Path, found: Mapping[str, Evaluation], policies: Collection[str]) -> None:
    """Write evaluations by name; with several policies, the last row is the mean over them, not episodes."""
    check_table(file)
    rows = [_row(name, each) for name, each in found.items()]
    averaged = [each for name, each in found.items() if name in policies]
    if len(averaged) > 1:
        over_runs = mean_with_interval([each.score for each in averaged])
        episodes = sum(len(each.episodes) for each in averaged)
        rows.append(
            [
                f"mean of {len(averaged)}",
                f"{episodes:,}",
                f"{over_runs.value:,.1f}",
                _range(over_runs),
                "",
                "",
            ]
        )
    with output_errors(file), written_whole(file) as aside:
        aside.write_text(_WRITERS[file.suffix](rows), encoding="utf-8")


def _row(name: str, evaluation: Evaluation) -> list[str]:
    score = evaluation.score_with_interval
    goal = evaluation.config.until_score
    reached = ["", ""]
    if goal is not None:
        share = evaluation.reached(goal)
        percent = Estimate(*(100 * value for value in share))
        reached = [f"{percent.value:.1f} % ({goal:g} points)", _range(percent)]
    return [name, f"{len(evaluation.episodes):,}", f"{score.value:,.1f}", _range(score), *reached]


def _range(estimate: Estimate) -> str:
    return f"{estimate.low:,.1f} to {estimate.high:,.1f}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [_HEADS, ("---", *["---:"] * (len(_HEADS) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _latex(rows: Sequence[Sequence[str]]) -> str:
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
    ]
    return "\n".join(parts) + "\n"


def _escape(text: str) -> str:
    return re.sub(r"([%&_#${}])", r"\\\1", text.replace("\\", "/"))


_WRITERS = {".md": _markdown, ".tex": _latex}
