"""Grey levels of NTSC's colours, as ale-py gives them: index 2c has the level of byte c."""

import numpy as np
from numpy.typing import NDArray

_LEVELS = bytes.fromhex(
    "004a6f8eaac0d6ec405f7a94acc1d6e93f576e8396a7b8c73b556b8194a7b7c7"
    "2c445a6e8092a1b0334a5f738495a4b2273f556b7d8f9fae16314960748899a9"
    "1129405568798999203c556d8296a8ba28455f788da2b6c82b4a657f97adc1d4"
    "2847627c93a9bdcf294a68849db5cbdf2f4f6b859db3c8dc2f4f6b859db3c8dc"
)

NTSC_GREY: NDArray[np.int16] = np.repeat(np.frombuffer(_LEVELS, np.uint8), 2).astype(np.int16)
"""The grey level of each of 256 palette indices. The lowest bit of an index means nothing."""
