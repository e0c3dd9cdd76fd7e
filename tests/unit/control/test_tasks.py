"""Background work: awaited or ended, with all that it starts."""

import asyncio

from trunkline.control.tasks import Serial, Tasks


async def test_it_waits_for_what_runs_and_for_what_that_starts() -> None:
    tasks, gate, done = Tasks(), asyncio.Event(), []

    async def second() -> None:
        await asyncio.sleep(0)
        done.append("second")

    async def first() -> None:
        await gate.wait()
        done.append("first")
        tasks.spawn(second(), "second")

    tasks.spawn(first(), "first")
    waiting = asyncio.create_task(tasks.done())
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    await waiting
    assert done == ["first", "second"]


async def test_what_does_not_end_by_itself_is_ended() -> None:
    tasks, ended = Tasks(), asyncio.Event()

    async def stuck() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = tasks.spawn(stuck(), "stuck")
    await asyncio.sleep(0)
    async with asyncio.timeout(15):
        await tasks.cancel()
    assert ended.is_set()
    assert task.cancelled()


async def test_serial_work_keeps_its_order_and_survives_a_failure() -> None:
    tasks, done = Tasks(), []
    serial = Serial(tasks)

    async def work(number: int, turns_of_the_loop: int) -> None:
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        if number == 1:
            raise ValueError("one of them")
        done.append(number)

    for number, turns_of_the_loop in enumerate((5, 0, 3, 0)):
        serial.add(work(number, turns_of_the_loop), "serial")
    await tasks.done()
    assert done == [0, 2, 3]


async def test_what_starts_others_while_it_is_ended_ends_with_them() -> None:
    tasks, last = Tasks(), []

    async def stuck() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            last.append(tasks.spawn(asyncio.Event().wait(), "last"))

    tasks.spawn(stuck(), "stuck")
    await asyncio.sleep(0)
    async with asyncio.timeout(15):
        await tasks.cancel()
    assert [task.cancelled() for task in last] == [True]
