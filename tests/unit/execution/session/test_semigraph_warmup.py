"""Code that has been moved does what it did."""

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from trunkline.execution.session.semigraph_warmup import code_run_by, move_together


def numbers() -> Iterator[int]:
    yield from (1, 2)


def never() -> None:
    raise LookupError


def in_a_thread() -> None:
    pass


class Stand:
    """Stands in for something that takes long to load."""

    loaded = False

    def __getattribute__(self, name: str) -> object:
        if name == "__class__":
            self.loaded = True
        return object.__getattribute__(self, name)


def test_all_code_that_runs_is_seen_and_no_other() -> None:
    def play() -> None:
        list(numbers())
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        thread.join()

    seen = code_run_by(play)
    assert {play.__code__, numbers.__code__, in_a_thread.__code__} <= seen
    assert never.__code__ not in seen


def test_after_a_play_that_fails_nobody_watches_any_more() -> None:
    with pytest.raises(LookupError):
        code_run_by(never)
    assert sys.getprofile() is None
    assert threading.getprofile() is None


def test_a_moved_function_does_the_same_and_so_do_those_inside_it_made_before_and_after() -> None:
    def counter(start: int) -> Callable[[int], int]:
        def counted(more: int, by: int = 2) -> int:
            return start + more * by

        return counted

    early = counter(10)
    outer, inner, other = counter.__code__, early.__code__, never.__code__
    assert set(map(id, move_together({outer, inner}))) == {id(outer), id(inner)}
    late = counter(20)
    assert counter.__code__ is not outer
    assert early.__code__ is late.__code__ is not inner
    assert never.__code__ is other
    assert (early(1), late(1)) == (12, 22)


def test_a_generator_that_is_half_way_goes_on() -> None:
    def pair() -> Iterator[int]:
        yield from (1, 2)

    code = pair.__code__
    running = pair()
    assert next(running) == 1
    move_together({code})
    assert pair.__code__ is not code
    assert list(running) == [2]
    assert list(pair()) == [1, 2]


def test_what_stands_in_for_something_else_is_not_made_to_load_it() -> None:
    stand = Stand()
    move_together({never.__code__})
    assert not stand.loaded
