"""Damage to files and to the disk that they are on."""

import os
import subprocess


class Disk:
    """A small disk in memory that can get full, or read-only."""

    def __init__(self, path):
        self.path = path
        self.is_bound = False

    def mount(self):
        """Mount it; return whether that is allowed."""
        self.path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(self.path)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def unmount(self):
        subprocess.run(["umount", "-l", str(self.path)], check=True)

    def resize(self, size):
        self._remount(f"size={size}")

    def turn_read_only(self):
        command = ["mount", "-o", "remount,ro,force", str(self.path)]
        subprocess.run(command, check=False, capture_output=True)
        if os.access(self.path, os.W_OK):
            # A file system with files that are open may refuse; a bind mount does not.
            subprocess.run(["mount", "--bind", str(self.path), str(self.path)], check=True)
            subprocess.run(["mount", "-o", "remount,ro,bind", str(self.path)], check=True)
            self.is_bound = True

    def turn_writable(self):
        if self.is_bound:
            self.unmount()
            self.is_bound = False
        self._remount("rw")

    def _remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.path)], check=True)


def lengths_of_a_cut(size):
    """Return where a file is cut: at its beginning, in its middle, before its last byte; None: it is gone."""
    return (0, 1, size // 2, size - 1, None)


def cut(file, length):
    if length is None:
        file.unlink()
    else:
        os.truncate(file, length)


def flip_a_bit(file, chance):
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
