"""What is known of Montezuma's Revenge."""

from goexplore.engines import Certificate
from goexplore.envs import AtariFacts, RoomMap

MAP = RoomMap(rows=(range(3), range(3, 8), range(8, 15), range(15, 24)), playfield_top=50)
"""The rooms of a level form a pyramid: each row is centred below the one above it."""

FACTS = AtariFacts(
    episode_end="life-loss",
    room_address=3,
    level_address=57,  # counts to 2 and stays there: all further levels are played like the third
    way_to_next_level=(15, 1),
    position_addresses=(42, 43),
    position_on_screen=(3, -1, 315),
    grounded=((86, 255), (88, 0)),
    room_map=MAP,
    score_limit=1_000_000,
)

CERTIFICATE = Certificate("3347a6dd59049b15a38394aa2dafa585", "cfe8590e69267aa9", 20_085_172)
"""docs/engine.md has the command."""
