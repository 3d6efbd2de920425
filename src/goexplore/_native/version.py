"""A name for how the engine plays, so that a certificate is of what was compared.

setup.py runs this file by itself and compiles the name in.
"""

import hashlib
import re
from pathlib import Path


def engine_version() -> str:
    """Return a checksum of the sources that play a game: chips, console, games, and the translator.

    Comments and white space of the machine's sources do not count.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for header in sorted((here / "atari").glob("*.h")):
        code = re.sub(r"/\*.*?\*/|\s+", " ", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        digest.update(" ".join(code.split()).encode() + b"\n")
    digest.update((here / "translator.py").read_text(encoding="utf-8").encode())
    return digest.hexdigest()[:16]
