"""What a test of the shared suite is about, so that a runtime that cannot do it is passed over."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.runtimes.absent import ABSENT, Promise

T = TypeVar("T", bound=Callable[..., object])


def promises(promise: Promise) -> Callable[[T], T]:
    def marked(test: T) -> T:
        kept: T = pytest.mark.promise(promise)(test)
        return kept

    return marked


def reason_against(name: str, item: pytest.Item) -> str | None:
    """Why the runtime of that name cannot keep what the test is about."""
    mark = item.get_closest_marker("promise")
    return ABSENT.get((name, mark.args[0])) if mark is not None else None
