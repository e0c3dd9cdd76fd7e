"""Readers that come and go: revoked tokens, and those who leave before they are let in."""

import asyncio

import pytest

from tests.support.control import Control, TestUser
from tests.support.metrics import metric
from tests.support.wire import WAIT_S, Wire, get

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


async def test_a_revoked_token_cuts_its_readers_and_no_others(
    control: Control, user: TestUser, session: str
) -> None:
    issued = await user.ok("POST", f"/users/{user.id}/token")
    second = TestUser(control, user.id, issued["token"])
    async with (
        user.reader(session) as mine,
        second.reader(session) as one,
        second.reader(session) as two,
    ):
        for reader in (mine, one, two):
            await reader.until_text("hello")
        await user.ok("DELETE", f"/tokens/{issued['id']}")
        await one.until_ended()
        await two.until_ended()
        assert not mine.ended
    async with second.reader(session) as late:
        assert late.status == 401


async def test_a_token_revoked_while_its_reader_is_let_in_cuts_it_too(
    control: Control, user: TestUser, session: str
) -> None:
    for _ in range(20):
        issued = await user.ok("POST", f"/users/{user.id}/token")
        second = TestUser(control, user.id, issued["token"])
        reader = second.reader(session)
        opening = asyncio.create_task(reader.open())
        await user.ok("DELETE", f"/tokens/{issued['id']}")
        try:
            await opening
        except (ConnectionError, asyncio.IncompleteReadError):
            continue  # cut before it got an answer
        await reader.until_ended()
        await reader.leave()


async def test_readers_that_leave_at_once_are_not_counted_for_ever(
    control: Control, user: TestUser, session: str
) -> None:
    path = f"/api/v1/sessions/{session}/stream"
    bearer = f"Authorization: Bearer {user.token}"
    for _ in range(20):
        async with Wire(control) as wire:
            await wire.send(get(path, wire.host, bearer))
            wire.writer.close()  # the request arrives, and right behind it the end
            await wire.writer.wait_closed()
    async with user.reader(session) as reader:
        await reader.until_text("hello")
        async with asyncio.timeout(WAIT_S):
            while await metric(control, "sse_readers_active") != 1:
                pass
    async with asyncio.timeout(WAIT_S):
        while await metric(control, "sse_readers_active") != 0:
            pass
