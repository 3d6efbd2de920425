import dataclasses
import json

import pytest

from goexplore.config import (
    AtariConfig,
    DownscaledConfig,
    ExplorationConfig,
    SearchConfig,
    SelectionConfig,
    differences,
    from_json,
    to_json,
)
from goexplore.errors import ConfigError
from goexplore.presets import PRESETS, preset


@pytest.mark.parametrize("name", PRESETS)
def test_settings_survive_json(name):
    assert from_json(json.loads(json.dumps(to_json(preset(name))))) == preset(name)


def test_presets_are_the_papers_tables():
    """Appendix A.6, tables 1 and 2."""
    rows = {
        # name: batch, chosen, chosen since new, seen, horizontal, vertical, more keys
        "montezuma": (1000, 0, 0, 0, 0.3, 0.1, 10),
        "pitfall": (1000, 1, 0.5, 0, 1, 0, 0),
        "montezuma-pixels": (100, 0.1, 0, 0.3, 0, 0, 0),
        "pitfall-pixels": (1000, 1, 1, 0, 0, 0, 0),
        "pitfall-pixels-fine": (1000, 1, 1, 0, 0, 0, 0),
    }
    for name, row in rows.items():
        config = preset(name)
        weights = config.selection
        assert row == (
            config.exploration.batch_size,
            weights.chosen_weight,
            weights.chosen_since_new_weight,
            weights.seen_weight,
            weights.horizontal_weight,
            weights.vertical_weight,
            weights.more_keys_weight,
        )
        assert (weights.power, weights.epsilon1, weights.epsilon2) == (0.5, 0.001, 0.00001)
        assert (weights.constant, weights.level_factor, weights.reset_seen) == (1, 0.1, False)
        assert (config.exploration.training_frames, config.exploration.repeat_probability) == (100, 0.95)
        assert config.env.frame_skip == 4
    for name in ("montezuma-pixels", "pitfall-pixels"):
        assert preset(name).cells == DownscaledConfig(width=11, height=8, levels=8)
    assert preset("pitfall-pixels-fine").cells == DownscaledConfig(width=11, height=8, levels=16)


def test_any_atari_game_has_settings():
    config = preset("ALE/PrivateEye-v5")
    assert config.env.game == "ALE/PrivateEye-v5"
    assert config.cells.kind == "downscaled"


@pytest.mark.parametrize(
    "make",
    [
        lambda: AtariConfig(game="pong", frame_skip=0),
        lambda: DownscaledConfig(levels=0),
        lambda: ExplorationConfig(repeat_probability=1.5),
        lambda: ExplorationConfig(training_frames=0),
        lambda: SelectionConfig(seen_weight=-1.0),
        lambda: SelectionConfig(seen_weight=-1),
        lambda: SelectionConfig(seen_weight=float("inf")),
        lambda: SelectionConfig(epsilon1=0.0),
        lambda: dataclasses.replace(preset("montezuma"), env=AtariConfig(game="ALE/Pong-v5")),
        lambda: SelectionConfig(constant=0.0, epsilon2=0.0),
        lambda: SearchConfig(env=AtariConfig(game="pong"), selection=SelectionConfig(horizontal_weight=1.0)),
        lambda: from_json({"env": {"game": "pong", "colour": 1}}),
    ],
)
def test_settings_that_cannot_be_used_are_refused_with_a_reason(make):
    with pytest.raises(ConfigError, match="expected"):
        make()


def test_any_weight_is_enough_to_give_every_cell_a_chance():
    SelectionConfig(constant=0.0, epsilon2=0.0, chosen_weight=1.0)


def test_differences_are_named():
    one = preset("montezuma")
    other = dataclasses.replace(one, seed=4)
    assert differences(to_json(one), to_json(other)) == ["seed is 0, not 4"]
