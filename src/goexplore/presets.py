"""Named settings: the paper's tables (appendix A.6), and its follow-up's simpler weights."""

from __future__ import annotations

import difflib

from goexplore.config import (
    AtariConfig,
    DownscaledConfig,
    ExplorationConfig,
    MazesConfig,
    MontezumaConfig,
    PitfallConfig,
    SearchConfig,
    SelectionConfig,
)
from goexplore.envs import gymnasium_id, rom_name
from goexplore.errors import ConfigError

_MONTEZUMA = AtariConfig(game="ALE/MontezumaRevenge-v5", episode_end="life-loss")
_PITFALL = AtariConfig(game="ALE/Pitfall-v5", episode_end="game-over")

_PITFALL_PIXELS = SearchConfig(
    env=_PITFALL,
    cells=DownscaledConfig(),
    selection=SelectionConfig(chosen_weight=1, chosen_since_new_weight=1),
    exploration=ExplorationConfig(batch_size=1000),
)

PRESETS: dict[str, SearchConfig] = {
    # With domain knowledge: paper table 2.
    "montezuma": SearchConfig(
        env=_MONTEZUMA,
        cells=MontezumaConfig(),
        selection=SelectionConfig(horizontal_weight=0.3, vertical_weight=0.1, more_keys_weight=10),
        exploration=ExplorationConfig(batch_size=1000),
    ),
    "pitfall": SearchConfig(
        env=_PITFALL,
        cells=PitfallConfig(),
        selection=SelectionConfig(chosen_weight=1, chosen_since_new_weight=0.5, horizontal_weight=1),
        exploration=ExplorationConfig(batch_size=1000),
    ),
    # Without: paper table 1.
    "montezuma-pixels": SearchConfig(
        env=_MONTEZUMA,
        cells=DownscaledConfig(),
        selection=SelectionConfig(chosen_weight=0.1, seen_weight=0.3),
        exploration=ExplorationConfig(batch_size=100),
    ),
    "pitfall-pixels": _PITFALL_PIXELS,
    # Appendix A.10: 16 intensities instead of 8.
    "pitfall-pixels-fine": SearchConfig(
        env=_PITFALL,
        cells=DownscaledConfig(levels=16),
        selection=_PITFALL_PIXELS.selection,
        exploration=_PITFALL_PIXELS.exploration,
    ),
    # The follow-up's weights ("First return, then explore", 2021): 1/sqrt(seen + 1), no constant, no epsilon.
    "montezuma-2021": SearchConfig(
        env=_MONTEZUMA,
        cells=MontezumaConfig(),
        selection=SelectionConfig(
            seen_weight=1,
            epsilon1=1,
            epsilon2=0,
            constant=0,
            horizontal_weight=0.1,
            more_keys_weight=1,
            reset_seen=True,
        ),
        exploration=ExplorationConfig(batch_size=100),
    ),
    # No Atari game: solved within seconds.
    "two-mazes": SearchConfig(
        env=MazesConfig(),
        cells=DownscaledConfig(width=20, height=15, levels=255),
        selection=SelectionConfig(seen_weight=1, epsilon1=1, epsilon2=0, constant=0, reset_seen=True),
        exploration=ExplorationConfig(training_frames=30, repeat_probability=0.5),
    ),
}


def preset(target: str) -> SearchConfig:
    """Return the settings for a preset's name, or for any Atari game's id with downscaled cells."""
    if target in PRESETS:
        return PRESETS[target]
    if target.startswith("ALE/"):
        return SearchConfig(
            env=AtariConfig(game=gymnasium_id(rom_name(target))),
            selection=SelectionConfig(seen_weight=1, epsilon1=1, epsilon2=0, constant=0, reset_seen=True),
        )
    near = difflib.get_close_matches(target, PRESETS, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ConfigError(
        f"expected a preset ({', '.join(PRESETS)}) or a game (ALE/<Game>-v5), got {target!r}.{hint}"
    )
