"""Work that is done bit by bit, for tests that only want its result."""

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")


def result_of(work: Generator[Any, None, T]) -> T:
    """Let a generator run to its end, and return what it returns."""
    results: list[T] = []

    def whole() -> Generator[Any, None, None]:
        results.append((yield from work))

    for _ in whole():
        pass
    return results[0]
