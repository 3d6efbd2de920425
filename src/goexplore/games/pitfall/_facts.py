"""What is known of Pitfall."""

from goexplore.engines import Certificate
from goexplore.envs import AtariFacts, RoomMap


def _room_numbers() -> bytes:
    """Return the number of each byte's room: going right, Pitfall's shift register makes one of the last."""
    numbers, byte = bytearray(256), 0xC4
    for number in range(255):
        numbers[byte] = number
        byte = (byte << 1 | (byte >> 3 ^ byte >> 4 ^ byte >> 5 ^ byte >> 7) & 1) & 255
    numbers[0] = 255  # no room
    return bytes(numbers)


FACTS = AtariFacts(
    room_address=1,
    room_numbers=_room_numbers(),
    position_addresses=(97, 105),
    position_on_screen=(3, 1, 74),
    room_map=RoomMap(
        # A ring, cut on the side opposite to the start and laid out in rows.
        rows=tuple([room % 255 for room in range(first, first + 17)] for first in range(-127, 128, 17)),
        playfield_top=50,
    ),
)

CERTIFICATE = Certificate("3e90cf23106f2e08b2781e41299de556", "7533712dd4fd49e7", 20_062_876)
"""docs/engine.md has the command."""
