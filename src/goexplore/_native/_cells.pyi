import numpy as np
from numpy.typing import NDArray

BUILD_VERSION: str

class Downscaler:
    def __init__(self, rows: int, columns: int, width: int, height: int, levels: int) -> None: ...
    def update(self, frame: NDArray[np.uint8], grey: NDArray[np.int16], /) -> bytes | None: ...

def find_character(screen: NDArray[np.uint8], top: int, colour: int, /) -> tuple[int, int, bool] | None: ...
